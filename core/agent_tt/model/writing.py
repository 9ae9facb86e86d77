"""What a recorder says: a run and its steps and calls, when each begins and when it is over."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.model.runs import AgentCode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model.edits import Edit
    from agent_tt.model.kinds import CallKind, CallStatus, Effect, StepStatus, StreamEnd, WayBackIn
    from agent_tt.model.runs import ErrorInfo, ModelConfig

__all__ = ["CallEnd", "NewCall", "NewFork", "NewRun", "NewStep", "StepEnd"]


@dataclass(frozen=True, slots=True)
class NewRun:
    """What a recorder says about a run when it starts (the store gives it an id and a unique place)."""

    name: str
    code: AgentCode = field(default_factory=AgentCode)
    model: ModelConfig | None = None
    user_id: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Wire] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewFork:
    """What is said about a fork when it is made, before its agent starts.

    Attributes:
        parent: the id of the run that it goes on from.
        step: the step after which it does.
        state: the state that it begins with, edits included.
        new: the fork as a run; without a name it is called `PARENT/fork-N`.
        edits: what a person changed.
        policy: by tool, whether its calls are made; see `agent_tt.forking`.
        way_back_in: whether its agent is handed the state, or runs from its beginning.
    """

    parent: str
    step: int
    state: Wire
    new: NewRun
    edits: Sequence[Edit] = ()
    policy: Mapping[str, Wire] | None = None
    way_back_in: WayBackIn = "restore"


@dataclass(frozen=True, slots=True)
class NewStep:
    """What a recorder says about a step when it opens."""

    name: str
    agent: str | None = None
    lane: str = "main"
    parent: int | None = None


@dataclass(frozen=True, slots=True)
class StepEnd:
    """What a recorder says about a step when it closes."""

    status: StepStatus
    error: ErrorInfo | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    decision: str | None = None
    shared_track: bool = False
    extra: Mapping[str, Wire] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewCall:
    """What a recorder says about a call before it is made: the intent that is committed first."""

    kind: CallKind
    name: str
    args: Wire
    signature: str
    effect: Effect | None = None
    lane: str = "main"
    lane_seq: int = 0
    meta: Mapping[str, Wire] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallEnd:
    """What came back from a call, committed before the agent sees it.

    Attributes:
        stream: how an answer that came in pieces ended: its end is a delivery of its own. None for one in one piece.
        returned: what came with that end.
        settled: what is kept of pieces that were held back until now; see `Judged`.
    """

    status: CallStatus
    result: Wire = None
    error: ErrorInfo | None = None
    meta: Mapping[str, Wire] = field(default_factory=dict)
    stream: StreamEnd | None = None
    returned: Wire = None
    settled: tuple[tuple[int, Wire], ...] = ()
