"""A run that begins with the first thing that it holds.

Every Python process of a recorded command is watched, but most of them (a launcher such as `poetry run`, a helper that
a tool starts) do nothing that is recorded: they leave no run behind.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model import CallEnd, DeliveryKind, ErrorInfo, Judged, NewCall, NewStep, RunStatus, StepEnd
    from agent_tt.protocols import OpenQuestion, RunWriter
    from agent_tt.questions import NewQuestion

__all__ = ["LateWriter"]


class LateWriter:
    """The open end of a run that may not have begun yet; each method is the writer's own.

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
        return "" if self._has_failed else self._now().run_id

    @property
    def first_step(self) -> int:
        """The number that its first step gets."""
        return self._now().first_step

    def open_step(self, new: NewStep) -> int:
        """See `RunWriter`."""
        return self._now().open_step(new)

    def close_step(self, number: int, end: StepEnd, state: object, *, track: str = "main") -> None:
        """See `RunWriter`."""
        self._now().close_step(number, end, state, track=track)

    def take_checkpoint(self, number: int, state: object, *, track: str = "main") -> None:
        """See `RunWriter`."""
        self._now().take_checkpoint(number, state, track=track)

    def begin_call(self, step: int, new: NewCall) -> int:
        """See `RunWriter`."""
        return self._now().begin_call(step, new)

    def amend_call(self, step: int, number: int, meta: Mapping[str, Wire], *, args: Wire = None) -> None:
        """See `RunWriter`."""
        self._now().amend_call(step, number, meta, args=args)

    def ask(self, step: int, call: int, new: NewQuestion) -> OpenQuestion:
        """See `RunWriter`."""
        return self._now().ask(step, call, new)

    def deliver(self, step: int, call: int, kind: DeliveryKind, data: Wire | Judged = None) -> int:
        """See `RunWriter`."""
        return self._now().deliver(step, call, kind, data)

    def end_call(self, step: int, number: int, end: CallEnd) -> None:
        """See `RunWriter`."""
        self._now().end_call(step, number, end)

    def finish(self, status: RunStatus, error: ErrorInfo | None = None) -> None:
        """See `RunWriter`. A run that never began and is not wanted stays so."""
        if self.has_begun or self.is_wanted:
            self._now().finish(status, error)

    def _now(self) -> RunWriter:
        with self._lock:
            if self._writer is None:
                self._has_failed = True
                self._writer = self._begin()
                self._has_failed = False
            return self._writer
