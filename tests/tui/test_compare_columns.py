"""Two runs in three columns: steps and causes, states, and what models saw and said; each thing stands there once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.tui.base_screens import screen_text
from tests.tui.test_compare_screen import forked, forked_file, read  # noqa: F401 - fixtures
from tests.tui.waiting import until

from agent_tt.comparing.values.states import compare_states
from agent_tt.model import Call
from agent_tt_tui.glyphs import UNICODE
from agent_tt_tui.viewmodel.runs.alike import alike_places
from agent_tt_tui.viewmodel.runs.compare_calls import pair_blocks, places_at_the_right, read_pair, without_seen
from agent_tt_tui.viewmodel.values.blocks import Block, as_far_as_free
from agent_tt_tui.viewmodel.values.pieces import TextLine

SYSTEM = {"role": "system", "content": "Answer from the help centre."}
USER = {"role": "user", "content": "Where is my refund?"}


def model_call(messages, answer, **args):
    said = {"role": "assistant", "content": answer}
    return Call(
        1, 1, "llm", "ask", "ok", args={"messages": messages, **args}, result={"message": said}, meta={"model": "m"}
    )


def tool_call(result, name="search"):
    return Call(1, 2, "tool", name, "ok", "read", args={"query": "refund"}, result=result)


def laid_out(a, b, columns=80, changes=()):
    lines = [line for block in pair_blocks(read_pair(a, b), changes, columns, UNICODE) for line in block.full]
    return ["".join(text for text, _ in (*line.lead, *line.pieces)).rstrip() for line in lines]


async def shown(app, pilot, words):
    await read(app, pilot)
    await until(pilot, lambda: any(words in row for row in screen_text(app)))
    await pilot.pause()
    return screen_text(app)


async def test_steps_with_causes_states_and_calls_stand_beside_each_other_where_there_are_columns(forked):  # noqa: F811
    async with forked.run_test(size=(200, 50)) as pilot:
        rows = await shown(forked, pilot, "WHAT THE MODEL SAW AND SAID")
        title = next(row for row in rows if "STATE" in row)
        assert title.index("STEPS") < title.index("STATE") < title.index("WHAT THE MODEL SAW AND SAID")
        text = "\n".join(rows)
        for heading in (
            "WHY THEY PARTED",
            "SAME",
            "WHERE IT WENT",
            "ALIKE",
            "ANSWERED",
            "TOOLS OFFERED",
            "TOOLS CALLED",
        ):
            assert text.count(heading) == 1
        assert text.count("main_v2 ran instead") == 1, "the rule leaves it to the reasons"
        assert any("messages[4]" in row and "what it answered →" in row for row in rows)
        await pilot.resize_terminal(120, 40)
        rows = await shown(forked, pilot, "in the calls")
        assert not any("WHAT THE MODEL SAW" in row for row in rows)
        assert any("≠ assistant Our help centre" in row for row in rows)


async def test_the_column_in_focus_has_the_screen_with_one_key_and_tab_goes_on_to_the_next(forked):  # noqa: F811
    async with forked.run_test(size=(200, 50)) as pilot:
        await shown(forked, pilot, "WHAT THE MODEL SAW AND SAID")
        await pilot.press("tab", "tab", "z")
        rows = await shown(forked, pilot, "STATE")
        assert not any("WHY THEY PARTED" in row or "WHAT THE MODEL SAW" in row for row in rows)
        await pilot.press("tab")
        await until(pilot, lambda: any("WHAT THE MODEL SAW" in row for row in screen_text(forked)))
        assert not any(" STATE " in row for row in screen_text(forked))
        await pilot.press("z")
        await until(pilot, lambda: any("WHY THEY PARTED" in row for row in screen_text(forked)))


def test_of_two_requests_each_part_that_differs_is_named_and_the_rest_is_said_once():
    a = [model_call([SYSTEM, USER], "I look.", temperature=0.2, tools=["search"])]
    b = [model_call([{**SYSTEM, "content": "Answer at once."}, USER], "It is sent.", temperature=0.7, tools=["search"])]
    rows = laid_out(a, b)
    assert "≠ temperature  A 0.2  B 0.7" in rows
    assert "SAW  2 messages, 1 differs" in rows
    assert "≠ system    ▎ A Answer from the help centre." in rows
    assert "              B Answer at once." in rows
    assert "≡ user      ▎ Where is my refund?" in rows
    assert sum("Where is my refund?" in row for row in rows) == 1
    assert rows[rows.index("TOOLS OFFERED") + 1] == "≡ search"


def test_a_message_that_differs_in_the_state_is_pointed_at_there():
    new = {**SYSTEM, "content": "Answer at once."}
    changes = compare_states({"messages": [SYSTEM]}, {"messages": [new]})
    rows = laid_out([model_call([SYSTEM], "x")], [model_call([new], "x")], changes=changes)
    assert "≠ system    ▎ ← messages[0].content, in the state" in rows
    assert not any("at once" in row for row in rows)


def test_a_step_that_one_run_did_not_take_has_the_calls_of_the_other_alone():
    rows = laid_out([model_call([USER], "I look."), tool_call({"docs": []})], [])
    assert rows[0] == "◆ m  only A asked a model"
    assert "SAW  1 message" in rows
    assert "● search  only A called it" in rows
    assert not any(row.startswith(("B ", "≠", "≡")) for row in rows)
    assert laid_out([], []) == ["no model and no tool was called here"]


def test_a_result_of_nothing_is_a_dash_and_lines_of_an_answer_stay_lines():
    rows = laid_out([tool_call(None)], [tool_call(None)])
    assert "≡ came back –" in rows
    rows = laid_out([model_call([USER], "One\ntwo")], [model_call([USER], "One\nthree")])
    at = rows.index("ANSWERED")
    assert [row.split() for row in rows[at + 1 : at + 5]] == [["A", "One"], ["two"], ["B", "One"], ["three"]]


def test_what_the_calls_show_is_pointed_at_in_the_state_and_not_listed_as_alike():
    answers = ("I look.", "It is sent.")
    pair = read_pair(*([model_call([SYSTEM], answer), tool_call({"docs": []})] for answer in answers))
    states = [
        {"messages": [SYSTEM, {"role": "assistant", "content": answer}], "answer": answer, "n": 1} for answer in answers
    ]
    changes = compare_states(*states)
    paths = [change.path for change in changes]
    said = places_at_the_right(pair, changes, "→")
    assert {paths[index] for index, _ in said} == set(paths)
    assert {side for _, side in said} == {"a", "b"}
    assert set(said.values()) == {"what it answered →"}
    alike = list(alike_places(*states, changed=paths))
    assert [each.path for each in without_seen(alike, pair)] == ["messages[1].role", "n"]
    result = {"role": "tool", "content": '{"docs": []}'}
    (added,) = compare_states({"messages": []}, {"messages": [result]})
    assert places_at_the_right(pair, [added], "→") == {(0, "b"): "what came back →"}


STATES = st.recursive(
    st.none() | st.integers(0, 2) | st.sampled_from(["a", "b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from("xyz"), STATES), st.dictionaries(st.sampled_from("xyz"), STATES))
def test_what_is_alike_is_at_its_place_in_both_and_nothing_below_a_change(a, b):
    changed = [change.path for change in compare_states(a, b)]
    for each in alike_places(a, b, changed):
        assert not any(each.path == path or each.path.startswith((f"{path}.", f"{path}[")) for path in changed if path)
        assert each.value in _values(a)
        assert each.value in _values(b)


def _values(node):
    inner = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return [node, *(found for each in inner for found in _values(each))]


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6) | st.none()), max_size=6), st.integers(0, 30))
def test_nothing_is_cut_while_a_row_is_free_and_what_is_cut_says_so(sizes, rows):
    blocks = [
        Block([TextLine(((f"{n}.{line}", "text"),)) for line in range(size)], least)
        for n, (size, least) in enumerate(sizes)
    ]
    given_rows = list(as_far_as_free(blocks, rows, "…"))
    whole = sum(size for size, _ in sizes)
    least = sum(size if most is None else min(size, most) for size, most in sizes)
    assert len(given_rows) == max(least, min(rows, whole))
    cut = {n for n, (size, _) in enumerate(sizes) if f"{n}.{size - 1}" not in {row.pieces[0][0] for row in given_rows}}
    marked = {int(row.pieces[0][0].split(".")[0]) for row in given_rows if row.pieces[-1][0] == " …"}
    assert marked == cut
