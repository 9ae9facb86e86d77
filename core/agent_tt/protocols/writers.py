"""Bases of writers that keep nothing themselves: one that forwards to another, and one that only numbers."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, TypeVar

from agent_tt.errors import StoreUnreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import NoReturn

    from agent_tt.codec.wire import Wire
    from agent_tt.model import CallEnd, DeliveryKind, ErrorInfo, Hold, Judged, NewCall, NewStep, RunStatus, StepEnd
    from agent_tt.model.once import Holder
    from agent_tt.protocols.writing import OpenQuestion, RunWriter
    from agent_tt.questions import NewQuestion

T = TypeVar("T")


def keys_unknown(tool: str) -> StoreUnreadable:
    """What to raise of a tool that is done once for its key, where no store can be asked who has that.

    Args:
        tool: its name.
    """
    return StoreUnreadable(
        f"{tool} was not run: it is done once for its key, and its store cannot be asked whether it was",
        hint="it needs a store that can be written; see docs/record.md",
    )


class ForwardingWriter(ABC):
    """A `RunWriter` that forwards all it is told; a class derived from it overrides what it does otherwise."""

    @abstractmethod
    def _forward(self, action: Callable[[RunWriter], T]) -> T:
        """Do `action` with the writer that is forwarded to, and give what it gives."""

    @property
    def run_id(self) -> str:
        """The run that is written."""
        return self._forward(lambda writer: writer.run_id)

    def open_step(self, new: NewStep) -> int:
        """See `RunWriter`."""
        return self._forward(lambda writer: writer.open_step(new))

    def close_step(self, number: int, end: StepEnd, state: object, *, track: str = "main") -> None:
        """See `RunWriter`."""
        self._forward(lambda writer: writer.close_step(number, end, state, track=track))

    def take_checkpoint(self, number: int, state: object, *, track: str = "main") -> None:
        """See `RunWriter`."""
        self._forward(lambda writer: writer.take_checkpoint(number, state, track=track))

    def begin_call(self, step: int, new: NewCall) -> int:
        """See `RunWriter`."""
        return self._forward(lambda writer: writer.begin_call(step, new))

    def amend_call(self, step: int, number: int, meta: Mapping[str, Wire], *, args: Wire = None) -> None:
        """See `RunWriter`."""
        self._forward(lambda writer: writer.amend_call(step, number, meta, args=args))

    def ask(self, step: int, call: int, new: NewQuestion) -> OpenQuestion:
        """See `RunWriter`."""
        return self._forward(lambda writer: writer.ask(step, call, new))

    def holds(self) -> Sequence[Hold]:
        """See `RunWriter`."""
        return self._forward(lambda writer: writer.holds())

    def last_answer(self) -> int:
        """See `RunWriter`."""
        return self._forward(lambda writer: writer.last_answer())

    def claim_key(self, step: int, call: int, tool: str, key: str, *, is_decided: bool = False) -> Holder | None:
        """See `RunWriter`."""
        return self._forward(lambda writer: writer.claim_key(step, call, tool, key, is_decided=is_decided))

    def deliver(self, step: int, call: int, kind: DeliveryKind, data: Wire | Judged = None) -> int:
        """See `RunWriter`."""
        return self._forward(lambda writer: writer.deliver(step, call, kind, data))

    def end_call(self, step: int, number: int, end: CallEnd) -> None:
        """See `RunWriter`."""
        self._forward(lambda writer: writer.end_call(step, number, end))

    def finish(self, status: RunStatus, error: ErrorInfo | None = None) -> None:
        """See `RunWriter`."""
        self._forward(lambda writer: writer.finish(status, error))


class Numbers:
    """The numbers that a run's steps, calls and answers have taken so far, as this process knows them.

    Attributes:
        step: the last step.
        delivery: the last answer, or piece of one.
        calls: the last call of each step.
    """

    def __init__(self, step: int = 0) -> None:
        self.step = step
        self.delivery = 0
        self.calls: dict[int, int] = {}


class NumberingWriter:
    """A `RunWriter` that keeps nothing: steps, calls and answers only get their numbers."""

    def __init__(self, run_id: str, numbers: Numbers) -> None:
        self.run_id = run_id
        self._numbers = numbers
        self._lock = threading.RLock()

    def open_step(self, new: NewStep) -> int:  # noqa: ARG002  the shape of a RunWriter
        """Number a step."""
        with self._lock:
            self._numbers.step += 1
            return self._numbers.step

    def close_step(self, number: int, end: StepEnd, state: object, *, track: str = "main") -> None:
        """Nothing is kept."""

    def take_checkpoint(self, number: int, state: object, *, track: str = "main") -> None:
        """Nothing is kept."""

    def begin_call(self, step: int, new: NewCall) -> int:  # noqa: ARG002
        """Number a call."""
        with self._lock:
            number = self._numbers.calls[step] = self._numbers.calls.get(step, 0) + 1
        return number

    def amend_call(self, step: int, number: int, meta: Mapping[str, Wire], *, args: Wire = None) -> None:
        """Nothing is kept."""

    def ask(self, step: int, call: int, new: NewQuestion) -> NoReturn:  # noqa: ARG002
        """Refuse: nobody would find the question.

        Raises:
            StoreUnreadable: always.
        """
        raise StoreUnreadable("a question cannot be asked while nothing can be recorded")

    def holds(self) -> Sequence[Hold]:
        """None: nobody could find what is held."""
        return ()

    def last_answer(self) -> int:
        """The number of the last answer."""
        return self._numbers.delivery

    def claim_key(self, step: int, call: int, tool: str, key: str, *, is_decided: bool = False) -> NoReturn:  # noqa: ARG002
        """Refuse: only the store knows who has a key.

        Raises:
            StoreUnreadable: always.
        """
        raise keys_unknown(tool)

    def deliver(self, step: int, call: int, kind: DeliveryKind, data: Wire | Judged = None) -> int:  # noqa: ARG002
        """Number a piece of an answer."""
        with self._lock:
            self._numbers.delivery += 1
            return self._numbers.delivery

    def end_call(self, step: int, number: int, end: CallEnd) -> None:  # noqa: ARG002
        """Number an answer."""
        with self._lock:
            self._numbers.delivery += 1

    def finish(self, status: RunStatus, error: ErrorInfo | None = None) -> None:
        """Nothing is kept."""
