"""Editing a value in its row of the state: its type stays, and nothing but the row changes until it is kept."""

import datetime as dt
import uuid
from decimal import Decimal

import pytest
from base_screens import screen_text
from debugger_app import debugger, settled
from fake_source import FakeSource, refund_loop
from hypothesis import given
from hypothesis import strategies as st

from agent_tt.codec.encode import encode
from agent_tt.forking.editing.edits import type_word
from agent_tt_tui.screens.dialogs.edit import EditDialog
from agent_tt_tui.screens.dialogs.in_row import RowEdit
from agent_tt_tui.viewmodel.edits.in_row import RowField
from agent_tt_tui.widgets.dialogs.row_form import RowArea

COLUMNS = 30

SINGLE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Zs")), max_size=20),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.dates(),
    st.datetimes(),
    st.times(),
    st.uuids(),
).map(encode)


@given(SINGLE)
def test_a_single_value_as_it_stands_in_its_field_reads_as_itself(value):
    field = RowField.of(value, value, 1000)
    if field is not None:
        verdict = field.judge(field.text)
        assert verdict.good
        assert (type_word(verdict.value), verdict.value) == (type_word(value), value)


@given(SINGLE, st.one_of(st.text(max_size=20), SINGLE.map(lambda value: RowField(value, value).text)))
def test_what_is_kept_has_the_recorded_type_whatever_is_typed(value, typed):
    field = RowField.of(value, value, 1000)
    if field is None:
        return
    verdict = field.judge(typed)
    if verdict.good and value is not None:
        assert type_word(verdict.value) == type_word(value)
        assert verdict.message.startswith("still")
    if not verdict.good:
        assert type_word(field.other(typed).value) != type_word(value)


@pytest.mark.parametrize(
    ("value", "typed", "kept"),
    [
        (20, " 3 ", 3),
        (20, "9223372036854775808", encode(2**63)),
        (0.5, "3", 3.0),
        (0.5, "nan", encode(float("nan"))),
        (True, "False", False),
        ("20", "3", "3"),
        (None, "3", 3),
        (None, "later", "later"),
        (encode(Decimal("59.90")), "60", encode(Decimal(60))),
        (encode(dt.date(2026, 3, 2)), "2026-03-03", encode(dt.date(2026, 3, 3))),
    ],
)
def test_what_is_typed_is_read_as_the_recorded_type(value, typed, kept):
    assert RowField(value, value).judge(typed).value == kept
    assert type_word(RowField(value, value).judge(typed).value) == type_word(kept)


@pytest.mark.parametrize(
    ("value", "typed", "wrong"),
    [
        (20, "3.5", "not an int"),
        (20, "9" * 5000, "not an int"),
        (True, "1", "not a bool"),
        (encode(Decimal(1)), "cheap", "not a Decimal"),
        (encode(dt.date(2026, 3, 2)), "2026-02-30", "not a date"),
        (encode(uuid.UUID(int=1)), "1", "not a UUID"),
    ],
)
def test_what_is_no_value_of_the_recorded_type_is_refused_and_can_be_kept_as_what_it_is(value, typed, wrong):
    field = RowField(value, value)
    assert (field.judge(typed).good, field.judge(typed).message) == (False, wrong)
    assert field.other(typed).message.startswith(f"was {type_word(value)}, now ")


@pytest.mark.parametrize(
    ("value", "up", "down"),
    [
        (20, "21", "19"),
        (0.1, "1.1", "-0.9"),
        (True, "false", "false"),
        (encode(Decimal("59.90")), "60.90", "58.90"),
        (encode(dt.date(2026, 2, 28)), "2026-03-01", "2026-02-27"),
        (encode(dt.date.max), None, "9999-12-30"),
        ("20", None, None),
        (None, None, None),
    ],
)
def test_numbers_and_dates_have_a_next_value(value, up, down):
    field = RowField(value, value)
    assert (field.stepped(field.text, 1), field.stepped(field.text, -1)) == (up, down)


def test_lists_dicts_and_texts_of_many_rows_are_left_to_the_dialog():
    for value in ([], {"a": 1}, encode((1, 2)), "two\nlines", "x" * 90, "\x1b[31m", encode(b"bytes")):
        assert RowField.of(value, value, COLUMNS) is None
    assert RowField.of(1, [1], COLUMNS) is None
    assert RowField.of("x" * 89, "x", COLUMNS) is not None


async def in_row(pilot, path):
    """Select a value of the state and press `e`."""
    screen = await settled(pilot)
    tree = screen.panes.inspector.state_tree
    tree.focus()
    tree.select(path)
    tree.post_message(tree.Selected(tree, path))
    await settled(pilot)
    await pilot.press("e")
    return tree


def edits(screen):
    pending = screen.model.pending
    return [] if pending is None else [(edit.path, edit.value) for edit in pending.edits]


async def test_the_field_lies_over_the_value_and_enter_keeps_what_replaces_it():
    async with debugger(refund_loop(), step=2).run_test(size=(80, 24)) as pilot:
        tree = await in_row(pilot, ("attempts",))
        assert isinstance(pilot.app.screen, RowEdit)
        area = pilot.app.screen.query_one(RowArea)
        assert area.region.offset == tree.value_region.offset
        before = screen_text(pilot.app)
        await pilot.press("3")
        rows = screen_text(pilot.app)
        changed = [y for y, (old, new) in enumerate(zip(before, rows, strict=True)) if old != new]
        assert area.region.y in changed
        assert all(area.region.y <= y <= area.region.y + 1 for y in changed)
        assert "✓ still an int" in "\n".join(rows)
        await pilot.press("enter")
        screen = await settled(pilot)
        assert edits(screen) == [("attempts", 3)]


async def test_what_is_not_of_the_type_is_not_kept_until_the_other_type_is_asked_for():
    async with debugger(refund_loop(), step=2).run_test(size=(80, 24)) as pilot:
        await in_row(pilot, ("attempts",))
        await pilot.press("x", "enter")
        assert isinstance(pilot.app.screen, RowEdit)
        assert "✗ not an int  ^t keeps a str" in "\n".join(screen_text(pilot.app))
        await pilot.press("ctrl+t")
        screen = await settled(pilot)
        assert edits(screen) == [("attempts", "x")]


async def test_up_and_down_step_a_number_and_ctrl_r_takes_the_recorded_one():
    async with debugger(refund_loop(), step=2).run_test(size=(80, 24)) as pilot:
        await in_row(pilot, ("attempts",))
        area = pilot.app.screen.query_one(RowArea)
        await pilot.press("up", "up", "down")
        assert area.text == "3"
        await pilot.press("ctrl+r")
        assert area.text == "2"
        await pilot.press("enter")
        assert edits(await settled(pilot)) == []


async def test_tab_keeps_and_goes_to_the_next_value_that_has_a_row():
    state = {"a": 1, "long": ["x"], "b": True, "end": {}}
    async with debugger(FakeSource([state])).run_test(size=(80, 24)) as pilot:
        tree = await in_row(pilot, ("a",))
        await pilot.press("7", "tab")
        assert isinstance(pilot.app.screen, RowEdit)
        row = tree.row.path
        assert row in (("long", 0), ("b",))
        while tree.row.path != ("b",):
            await pilot.press("tab")
        await pilot.press("up", "tab")
        screen = await settled(pilot)
        assert edits(screen) == [("a", 7), ("b", False)]
        assert "no value after this one" in screen_text(pilot.app)[-1]
        assert tree.row.path == ("b",)


async def test_a_text_is_gone_on_with_and_takes_the_rows_that_it_needs():
    async with debugger(refund_loop(), step=2).run_test(size=(80, 24)) as pilot:
        await in_row(pilot, ("notes",))
        area = pilot.app.screen.query_one(RowArea)
        recorded, rows = area.text, area.size.height
        await pilot.press(*" and more and more and more")
        assert area.text == f"{recorded} and more and more and more"
        await pilot.pause()
        assert area.size.height > rows
        await pilot.press("escape")
        assert "not kept yet. Drop it?" in "\n".join(screen_text(pilot.app))
        await pilot.press("y")
        assert edits(await settled(pilot)) == []


async def test_the_dialog_is_a_key_away():
    async with debugger(refund_loop(), step=2).run_test(size=(80, 24)) as pilot:
        await in_row(pilot, ("attempts",))
        await pilot.press("ctrl+l")
        assert isinstance(pilot.app.screen, EditDialog)


async def test_on_the_last_row_and_after_a_resize_the_field_stays_on_the_screen():
    state = {f"key{number}": number for number in range(40)}
    async with debugger(FakeSource([state])).run_test(size=(80, 24)) as pilot:
        tree = await in_row(pilot, ("key39",))
        box = pilot.app.screen.query_one(".in-row")
        for size in ((120, 40), (60, 16), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            await pilot.pause()
            assert box.region.bottom < size[1]
            assert box.region.x == tree.value_region.x
