"""What a step did, as texts that can be compared: what it asked for, and what came back.

What a model was *asked* is not part of it. It is the state as the model saw it, and after one edited word it differs
for the rest of the run; what the model made of it is what a step did. A key of it is kept beside, for the first
question that differs is a reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, TypeAlias

import orjson

from agent_tt.history.digest import digest
from agent_tt.model import ACTING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, CallKind, Step

__all__ = ["Move", "acts_of", "answers_of", "describe_move", "is_silent", "lasting", "question_of", "value_key"]

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

_PAIRS: Final = b'"$type":"dict"'
"""In the text of a value: it holds a dict whose keys are no strings, which is written as a list in any order."""

_NOTHING: Final = b"[]"

Alike: TypeAlias = "tuple[str | None, str, tuple[tuple[CallKind, str], ...]]"


@dataclass(frozen=True, slots=True)
class Move:
    """What one step did. It holds no results, so that those of a long run do not fill the memory.

    Attributes:
        step: The step.
        did: Equal for steps that did the same: agent, name, decision, and tools with their arguments, else the model's
            answer, else what was written to the state.
        alike: Equal for steps that did the same kind of thing: agent and tools in order whatever their arguments, else
            agent and name.
        came_back: Equal when results, errors and status are.
        asked: The arguments of each tool, or each answer, or what was written, as JSON: a list. Empty where JSON cannot
            hold them.
        questions: For each call of a model a key of what it was asked: equal ones for equal questions.
    """

    step: Step
    did: bytes
    alike: Alike
    came_back: bytes
    asked: bytes = _NOTHING
    questions: tuple[str, ...] = ()

    @property
    def number(self) -> int:
        """The step's number."""
        return self.step.number

    @property
    def is_edit(self) -> bool:
        """Whether it only edited the state, from outside of the agent."""
        return self.step.facts.is_edit

    @property
    def title(self) -> str:
        """What it is called in a few words: its first tool, else its name."""
        return self.alike[2][0][1] if self.alike[2] else self.step.name


def acts_of(calls: Sequence[Call]) -> list[Call]:
    """The calls that act in the world."""
    return [call for call in calls if call.kind in ACTING]


def answers_of(calls: Sequence[Call]) -> list[Call]:
    """The calls of models."""
    return [call for call in calls if call.kind == "llm"]


def is_silent(calls: Sequence[Call]) -> bool:
    """Whether a step made no call to the world, so that only what it wrote tells what it did."""
    return not any(call.kind in ACTING or call.kind == "llm" for call in calls)


def describe_move(step: Step, calls: Sequence[Call], written: Mapping[str, str] | None = None) -> Move:
    """Say what a step did.

    Args:
        step: The step.
        calls: Its calls; of what models were asked the signature is enough.
        written: What it wrote to the state, by place (`agent_tt.comparing.steps.updates`); counts if it is silent.
    """
    acts = acts_of(calls)
    asked: list[Wire] = [call.args for call in acts] if acts else [lasting(call.result) for call in answers_of(calls)]
    if written and not asked:
        asked = [{**written}]
    tools = tuple([(call.kind, call.name) for call in acts])
    back: list[Wire] = [[call.result, call.status, None if call.error is None else call.error.short] for call in acts]
    came: list[Wire] = [back, None if step.error is None else step.error.short, step.status]
    said = _json(asked) if asked else _NOTHING
    return Move(
        step=step,
        did=_short(_who(step.agent, step.name, step.decision, tools) + _key(asked, said)),
        alike=(step.agent, "" if tools else step.name, tools),
        came_back=_short(_key(came, _json(came))),
        asked=bytes(memoryview(said)),  # the encoder's own bytes keep the room that it wrote into
        questions=tuple([_question_key(call) for call in answers_of(calls)]),
    )


def question_of(call: Call) -> Wire:
    """What a model was asked, with the model's name, without what differs each time that the same is asked."""
    asked = lasting(call.args)
    model = call.facts.model
    if model is None or (isinstance(asked, dict) and "model" in asked):
        return asked
    return {"model": model, **asked} if isinstance(asked, dict) else {"model": model, "question": asked}


def _question_key(call: Call) -> str:
    return call.signature or ("" if call.args is None else value_key(question_of(call)))


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


@lru_cache(maxsize=1_024)
def _who(agent: str | None, name: str, decision: str | None, tools: tuple[tuple[CallKind, str], ...]) -> bytes:
    """Who did it, and with what; of thousands of steps most have it in common with others."""
    who: list[Wire] = [agent, name, decision, [[*tool] for tool in tools]]
    return _key(who, _json(who))


def _json(value: Wire) -> bytes:
    """A value as JSON, keys in order; empty where it is nested too deeply for that, or holds what JSON does not."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        return b""


def _key(value: Wire, text: bytes) -> bytes:
    """What `value_key` gives, or the JSON of the value: equal for equal values too, and made several times as fast."""
    return text if text and _PAIRS not in text else value_key(value).encode()


def _short(text: bytes) -> bytes:
    """A digest of a text that may be long."""
    return blake2b(text, digest_size=16).digest()
