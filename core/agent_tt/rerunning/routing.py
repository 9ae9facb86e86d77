"""Which nodes of a graph run after an edit, asked of the graph before a fork of its thread is started.

The edit is made in a fork of a copy, in a temporary store and a guarded process where every call is denied; it ends
before any node runs. The graph's module is imported there, and its conditional edges are asked.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from agent_tt.errors import InvalidEntryPoint
from agent_tt.forking.graphs import AS_NODE, LOOK
from agent_tt.forking.policy.policies import Rule, ToolPolicy
from agent_tt.rerunning.launch import start_fork
from agent_tt.store import open_patiently

if TYPE_CHECKING:
    from agent_tt.forking.plan import ForkPlan

__all__ = ["next_after_edit"]

_EVERYTHING = ("*llm", "*read", "*write", "*http", "*subprocess", "*socket")


def next_after_edit(plan: ForkPlan) -> tuple[str, ...] | None:
    """The nodes that run next once the state is edited; None where the plan edits nothing, and names no node.

    Raises:
        InvalidEntryPoint: the graph is not there, or does not take the edit; the message is the graph's process's.
    """
    if not plan.terms.is_graph or not (plan.edits or AS_NODE in plan.terms.overrides):
        return None
    deny = ToolPolicy(tuple((name, Rule("deny")) for name in _EVERYTHING))
    told = {name: value for name, value in plan.terms.overrides.items() if name == AS_NODE}
    terms = replace(plan.terms, overrides={**told, LOOK: True})
    with TemporaryDirectory(prefix="agent-tt-") as folder:
        store = Path(folder) / "runs.db"
        look = replace(plan, store=store, name=None, terms=terms, rules=deny, boundary=(), effects_said={})
        if plan.copied_from is None:
            look = _in_a_copy(look, plan.store)
        with start_fork(look) as handle:
            code = handle.wait()
            said = handle.output()
        with closing(open_patiently(store)) as copy:
            last = copy.steps(handle.run_id)[-1]
        if code or last.facts.checkpoint_id is None:
            lines = [line for line in said.strip().splitlines() if line.strip()] or ["the graph does not take the edit"]
            message, hint = (
                (lines[-2], lines[-1]) if code == InvalidEntryPoint.exit_code and lines[1:] else (lines[-1], "")
            )
            raise InvalidEntryPoint(message, hint=hint)
        return tuple(map(str, last.facts.next))


def _in_a_copy(plan: ForkPlan, store: Path) -> ForkPlan:
    """The same fork of a copy of what its run says of the thread."""
    from agent_tt.langgraph.taking_in import take_in_run

    with closing(open_patiently(store)) as source:
        run_id, step = take_in_run(plan.store, source, plan.run.id, plan.step)
    with closing(open_patiently(plan.store)) as copy:
        return replace(plan, run=replace(copy.run(run_id), code=plan.run.code), step=step)
