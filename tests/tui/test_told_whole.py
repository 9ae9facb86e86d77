"""What screens say is whole where there is room for it, stands in one place, and covers nothing else."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from tests.core.sweeping.by_hand import ByHand
from tests.tui.base_screens import screen_text
from tests.tui.debugger_app import debugger, settled
from tests.tui.fake_source import FakeSource, refund_loop
from tests.tui.snapshots.drawn_svg import rows_in
from tests.tui.snapshots.kept_pictures import path_of
from tests.tui.snapshots.screen_table import SCREENS
from tests.tui.snapshots.taking import SIZES
from textual.app import App

from agent_tt.forking.request import ForkRequest
from agent_tt.querying.provenance.blaming import Blame
from agent_tt.querying.provenance.links import Link, Trail
from agent_tt.sweeping.axes import Axis
from agent_tt.sweeping.definition import Definition
from agent_tt.sweeping.matrix import MatrixReader, Standing, standing_of
from agent_tt_tui.glyphs import UNICODE
from agent_tt_tui.screens.dialogs.in_row import RowEdit
from agent_tt_tui.screens.dialogs.palette import OfferList
from agent_tt_tui.text import width
from agent_tt_tui.viewmodel.offers import Offer
from agent_tt_tui.viewmodel.past.blame import BlameRow, blame_rows, told_in
from agent_tt_tui.viewmodel.values.tree import TreeRow
from agent_tt_tui.viewmodel.values.values import value_pieces, value_rows
from agent_tt_tui.widgets.debugger.state_tree import StateTree
from agent_tt_tui.widgets.dialogs.fork_cost import ForkCost
from agent_tt_tui.widgets.dialogs.row_form import RowAbout, RowArea
from agent_tt_tui.widgets.runs.compare_state import path_rows

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from tests.tui.snapshots.screen_table import Shown

ASKED = [{"id": "call_1", "type": "function", "function": {"name": "hotel_rating", "arguments": '{"place": "Lisbon"}'}}]
READS = '→ hotel_rating(place="Lisbon")'


@pytest.mark.parametrize("shown", SCREENS, ids=lambda shown: shown.name)
def test_no_footer_names_the_same_thing_twice(shown: Shown) -> None:
    for size in (*SIZES, *shown.sizes):
        footer = rows_in(path_of(shown.name, size).read_text(encoding="utf-8"))[-1]
        words = [" ".join(part.split()[1:]) for part in footer.split("  ") if len(part.split()) > 1]
        assert len(words) == len(set(words)), footer


@pytest.mark.parametrize("columns", [200, 60, 40, 16, 12])
def test_calls_read_as_calls_however_much_room_there_is(columns: int) -> None:
    row = TreeRow("value", ("messages", 0, "tool_calls"), "tool_calls", 2, ASKED, unfolds=True, mark="+")
    told = value_rows(row, columns, UNICODE, most=6, key="enter", folded=True)
    rows = ["".join(text for text, _ in pieces) for pieces in told] or [
        "".join(text for text, _ in value_pieces(row, columns, UNICODE))
    ]
    assert "".join(row.rstrip() for row in rows) == READS.rstrip()
    assert all(width(each) <= columns for each in rows)


WHY = "the same value under the same name"


def blame() -> Blame:
    links = (
        Link("value", 10, None, "", "answer", "refused", "written at step 10, in step answer"),
        Link("result", 5, 1, "check_voucher", "message.content", "refused", WHY),
        Link("result", 4, 1, "find_voucher", "percent", "other", WHY),
    )
    return Blame("run", 10, "answer", "refused", (), Trail(links, ends="the input says it"))


def laid_out(columns: int, places: Collection[int] | None) -> list[BlameRow]:
    return blame_rows(blame(), columns, UNICODE, lambda _step: "read", told=places)


def told(columns: int, places: Collection[int] | None) -> list[str]:
    return ["".join(text for text, _ in row.pieces) for row in laid_out(columns, places)]


@pytest.mark.parametrize("columns", [47, 60, 90, 140])
def test_reasons_of_blame_are_never_cut(columns: int) -> None:
    rows = told(columns, None)
    assert all(width(row) <= columns for row in rows)
    assert " ".join(" ".join(rows).replace(UNICODE.rail, " ").split()).count(WHY) == 2


def test_where_rows_are_short_only_the_place_under_the_cursor_tells_all() -> None:
    rows = told(47, {1})
    assert len(rows) < len(told(47, None))
    assert any(row.endswith("find_voucher percent …") for row in rows)
    full, least = laid_out(47, None), laid_out(47, ())
    assert told_in(full, least, 2, len(least)) == {2}
    assert told_in(full, least, 2, len(full)) >= {1, 2}
    assert " ".join(" ".join(rows).replace(UNICODE.rail, " ").split()).count(WHY) == 1


@pytest.mark.parametrize(
    ("path", "columns", "rows"),
    [
        ("support_model result.message.content", 19, ["support_model", "result.message.", "content"]),
        ("messages[4].content", 30, ["messages[4].content"]),
        ("messages[4].content", 11, ["messages[4]", ".content"]),
        ("abcdefgh.i", 3, ["abc", "def", "gh.", "i"]),
        ("", 3, [""]),
    ],
)
def test_a_path_breaks_between_its_names(path: str, columns: int, rows: list[str]) -> None:
    assert path_rows(path, columns) == rows


TWO = Definition((Axis("set", "temperature", (0, 0.4)),), fork=ForkRequest(1), samples=2, jobs=1)


def test_how_a_sweep_stands_is_known_from_its_runs_alone(by_hand: ByHand, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = by_hand.begin(TWO)
    by_hand.took(sweep, 1, 1, state={"answer": "5 days"})
    by_hand.took(sweep, 1, 2, "failed")
    by_hand.took(sweep, 2, 1, "interrupted")
    sweep = by_hand.store.sweep(sweep.id)
    matrix = MatrixReader(by_hand.store, sweep.id).read()
    monkeypatch.setattr(type(by_hand.store), "steps", None)
    monkeypatch.setattr(type(by_hand.store), "state", None)
    found = standing_of(by_hand.store, sweep)
    assert found == Standing(matrix.status, 2, 4, 1)
    assert (matrix.total.done, matrix.total.samples, matrix.total.succeeded.count) == (2, 4, 1)


@pytest.fixture
def by_hand(tmp_path: Path):
    made = ByHand(tmp_path)
    yield made
    made.store.close()


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 50)])
async def test_what_is_said_of_an_edit_covers_no_other_value(size: tuple[int, int]) -> None:
    async with debugger(refund_loop(), step=2).run_test(size=size) as pilot:
        screen = await settled(pilot)
        tree = screen.query_one(StateTree)
        tree.focus()
        tree.select(("attempts",))
        await settled(pilot)
        before = screen_text(pilot.app)
        await pilot.press("e")
        await pilot.pause()
        assert isinstance(pilot.app.screen, RowEdit)
        rows = screen_text(pilot.app)
        changed = [y for y, (old, new) in enumerate(zip(before[:-1], rows[:-1], strict=True)) if old != new]
        assert set(changed) <= {tree.value_region.y}
        assert "✓ still an int" in rows[tree.value_region.y]
        await pilot.press("x")
        await pilot.pause()
        assert "not an int" in "\n".join(screen_text(pilot.app))


@pytest.mark.parametrize(("count", "is_near"), [(12, True), (40, False)])
async def test_a_key_that_one_scrolls_to_is_whole_and_values_stay_where_it_is_near(count: int, is_near: bool) -> None:
    state = {**{f"k{n}": n for n in range(count)}, "max_searches": 3}
    async with debugger(FakeSource([{}, state]), step=1).run_test(size=(80, 24)) as pilot:
        screen = await settled(pilot)
        screen.query_one(StateTree).focus()
        first = next(row for row in screen_text(pilot.app)[3:] if " k0 " in row)
        await pilot.press("G")
        await settled(pilot)
        last = next(row for row in screen_text(pilot.app)[3:] if "max_" in row)
        assert last.split("max_")[1].split() == ["searches", "3"]
        assert (last.rindex("3") == first.rindex("0")) is is_near


async def test_the_field_goes_with_its_value_when_the_screen_gets_another_size() -> None:
    async with debugger(refund_loop(), step=2).run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        tree = screen.query_one(StateTree)
        tree.focus()
        tree.select(("budget",))
        await settled(pilot)
        await pilot.press("G", "e")
        await pilot.pause()
        for size in ((80, 24), (200, 50), (60, 18), (120, 40)):
            await pilot.resize_terminal(*size)
            for _ in range(4):
                await pilot.pause()
            if tree.value_region is not None and isinstance(pilot.app.screen, RowEdit):
                area = pilot.app.screen.query_one(RowArea)
                assert area.region.offset == tree.value_region.offset, size
                assert pilot.app.screen.query_one(RowAbout) is not None


async def test_the_palette_says_a_thing_once_and_cuts_no_remark() -> None:
    async with debugger(refund_loop(), step=2).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("ctrl+p", *"fork: run")
        await pilot.pause()
        assert sum("Fork: run the agent on" in row for row in screen_text(pilot.app)) == 1
        assert all(any(name in row for row in screen_text(pilot.app)) for name in ("THIS STEP", "Fork: run"))
        await pilot.press("ctrl+u", *"show who wrote")
        await pilot.pause()
        rows = screen_text(pilot.app)
        assert not [row for row in rows if "again:" in row and "…" in row]
        said = " ".join(" ".join(rows).translate({ord(sign): " " for sign in "│▌"}).split())
        assert "again: close it, and stay" in said, "below the list, in full"


async def test_free_rows_between_groups_give_way_to_what_was_found() -> None:
    offers = [Offer(group, f"{group} {number}", print) for group in ("value", "step", "run") for number in range(3)]
    app = Listing(offers)
    async with app.run_test(size=(60, 12)) as pilot:
        for height, rows in ((20, 14), (14, 14), (13, 12), (12, 12), (8, 14)):
            await pilot.resize_terminal(60, height)
            await pilot.pause()
            view = app.query_one(OfferList)
            assert view.line_count == rows, height
            assert view.current is offers[0]


class Listing(App[None]):
    """Nothing but a list of offers."""

    def __init__(self, offers: list[Offer]) -> None:
        super().__init__()
        self._offers = offers

    def compose(self) -> Iterator[OfferList]:
        yield OfferList()

    def on_mount(self) -> None:
        self.query_one(OfferList).show_offers(self._offers, "")


def picture(name: str, size: tuple[int, int]) -> list[str]:
    return rows_in(path_of(name, size).read_text(encoding="utf-8"))


def test_what_a_column_means_is_whole_on_a_small_screen() -> None:
    assert "gets the room that the others leave" in " ".join(" ".join(picture("columns", (60, 18))).split()).replace(
        " │ │ ", " "
    )


@pytest.mark.parametrize(
    ("size", "said"), [((80, 24), "21 more of at most 40 each"), ((120, 40), "17 more of at most 40 tokens each")]
)
def test_a_fold_of_the_context_says_what_it_folds_and_has_no_bar_of_its_own(size: tuple[int, int], said: str) -> None:
    row = next(row for row in picture("debugger-context", size) if " more of at most " in row)
    assert said in row
    assert UNICODE.busy not in row


class Costs(App[None]):
    """Nothing but what a fork may cost."""

    def compose(self) -> Iterator[ForkCost]:
        yield ForkCost()


@pytest.mark.parametrize(("steps", "said"), [(1, "≈ 1 step  ≈ 1,200 tok"), (2, "≈ 2 steps  ≈ 1,200 tok")])
async def test_what_a_fork_may_cost_is_counted_and_no_figure_of_it_is_cut(steps: int, said: str) -> None:
    expected = SimpleNamespace(
        steps=steps, tokens_in=1_000, tokens_out=200, cost_usd=0.25, unpriced=0, duration_us=12_700_000
    )
    terms = SimpleNamespace(limits=None)
    plan = SimpleNamespace(
        expected=expected, continues_with=None, terms=terms, writers=(), unheld=(), problems=(), holds_what_writes=True
    )
    for columns in (80, 60, 50, 40, 30):
        app = Costs()
        async with app.run_test(size=(columns, 6)) as pilot:
            app.query_one(ForkCost).plan = plan
            await pilot.pause()
            row = next(row for row in screen_text(app) if "EXPECT" in row)
            assert "…" not in row
            assert said in row or columns < 40
            assert row.count("≈") == len([word for word in ("step", "tok", "$0.25", "12.7 s") if word in row])


def test_blame_takes_no_rows_that_it_leaves_free() -> None:
    rows = picture("blame", (200, 50))
    last = next(at for at, row in enumerate(rows) if "0 + null" in row)
    assert any(row.strip().startswith("marks") for row in rows[last : last + 2])
