"""A fork whose agent is handed its state, by its entry point or by an executor."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from agent_tt.forking.under_terms import under_terms
from agent_tt.launching.again import finish_again, prepare_again
from agent_tt.reentering.amendments import amended
from agent_tt.rerunning.handed_state import hand_state, import_agent

if TYPE_CHECKING:
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
        prepare_again(run.metadata, run.code.root, partial(self._filled.refuse_held, self.broke_off))
        module = import_agent(run)
        finish_again(run.metadata, module)
        hand_state(store, run, module, store.state(run.id, run.fork_step or 0))
