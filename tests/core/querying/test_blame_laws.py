"""What blame says of runs of which the truth is known: it never names a wrong place, nor the code for a copy."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.memory_store import Did, MemorySource

import agent_tt
from agent_tt.codec.sameness import identical
from agent_tt.querying.provenance.blaming import blame_value

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.querying.provenance.links import Link, Trail

COMMON = st.sampled_from([False, True, None, 0, 1, 7, 14, "no", "ok", "late", "", 3.5, [], {}])
TELLING = st.one_of(
    st.integers(10_000, 99_999),
    st.integers(100, 999).map(lambda n: f"order-{n}-QX"),
    st.integers(0, 99).map(lambda n: f"the parcel was left with neighbour number {n} at noon"),
    st.decimals(100, 9_999, places=2).map(float),
)
KEYS = st.sampled_from(["approved", "limit", "note", "total", "who", "status"])
RESULTS = st.one_of(COMMON, TELLING, st.dictionaries(KEYS, st.one_of(COMMON, TELLING), min_size=1, max_size=3))
WRAPPED = st.sampled_from(["plain", "json", "nested"])
"""How a tool gives its result back: as it is, as JSON, as JSON in a field of a mapping."""


def wrapped(result: Any, how: str) -> Any:
    match how:
        case "json":
            return json.dumps(result)
        case "nested":
            return {"content": [{"type": "text", "text": json.dumps({"data": result})}]}
        case _:
            return result


def parts(result: Any) -> list[Any]:
    return [result, *result.values()] if isinstance(result, dict) else [result]


def named(link: Link) -> set[tuple[int, str]]:
    """The steps and tools that a link names."""
    own = {(link.step, link.name)} if link.name else set()
    return own | {(other.step, other.name) for other in link.others}


def blamed(steps: list[Did], state: dict[str, Any] | None = None) -> Trail:
    source = MemorySource()
    source.add("run", steps, state=state or {})
    return blame_value(source, "run", "out", len(steps)).trail


@st.composite
def calls(draw: st.DrawFn) -> list[tuple[Any, str]]:
    return draw(st.lists(st.tuples(RESULTS, WRAPPED), min_size=1, max_size=4))


@given(calls(), st.data(), st.booleans())
@settings(max_examples=300, deadline=None)
def test_the_call_that_a_value_was_copied_from_is_named_or_nobody_is(
    made: list[tuple[Any, str]], data: st.DataObject, in_its_step: bool
) -> None:
    steps = [
        Did(f"s{n}", tool=f"tool{n}", args={"question": f"number {n}"}, result=wrapped(*each), state={})
        for n, each in enumerate(made, start=1)
    ]
    chosen = data.draw(st.integers(1, len(made)))
    value = data.draw(st.sampled_from(parts(made[chosen - 1][0])))
    if in_its_step:
        steps = steps[:chosen]
        steps[-1].state = {"out": value}
    else:
        steps.append(Did("write", state={"out": value}))
    found = blamed(steps)
    link = found.links[1]
    assert link.kind != "code", (link, found.ends)
    if link.kind == "computed":
        return  # worked out, and said to be perhaps so
    full = len(link.others) >= 4
    assert link.kind == "unknown" or full or (chosen, f"tool{chosen}") in named(link), (link, found.ends)
    if link.kind == "result" and not link.others:
        assert (link.step, link.name) == (chosen, f"tool{chosen}")


@given(calls(), COMMON | TELLING)
@settings(max_examples=200, deadline=None)
def test_what_the_code_made_is_no_calls_unless_that_holds_it(made: list[tuple[Any, str]], value: Any) -> None:
    steps = [
        Did(f"s{n}", tool=f"tool{n}", args={"question": f"number {n}"}, result=wrapped(*each), state={})
        for n, each in enumerate(made, start=1)
    ]
    steps.append(Did("write", state={"out": value}))
    link = blamed(steps).links[1]
    holders = {n for n, (result, _) in enumerate(made, start=1) if any(identical(p, value) for p in parts(result))}
    if link.kind == "result" and link.why in ("the same value", "the same text"):
        assert link.step in holders
    if link.kind == "code":
        assert not holders
        assert "the agent's own code made it" in link.why
    if link.kind == "candidates":
        assert "or the agent's own code made it" in link.why


def test_across_lanes_the_writer_is_the_step_that_wrote_or_one_of_those_that_were_open(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"

    @agent_tt.tool(effect="read")
    async def fetch(who: str) -> Any:
        await asyncio.sleep(0)
        return held[who]

    async def worker(run: Any, state: dict[str, Any], who: str, written: asyncio.Event, end: asyncio.Event) -> None:
        with run.step(who, state):
            state[who] = await fetch(who)
            written.set()
            await end.wait()

    async def main() -> str:
        state: dict[str, Any] = {}
        written, over = asyncio.Event(), asyncio.Event()
        with agent_tt.record("shared", state=state, store=store) as run:
            slow = asyncio.create_task(worker(run, state, "slow", written, over))
            await written.wait()
            await asyncio.create_task(worker(run, state, "quick", written, written))
            over.set()
            await slow
        return run.id

    for values in ((48_151, 62_342), (7, 7), (True, False)):
        held = {"slow": values[0], "quick": values[1]}
        run_id = asyncio.run(main())
        with closing(agent_tt.open_source(store)) as source:
            names = {step.number: step.name for step in source.steps(run_id)}
            for who in ("slow", "quick"):
                found = blame_value(source, run_id, who, len(names))
                link = found.trail.links[0]
                writers = {names[link.step], *(other.name for other in link.others)}
                assert who in writers
                if values[0] > 1_000:
                    assert (names[link.step], found.trail.links[1].kind) == (who, "result")
                (write,) = found.writes
                assert who in {names[write.step], *(names[step] for step in write.beside)}


@given(st.integers(2, 98), st.sampled_from(["json", "text", "field"]))
@settings(max_examples=60, deadline=None)
def test_nothing_is_not_said_of_an_answer_with_a_small_figure_of_what_was_read(number: int, how: str) -> None:
    told = {"json": json.dumps({"window_days": number}), "text": f"window_days {number}", "field": number}[how]
    request = {"messages": [{"role": "user", "content": "May I?"}, {"role": "tool", "content": told}]}
    answer = {"content": f"You have {number} d."}
    for tool in (None, "policy"):
        steps = [Did("look", tool=tool, args={"q": "x"}, result={"window_days": number})] if tool else []
        steps.append(Did("ask", answer=answer, asked=request, state={"out": answer["content"]}))
        found = blamed(steps)
        assert "nothing" not in found.ends
        assert found.links[-1].kind in ("request", "candidates", "result", "argument", "input"), found
