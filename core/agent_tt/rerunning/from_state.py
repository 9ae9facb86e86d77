"""A fork whose agent is handed its state, by its entry point or by an executor."""

from __future__ import annotations

import sys
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from agent_tt.codec.decode import decode
from agent_tt.forking.entry.entry_point import parse_entry_point
from agent_tt.forking.entry.entry_run import bind_entry, import_entry, run_entry
from agent_tt.forking.entry.executors import find_executor
from agent_tt.forking.entry.rebuild import rebuild_state
from agent_tt.forking.terms import terms_of
from agent_tt.forking.under_terms import under_terms
from agent_tt.intercepting.run_handoff import run_waits, while_importing
from agent_tt.launching.again import finish_again, prepare_again
from agent_tt.model import NewRun
from agent_tt.recording.runs.recorder import Recording
from agent_tt.reentering.amendments import amended

if TYPE_CHECKING:
    from types import ModuleType

    from agent_tt.forking.entry.entry_point import EntryPoint
    from agent_tt.model import ErrorInfo, RunStatus
    from agent_tt.protocols import Store
    from agent_tt.rerunning.filled import Filled

__all__ = ["FromState"]


class FromState:
    """The beginning of a fork that is handed its state; see `agent_tt.rerunning.filled.Beginning`."""

    is_halted = False

    def __init__(self, filled: Filled) -> None:
        """Initialise it with the run that is filled."""
        self._filled = filled
        self._store, self._run = filled.store, filled.run

    @property
    def writes_to(self) -> Store:
        """The store itself."""
        return self._store

    def run_agent(self) -> None:
        """Import the agent that the fork names and give it the edited state."""
        with under_terms(self._store, self._run), amended(self._store, self._run, None, self._filled.note):
            self._run_agent()

    def broke_off(self, status: RunStatus, error: ErrorInfo | None) -> None:
        """Write down how it ended."""
        self._store.set_run_status(self._run.id, status, error)

    def why_halted(self) -> tuple[str, ...]:
        """Nothing: it does not have to ask again what was recorded."""
        return ()

    def ended(self) -> None:
        """Write nothing more."""

    def _run_agent(self) -> None:
        store, run = self._store, self._run
        if run.code.root is not None and run.code.root not in sys.path:
            sys.path.insert(0, run.code.root)
        terms = terms_of(run)
        overrides = {key: decode(value) for key, value in terms.overrides.items()}
        if terms.is_graph:
            self._go_on_with_graph(overrides)
            return
        if terms.is_custom:
            self._run_by_executor(terms.executor, overrides)
            return
        entry = parse_entry_point(run.code.entry or "")
        prepare_again(run.metadata, run.code.root, partial(self._filled.refuse_held, self.broke_off))
        module = self._imported(entry)
        finish_again(run.metadata, module)
        start = bind_entry(entry, module, overrides)
        state = rebuild_state(store.state(run.id, run.fork_step or 0), module)
        run_entry(start, state)

    def _go_on_with_graph(self, overrides: dict[str, object]) -> None:
        module = self._imported(parse_entry_point(self._run.code.entry or ""))
        from agent_tt.langgraph.forked import run_graph

        run_graph(self._store, self._run, module, overrides)

    def _imported(self, entry: EntryPoint) -> ModuleType:
        sys.argv = [entry.location]
        with while_importing(entry.location):
            return import_entry(entry, self._run.code.root)

    def _run_by_executor(self, name: str, overrides: dict[str, object]) -> None:
        """Let a registered executor run the agent. One that records nothing is one step of its run."""
        store, run = self._store, self._run
        module: ModuleType = sys.modules["__main__"]
        if run.code.entry is not None:
            module = self._imported(parse_entry_point(run.code.entry))
        executor = find_executor(name)
        given = rebuild_state(store.state(run.id, 0), module)
        state = rebuild_state(store.state(run.id, run.fork_step or 0), module)
        result = run_entry(lambda state: executor(given, state, self._config(), overrides), state)
        if run_waits():
            own = NewRun(run.name, run.code, run.model)
            with (
                Recording(own, state, store=None, durability="full") as recording,
                recording.step(name, state if result is None else result),
            ):
                pass

    def _config(self) -> dict[str, object]:
        """What an executor is told of the run: `run`, `parent`, `fork_step`, `agent`, `model` and its settings."""
        run = self._run
        settings = (
            {} if run.model is None else {key: value for key, value in asdict(run.model).items() if value is not None}
        )
        parent = None if run.parent is None else self._store.run(run.parent).name
        return {"run": run.name, "parent": parent, "fork_step": run.fork_step, "agent": run.code.entry, **settings}
