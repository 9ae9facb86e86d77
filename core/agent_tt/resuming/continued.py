"""Writing into a step that a fork shares with its parent: the parent's row stays unchanged.

A step may be open where a fork begins, with others inside it or beside it. What its agent does in there from then on
belongs to a row of the fork's own, of the same name, which is opened with the first such call.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, TypeVar

from agent_tt.model import NewStep
from agent_tt.protocols import ForwardingWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model import CallEnd, DeliveryKind, Judged, NewCall, Step, StepEnd
    from agent_tt.model.once import Holder
    from agent_tt.protocols import OpenQuestion, RunWriter
    from agent_tt.questions import NewQuestion

__all__ = ["ContinuedWriter"]

T = TypeVar("T")

_BEHIND: Final = 1 << 20
"""More calls than a step ever makes."""


class ContinuedWriter(ForwardingWriter):
    """The open end of a fork whose agent is re-entered. Safe to use from several threads."""

    def __init__(self, writer: RunWriter, inherited: Mapping[int, Step]) -> None:
        """Write through `writer`.

        Args:
            writer: of the fork.
            inherited: the steps that are its parent's, by number.
        """
        self._writer = writer
        self._inherited = inherited
        self._rows: dict[int, int] = {}
        self._lock = threading.RLock()

    def _forward(self, action: Callable[[RunWriter], T]) -> T:
        return action(self._writer)

    def take_checkpoint(self, number: int, state: object, *, track: str = "main") -> None:
        """Commit a checkpoint of a step that has ended, unless it is shared."""
        row = self._rows.get(number, number)
        if row not in self._inherited:
            self._writer.take_checkpoint(row, state, track=track)

    def close_step(self, number: int, end: StepEnd, state: object, *, track: str = "main") -> None:
        """Commit the end of a step; of one that is shared only where something was done in it since."""
        row = self._rows.get(number, number)
        if row not in self._inherited:
            self._writer.close_step(row, end, state, track=track)

    def begin_call(self, step: int, new: NewCall) -> int:
        """Commit the intent of a call; give its number in its step."""
        return self._writer.begin_call(self._row_of(step), new) + self._shift(step)

    def amend_call(self, step: int, number: int, meta: Mapping[str, Wire], *, args: Wire = None) -> None:
        """Commit what has been decided of a call that is pending."""
        self._writer.amend_call(self._row_of(step), number - self._shift(step), meta, args=args)

    def ask(self, step: int, call: int, new: NewQuestion) -> OpenQuestion:
        """Commit that a call waits for somebody's decision."""
        return self._writer.ask(self._row_of(step), call - self._shift(step), new)

    def last_answer(self) -> int:
        """The number of the last answer."""
        return self._writer.last_answer()

    def claim_key(self, step: int, call: int, tool: str, key: str, *, is_decided: bool = False) -> Holder | None:
        """Let a call have a key."""
        place = self._row_of(step), call - self._shift(step)
        return self._writer.claim_key(*place, tool, key, is_decided=is_decided)

    def deliver(self, step: int, call: int, kind: DeliveryKind, data: Wire | Judged = None) -> int:
        """Commit a piece of an answer."""
        return self._writer.deliver(self._row_of(step), call - self._shift(step), kind, data)

    def end_call(self, step: int, number: int, end: CallEnd) -> None:
        """Commit what came back of a call."""
        self._writer.end_call(self._row_of(step), number - self._shift(step), end)

    def _shift(self, step: int) -> int:
        """What is added to a call's number, so that it is none that the parent's row has."""
        return _BEHIND if step in self._inherited else 0

    def _row_of(self, step: int) -> int:
        known = self._inherited.get(step)
        if known is None:
            return step
        with self._lock:
            row = self._rows.get(step)
            if row is None:
                new = NewStep(known.name, known.agent, known.lane, known.parent)
                row = self._rows[step] = self._writer.open_step(new)
            return row
