"""Whatever is recorded, appended and deleted: an index answers as reading does."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.memory_store import Did, MemorySource

from agent_tt.errors import UsageError
from agent_tt.model import CallEnd, ErrorInfo, NewCall, NewRun, NewStep, StepEnd
from agent_tt.querying.search.finder import Finder, forget_runs
from agent_tt.querying.search.query import parse
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.querying.search.hits import Hits
    from agent_tt.store import SqliteStore

WORDS = [
    "refund",
    "Refund",
    "refunds",
    "re fund",
    "ΣΊΣΥΦΟΣ",
    "σίσυφος",
    "日本語",
    "é",
    "É",
    "a",
    "ab",
    "b_a",
    "\0x",
    "ſs",
    "7",
]
TEXTS = st.one_of(
    st.sampled_from(WORDS),
    st.lists(st.sampled_from([*WORDS, "\n", '"', "-"]), max_size=5).map(" ".join),
    st.text(max_size=6),
)
VALUES = st.recursive(
    TEXTS | st.integers(0, 99) | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["messages", "note", "re"]), inner, max_size=2)
    ),
    max_leaves=6,
)
STEPS = st.builds(
    Did,
    name=TEXTS,
    tool=st.sampled_from([None, "search", "charge"]),
    args=st.dictionaries(st.sampled_from(["q", "messages"]), VALUES, max_size=2),
    result=VALUES,
    answer=st.none() | VALUES,
    asked=st.dictionaries(st.just("messages"), st.lists(TEXTS, max_size=3), max_size=1),
    agent=st.sampled_from([None, "ada", "bo"]),
    decision=st.none() | TEXTS,
    error=st.none() | st.builds(ErrorInfo, st.just("m:E"), TEXTS),
    state=st.dictionaries(st.sampled_from(["messages", "note", "count"]), VALUES, max_size=3),
)
FILTERS = st.sampled_from(
    ["", "in:state ", "in:mes ", "in:arguments,error ", "tool:sea ", "agent:ada ", "step:2-3 ", "step:1 "]
)
QUESTIONS = st.one_of(
    st.tuples(FILTERS, TEXTS).map("".join).map(lambda text: (text, False)),
    st.sampled_from(["re.?funds?", "a+b|日本", "^re", "[0-9]{2}", "refund$", "(ab|x)e*", "σ.*ς", "Refund"]).map(
        lambda text: (text, True)
    ),
)


def asked_both_ways(
    indexed: Finder, reading: Finder, runs: Sequence[str] | None, question: tuple[str, bool]
) -> tuple[list[Hits], list[Hits]]:
    text, regex = question
    try:
        parse(text, regex=regex)
    except UsageError:
        return [], []
    return tuple(
        [finder.found(parse(text, regex=regex), runs, by=by, limit=500) for by in ("rank", "step")]
        for finder in (indexed, reading)
    )


@settings(max_examples=14)
@given(st.data())
def test_an_index_of_another_systems_runs_answers_as_reading_does(data: st.DataObject) -> None:
    source = MemorySource()
    with tempfile.TemporaryDirectory() as folder:
        finder = Finder(source, use_index=True, folder=Path(folder))
        reading = Finder(source, use_index=False)
        source.add("root", data.draw(st.lists(STEPS, min_size=1, max_size=3)), state=data.draw(VALUES))
        for number in range(data.draw(st.integers(2, 5))):
            if not source.names():
                source.add(f"new-{number}", data.draw(st.lists(STEPS, max_size=2)), state=data.draw(VALUES))
            match data.draw(st.sampled_from(["append", "fork", "another", "delete", "restart"])):
                case "append":
                    source.append(data.draw(st.sampled_from(sorted(source.names()))), data.draw(STEPS))
                case "fork":
                    parent = data.draw(st.sampled_from(sorted(source.names())))
                    at = data.draw(st.integers(0, source.step_count(parent)))
                    source.add(f"fork-{number}", data.draw(st.lists(STEPS, max_size=2)), parent=parent, fork_step=at)
                case "another":
                    source.add(f"run-{number}", data.draw(st.lists(STEPS, max_size=2)), state=data.draw(VALUES))
                case "delete":
                    source.delete(data.draw(st.sampled_from(sorted(source.names()))))
                case _:
                    finder.close()
                    finder = Finder(source, use_index=True, folder=Path(folder))
            named = data.draw(st.sampled_from([None, *sorted(source.names())]))
            by_index, by_reading = asked_both_ways(
                finder, reading, None if named is None else [named], data.draw(QUESTIONS)
            )
            assert by_index == by_reading
        assert finder.uses_index
        finder.close()


def write(store: SqliteStore, steps: list[Did], state: object) -> str:
    writer = store.begin_run(NewRun("law"), state)
    for did in steps:
        number = writer.open_step(NewStep(did.name, agent=did.agent))
        if did.tool is not None:
            call = writer.begin_call(number, NewCall("tool", did.tool, did.args, "0" * 32, effect="read"))
            writer.end_call(number, call, CallEnd("ok", did.result))
        if did.answer is not None:
            call = writer.begin_call(number, NewCall("llm", "model", did.asked, "1" * 32))
            writer.end_call(number, call, CallEnd("ok", did.answer))
        writer.close_step(number, StepEnd("ok", decision=did.decision), did.state)
    writer.finish("succeeded")
    return writer.run_id


@settings(max_examples=4)
@given(st.data())
def test_an_index_of_a_store_answers_as_reading_does(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "runs.db"
        with closing(open_store(path, create=True, durability="normal")) as store:
            indexed, reading = Finder(store, use_index=True, folder=Path(folder)), Finder(store, use_index=False)
            runs = [write(store, data.draw(st.lists(STEPS, max_size=4)), data.draw(VALUES)) for _ in range(2)]
            for _ in range(3):
                named = data.draw(st.sampled_from([None, *runs]))
                by_index, by_reading = asked_both_ways(
                    indexed, reading, None if named is None else [named], data.draw(QUESTIONS)
                )
                assert by_index == by_reading
            store.delete_runs([runs[0]])
            forget_runs(path, [runs[0]], folder=Path(folder))
            by_index, by_reading = asked_both_ways(indexed, reading, None, data.draw(QUESTIONS))
            assert by_index == by_reading
            indexed.close()
