"""Answers that come from somewhere else than the world: what the recorder asks before a call is made.

A replay offers itself here; the floors that record know it only by these shapes. While answers are offered, every call
of the process is put to them first. They serve it, let it run, or raise: `Divergence` derives from `BaseException`, so
that no `except Exception` of an agent hides it.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from agent_tt.model.facts import CallFacts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, CallKind, Delivery, Effect, NewCall


@dataclass(frozen=True, slots=True)
class Question:
    """A call that is about to be made.

    Attributes:
        kind: what kind of boundary it crosses.
        name: what is called: the name of a tool, `POST https://host/path` of a request.
        args: its arguments by name; of a request `method`, `url`, `headers`, `body`.
        signature: digest of what is asked (hex).
        effect: of a tool, what it does to the world.
        lane: id of the lane that asks; "" where no recording reaches.
        lane_seq: number of the question in its lane, from 0.
        site: where it is asked: `file`, `line`, `function` as far as they are known.
        step: number of the step that it belongs to, where that is known.
        can_wait: whether a coroutine asks, which waits (`HoldsBack.until_live`) before it makes the call.
        unsure: why another run of the program may ask it in another lane; "" where the lane is sure.
    """

    kind: CallKind
    name: str
    args: Wire
    signature: str
    effect: Effect | None
    lane: str
    lane_seq: int
    site: Mapping[str, Wire] = field(default_factory=dict)
    step: int | None = None
    can_wait: bool = False
    unsure: str = ""


def question_of(new: NewCall, step: int | None = None, *, can_wait: bool = False) -> Question:
    """What a replay is asked for a call that is about to be made, in the step of that number."""
    facts = CallFacts(new.meta)
    return Question(
        kind=new.kind,
        name=new.name,
        args=new.args,
        signature=new.signature,
        effect=new.effect,
        lane=new.lane,
        lane_seq=new.lane_seq,
        site=facts.site,
        step=step,
        can_wait=can_wait,
        unsure=facts.lane_unsure or "",
    )


class Served(Protocol):
    """The recorded answer to one question, given out in the order in which the recording gave it out."""

    @property
    def call(self) -> Call:
        """The recorded call: its result, error and status."""
        ...

    @property
    def pieces(self) -> Sequence[Delivery]:
        """What reached the agent in pieces, with the end; empty for an answer in one piece."""
        ...

    def wait(self, index: int = 0) -> None:
        """Block this thread until piece `index` (0 too for an answer in one piece) is next in the recorded order.

        An answer that the recorded agent stopped waiting for, or that had not come when its run ended, does not come.

        Raises:
            Divergence: the replay has failed meanwhile, in this lane or another; or the recording broke off here.
        """
        ...

    async def turn(self, index: int = 0) -> None:
        """As `wait`, for a coroutine: the event loop goes on meanwhile."""
        ...

    def leave(self, index: int) -> None:
        """The agent takes no piece from `index` on: nobody waits for them any more. Safe in finalizers."""
        ...

    def read_past(self, why: str = ...) -> BaseException:
        """What to raise when the agent wants more than was recorded (by default, it stopped reading earlier)."""
        ...

    def value(self, recorded: Wire) -> object:
        """The Python value of a recorded one: a result, or a piece.

        Raises:
            Divergence: it cannot be made again with the classes that are loaded.
        """
        ...

    def failure(self) -> BaseException:
        """The recorded exception of the call, made again.

        Raises:
            Divergence: it cannot be made again with the classes that are loaded.
        """
        ...

    def got(self, index: int, value: Wire) -> None:
        """The agent sent `value` into the generator after piece `index`.

        Raises:
            Divergence: it sent something else when it was recorded.
        """
        ...


class Answers(Protocol):
    """Serves the calls of a process."""

    def ask(self, question: Question) -> Served | None:
        """Serve a call; None when it is to run for real.

        Raises:
            Divergence: nothing recorded answers it, or the replay has failed before.
        """
        ...


@runtime_checkable
class KeepsKeys(Protocol):
    """Answers that know with which idempotency key an earlier try of a call was sent."""

    def key_of(self, question: Question) -> Wire:
        """The key to send a call with that is made for real, in place of its own; None where it keeps that."""
        ...


@runtime_checkable
class HoldsBack(Protocol):
    """Answers that let nothing run for real before they have given out all that they have."""

    async def until_live(self, question: Question) -> None:
        """Wait until a call may be made for real that a coroutine asks for; others wait in `Answers.ask`.

        Raises:
            Divergence: the replay has failed meanwhile.
        """
        ...


class _Desk:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: Answers | None = None

    @property
    def answers(self) -> Answers | None:
        return self._answers

    def exchange(self, answers: Answers | None) -> Answers | None:
        with self._lock:
            before, self._answers = self._answers, answers
            return before


_DESK = _Desk()


def answers_here() -> Answers | None:
    """What serves the calls of this process now, None where they are made for real."""
    return _DESK.answers


@contextmanager
def serving(answers: Answers) -> Iterator[None]:
    """Let `answers` serve every call of this process while the block lasts."""
    before = _DESK.exchange(answers)
    try:
        yield
    finally:
        _DESK.exchange(before)
