"""The process of a fork that is re-entered: `python -m agent_tt._reenter_child`, told by its environment which run.

It starts the agent as it was started then. What the fork kept is answered from the recording, and nothing is reached
meanwhile; then the fork's edits hold, and each lane goes on for real when its recorded part is used up.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, ClassVar, Final

from agent_tt._resume_child import Resumed, go_on_with_told
from agent_tt.errors import UsageError
from agent_tt.forking.under_terms import leave_soon
from agent_tt.model import ErrorInfo
from agent_tt.reentering.engine import Reentry, why_not
from agent_tt.reentering.past import closed_steps, read_prefix
from agent_tt.resuming.writer import ResumedStore

if TYPE_CHECKING:
    from contextlib import ExitStack

    from agent_tt.model import Run, RunStatus
    from agent_tt.protocols import Store
    from agent_tt.replaying.divergence import Finding
    from agent_tt.resuming.engine import Resumption

_ERROR: Final = "agent_tt.errors:CannotReenter"


def main() -> int:
    """Re-enter the fork that the environment names.

    Returns:
        0, or 1 when the agent was halted because it does not ask again what was recorded, 5 when it failed, 2 when it
        could not be started, 130 when it was interrupted, 4 without a store that can be written.
    """
    return go_on_with_told(
        Reentered, UsageError("this is the process of a fork", hint="start one with `agent-tt fork`")
    )


class Reentered(Resumed):
    """One fork whose agent is re-entered in this process."""

    FROM_HERE: ClassVar[str] = "re-entered: from here on calls are made for real"
    _is_limited = True

    def __init__(self, store: Store, run: Run) -> None:
        super().__init__(store, run)
        self._is_at_large = not self._resumption.tape.calls

    def _begin(self) -> tuple[Resumption, ResumedStore]:
        past = read_prefix(self._store, self._run)
        self._reentry = reentry = Reentry(past, {}, self._go_live, closed=closed_steps(self._store, self._run))
        return reentry, ResumedStore(self._store, past, reentry, self._broke_off)

    def go_on(self, guard: ExitStack) -> int:
        """Run the agent; the exit code. The guard of a fork goes with `guard`."""
        code = super().go_on(guard)
        if self._reentry.failure is None:
            notes = [f"{note.kind}: {note.text}" for note in self._reentry.notes.all()]
            for text in (*notes, *self._reentry.left_out):
                self._note(None, f"re-entered: {text}")
        return code

    def _broke_off(self, status: RunStatus, error: ErrorInfo | None) -> None:
        """The agent has not come to the fork's step, or did not record anything."""
        failure = self._resumption.failure
        if failure is not None and (error is None or self._resumption.is_halted):
            error = ErrorInfo(_ERROR, self._why_not(failure))
            status = "interrupted" if status == "interrupted" else "failed"
        self._store.set_run_status(self._run.id, status, error)

    def _words(self, failure: Finding) -> tuple[str, str]:
        return self._why_not(failure), ""

    def _why_not(self, failure: Finding) -> str:
        run = self._run
        return why_not(failure, run, run if run.parent is None else self._store.run(run.parent))


if __name__ == "__main__":
    sys.exit(leave_soon(main()))
