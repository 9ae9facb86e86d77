"""The link that hands a run to the recorder: which row it fills, or into which store it writes.

The launcher of a fork has already made the run's row; the first `record(...)` of the process fills that row instead of
starting a new run. Later recordings are ordinary runs.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_tt.errors import InvalidEntryPoint
from agent_tt.model import AgentCode
from agent_tt.recording.links import Link, Place
from agent_tt.recording.session import SESSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.model import NewRun
    from agent_tt.protocols import RunWriter, Store

__all__ = ["RunHandoff", "StoreOverride", "run_waits", "take_run", "while_importing"]


class RunHandoff(Link):
    """Gives the first recording of this process a run that waits for it.

    Args:
        store: where its row is. The recording writes there and leaves it open.
        run_id: the row.
        code: what was asked to run, and where. The function that calls `record` may be another one, deeper down.
    """

    place = Place.HANDOFF

    def __init__(self, store: Store, run_id: str, code: AgentCode = AgentCode()) -> None:  # noqa: B008  frozen
        self._store = store
        self._run_id = run_id
        self._code = code
        self._lock = threading.RLock()
        self._importing = ""
        self._waits = True

    @property
    def waits(self) -> bool:
        """Whether the run still waits for a `record(...)` that fills it."""
        return self._waits

    def open_run(self, new: NewRun, state: object) -> tuple[Store, RunWriter] | None:
        """Open the run for the first that asks; None for everyone else.

        Raises:
            InvalidEntryPoint: the agent's module is still being imported; see `while_importing`.
        """
        if not self.take():
            return None
        code = self._code_of(new.code)
        return self._store, self._store.adopt_run(self._run_id, replace(new, code=code), state)

    def take(self) -> bool:
        """Take the run from those that would fill it; whether it still waited.

        Raises:
            InvalidEntryPoint: as `open_run`.
        """
        with self._lock:
            if self._waits and self._importing:
                raise InvalidEntryPoint(
                    f"{self._importing} runs its agent as soon as it is imported, before it can be given the state",
                    hint='put that call under `if __name__ == "__main__":`, or name the script, FILE.py:__main__',
                )
            waited, self._waits = self._waits, False
            return waited

    @contextmanager
    def importing(self, module: str) -> Iterator[None]:
        """Refuse to open the run while the block lasts; `module` is named in the message."""
        self._importing = module
        try:
            yield
        finally:
            self._importing = ""

    def _code_of(self, recorded: AgentCode) -> AgentCode:
        """The code of the run: as it was asked for, with what only the recording in it knows."""
        if self._code.entry is None:
            return recorded
        return replace(
            self._code,
            version=recorded.version or self._code.version,
            fingerprint=self._code.fingerprint or recorded.fingerprint,
            restore=self._code.restore or recorded.restore,
        )


class StoreOverride(Link):
    """Lets every recording of this process go into one store, whatever file it names; none is made.

    A replay runs the agent's own `record(...)`, and leaves no run behind.
    """

    place = Place.HANDOFF

    def __init__(self, store: Store) -> None:
        self._store = store

    def open_run(self, new: NewRun, state: object) -> tuple[Store, RunWriter] | None:
        """Begin a run in that store."""
        return self._store, self._store.begin_run(new, state)


def run_waits() -> bool:
    """Whether a run of this process still waits for a `record(...)` that fills it."""
    handoff = SESSION.link(RunHandoff)
    return handoff is not None and handoff.waits


def take_run() -> bool:
    """Take the run of this process from whoever would fill it; whether it still waited: nobody has recorded then."""
    handoff = SESSION.link(RunHandoff)
    return handoff is not None and handoff.take()


@contextmanager
def while_importing(module: str) -> Iterator[None]:
    """Refuse a `record(...)` made while the agent's module is imported: it would fill the fork from the wrong state.

    Args:
        module: what is imported, for the message.
    """
    handoff = SESSION.link(RunHandoff)
    if handoff is None:
        yield
        return
    with handoff.importing(module):
        yield
