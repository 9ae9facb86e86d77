"""What commands write for programs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from agent_tt.model import Problem
from agent_tt.shapes.records import run_shape, step_shape

if TYPE_CHECKING:
    from tests.core.memory_store import MemorySource
    from tests.tui.cli.conftest import Command

RUN = {"id", "name", "status", "steps", "parent", "fork_step", "agent", "started", "tags"}
STEP = {"step", "id", "name", "agent", "status", "started", "duration_ms", "calls", "error"}
CALL = {"kind", "name", "effect", "lane", "args", "result", "error", "duration_ms"}

pytestmark = pytest.mark.usefixtures("source")


def test_runs_lists_every_run(command: Command) -> None:
    done = command("runs", "--json")
    assert done.code == 0
    fork = next(run for run in done.json if run["name"] == "support/fork-1")
    assert fork.keys() >= RUN
    assert (fork["parent"], fork["fork_step"], fork["steps"], fork["started"]) == (
        "support",
        1,
        2,
        "1970-01-01T00:00:00.000000Z",
    )
    edit = {"op": "set", "path": "attempts", "value": 9, "old": 1, "to": None}
    assert fork["edits"] == [{**edit, "target": "state", "step": None, "call": None}]


def test_show_gives_a_run_with_its_steps_and_their_calls(command: Command) -> None:
    shown = command("show", "support", "--json").json
    assert shown["run"].keys() >= RUN
    assert [step["step"] for step in shown["steps"]] == [1, 2, 3, 4, 5, 6]
    first = shown["steps"][0]
    assert first.keys() >= STEP
    assert first["id"] == "step_1"
    assert first["calls"][0].keys() >= CALL
    assert first["calls"][0]["args"] == {"query": "refund policy"}
    assert shown["steps"][5]["error"]["message"] == "search_docs timed out"


def test_show_of_a_step_has_its_state(command: Command) -> None:
    shown = command("show", "support", "2", "--json").json
    assert shown.keys() >= STEP | {"state"}
    assert shown["state"]["attempts"] == 2
    assert command("show", "support", "0", "--json").json["state"]["attempts"] == 0
    assert command("show", "support", "@error", "--json").json["step"] == 6
    assert command("show", "support", "~1", "--json").json["step"] == 5
    assert command("show", "support@3", "--json").json["step"] == 3


def test_a_step_carries_what_its_source_says_about_it(source: MemorySource) -> None:
    (step,) = source.steps("support", 1, 2)
    foreign = replace(step, extra={"checkpoint_id": "1ef", "source": "loop", "next": ["tools"]})
    shape = step_shape(foreign, [])
    assert (shape["checkpoint_id"], shape["source"], shape["next"]) == ("1ef", "loop", ["tools"])
    assert shape["step"] == 1


def test_a_time_that_no_calendar_holds_is_left_out(source: MemorySource) -> None:
    assert run_shape(replace(source.run("support"), started_us=10**30))["started"] is None


def test_diff_lists_changes_and_answers_with_its_exit_code(command: Command) -> None:
    done = command("diff", "support@1", "support@2", "--json")
    assert done.code == 1
    assert done.json == {
        "changes": [
            {"op": "change", "path": "messages[1].content", "old": "1", "new": "2"},
            {"op": "change", "path": "attempts", "old": 1, "new": 2},
        ]
    }
    assert command("diff", "support", "1", "2", "--json").json == done.json
    same = command("diff", "support@3", "support@3", "--json")
    assert (same.code, same.json) == (0, {"changes": []})


def test_diff_speaks_json_patch(command: Command) -> None:
    done = command("diff", "support", "1", "2", "--format", "json-patch")
    assert done.json == [
        {"op": "replace", "path": "/attempts", "value": 2},
        {"op": "replace", "path": "/messages/1/content", "value": "2"},
    ] or done.json == [
        {"op": "replace", "path": "/messages/1/content", "value": "2"},
        {"op": "replace", "path": "/attempts", "value": 2},
    ]


def test_compare_says_where_runs_part(command: Command) -> None:
    done = command("compare", "support", "support/fork-1", "--json")
    assert done.code == 1
    assert done.json["diverged_at"] == 2
    assert done.json["rejoined_at"] is None
    assert done.json["pairs"] == [[1, 1, True], [2, 2, False]]
    assert (done.json["only_a"], done.json["only_b"]) == ([3, 4, 5, 6], [])
    assert "state edited at attempts" in done.json["because"]
    assert done.json["outcome_b"]["answer"] == "no documents"
    edited, first = done.json["reasons"]
    assert first.keys() == {"kind", "text", "a", "b", "where", "old", "new"}
    assert (edited["kind"], edited["where"], edited["old"], edited["new"]) == ("edit", "attempts", 1, 9)
    assert done.json["difference"] == {"steps": -4, "tokens": None, "cost_usd": None, "duration_ms": 0}
    (lane,) = done.json["lanes"]
    assert lane.items() >= {
        "a": "main", "b": "main", "same": 1, "different": 1, "only_a": 4, "only_b": 0, "diverged_at": 2,
        "rejoined_at": None, "rejoined_state": False, "final_changes": len(done.json["final_changes"]),
    }.items()  # fmt: skip
    assert (lane["outcome_a"]["status"], lane["outcome_b"]["status"]) == ("error", "ok")
    assert (done.json["moved"], done.json["rejoined_changes"]) == ([], None)
    assert command("compare", "support", "support", "--json").code == 0


def test_find_gives_hits_and_says_no_with_its_exit_code(command: Command) -> None:
    done = command("find", "support", "timed out", "--json")
    assert done.code == 0
    (hit,) = done.json["hits"]
    assert (hit["step"], hit["where"]) == (6, "error")
    assert hit["excerpt"][hit["start"] :][: hit["length"]] == "timed out"
    nothing = command("find", "support", "not there", "--json")
    assert (nothing.code, nothing.json) == (1, {"hits": [], "total": 0, "complete": True})
    assert set(hit) == {
        *("run", "step", "where", "path", "excerpt", "start", "length", "call", "score", "times", "last")
    }
    assert (hit["run"], done.json["total"]) == ("support", 1)


def test_verify_lists_problems_with_exit_code_4(command: Command, source: MemorySource) -> None:
    assert (command("verify", "--json").code, command("verify", "--json").json) == (
        0,
        {"problems": [], "redacted": [], "dropped": []},
    )
    source.problems = [Problem("support", 3, "blob missing")]
    done = command("verify", "--json")
    assert (done.code, done.json) == (
        4,
        {"problems": [{"run": "support", "step": 3, "what": "blob missing"}], "redacted": [], "dropped": []},
    )
    assert command("verify", "support/fork-1", "--json").code == 0


def test_samples_are_listed_with_their_other_versions(command: Command) -> None:
    listed = {sample["name"]: sample for sample in command("samples", "--json").json}
    assert listed["refund-loop"]["versions"]
    assert listed["long-haul"]["prebuilt"] is False
