"""Questions and answers: a call as it is put to a link, and what a link gives in place of the world's answer."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from agent_tt._dataclass import dataclass
from agent_tt.model.facts import CallFacts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
        model: of a model call, the model that is asked, where it is known.
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
    model: str | None = None


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
        model=facts.model,
    )


@runtime_checkable
class KnowsOrder(Protocol):
    """A `Served` that knows when the state was changed before its call, because the agent was held."""

    def wait_for_change(self) -> None:
        """Block this thread until that is next in the recorded order."""

    async def turn_of_change(self) -> None:
        """As `wait_for_change`, for a coroutine."""


class Served(Protocol):
    """The recorded answer to one question, given out in the order in which the recording gave it out."""

    @property
    def call(self) -> Call:
        """The recorded call: its result, error and status."""

    @property
    def pieces(self) -> Sequence[Delivery]:
        """What reached the agent in pieces, with the end; empty for an answer in one piece."""

    def wait(self, index: int = 0) -> None:
        """Block this thread until piece `index` (0 too for an answer in one piece) is next in the recorded order.

        An answer that the recorded agent stopped waiting for, or that had not come when its run ended, does not come.

        Raises:
            Divergence: the replay has failed meanwhile, in this lane or another; or the recording broke off here.
        """

    async def turn(self, index: int = 0) -> None:
        """As `wait`, for a coroutine: the event loop goes on meanwhile."""

    def wait_for_all(self) -> None:
        """Block this thread until all that is recorded has been given out, or nothing else can happen."""

    async def turn_after_all(self) -> None:
        """As `wait_for_all`, for a coroutine."""

    def leave(self, index: int) -> None:
        """The agent takes no piece from `index` on: nobody waits for them any more. Safe in finalizers."""

    def read_past(self, why: str = ...) -> BaseException:
        """What to raise when the agent wants more than was recorded (by default, it stopped reading earlier)."""

    def value(self, recorded: Wire) -> object:
        """The Python value of a recorded one: a result, or a piece.

        Raises:
            Divergence: it cannot be made again with the classes that are loaded.
        """

    def failure(self) -> BaseException:
        """The recorded exception of the call, made again.

        Raises:
            Divergence: it cannot be made again with the classes that are loaded.
        """

    def got(self, index: int, value: Wire) -> None:
        """The agent sent `value` into the generator after piece `index`.

        Raises:
            Divergence: it sent something else when it was recorded.
        """
