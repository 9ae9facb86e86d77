"""What a step did, as texts that can be compared: what it asked for, and what came back.

A model's *arguments* are no part of it. They are the state as the model saw it, and after one edited word they differ
for the rest of the run; what the model made of them is what a step did.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from agent_tt.history.digest import digest
from agent_tt.model import ACTING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, Step
    from agent_tt.protocols import RunSource

_VOLATILE: Final = frozenset(
    {
        "id",
        "created",
        "created_at",
        "usage",
        "usage_metadata",
        "response_metadata",
        "system_fingerprint",
        "tool_call_id",
    }
)
"""Keys of a model's answer, or of a message, that differ each time it says the same."""


@dataclass(frozen=True, slots=True)
class Move:
    """What one step did.

    Attributes:
        step: The step.
        calls: Its calls.
        did: Equal for steps that did the same: agent, name, decision, and tools with their arguments (or the model's
            answer).
        alike: Equal for steps that did the same kind of thing: the same tools whatever their arguments, else the same
            name.
        came_back: Equal when results, errors and status are.
    """

    step: Step
    calls: tuple[Call, ...]
    did: str
    alike: str
    came_back: str

    @property
    def number(self) -> int:
        """The step's number."""
        return self.step.number

    @property
    def acts(self) -> tuple[Call, ...]:
        """The calls that act in the world."""
        return tuple(call for call in self.calls if call.kind in ACTING)

    @property
    def answers(self) -> tuple[Call, ...]:
        """The calls of models."""
        return tuple(call for call in self.calls if call.kind == "llm")


def read_move(source: RunSource, run_id: str, step: Step) -> Move:
    """Read what a step did."""
    return describe_move(step, source.calls(run_id, step.number) if step.calls else ())


def describe_move(step: Step, calls: Sequence[Call]) -> Move:
    """Say what a step did, given its calls."""
    acts = [call for call in calls if call.kind in ACTING]
    answers = [call for call in calls if call.kind == "llm"]
    asked = [[call.kind, call.name, value_key(call.args)] for call in acts]
    answered = [value_key(lasting(call.result)) for call in answers] if not acts else []
    tools = [call.name for call in acts]
    back = [[value_key(call.result), call.status, call.error.short if call.error else None] for call in acts]
    error = step.error.short if step.error else None
    return Move(
        step=step,
        calls=tuple(calls),
        did=json.dumps([step.agent, step.name, step.decision, asked, answered]),
        alike=json.dumps([step.agent, tools] if tools else [step.agent, [], step.name]),
        came_back=json.dumps([back, error, step.status]),
    )


def value_key(value: Wire) -> str:
    """A text that is equal for equal values, types included; the order of keys does not count."""
    return digest(value).hex()


def lasting(value: Wire) -> Wire:
    """A value without what differs each time that the same is said, such as ids of messages."""
    if isinstance(value, dict):
        return {key: lasting(inner) for key, inner in value.items() if key not in _VOLATILE}
    if isinstance(value, list):
        return [lasting(inner) for inner in value]
    return value
