"""An edit of which nothing came is told, and is never a reason why runs part."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from agent_tt.comparing import compare
from agent_tt.comparing.runs.without_effect import edits_made, edits_without_effect
from agent_tt.errors import AgentFailed
from agent_tt.forking.editing.request_edits import model_edit
from agent_tt.model import Edit
from agent_tt.store import open_store

if TYPE_CHECKING:
    from conftest import Project

pytestmark = pytest.mark.warm

AGENT = """
import agent_tt

def main(state=None):
    state = state if state is not None else {"kept": 1, "rewritten": 1}
    with agent_tt.record("agent", state=state) as run:
        with run.step("only", state):
            state["rewritten"] = 2
            state["seen"] = state["kept"]

if __name__ == "__main__":
    main()
"""


def test_an_edit_that_the_agent_writes_over_and_one_of_a_model_that_is_not_asked_are_told(project: Project) -> None:
    project.put("agent.py", AGENT)
    original = project.record("agent.py")
    handle = project.fork(original, 0, edits=[Edit("set", "rewritten", 9), model_edit("gpt-x")])
    run = handle.result()
    told = {each.edit.where: each.reason for each in edits_without_effect(run)}
    assert told["model"] == "no model was asked after the fork's step"
    assert told["rewritten"].startswith("the agent wrote over it: step 1 asked what it had asked in agent")
    assert edits_made(run) == ()
    because = compare(original.id, run.id, store=project.store_path).reasons
    assert [reason for reason in because if reason.kind == "edit"] == []


def test_an_edit_that_shows_in_what_the_agent_leaves_is_not_told_of(project: Project) -> None:
    project.put("agent.py", AGENT)
    original = project.record("agent.py")
    run = project.fork(original, 0, edits=[Edit("set", "kept", 9)]).result()
    assert edits_without_effect(run) == ()
    assert [edit.path for edit in edits_made(run)] == ["kept"]
    again = project.fork(run, 0).result()
    assert edits_without_effect(again) == ()


DOUBTING = """
import agent_tt

def main(state=None):
    state = state if state is not None else {"kept": 1, "rewritten": 1}
    with agent_tt.record("agent", state=state) as run:
        with run.step("only", state):
            was, state["rewritten"] = state["rewritten"], 2
            if was == 9:
                raise ValueError("nine is too many")

if __name__ == "__main__":
    main()
"""


def test_an_edit_that_made_the_step_fail_is_not_said_to_have_had_no_effect(project: Project) -> None:
    project.put("agent.py", DOUBTING)
    original = project.record("agent.py")
    handle = project.fork(original, 0, edits=[Edit("set", "rewritten", 9)])
    with pytest.raises(AgentFailed, match="nine is too many"):
        handle.result()
    with closing(open_store(project.store_path)) as store:
        run = store.run(handle.run_id)
    assert (run.status, edits_without_effect(run)) == ("failed", ())
    because = compare(original.id, run.id, store=project.store_path).reasons
    assert [reason.text for reason in because if reason.kind == "edit"] == ["state edited at rewritten"]
