"""A run that is written only once it has something to hold.

Every Python process of a recorded command is watched, but most of them (a launcher such as `poetry run`, a helper that
a tool starts) do nothing that is recorded: they leave no run behind.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

from agent_tt.protocols import ForwardingWriter
from agent_tt.recording.runs.journal import GoesOnForked

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.model import ErrorInfo, RunStatus
    from agent_tt.protocols import RunWriter

__all__ = ["LateWriter"]

T = TypeVar("T")


class LateWriter(ForwardingWriter):
    """The open end of a run that may not have begun yet.

    Attributes:
        is_wanted: whether a run that held nothing by its end is written all the same.
    """

    def __init__(self, begin: Callable[[], RunWriter]) -> None:
        self._begin = begin
        self._lock = threading.RLock()
        self._writer: RunWriter | None = None
        self._has_failed = False
        self.is_wanted = True

    @property
    def has_begun(self) -> bool:
        """Whether there is a run."""
        return self._writer is not None

    @property
    def run_id(self) -> str:
        """The run's id; it begins with this. Empty for one that could not begin."""
        return "" if self._has_failed else super().run_id

    def finish(self, status: RunStatus, error: ErrorInfo | None = None) -> None:
        """See `RunWriter`. A run that never began and is not wanted stays so."""
        if self.has_begun or self.is_wanted:
            super().finish(status, error)

    def go_on_forked(self) -> None:
        """In a process that was forked: see `GoesOnForked`."""
        self._lock = threading.RLock()
        writer: object = self._writer
        if isinstance(writer, GoesOnForked):
            writer.go_on_forked()

    def _forward(self, action: Callable[[RunWriter], T]) -> T:
        with self._lock:
            if self._writer is None:
                self._has_failed = True
                self._writer = self._begin()
                self._has_failed = False
        return action(self._writer)
