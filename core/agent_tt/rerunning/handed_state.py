"""Starting an agent that is handed its state: by its entry point, by a graph, or by an executor.

A fork begins so, and the replay of such a fork.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from agent_tt.codec.decode import decode
from agent_tt.forking.entry.entry_point import parse_entry_point
from agent_tt.forking.entry.entry_run import bind_entry, import_entry, run_entry
from agent_tt.forking.entry.executors import find_executor
from agent_tt.forking.entry.rebuild import rebuild_state
from agent_tt.forking.terms import terms_of
from agent_tt.intercepting.run_handoff import run_waits, while_importing
from agent_tt.model import NewRun
from agent_tt.recording.runs.recorder import Recording
from agent_tt.redaction.vault import VAULT

if TYPE_CHECKING:
    from types import ModuleType

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource

__all__ = ["hand_state", "import_agent", "is_handed_state"]


def is_handed_state(run: Run) -> bool:
    """Whether the agent of a run is handed its state, and does not begin with nothing."""
    terms = terms_of(run)
    return run.code.restore is not None or terms.is_graph or terms.is_custom


def import_agent(run: Run, arguments: tuple[str, ...] = ()) -> ModuleType:
    """Import the module of a run's entry point, which finds itself and these arguments in `sys.argv`.

    Returns:
        The module; `__main__` for a run without an entry point, which an executor runs.
    """
    if run.code.entry is None:
        return sys.modules["__main__"]
    entry = parse_entry_point(run.code.entry)
    sys.argv = [entry.location, *arguments]
    with while_importing(entry.location):
        return import_entry(entry, run.code.root)


def hand_state(source: RunSource, run: Run, module: ModuleType, state: Wire) -> None:
    """Hand an agent the state that its run begins with, and let it run to its end.

    Args:
        source: where the run is.
        run: the run.
        module: the module of its entry point.
        state: the state.
    """
    terms, state = terms_of(run), VAULT.shown(state)
    told = {key: decode(value) for key, value in terms.overrides.items()}
    if terms.is_graph:
        from agent_tt.langgraph.forked import run_graph

        run_graph(source, run, module, told)
    elif terms.is_custom:
        _run_by_executor(source, run, module, state, told)
    else:
        run_entry(bind_entry(parse_entry_point(run.code.entry or ""), module, told), rebuild_state(state, module))


def _run_by_executor(source: RunSource, run: Run, module: ModuleType, state: Wire, told: dict[str, object]) -> None:
    """Let a registered executor run the agent. One that records nothing is one step of its run."""
    name = terms_of(run).executor
    executor = find_executor(name)
    given, rebuilt = (rebuild_state(each, module) for each in (VAULT.shown(source.state(run.id, 0)), state))
    result = run_entry(lambda handed: executor(given, handed, _config(source, run), told), rebuilt)
    if run_waits():
        own = NewRun(run.name, run.code, run.model)
        with (
            Recording(own, rebuilt, store=None, durability="full") as recording,
            recording.step(name, rebuilt if result is None else result),
        ):
            pass


def _config(source: RunSource, run: Run) -> dict[str, object]:
    """What an executor is told of the run: `run`, `parent`, `fork_step`, `agent`, `model` and its settings."""
    settings = (
        {} if run.model is None else {key: value for key, value in asdict(run.model).items() if value is not None}
    )
    parent = None if run.parent is None else source.run(run.parent).name
    return {"run": run.name, "parent": parent, "fork_step": run.fork_step, "agent": run.code.entry, **settings}
