"""The parts of asking by themselves: names of checkpoints, words of answers, boards of watches, facts of calls."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.memory_store import Did, MemorySource
from tests.core.store.recordings import begin, new_store, step

from agent_tt.errors import UsageError
from agent_tt.model import CallEnd, ErrorInfo, NewCall, NewStep, StepEnd
from agent_tt.querying.checkpoints import parse_checkpoint, split_file
from agent_tt.querying.provenance.model_reading import answer_text, places_read
from agent_tt.querying.watches.kept_watches import keep_watch
from agent_tt.querying.watches.step_search import Watch
from agent_tt.querying.watches.watchpoints import Watchpoints, last_ended

if TYPE_CHECKING:
    from pathlib import Path

# ---------------------------------------------------------------- names of checkpoints


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("loop@3", ("loop", "3")),
        ("loop@error", ("loop", "@error")),
        ("loop@@error", ("loop", "@error")),
        ("THREAD@1f@4", ("THREAD@1f", "4")),
        ("a@b@@error", ("a@b", "@error")),
        ("latest@~1", ("latest", "~1")),
    ],
)
def test_a_checkpoint_is_a_run_and_a_step(text: str, parts: tuple[str, str]) -> None:
    assert parse_checkpoint(text) == parts


@pytest.mark.parametrize("text", ["", "loop", "@", "@3", "loop@", "@error", "@@error", "error"])
def test_what_is_no_run_with_a_step_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not RUN@STEP") as caught:
        parse_checkpoint(text)
    assert caught.value.hint == "Name a run and a step of it: refund-loop@3, latest@~1, refund-loop@error."


def test_what_stands_before_a_colon_is_a_file_only_where_there_is_one(tmp_path: Path) -> None:
    plain, odd = tmp_path / "runs.db", tmp_path / "a:b.db"
    for file in (plain, odd):
        file.write_text("")
    assert split_file(f"{plain}:loop@3") == (plain, "loop@3")
    assert split_file(f"{odd}:x:y@3") == (odd, "x:y@3")
    assert split_file(f"{plain}:") == (None, f"{plain}:")
    for text in (f"{tmp_path}:loop@3", "loop:one@3", ":loop@3", "loop@3", str(plain)):
        assert split_file(text) == (None, text)


# ---------------------------------------------------------------- answers of models


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("yes", "yes"),
        (None, None),
        (True, None),
        (7, "7"),
        (1.5, "1.5"),
        ({"content": "said", "text": "a longer other text"}, "said"),
        ({"text": "said", "id": "a longer other text"}, "said"),
        ({"message": {"role": "assistant", "content": "said"}, "note": "a longer other text"}, "said"),
        ({"output_text": "said", "x": "a longer other text"}, "said"),
        ({"parts": [{"text": "said"}], "x": "a longer other text"}, "said"),
        ({"content": "", "text": "said"}, "said"),
        (
            {"content": [{"type": "thinking", "text": "a long line of thought"}, {"type": "text", "text": "said"}]},
            "said",
        ),
        ([{"type": "reasoning", "text": "a long line of thought"}, "said"], "said"),
        (["a", "abc", "ab"], "abc"),
        ([], None),
        ({}, None),
        ({"reply": "short", "more": {"reply": "the longest of all"}}, "the longest of all"),
    ],
)
def test_the_words_of_an_answer(answer: Any, words: str | None) -> None:
    assert answer_text(answer) == words


def test_more_words_in_a_row_are_likelier_to_have_been_read() -> None:
    asked = {"messages": [{"role": "user", "content": "the grand hotel in lisbon costs 412 euros"}, {"x": "lisbon"}]}
    found = places_read(asked, "The grand hotel in Lisbon costs 412 euros a night.")
    assert found[0].path == ("messages", 0, "content")
    assert [read.score for read in found] == sorted((read.score for read in found), reverse=True)


# ---------------------------------------------------------------- boards of watches


def test_the_next_and_the_last_stop_are_those_of_the_breakpoint_that_is_nearest(tmp_path: Path) -> None:
    with closing(new_store(tmp_path)) as store:
        writer = begin(store, {})
        for number in range(1, 9):
            step(writer, {"n": number, "m": number % 4})
        writer.finish("succeeded")
        run = store.run(writer.run_id)
        keep_watch(store, run.id, "state.n > 0")  # on, but no breakpoint
        keep_watch(store, run.id, "state.m == 2", breaks=True)
        keep_watch(store, run.id, "state.n == 5", breaks=True)
        board = Watchpoints(store, run.id)
        assert (board.looked, board.stop_before(9), board.stop_after(0)) == (None, None, None)
        assert board.read()
        assert not board.read()
        while board.look(run):
            pass

        def stop(found: Any) -> tuple[int, str] | None:
            return None if found is None else (found[0], found[1].watch.where)

        assert [stop(board.stop_after(at)) for at in (0, 2, 5, 6)] == [
            (2, "state.m == 2"),
            (5, "state.n == 5"),
            (6, "state.m == 2"),
            None,
        ]
        assert [stop(board.stop_before(at)) for at in (9, 6, 5, 2)] == [
            (6, "state.m == 2"),
            (5, "state.n == 5"),
            (2, "state.m == 2"),
            None,
        ]
        assert [row.watch.where for row in board.at(5)] == ["state.n == 5", "state.n > 0"]
        assert [row.watch.where for row in board.breakpoints] == ["state.m == 2", "state.n == 5"]
        assert board.looked == 8


def test_the_last_step_that_ended_is_before_those_that_still_run(tmp_path: Path) -> None:
    with closing(new_store(tmp_path)) as store:
        writer = begin(store, {})
        run = writer.run_id
        assert last_ended(store, run) == 0
        step(writer, {"n": 1})
        assert last_ended(store, run) == 1
        open_steps = [writer.open_step(NewStep(name="slow")) for _ in range(2)]
        assert last_ended(store, run) == 1
        writer.close_step(open_steps[1], StepEnd(status="ok"), {"n": 3})
        assert last_ended(store, run) == 3
        writer.close_step(open_steps[0], StepEnd(status="ok"), {"n": 2})
        only = writer.open_step(NewStep(name="slow"))
        assert (only, last_ended(store, run)) == (4, 3)
        writer.finish("interrupted")


# ---------------------------------------------------------------- facts of calls


@pytest.mark.parametrize(
    ("where", "steps"),
    [
        ('call.kind == "tool"', [1, 2]),
        ('call.kind == "llm"', [3]),
        ('call.name == "look"', [1]),
        ('call.effect == "write"', [2]),
        ('call.status == "error"', [2]),
        ('call.lane == "main/web.0"', [3]),
        ('call.error =~ "late"', [2]),
        ("call.ms >= 0", [1, 2, 3]),
        ("call.duration_ms >= 0", [1, 2, 3]),
        ('tool == "look"', [1]),
        ('model == "m-1"', [3]),
        ("args.q == 7", [1]),
        ("result.found == 3", [1]),
    ],
)
def test_each_fact_of_a_call_is_asked_by_its_name(tmp_path: Path, where: str, steps: list[int]) -> None:
    calls = [
        (NewCall("tool", "look", {"q": 7}, "00" * 16, effect="read"), CallEnd("ok", result={"found": 3})),
        (
            NewCall("tool", "pay", {"q": 8}, "01" * 16, effect="write"),
            CallEnd("error", error=ErrorInfo("builtins:TimeoutError", "late")),
        ),
        (NewCall("llm", "ask", {}, "02" * 16, lane="main/web.0", meta={"model": "m-1"}), CallEnd("ok", result="x")),
    ]
    with closing(new_store(tmp_path)) as store:
        writer = begin(store, {})
        for begun, ended in calls:
            number = writer.open_step(NewStep(name="work"))
            writer.end_call(number, writer.begin_call(number, begun), ended)
            writer.close_step(number, StepEnd(status="ok"), {})
        writer.finish("succeeded")
        watch = Watch(store, writer.run_id, where)
        assert list(watch.steps()) == steps
        assert [number for number in range(4) if watch.facts_at(number) is not None] == steps


def test_the_previous_step_is_the_last_of_the_page_in_which_it_holds() -> None:
    source = MemorySource()
    run = source.add("a", [Did(name="work", state={"n": number % 7}) for number in range(1, 200)], state={"n": 9})
    watch = Watch(source, run.id, "state.n == 3")
    holds = [number for number in range(200) if number and number % 7 == 3]
    for before in range(201):
        assert watch.previous(before) == next((each for each in reversed(holds) if each < before), None)
        assert watch.next(before) == next((each for each in holds if each > before), None)
