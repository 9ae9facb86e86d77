"""How the process that runs a fork's agent tells the recorder which run to fill.

The launcher of a fork has already made the run's row; the first `record(...)` of the process fills that row instead of
starting a new run. Later recordings are ordinary runs, but the fork's policy holds for the whole process: a tool that
the fork denies does not run before, beside or after the adopted recording either, nor in a Python process that the
agent starts, which finds the policy in its environment.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from agent_tt.errors import InvalidEntryPoint
from agent_tt.model import AgentCode
from agent_tt.recording.policy import ToolPolicy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.protocols import Store


@dataclass(frozen=True, slots=True)
class Adoption:
    """A run that waits for the process of its agent.

    Attributes:
        store: where its row is. The recording writes there and leaves it open.
        run_id: the row.
        policy: what its tools may do.
        code: what was asked to run, and where. The function that calls `record` may be another one, deeper down.
    """

    store: Store
    run_id: str
    policy: ToolPolicy
    code: AgentCode = field(default_factory=AgentCode)

    def code_of(self, recorded: AgentCode) -> AgentCode:
        """The code of the run: as it was asked for, with what only the recording in it knows."""
        if self.code.entry is None:
            return recorded
        return replace(
            self.code,
            version=recorded.version or self.code.version,
            fingerprint=self.code.fingerprint or recorded.fingerprint,
            restore=self.code.restore or recorded.restore,
        )


class _Desk:
    """Holds at most one offer, and the policy that holds since it was made."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._offer: Adoption | None = None
        self._importing = ""
        self.policy: ToolPolicy | None = ToolPolicy.from_environment(os.environ)
        self.store: Store | None = None

    def put(self, adoption: Adoption) -> None:
        with self._lock:
            self._offer = adoption
            self.policy = adoption.policy

    def take(self) -> Adoption | None:
        with self._lock:
            if self._offer is not None and self._importing:
                raise InvalidEntryPoint(
                    f"{self._importing} runs its agent as soon as it is imported, before it can be given the state",
                    hint='put that call under `if __name__ == "__main__":`, or name the script, FILE.py:__main__',
                )
            offer, self._offer = self._offer, None
            return offer

    def waits(self) -> bool:
        with self._lock:
            return self._offer is not None

    def hold(self, importing: str) -> None:
        with self._lock:
            self._importing = importing

    def clear(self) -> None:
        with self._lock:
            self._offer = self.policy = None


_DESK = _Desk()


def offer(adoption: Adoption) -> None:
    """Let the next `record(...)` of this process fill `adoption.run_id`; its policy holds from now on."""
    _DESK.put(adoption)


def take() -> Adoption | None:
    """The run to fill, for the first that asks; None for everyone else.

    Raises:
        InvalidEntryPoint: the agent's module is still being imported; see `while_importing`.
    """
    return _DESK.take()


def is_offered() -> bool:
    """Whether a run still waits for a `record(...)` that fills it."""
    return _DESK.waits()


@contextmanager
def while_importing(module: str) -> Iterator[None]:
    """Refuse a `record(...)` made while the agent's module is imported: it would fill the fork from the wrong state.

    Args:
        module: what is imported, for the message.
    """
    _DESK.hold(module)
    try:
        yield
    finally:
        _DESK.hold("")


@contextmanager
def recording_into(store: Store) -> Iterator[None]:
    """While it lasts every recording of this process goes into `store`, whatever file it names; none is made.

    A replay runs the agent's own `record(...)`, and leaves no run behind.
    """
    before, _DESK.store = _DESK.store, store
    try:
        yield
    finally:
        _DESK.store = before


def store_for_all() -> Store | None:
    """The store that every recording goes into; None where each one chooses its own."""
    return _DESK.store


def withdraw() -> None:
    """Take back the offer and its policy: recordings and tools are ordinary again."""
    _DESK.clear()


def process_policy() -> ToolPolicy | None:
    """The policy of the fork that this process runs, None in an ordinary process."""
    return _DESK.policy
