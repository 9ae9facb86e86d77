"""What a run did: its steps, their calls, and what reached the agent while a call was answered."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.model.facts import CallFacts, StepFacts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model.kinds import CallKind, CallStatus, DeliveryKind, Effect, StepStatus
    from agent_tt.model.runs import ErrorInfo

__all__ = ["HELD_BACK", "Call", "Delivery", "Judged", "Step"]


@dataclass(frozen=True, slots=True)
class Step:
    """One move of an agent.

    Attributes:
        number: from 1, in order of starting. Number 0 is the initial input, which has a checkpoint but no row.
        name: what the agent calls it.
        kind: its strongest call: `write`, `read`, `http`, `llm`, `other`, `human` or None when it made no call.
        agent: which agent took it, in runs of several.
        lane: the logical thread of control that it ran in.
        parent: number of the step that it is nested in.
        track, seq: the state history and the checkpoint in it taken when the step ended; None without state.
        inherited: it belongs to the parent run, before the fork.
        decision: what the agent decided, in its own words.
        messages: how many messages the state or request held, where known.
        extra: further facts of the source, see `agent_tt.model.facts.StepFacts`; they are in `--json` too.
        damaged: what is wrong with what is stored of it; then nothing else here but the number says anything. None of
            one that is as it was recorded.
    """

    number: int
    name: str
    status: StepStatus
    kind: str | None = None
    agent: str | None = None
    lane: str = "main"
    parent: int | None = None
    started_us: int | None = None
    ended_us: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    error: ErrorInfo | None = None
    track: str = "main"
    seq: int | None = None
    inherited: bool = False
    decision: str | None = None
    calls: int = 0
    repeat_of: int | None = None
    extra: Mapping[str, Wire] = field(default_factory=dict)
    damaged: str | None = None

    @property
    def is_unkept(self) -> bool:
        """Whether it had a state of which no checkpoint is kept: none was to be, or could be, taken, or it went."""
        return self.seq is None and bool(
            self.facts.without_checkpoint or self.facts.state_dropped is not None or self.facts.state_error is not None
        )

    @property
    def why_unkept(self) -> str:
        """Why reading the state after this step gives that of an earlier one; "" if it gives its own."""
        if not self.is_unkept:
            return ""
        if self.facts.state_error is not None:
            return f"no checkpoint, its state could not be read ({self.facts.state_error}); state of an earlier step"
        if self.facts.state_dropped is None:
            return "no checkpoint, state of an earlier step"
        return "no checkpoint kept, it was dropped; state of an earlier step"

    @property
    def id(self) -> str:
        """The stable id, `step_3`."""
        return f"step_{self.number}"

    @property
    def facts(self) -> StepFacts:
        """What `extra` says, read and checked."""
        return StepFacts(self.extra)

    @property
    def unpriced(self) -> int:
        """How many of its model calls have no known price: `cost_usd` is that of the others."""
        return max(self.facts.unpriced or 0, 0) if self.extra else 0

    @property
    def duration_us(self) -> int | None:
        """How long it took, None while it runs."""
        if self.started_us is None or self.ended_us is None:
            return None
        return self.ended_us - self.started_us


@dataclass(frozen=True, slots=True)
class Call:
    """One crossing of a nondeterministic boundary inside a step.

    Attributes:
        number: from 1 within its step.
        lane, lane_seq: the logical thread that made it, and its place in it (from 1).
        status: `pending` in a run that is over means "outcome unknown".
        signature: hex digest of what was asked (kind, name, arguments).
        args: what was asked: `{"name": value}` by parameter name, or a request.
        result: what came back; None with `error` set when it raised.
        delivered: run-wide number under which the answer reached the agent, from 1; of an answer that came in pieces,
            the last one's. None while it is pending.
        meta: further facts, see `agent_tt.model.facts.CallFacts`.
        damaged: what is wrong with what is stored of it: placeholders stand for what it carried, or for all but its
            numbers. None of one that is as it was recorded.
    """

    step: int
    number: int
    kind: CallKind
    name: str
    status: CallStatus
    effect: Effect | None = None
    lane: str = "main"
    lane_seq: int = 0
    args: Wire = None
    result: Wire = None
    error: ErrorInfo | None = None
    signature: str | None = None
    started_us: int | None = None
    ended_us: int | None = None
    delivered: int | None = None
    meta: Mapping[str, Wire] = field(default_factory=dict)
    damaged: str | None = None

    @property
    def facts(self) -> CallFacts:
        """What `meta` says, read and checked."""
        return CallFacts(self.meta)

    @property
    def duration_us(self) -> int | None:
        """How long it took, None while it is pending."""
        if self.started_us is None or self.ended_us is None:
            return None
        return self.ended_us - self.started_us


@dataclass(frozen=True, slots=True)
class Delivery:
    """What reached the agent at one moment of a call that answers in pieces.

    Attributes:
        number: run-wide, from 1, in the order in which answers reached the agent; calls answered in one piece are
            counted with them.
        kind: `chunk` for a piece; then one of `end`, `error` (the call's own says which) and `closed` (the agent left).
        at_us: when it was committed, just before the agent saw it.
        data: the piece, or what a generator returned at its `end`.
        damaged: what is wrong with what is stored of it; None of one that is as it was recorded.
    """

    number: int
    kind: DeliveryKind
    at_us: int | None = None
    data: Wire = None
    damaged: str | None = None


HELD_BACK: Final[Wire] = {"held_back": "its end may be the beginning of a secret"}
"""Stands for a piece of a stream until the next pieces tell whether a secret begins in it."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A piece of a stream that was judged with the pieces before it, so that a secret is found that several bring.

    Attributes:
        data: what is kept of it, or `HELD_BACK`.
        settled: what is kept of earlier pieces of the same call that were held back, by their places among its pieces,
            from 0.
    """

    data: Wire
    settled: tuple[tuple[int, Wire], ...] = ()
