"""Changes of values, put together again, are the states; and JSON Lines tell them with everything else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st
from tests.core.memory_store import Did, MemorySource

from agent_tt import samples
from agent_tt.exporting.jsonl import JsonLines
from agent_tt.exporting.redacted import exported
from agent_tt.exporting.rows import value_changes
from agent_tt.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.protocols import RunSource

ATOMS = st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab.[", max_size=2)
VALUES = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from("abc."), inner, max_size=3)
        | st.lists(inner, max_size=3).map(lambda items: {"$type": "tuple", "$v": items})
        | st.lists(inner, max_size=2).map(lambda items: {"$type": "set", "$v": items})
    ),
)
STATES = st.lists(st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3), min_size=1, max_size=6)


def flat(value: Wire, path: tuple[str | int, ...] = ()) -> dict[tuple[str | int, ...], str]:
    """Every value that has none below it, by its path; in another way than the code's."""
    if isinstance(value, dict) and value.get("$type") == "tuple" and value["$v"]:
        return flat(value["$v"], path)
    if isinstance(value, dict) and value and "$type" not in value:
        return {key: leaf for name, item in value.items() for key, leaf in flat(item, (*path, name)).items()}
    if isinstance(value, list) and value:
        return {key: leaf for place, item in enumerate(value) for key, leaf in flat(item, (*path, place)).items()}
    return {path: json.dumps(value)}


def check_changes(source: RunSource, run_id: str) -> None:
    run = source.run(run_id)
    found = [*value_changes(source, run, 1)]
    held: dict[str, bytes] = {}
    for number in range(source.step_count(run_id) + 1):
        for change in found:
            if change.step == number:
                assert held.pop(change.path, None) == change.old
                held |= {} if change.new is None else {change.path: change.new}
        shown = sorted(json.dumps(json.loads(value)) for value in held.values())
        assert shown == sorted(flat(source.state(run_id, number)).values())
    assert [change.step for change in found] == sorted(change.step for change in found)


@given(STATES)
def test_changes_of_values_are_the_states(states: list[dict[str, Wire]]) -> None:
    source = MemorySource()
    source.add("desk", [Did("a", state=state) for state in states[1:]], state=states[0])
    check_changes(source, "desk")


def test_changes_of_a_recorded_run_are_its_states(tmp_path: Path) -> None:
    samples.ensure("flaky-checkout", tmp_path / "runs.db")
    source = open_store(tmp_path / "runs.db")
    check_changes(source, source.run("flaky-checkout").id)
    source.close()


def lines(folder: Path, source: RunSource, *runs: str) -> list[dict[str, Any]]:
    path = folder / "runs.jsonl"
    assert JsonLines().write(exported(source, [(source.run(run), None) for run in runs]), path) is None
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_json_lines_tell_a_run_its_steps_calls_and_changes_and_of_a_fork_its_own(tmp_path: Path) -> None:
    source = MemorySource()
    source.add("desk", [Did("a", state={"n": 1}), Did("b", tool="look", result="\x1b[31m", state={"n": 2})], state={})
    source.add("desk/fork-1", [Did("c", state={"n": 3})], parent="desk", fork_step=1)
    found = lines(tmp_path, source, "desk", "desk/fork-1")
    told = [(line["type"], line["run"], line.get("step")) for line in found]
    assert told == [
        ("run", "desk", None), ("step", "desk", 1), ("step", "desk", 2), ("call", "desk", 2),
        ("change", "desk", 0), ("change", "desk", 1), ("change", "desk", 1), ("change", "desk", 2),
        ("run", "desk/fork-1", None), ("step", "desk/fork-1", 2),
        ("change", "desk/fork-1", 1), ("change", "desk/fork-1", 2),
    ]  # fmt: skip
    assert found[3]["result"] == "\x1b[31m"
    assert found[-1] == {
        "type": "change", "run": "desk/fork-1", "step": 2, "track": "main", "path": "n", "op": "change",
        "old": 1, "new": 3,
    }  # fmt: skip
    alone = lines(tmp_path, source, "desk/fork-1")
    assert [line["step"] for line in alone if line["type"] == "step"] == [1, 2]
