"""How each lane of a run ended: what `outcome` says of a whole run, as far as it can be said of one lane."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import field
from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.comparing.steps.outcome import cost_of, tokens_of
from agent_tt.model.as_json import milliseconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.runs.run_view import RunView
    from agent_tt.model import Call, ErrorInfo, Step, StepStatus

__all__ = ["LaneEnd", "lane_ends"]

_TOOLS = frozenset({"tool", "http"})


@dataclass(frozen=True, slots=True)
class LaneEnd:
    """How one lane of one run ended.

    Attributes:
        steps: How many steps it took.
        last: Number of its last step.
        status: How that step ended. Whether the lane was to do more after it is not known.
        tools: How often each tool was called, denied calls left out; most often first.
        tokens: Tokens in and out together; None where no step said.
        cost_usd: US dollars; None where no step said.
        unpriced: How many model calls have no known price: `cost_usd` is that of the others.
        duration_us: Microseconds from the start of its first step to the end of its last; None while that runs.
        error: What its last step failed with.
    """

    steps: int
    last: int
    status: StepStatus
    tools: Mapping[str, int] = field(default_factory=dict)
    tokens: int | None = None
    cost_usd: float | None = None
    unpriced: int = 0
    duration_us: int | None = None
    error: ErrorInfo | None = None

    def to_json(self) -> dict[str, Wire]:
        """`{steps, last, status, tools, tokens, cost_usd, cost_complete, duration_ms, error}`; `error` in one line."""
        return {
            "steps": self.steps,
            "last": self.last,
            "status": self.status,
            "tools": dict(self.tools),
            "tokens": self.tokens,
            "cost_usd": self.cost_usd,
            "cost_complete": not self.unpriced,
            "duration_ms": milliseconds(self.duration_us),
            "error": None if self.error is None else self.error.short,
        }


def lane_ends(side: RunView) -> dict[str, LaneEnd]:
    """How each lane of a run ended, by its name, in the order in which they begin."""
    steps: dict[str, list[Step]] = {}
    for step in side.steps:
        steps.setdefault(step.lane, []).append(step)
    calls: defaultdict[str, list[Call]] = defaultdict(list)
    for call in side.heads:
        of = side.by_number.get(call.step)
        calls[call.lane if of is None else of.lane].append(call)
    return {lane: _end_of(own, calls[lane]) for lane, own in steps.items()}


def _end_of(steps: list[Step], calls: Iterable[Call]) -> LaneEnd:
    last = steps[-1]
    tools = Counter(call.name for call in calls if call.kind in _TOOLS and call.status != "denied")
    started, ended = steps[0].started_us, last.ended_us
    return LaneEnd(
        steps=len(steps),
        last=last.number,
        status=last.status,
        tools=dict(tools.most_common()),
        tokens=tokens_of(steps),
        cost_usd=cost_of(steps),
        unpriced=sum(step.unpriced for step in steps),
        duration_us=None if started is None or ended is None else ended - started,
        error=last.error,
    )
