"""What every `RunSource` must do, whatever file is behind it.

Call `check_source(source)` with a source that holds at least one run with at least two steps; it asserts. Runs longer
than `MOST_STEPS` are checked at both ends.
"""

from __future__ import annotations

import copy
import random
from typing import TYPE_CHECKING

import pytest

from agent_tt.addresses import Address
from agent_tt.codec.paths import get
from agent_tt.codec.tlv import tlv
from agent_tt.errors import PathNotFound, RunNotFound, StepNotFound
from agent_tt.history.changes.ops import apply
from agent_tt.history.digest import digest
from agent_tt.protocols import RunSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.model import Run

MOST_STEPS = 60
MOST_PATHS = 4


def check_source(source: RunSource) -> None:
    """Everything below, on every run of the source."""
    assert isinstance(source, RunSource)
    assert source.path.exists()
    check_runs(source)
    for run in source.runs():
        check_steps(source, run)
        check_deliveries(source, run)
        check_states(source, run)
        check_cursor(source, run)
        check_writes(source, run)
    check_reading_changes_nothing(source)


def check_runs(source: RunSource) -> None:
    runs = source.runs()
    assert runs
    assert [run.started_us for run in runs] == sorted((run.started_us for run in runs), reverse=True)
    assert len({run.id for run in runs}) == len(runs)
    by_id = {run.id: run for run in source.runs(archived=True)}
    parents = {run.id: run.parent for run in by_id.values()}
    for run in runs:
        assert source.run(run.id) == run
        assert source.step_count(run.id) == run.steps
        assert run.parent is None or run.parent in by_id
        assert run.ended_us is None or run.ended_us >= run.started_us
        assert isinstance(source.notes(run.id), list)
        assert all(0 <= step <= run.steps for step in source.labels(run.id))
        assert source.questions(run.id) == [each for each in source.questions() if each.run_id == run.id]
    everything = source.runs(archived=True)
    assert [run for run in everything if not run.archived] == runs
    for limit in (0, 1, len(runs), len(runs) + 3):
        assert source.runs(limit=limit) == runs[:limit]
    for run in everything:
        assert {fork.id for fork in source.forks(run.id)} == {
            other.id for other in everything if other.parent == run.id
        }
        below = [fork.id for fork in source.forks(run.id, deep=True)]
        order = {run_id: place for place, run_id in enumerate([run.id, *below])}
        assert len(order) == len(below) + 1
        assert all(order[parents[fork]] < order[fork] for fork in below)
    assert source.run("latest") in runs
    with pytest.raises(RunNotFound):
        source.run("no run has such a name")


def check_steps(source: RunSource, run: Run) -> None:
    steps = source.steps(run.id)
    assert [step.number for step in steps] == list(range(1, run.steps + 1))
    for step in steps:
        assert step.parent is None or 0 < step.parent < step.number
        assert step.calls == len(source.calls(run.id, step.number)) or step.number > MOST_STEPS
        assert step.inherited == (run.fork_step is not None and step.number <= run.fork_step)
    for start, stop in ((1, 2), (2, 4), (run.steps, run.steps + 5), (run.steps + 1, None), (1, 1)):
        expected = [step for step in steps if step.number >= start and (stop is None or step.number < stop)]
        assert source.steps(run.id, start, stop) == expected
    assert source.step_number(run, "0") == 0
    assert source.step_number(run, str(run.steps)) == run.steps
    if run.steps:
        assert source.step_number(run, "~1") == run.steps - 1
    errors = [step.number for step in steps if step.status == "error"]
    if errors:
        assert source.step_number(run, "@error") == errors[0]
    else:
        with pytest.raises(StepNotFound):
            source.step_number(run, "@error")
    for absent in (str(run.steps + 1), "~" + str(run.steps + 1), "nonsense", "-1"):
        with pytest.raises(StepNotFound):
            source.step_number(run, absent)
    for step in _sample(run):
        for number, call in enumerate(source.calls(run.id, step), 1):
            assert (call.step, call.number) == (step, number)
    with pytest.raises(StepNotFound):
        source.calls(run.id, run.steps + 1)
    heads = [(head.step, head.number) for head in source.call_heads(run.id)]
    middle = run.steps // 2
    assert heads == sorted(heads)
    assert [(head.step, head.number) for head in source.call_heads(run.id, 1, middle + 1)] == [
        each for each in heads if each[0] <= middle
    ]


def check_deliveries(source: RunSource, run: Run) -> None:
    taken: set[int] = set()
    for step in _sample(run):
        for call in source.calls(run.id, step):
            pieces = source.deliveries(run.id, step, call.number)
            numbers = [piece.number for piece in pieces]
            assert numbers == sorted(numbers)
            assert {piece.kind for piece in pieces[:-1]} <= {"chunk"}
            if call.status == "pending":
                assert call.delivered is None
            elif pieces:
                assert pieces[-1].kind != "chunk"
                assert call.delivered == numbers[-1]
            mine = {*numbers, call.delivered} - {None}
            assert taken.isdisjoint(mine), "two answers of one number"
            taken |= {number for number in mine if number is not None}
    assert source.deliveries(run.id, min(1, run.steps), 10**6) == []
    with pytest.raises(StepNotFound):
        source.deliveries(run.id, run.steps + 1, 1)


def check_states(source: RunSource, run: Run) -> None:
    for step in _sample(run):
        state = source.state(run.id, step)
        known = source.digest(run.id, step)
        assert known is None or known == digest(state)
        base = source.base_step(run.id, step)
        if base is not None:
            assert base != step
            changes = copy.deepcopy(source.changes(run.id, step))
            assert tlv(apply(source.state(run.id, base), changes)) == tlv(state), f"changes of step {step}"
        assert tlv(source.states(run.id, 0, step)[1]) == tlv(state)
        for path in _paths(state):
            assert tlv(source.value(run.id, step, path)) == tlv(get(state, path))
            assert source.has_value(run.id, step, path)
        _spoil(state)
        assert known is None or digest(source.state(run.id, step)) == known, "a caller's copy is its own"
        with pytest.raises(PathNotFound):
            source.value(run.id, step, ("no such key anywhere", 10**6))
        assert not source.has_value(run.id, step, ("no such key anywhere", 10**6))
    for absent in (-1, run.steps + 1):
        with pytest.raises(StepNotFound):
            source.state(run.id, absent)


def check_cursor(source: RunSource, run: Run) -> None:
    steps = _sample(run)
    visits = [*steps, *reversed(steps), *random.Random(5).sample(steps, len(steps))]
    cursor = source.cursor(run.id, steps[0])
    for step in visits:
        assert tlv(cursor.seek(step)) == tlv(source.state(run.id, step)), f"cursor at step {step}"
        assert cursor.step == step
        assert cursor.state is cursor.seek(step)
    with pytest.raises(StepNotFound):
        cursor.seek(run.steps + 1)


def check_writes(source: RunSource, run: Run) -> None:
    for step in _sample(run)[-3:]:
        for path in _paths(source.state(run.id, step)):
            written = source.last_write(run.id, step, path)
            assert written is None or 0 <= written <= run.steps
            following = source.next_write(run.id, step, path)
            assert following is None or following != step


def check_reading_changes_nothing(source: RunSource) -> None:
    before, version = _content(source), source.version()
    for run in source.runs():
        source.verify(run.id)
        source.damaged_steps(run.id)
    assert source.version() == version
    assert _content(source) == before


def _sample(run: Run) -> list[int]:
    everything = list(range(run.steps + 1))
    half = MOST_STEPS // 2
    return everything if len(everything) <= MOST_STEPS else everything[:half] + everything[-half:]


def _paths(state: Wire) -> list[Path]:
    found = list(_walk(state, ()))
    return random.Random(len(found)).sample(found, min(MOST_PATHS, len(found)))


def _walk(value: Wire, path: Path) -> Iterator[Path]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _walk(item, (*path, key))
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _walk(item, (*path, position))


def _spoil(state: Wire) -> None:
    if isinstance(state, dict):
        state.clear()
    elif isinstance(state, list):
        state.append("spoiled")


def _content(source: RunSource) -> bytes | None:
    """The bytes of a file; a database of a server is asked by its own tests what changed."""
    return None if isinstance(source.path, Address) else source.path.read_bytes()
