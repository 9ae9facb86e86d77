"""The run that a process fills, what is written into it beside its recording, and how its agent gets to its point."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol

from agent_tt.intercepting.policy import EVERYTHING_LIVE, ToolPolicy
from agent_tt.launching.again import refusal_of
from agent_tt.model import ErrorInfo
from agent_tt.recording.store_work import store_at_work
from agent_tt.replaying.program.program_end import leave

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.launching.tools.outside_tools import Held
    from agent_tt.model import Run, RunStatus
    from agent_tt.protocols import Store

__all__ = ["Beginning", "Filled", "say"]


class Beginning(Protocol):
    """Gets the agent of a run to where it goes on for real."""

    @property
    def writes_to(self) -> Store:
        """The store that the recording of the agent fills the run of."""

    @property
    def is_halted(self) -> bool:
        """Whether the agent was halted, because it does not ask again what was recorded."""

    def run_agent(self) -> None:
        """Run the agent, with the edits and limits of the run."""

    def broke_off(self, status: RunStatus, error: ErrorInfo | None) -> None:
        """Write down the end of a run that no recording of the agent ends."""

    def why_halted(self) -> tuple[str, ...]:
        """Say why an agent was halted that does not ask again what was recorded; nothing for any other."""

    def ended(self) -> None:
        """Write down what is known only at the end."""


class Filled:
    """The run that this process fills, and what is written into it beside its recording.

    Attributes:
        store: the store that holds it.
        run: the run as it was when its process began.
        is_fork: whether it is a fork, which has a policy and is guarded.
        policy: what it does with its calls.
    """

    def __init__(self, store: Store, run: Run) -> None:
        self.store = store
        self.run = run
        self.is_fork = run.parent is not None
        self.policy = ToolPolicy.from_mapping(run.policy) if self.is_fork else EVERYTHING_LIVE

    def note(self, step: int | None, text: str) -> None:
        """Write a note on a step, or on the run."""
        self.write(step, "note", text)

    def write(self, step: int | None, kind: str, text: str) -> None:
        """Write a note of a kind."""
        with store_at_work():
            self.store.add_note(self.run.id, step, kind, text)

    def refuse_held(self, broke_off: Callable[[RunStatus, ErrorInfo], None], held: Held) -> None:
        """End before a function runs that writes, and whose calls cannot be held; a fork may have allowed it."""
        name = held.path.rpartition(".")[2]
        is_allowed = self.is_fork and self.policy.decide("tool", name, "write").word == "live"
        if held.effect == "write" and not is_allowed:
            error = refusal_of(held)
            broke_off("failed", ErrorInfo("agent_tt.errors:UsageError", error.message))
            say(error.message, error.hint)
            leave(error.exit_code)


def say(*lines: str) -> None:
    """Write lines to where the launcher reads what the child says."""
    print(*filter(None, lines), sep="\n", file=sys.stderr)  # noqa: T201
