"""Statistics: what SQLite counts is what reading every run, step and call counts, and what a person counts by hand."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.memory_store import MemoryStore
from tests.core.store.recordings import fork, new_store

from agent_tt.model import AgentCode, CallEnd, ErrorInfo, NewCall, NewRun, NewStep, Replay, StepEnd
from agent_tt.model.statistics import Chosen, RunGroup, spread_of
from agent_tt.protocols import NO_STATE, counted

if TYPE_CHECKING:
    from agent_tt.model.statistics import CallGroup, Statistics
    from agent_tt.protocols import RunSource, Store
    from agent_tt.store import SqliteStore

calls = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["llm", "tool", "http"]),
        "name": st.sampled_from(["search", "pay", "gpt"]),
        "asked": st.integers(0, 1),
        "status": st.sampled_from(["ok", "ok", "error", "pending"]),
        "model": st.sampled_from([None, "gpt-5", "sonnet"]),
        "cost": st.sampled_from([None, 0.25, 0.5]),
        "inside": st.booleans(),
    }
)
steps = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["think", "look"]),
        "calls": st.lists(calls, max_size=3),
        "tokens": st.sampled_from([None, 0, 7]),
        "unpriced": st.sampled_from([None, 2]),
        "checkpoint": st.sampled_from(["taken", "none", "failed"]),
    }
)
runs = st.fixed_dictionaries(
    {
        "agent": st.sampled_from([None, "desk.py:main", "shop.py:main"]),
        "version": st.sampled_from([None, "1", "2"]),
        "steps": st.lists(steps, max_size=4),
        "status": st.sampled_from(["succeeded", "failed", "interrupted", "running"]),
        "tags": st.sets(st.sampled_from(["a", "b"])),
        "fork": st.booleans(),
        "replays": st.lists(st.sampled_from(["as_recorded", "reserved", "diverged", "failed"]), max_size=3),
        "archived": st.booleans(),
    }
)


def make(store: Store, plan: list[dict[str, Any]]) -> None:
    """Record what a plan says."""
    parents: list[str] = []
    for number, run in enumerate(plan):
        if run["fork"] and parents:
            _, writer = fork(store, parents[-1], store.run(parents[-1]).steps, {"n": 1})  # type: ignore[arg-type]
        else:
            code = AgentCode(run["agent"], run["version"])
            writer = store.begin_run(NewRun(f"run {number}", code=code), {"n": 0})
        for step in run["steps"]:
            take(writer, step)
        if run["status"] != "running":
            error = ErrorInfo("builtins:OSError", f"no {number}") if run["status"] == "failed" else None
            writer.finish(run["status"], error)
            parents.append(writer.run_id)
        store.set_tags(writer.run_id, sorted(run["tags"]))
        for place, verdict in enumerate(run["replays"], 1):
            store.keep_replay(Replay(writer.run_id, verdict, duration_us=1000 * place))
        store.set_archived([writer.run_id], archived=run["archived"])


def take(writer: Any, step: dict[str, Any]) -> None:
    number = writer.open_step(NewStep(step["name"]))
    for call in step["calls"]:
        meta = {"model": call["model"], "cost_usd": call["cost"], "tokens_in": 3}
        if call["inside"]:
            meta["inside"] = {"step": number, "call": 1}
        new = NewCall(call["kind"], call["name"], {"n": call["asked"]}, f"{call['asked']:032x}", "read")
        made = writer.begin_call(number, new)
        if call["status"] != "pending":
            error = ErrorInfo("builtins:ValueError", f"at {number}") if call["status"] == "error" else None
            said = {key: value for key, value in meta.items() if value is not None}
            writer.end_call(number, made, CallEnd(call["status"], call["asked"], error, meta=said))
    extra: dict[str, Any] = {} if step["unpriced"] is None else {"unpriced": step["unpriced"]}
    if step["checkpoint"] == "failed":
        extra["state_error"] = "cannot be read"
    end = StepEnd("ok", tokens_in=step["tokens"], cost_usd=step["tokens"] and 0.5, extra=extra)
    writer.close_step(number, end, {"n": number} if step["checkpoint"] == "taken" else NO_STATE)


def everything(source: RunSource, chosen: Chosen, *, by_hand: bool) -> list[object]:
    """All that is counted, in a form in which equals compare equal: sums of fractions, and order among equals."""
    whole = counted.count_everything(source, chosen) if by_hand else source.statistics(chosen)
    found: list[object] = [tidy(whole)]
    for by in ("agent", "day", "version", "tag"):
        groups = counted.count_runs(source, chosen, by) if by_hand else source.run_groups(chosen, by)
        found.append([(group.name, tidy_group(group)) for group in groups])
    count = partial(counted.count_calls, source) if by_hand else source.call_groups
    return [*found, count(chosen, "model"), count(chosen, "tool")]


def tidy(whole: Statistics) -> object:
    amounts = [[step.amount for step in steps] for steps in (whole.slowest, whole.costliest)]
    shares = [Counter(step.share for step in steps) for steps in (whole.slowest, whole.costliest)]
    return (
        *(whole.forks, whole.checkpoints, whole.replays, whole.bytes, amounts, shares),
        tidy_group(whole.whole),
        Counter(whole.loops),
        Counter(whole.errors),
    )


def tidy_group(group: RunGroup) -> RunGroup:
    return replace(group, statuses=dict(sorted(group.statuses.items())))


@settings(max_examples=40, deadline=None)
@given(st.lists(runs, max_size=5), st.sampled_from([None, "desk.py:main"]))
def test_what_sqlite_counts_is_what_reading_everything_counts(plan: list[dict[str, Any]], agent: str | None):
    with TemporaryDirectory() as folder, closing(new_store(Path(folder))) as store:
        make(store, plan)
        chosen = Chosen(agent, most=1_000)
        assert everything(store, chosen, by_hand=False) == everything(store, chosen, by_hand=True)
        starts = sorted(run.started_us for run in store.runs(archived=True))
        if starts:
            late = Chosen(agent, since_us=starts[len(starts) // 2], most=1_000)
            assert everything(store, late, by_hand=False) == everything(store, late, by_hand=True)
        assert store.growth(chosen) == brought(store, chosen)
        # And what follows from the plan alone.
        if agent is None:
            whole = store.statistics(chosen)
            assert whole.whole.runs == len(plan)
            assert whole.whole.steps == sum(len(run["steps"]) for run in plan)
            taken = [step["checkpoint"] for run in plan for step in run["steps"]]
            assert whole.checkpoints is not None
            assert (whole.checkpoints.taken, whole.checkpoints.failed) == (taken.count("taken"), taken.count("failed"))
            assert whole.replays is not None
            assert whole.replays.verdicts == Counter(verdict for run in plan for verdict in run["replays"])
            made = [call for run in plan for step in run["steps"] for call in step["calls"]]
            tools = [call["name"] for call in made if call["kind"] == "tool"]
            assert {group.name: group.calls for group in store.call_groups(chosen, "tool")} == Counter(tools)


def brought(store: SqliteStore, chosen: Chosen) -> dict[str | None, int]:
    """The bytes of the rows of runs, by day."""
    query = store.database.query
    sizes: Counter[object] = Counter()
    for table, columns in (("deltas", "ops"), ("keyframes", "state")):
        owners = dict(query("SELECT track, run FROM tracks"))
        for key, value in query(f"SELECT id, {columns} FROM {table}"):
            sizes[owners[key >> 32]] += len(value)
    for run, *values in query("SELECT run, args, result, error, meta FROM calls"):
        sizes[run] += sum(len(value.encode()) for value in values if value is not None)
    found: Counter[str | None] = Counter()
    for run, agent, started_us in query("SELECT run, agent, started_us FROM runs"):
        if chosen.agent in (None, agent):
            found[datetime.fromtimestamp(started_us / 1e6, UTC).date().isoformat()] += sizes[run]
    return dict(found)


A_CALL = {"kind": "llm", "name": "ask", "asked": 0, "status": "ok", "model": "gpt-5", "cost": 0.25, "inside": False}
A_STEP = {"name": "think", "calls": [A_CALL], "tokens": 7, "unpriced": None, "checkpoint": "taken"}
A_RUN = {
    "agent": "desk.py:main",
    "version": "1",
    "steps": [A_STEP] * 3,
    "status": "succeeded",
    "tags": {"a", "b"},
    "fork": False,
    "replays": ["as_recorded", "diverged", "failed", "reserved"],
    "archived": False,
}


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return new_store(tmp_path) if request.param == "file" else MemoryStore(tmp_path / "nowhere.db")


def test_statistics_of_three_runs_counted_by_hand(store: Store):
    broken = {**A_STEP, "calls": [{**A_CALL, "kind": "tool", "status": "error"}], "tokens": None, "unpriced": 1}
    make(store, [A_RUN, {**A_RUN, "status": "failed", "steps": [broken], "replays": [], "agent": None}])
    whole = store.statistics(Chosen())
    assert whole.whole.statuses == {"succeeded": 1, "failed": 1}
    assert (whole.whole.runs, whole.whole.steps, whole.whole.success_rate) == (2, 4, 0.5)
    usage = whole.whole.usage
    assert (usage.tokens_in, usage.tokens_out, usage.cost_usd, usage.unpriced) == (21, None, 1.5, 1)
    assert whole.checkpoints is not None
    assert whole.checkpoints.success_rate == 1
    replays = whole.replays
    assert replays is not None
    assert (replays.success_rate, replays.divergence_rate) == (0.5, 0.25)
    assert (replays.took.count, replays.took.median_us, replays.took.p95_us) == (3, 2000, 4000)
    assert [(loop.name, loop.runs, loop.times) for loop in whole.loops] == [("think", 1, 3)]
    assert {(error.name, error.class_name, error.count) for error in whole.errors} == {
        ("ask", "builtins:ValueError", 1),
        (None, "builtins:OSError", 1),
    }
    assert [step.amount for step in whole.costliest] == [0.5, 0.5, 0.5]
    assert whole.costliest[0].share == pytest.approx(1 / 3)
    agents = {group.name: group.runs for group in store.run_groups(Chosen(), "agent")}
    assert agents == {"desk.py:main": 1, None: 1}
    assert [group.runs for group in store.run_groups(Chosen(), "tag")] == [2, 2], "a run is in each of its tags"
    assert len(store.run_groups(Chosen(), "day")) in (1, 2)
    (model,) = store.call_groups(Chosen(), "model")
    assert (model.name, model.calls, model.runs, model.usage.cost_usd) == ("gpt-5", 3, 1, 0.75)


def test_of_a_run_whose_cost_is_not_all_known_no_step_is_said_to_be_so_much(store: Store):
    priced, unpriced = A_STEP, {**A_STEP, "tokens": None, "unpriced": 1}
    make(store, [{**A_RUN, "steps": [priced, unpriced]}, {**A_RUN, "steps": [priced, priced]}])
    costliest = store.statistics(Chosen()).costliest
    assert sorted((step.run_name, step.share) for step in costliest) == [
        ("run 0", None),
        ("run 1", 0.5),
        ("run 1", 0.5),
    ]


def test_tokens_of_a_function_that_asks_a_model_are_counted_once(store: Store):
    outer, inner = {**A_CALL, "model": None}, {**A_CALL, "inside": True}
    make(store, [{**A_RUN, "steps": [{**A_STEP, "calls": [outer, inner]}]}])
    groups: dict[str | None, CallGroup] = {group.name: group for group in store.call_groups(Chosen(), "model")}
    assert (groups["gpt-5"].usage.cost_usd, groups["gpt-5"].usage.tokens_in) == (0.25, 3)
    assert (groups[None].calls, groups[None].usage.cost_usd) == (1, None)


def test_an_empty_store_says_nothing_of_what_it_cannot_know(store: Store):
    whole = store.statistics(Chosen())
    assert whole.whole == RunGroup(None)
    assert (whole.whole.success_rate, whole.whole.usage.cost_usd, whole.whole.took.median_us) == (None, None, None)
    assert whole.checkpoints is not None
    assert whole.replays is not None
    assert (whole.checkpoints.success_rate, whole.replays.success_rate, whole.replays.divergence_rate) == (None,) * 3
    assert store.run_groups(Chosen(), "agent") == store.call_groups(Chosen(), "tool") == []


@given(st.lists(st.integers(0, 50), min_size=1))
def test_quantiles_are_the_smallest_that_so_many_do_not_exceed(durations: list[int]):
    spread = spread_of(sorted(durations))
    for part, found in ((50, spread.median_us), (95, spread.p95_us), (100, spread.longest_us)):
        fitting = [
            each for each in durations if 100 * sum(other <= each for other in durations) >= part * len(durations)
        ]
        assert found == min(fitting)
    assert (spread.count, spread.total_us) == (len(durations), sum(durations))
