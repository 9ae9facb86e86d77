"""What a step did, as texts that can be compared: what it asked for, and what came back.

What a model was *asked* is not part of it. It is the state as the model saw it, and after one edited word it differs
for the rest of the run; what the model made of it is what a step did. A key of it is kept beside, for the first
question that differs is a reason.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, TypeAlias

import orjson

from agent_tt._dataclass import dataclass
from agent_tt.history.digest import digest
from agent_tt.model import ACTING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, CallKind, Step

__all__ = [
    "LaneCalls",
    "Move",
    "acts_of",
    "answer_of",
    "answers_of",
    "asked_by",
    "call_key",
    "describe_move",
    "is_silent",
    "lanes_of",
    "lasting",
    "out_of_order",
    "question_of",
    "value_key",
]

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

LaneCalls: TypeAlias = "tuple[tuple[str, ...], ...]"
"""One tuple for each lane: the keys of its calls, in order."""


@dataclass(frozen=True, slots=True)
class Move:
    """What one step did. It holds no results, so that those of a long run do not fill the memory.

    Attributes:
        step: The step.
        did: Equal for steps that did the same: agent, name, decision, and tools with their arguments, else the model's
            answer or error, else what was written to the state.
        alike: Equal for steps that did the same kind of thing: agent and tools in order whatever their arguments, else
            agent and name.
        came_back: Equal when results, errors and status are.
        asked: The arguments of each tool, or each answer, or what was written, as JSON: a list. Empty where JSON cannot
            hold them.
        questions: For each call of a model a key of what it was asked: equal ones for equal questions.
        lanes: What each of its lanes called, in order, with what came back; empty where it called from its own alone.
            The order in which lanes took turns is chance, and in nothing of the above.
    """

    step: Step
    did: bytes
    alike: Alike
    came_back: bytes
    asked: bytes = _NOTHING
    questions: tuple[str, ...] = ()
    lanes: LaneCalls = ()

    @property
    def number(self) -> int:
        """The step's number."""
        return self.step.number

    def is_same_as(self, other: Move) -> bool:
        """Whether another one did the same, with the same result; of what was not kept no difference is known."""
        return (
            (self.did == other.did or (self._is_like(other) and (self.is_unknown or other.is_unknown)))
            and self.came_back == other.came_back
            and (not self.lanes or not other.lanes or not out_of_order(self.lanes, other.lanes))
        )

    @property
    def is_unknown(self) -> bool:
        """Whether only what it wrote would tell what it did, and that was not kept."""
        return self.step.is_unkept and not self.alike[2] and not self.questions

    def _is_like(self, other: Move) -> bool:
        return self.alike == other.alike and not other.questions and self.step.decision == other.step.decision

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
    beside_each_other = len(calls) > 1 and any(call.lane != step.lane for call in calls)
    lanes: LaneCalls = ()
    if beside_each_other:
        lanes = lanes_of(calls)
        calls = sorted(calls, key=_place_of)
    acts = acts_of(calls)
    asked: list[Wire] = [call.args for call in acts] if acts else [answer_of(call) for call in answers_of(calls)]
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
        lanes=lanes,
    )


def asked_by(call: Call) -> Wire:
    """What a call asked, without what differs each time that a model is asked the same."""
    return question_of(call) if call.kind == "llm" else call.args


def answer_of(call: Call) -> Wire:
    """What a model answered, without what differs each time that it says the same; else how asking it ended."""
    if call.status == "ok" and call.error is None:
        return lasting(call.result)
    error = None if call.error is None else call.error.short
    return {"status": call.status, "error": error, "said": lasting(call.result)}


def call_key(call: Call) -> str:
    """Give a key that two calls share if they asked the same and got the same result."""
    result = lasting(call.result) if call.kind == "llm" else call.result
    ended: list[Wire] = [call.status, None if call.error is None else call.error.short]
    asked = _question_key(call) if call.kind == "llm" else call.args
    return value_key([call.kind, call.name, asked, result, ended])


def lanes_of(calls: Sequence[Call]) -> LaneCalls:
    """What each lane called, in order."""
    lanes: defaultdict[str, list[str]] = defaultdict(list)
    for call in calls:
        if call.kind in ACTING or call.kind == "llm":
            lanes[call.lane].append(call_key(call))
    return tuple(map(tuple, lanes.values()))


def out_of_order(a: LaneCalls, b: LaneCalls) -> bool:
    """Whether lanes of two steps that made the same calls are known to have made them in another order.

    Lanes that made the same calls made them in the same order, or it is another one. Where the work was shared out
    otherwise, as among workers of a queue, it is one where two calls that stand in one lane of each step come the other
    way round; calls that were made more than once tell nothing of that.
    """
    ways_a, ways_b = Counter(a), Counter(b)
    rest = [[*(lanes - others).elements()] for lanes, others in ((ways_a, ways_b), (ways_b, ways_a))]
    bags = [{tuple(sorted(lane)) for lane in lanes} for lanes in rest]
    if bags[0] & bags[1]:
        return True
    places = {key: (number, at) for number, lane in enumerate(b) for at, key in enumerate(lane)}
    times = [Counter(key for lane in lanes for key in lane) for lanes in (a, b)]
    for lane in a:
        reached: dict[int, int] = {}
        for key in lane:
            if times[0][key] == times[1][key] == 1:
                number, at = places[key]
                if at < reached.get(number, 0):
                    return True
                reached[number] = at
    return False


def _place_of(call: Call) -> tuple[str, str, bytes, str]:
    """Give the key by which calls of concurrent lanes are sorted: what they asked, not when they came."""
    asked: Wire = [_question_key(call)] if call.kind == "llm" else call.args
    return call.kind, call.name, _key(asked, _json(asked)), call_key(call)


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
