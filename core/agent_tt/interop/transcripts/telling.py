"""Putting a transcript together, turn by turn, from whatever form a provider gives turns.

A step is an answer of a model with the tools that it asked for and their results, as the steps of a program that names
none are; or what a person said later on. What was said before the first answer is what the run began with. Times are
those of the file's entries: a step lasts from the entry before it to its last one.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from agent_tt.codec.encode import encode
from agent_tt.interop.transcripts.transcript import Talk, ToldCall, ToldStep, Transcript
from agent_tt.model import ErrorInfo, Usage
from agent_tt.model.facts import CallFacts
from agent_tt.model.shown import counted
from agent_tt.providers.loose import dicts, mapping, text
from agent_tt.providers.reading import messages_of_turn
from agent_tt.providers.shapes import ModelAnswer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.providers.shapes import Json, Message

__all__ = [
    "LONGEST_DECISION", "Lane", "Teller", "answer", "decision_of", "micros", "name_of_turn", "results_in", "strongest",
    "tool_error", "wire",
]  # fmt: skip

LONGEST_DECISION: Final = 200
"""Characters of what was said that stand for a step in a line."""

_MOST_NAMES: Final = 3
_SPEAKERS: Final = frozenset({"assistant", "ai", "model"})
_MOST_SECONDS: Final = 1 << 36


def wire(value: Json) -> Wire:
    """A value of a file as a value of a state: a dict that looks like one of our envelopes stays a dict."""
    return value if type(value) is str and value.isascii() else encode(value)


def micros(stamp: Json) -> int | None:
    """Microseconds since 1970 of a time as files give it: ISO 8601, or seconds or milliseconds since 1970."""
    if isinstance(stamp, str):
        try:
            found = datetime.fromisoformat(stamp)
        except ValueError:
            return None
        return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1e6)
    if isinstance(stamp, bool) or not isinstance(stamp, int | float) or not 0 < stamp < _MOST_SECONDS * 1000:
        return None
    return int(stamp * (1e3 if stamp > _MOST_SECONDS else 1e6))


def tool_error(content: Wire) -> ErrorInfo:
    """What a tool gave that says of itself that it failed."""
    return ErrorInfo("tool:ToolError", _words(content))


def answer(call: ToldCall, content: Wire, at_us: int | None = None, *, failed: bool = False) -> None:
    """Write down what a tool gave."""
    call.status, call.ended_us = "error" if failed else "ok", at_us
    call.result, call.error = (None, tool_error(content)) if failed else (content, None)


class Teller:
    """A transcript that is being put together.

    Args:
        run_id: its id, unique in its file.
        system: the program that kept it.
        beside: what the state holds beside the conversation, by name.
    """

    def __init__(self, run_id: str, system: str, beside: Mapping[str, Wire] | None = None) -> None:
        self.steps: list[ToldStep] = []
        self.asked: dict[str, tuple[ToldStep, ToldCall]] = {}
        self.flaws: list[tuple[int, str]] = []
        self._id, self._system = run_id, system
        self.main = Lane(self, beside=dict(beside or {}))
        self._lanes = {"main": self.main}

    def lane(self, name: str, *, agent: str | None = None, parent: ToldStep | None = None) -> Lane:
        """The conversation of a sub-agent; begun by a call of `parent` where that is known."""
        if name not in self._lanes:
            self._lanes[name] = Lane(self, name, agent=agent, parent=parent)
        return self._lanes[name]

    def flaw(self, what: str) -> None:
        """Write down that something of the file could not be read at this place."""
        self.flaws.append((len(self.steps), what))

    def done(self, **more: object) -> Transcript:
        """Give what was told; `more` are fields of `Transcript`."""
        for lane in self._lanes.values():
            lane.close()
        steps = self.steps
        return Transcript(self._id, self._system, self.main.opening, steps, flaws=self.flaws, **more)  # type: ignore[arg-type]


class Lane:
    """One conversation of a transcript.

    Attributes:
        opening: what had been said before its first step.
        beside: what the state holds beside the conversation; what is put there counts from the step that is open.
    """

    def __init__(
        self,
        teller: Teller,
        name: str = "main",
        *,
        agent: str | None = None,
        parent: ToldStep | None = None,
        beside: dict[str, Wire] | None = None,
    ) -> None:
        self.name, self.agent, self.parent = name, agent, parent
        self.beside: dict[str, Wire] = beside or {}
        self.said: list[Wire] = []
        self.opening = Talk(self.said, 0)
        self._teller = teller
        self._open: ToldStep | None = None
        self._has_steps = False
        self._at: int | None = None
        self._without_id: list[tuple[ToldStep, ToldCall]] = []

    def turn(
        self,
        turn: dict[str, Json],
        at_us: int | None = None,
        *,
        answer: ModelAnswer | None = None,
        failed: bool = False,
        began_us: int | None = None,
    ) -> ToldStep | None:
        """Take in a turn: what a person said, an answer of a model, or results of tools.

        Args:
            turn: in the form of any provider.
            at_us: when it was written down.
            answer: of a model: what else is known of its answer.
            failed: of a result: the tool reported an error.
            began_us: of an answer: when it was asked for, where the file says so.

        Returns:
            The step that it belongs to; None of what was said before the first.
        """
        read = messages_of_turn(turn)
        if answer is not None or any(message.role in _SPEAKERS for message in read):
            return self._answered(turn, read, answer or ModelAnswer(), at_us, began_us)
        results = results_in(turn)
        for asked_as, content, is_error in results:
            self.result(asked_as, wire(content), at_us, failed=failed or is_error)
        said = [message for message in read if message.role != "tool"]
        if said and not results and self._has_steps:
            self._heard(turn, said, at_us)
        self._say(wire(turn), at_us)
        return self._open

    def ask(self, step: ToldStep, name: str, args: Wire, asked_as: str = "", at_us: int | None = None) -> ToldCall:
        """Add a call of a tool that a step asked for; `result` says what came of it."""
        call = ToldCall("tool", name, "pending", args=args, started_us=at_us, meta=_asked_as(asked_as))
        step.calls.append(call)
        if asked_as:
            self._teller.asked[asked_as] = step, call
        else:
            self._without_id.append((step, call))
        return call

    def result(
        self, asked_as: str, content: Wire, at_us: int | None = None, *, failed: bool = False, name: str = ""
    ) -> ToldCall:
        """Take in what a tool gave; the conversation is not added to.

        Args:
            asked_as: the id under which a model asked for it; its name, where that asks without ids.
            content: what it gave.
            at_us: when that was written down.
            failed: whether it reported an error.
            name: the tool, where nobody is known to have asked for it.
        """
        step, call = self._teller.asked.get(asked_as) or self._named(asked_as)
        if step is None or call is None:
            step = self.step(name or "tool", at_us) if self._open is None else self._open
            call = ToldCall("tool", name or "tool", started_us=self._at, meta=_asked_as(asked_as))
            step.calls.append(call)
        answer(call, content, at_us, failed=failed)
        if step.lane == self.name:
            step.ended_us = _later(step.ended_us, at_us)
        return call

    def _named(self, name: str) -> tuple[ToldStep, ToldCall] | tuple[None, None]:
        """The first call of a tool, of those that were asked for without an id, that has no result yet."""
        waiting = (each for each in self._without_id if each[1].name == name and each[1].status == "pending")
        return next(waiting, (None, None))

    def add(self, turn: dict[str, Json], at_us: int | None = None) -> ToldStep | None:
        """Take in a turn that nobody said or answered: one that the program itself put into the conversation."""
        self._say(wire(turn), at_us)
        return self._open

    def note(self, entry: dict[str, Json]) -> None:
        """Keep an entry of the file that is no turn, with the step that it stands in; none before the first."""
        if self._open is not None:
            self._open.raw.append(wire(entry))

    def shown(self, messages: Sequence[Wire]) -> None:
        """Say what a model is shown: the conversation so far and more of it, or another one in its place."""
        self.close()
        known = len(self.said)
        if [*messages[:known]] == self.said:
            self.said[:] = messages  # equal ones too: what is the very same is compared at once the next time
        else:
            self.said = [*messages]
        if not self._has_steps:
            self.opening = Talk(self.said, len(self.said), {**self.beside})

    def step(self, name: str, at_us: int | None = None, *, began_us: int | None = None) -> ToldStep:
        """Begin a step; the one before it is over."""
        self.close()
        self._has_steps = True
        before = self._at
        started_us = began_us or before or at_us
        self._open = step = ToldStep(name, self.name, self.agent, self.parent, started_us=started_us)
        step.ended_us = _later(step.started_us, at_us)
        self._teller.steps.append(step)
        return step

    def answered(
        self, said: Sequence[Message], answer: ModelAnswer, at_us: int | None = None, began_us: int | None = None
    ) -> ToldStep:
        """Begin the step that an answer of a model is, with what it cost; its calls are still to be added."""
        step = self.step(
            name_of_turn([call.name for message in said for call in message.calls]), at_us, began_us=began_us
        )
        if answer.error:
            step.status, step.error = "error", ErrorInfo("model:Error", answer.error)
        tokens, cost = answer.tokens, answer.cost_usd
        unpriced = None if cost is not None or tokens.input is None else 1
        step.usage = Usage(tokens.input, tokens.output, cost, unpriced)
        step.decision = decision_of(said)
        return step

    def begin_anew(self, name: str, messages: Sequence[Wire], at_us: int | None = None) -> ToldStep:
        """Put another conversation in the place of the one so far, as compaction does, in a step of its own."""
        step = self.step(name, at_us)
        dropped = sum(message not in messages for message in self.said)
        if dropped:
            step.decision = f"dropped {dropped} of {counted(len(self.said), 'message')}"
        self.said = [*messages]
        self._at = at_us or self._at
        return step

    def close(self) -> None:
        """End the step that is open, with the conversation as it is."""
        now = Talk(self.said, len(self.said), {**self.beside})
        if self._open is not None:
            self._open.talk = now
            self._open = None
        elif not self._has_steps:
            self.opening = now

    def _say(self, message: Wire, at_us: int | None) -> None:
        self.said.append(message)
        self._at = at_us or self._at
        if self._open is not None:
            self._open.ended_us = _later(self._open.ended_us, at_us)

    def _heard(self, turn: dict[str, Json], said: Sequence[Message], at_us: int | None) -> None:
        role = said[0].role
        self._at = at_us or self._at  # a person's time to think is no step's
        step = self.step(role, at_us)
        if role == "user":
            content = turn.get("content")
            step.calls.append(ToldCall("human", "user", result=wire(content), started_us=at_us, ended_us=at_us))
        step.decision = _words(said[0].text)[:LONGEST_DECISION] or None

    def _answered(
        self,
        turn: dict[str, Json],
        read: Sequence[Message],
        answer: ModelAnswer,
        at_us: int | None,
        began_us: int | None,
    ) -> ToldStep:
        self.close()
        asked = Talk(self.said, len(self.said))
        said = answer.messages or read  # who knows the provider reads more of a turn than its shape tells
        step = self.answered(said, answer, at_us, began_us)
        error = step.error
        meta: dict[str, Wire] = {key: wire(value) for key, value in answer.to_meta().items()}
        message = wire(turn)
        step.calls.append(
            ToldCall(
                "llm", answer.model or "model", "error" if error else "ok", asked, None,
                None if error else message, error, step.started_us, at_us, meta,
            )
        )  # fmt: skip
        for call in (call for message in said for call in message.calls):
            self.ask(step, call.name, wire(call.arguments), call.id, at_us)
        self._say(message, at_us)
        for asked_as, content, is_error in results_in(turn):  # of tools that the provider runs itself
            self.result(asked_as, wire(content), at_us, failed=is_error)
        return step


def results_in(turn: Mapping[str, Json]) -> list[tuple[str, Json, bool]]:
    """The results of tools in a turn: the id under which each was asked for, what came, and whether it is an error."""
    kind = text(turn.get("type"))
    if kind.endswith("_call_output"):
        return [(text(turn.get("call_id")), turn.get("output"), False)]
    if turn.get("role") in ("tool", "function"):
        asked_as = next(filter(None, (text(turn.get(key)) for key in ("tool_call_id", "id", "name"))), "")
        return [(asked_as, turn.get("content"), bool(turn.get("error")) or turn.get("status") == "error")]
    found: list[tuple[str, Json, bool]] = []
    for block in dicts(turn.get("content")):
        block_kind = text(block.get("type"))
        if block_kind.endswith("tool_result"):
            given = block.get("content")
            is_error = block.get("is_error") is True or text(mapping(given).get("type")).endswith("_error")
            found.append((text(block.get("tool_use_id")), given, is_error))
        elif "toolResult" in block:  # of Bedrock
            result = mapping(block["toolResult"])
            found.append((text(result.get("toolUseId")), result.get("content"), result.get("status") == "error"))
    for part in dicts(turn.get("parts")):  # of Gemini, which need not give ids
        result = mapping(part.get("functionResponse", part.get("function_response")))
        if result:
            came = result.get("response")
            found.append((text(result.get("id")) or text(result.get("name")), came, "error" in mapping(came)))
    return found


def _asked_as(call_id: str) -> dict[str, Wire]:
    return dict(CallFacts.answers.entry(call_id)) if call_id else {}


def name_of_turn(tools: Sequence[str]) -> str:
    """A step's name: the tools that it asked for, `Glob ×2, TodoWrite`; `answer` where it asked for none."""
    if len(tools) == 1:
        return tools[0] or "answer"
    counted = {name: tools.count(name) for name in dict.fromkeys(tools)}
    named = [name if count == 1 else f"{name} ×{count}" for name, count in counted.items()]
    more = [f"and {len(named) - _MOST_NAMES} more"] if len(named) > _MOST_NAMES else []
    return ", ".join(named[:_MOST_NAMES] + more) or "answer"


def decision_of(messages: Sequence[Message]) -> str | None:
    """What stands for a step in a line: what was said, else the tools that were asked for, else what was thought."""
    words = " ".join(" ".join(message.text[:LONGEST_DECISION].split()) for message in messages).strip()
    if not words:
        words = ", ".join(call.name for message in messages for call in message.calls)
    if not words:
        words = " ".join(" ".join(message.reasoning[:LONGEST_DECISION].split()) for message in messages).strip()
    return words[:LONGEST_DECISION] or None


def _words(content: Wire) -> str:
    """What a result says, as text."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else [content]
    said = [str(block.get("text")) for block in blocks if isinstance(block, dict) and block.get("text") is not None]
    return "\n".join(said) or str(content)


def _later(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else max(one, other)


def strongest(calls: Iterable[ToldCall]) -> str | None:
    """The kind that stands for a step. What a tool does to the world no file says, so it counts as writing."""
    kinds = {call.kind for call in calls}
    return next(
        (shown for kind, shown in (("human", "human"), ("tool", "write"), ("llm", "llm")) if kind in kinds), None
    )
