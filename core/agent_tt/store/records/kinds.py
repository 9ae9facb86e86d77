"""The kinds of records that a backend keeps: objects of the model, and the few facts that these do not hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.model import Call, Delivery, Hold, Label, Note, Output, Owner, Replay, Run, Step, Sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.questions import CallQuestion, Decision

__all__ = ["Asked", "Checkpoint", "Driven", "Held", "Piece", "Record", "Recorder", "key_of"]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state after a step.

    Attributes:
        step: the step; 0 is the input, and in a fork `fork_step` is the edited state that it begins with.
        track: which of the run's state histories it is of.
        seq: its number there, from 0, without gaps.
        state: the state.
    """

    step: int
    track: str
    seq: int
    state: Wire


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of an answer, and the call that it answers."""

    step: int
    call: int
    delivery: Delivery


@dataclass(frozen=True, slots=True)
class Recorder:
    """Who records a run.

    Attributes:
        owner: the process.
        beat_us: when it last said that it is there.
        delivered: the number of the last answer that reached the agent.
    """

    owner: Owner
    beat_us: int
    delivered: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about a call, the process that waits, and what was decided."""

    question: CallQuestion
    owner: Owner
    decision: Decision | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """A hold of a run, the process that holds it, and when that last said that it is there."""

    hold: Hold
    owner: Owner
    beat_us: int


@dataclass(frozen=True, slots=True)
class Driven:
    """A sweep of a run, and the process that drives it; None where nobody does."""

    sweep: Sweep
    owner: Owner | None
    beat_us: int


Record: TypeAlias = (
    Run | Recorder | Step | Call | Piece | Checkpoint | Output | Note | Label | Replay | Asked | Held | Driven
)
"""What a backend keeps. Every record belongs to a run; `key_of` tells those of one run and one kind apart."""

_KEYS: Final[Mapping[type, Callable[..., tuple[int, ...]]]] = {
    Run: lambda _: (),
    Recorder: lambda _: (),
    Output: lambda _: (),
    Step: lambda step: (step.number,),
    Call: lambda call: (call.step, call.number),
    Piece: lambda piece: (piece.step, piece.call, piece.delivery.number),
    Checkpoint: lambda checkpoint: (checkpoint.step,),
    Note: lambda note: (note.id,),
    Label: lambda label: (label.step,),
    Replay: lambda replay: (replay.id,),
    Asked: lambda asked: (asked.question.id,),
    Held: lambda held: (held.hold.id,),
    Driven: lambda driven: (driven.sweep.number,),
}


def key_of(record: Record) -> tuple[int, ...]:
    """What tells a record from the others of its run and kind; those of steps begin with the step."""
    return _KEYS[type(record)](record)
