"""The items of one request to a model: system text, tools, and each part of each message, as texts."""

from __future__ import annotations

import json
from itertools import takewhile
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import orjson

from agent_tt._dataclass import dataclass
from agent_tt.codec.paths import format_path
from agent_tt.codec.text import pretty
from agent_tt.codec.wire import envelope_type
from agent_tt.providers.chat import ASSISTANTS, TOOLS, conversation_in
from agent_tt.providers.model_talk import ModelTalks, alike, messages_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.model import Call
    from agent_tt.providers.model_talk import ModelTalk
    from agent_tt.providers.shapes import Asked, Message, OfferedTool

__all__ = ["Part", "PartKind", "PartsOf", "Request", "asked_text", "parts_in", "said_parts"]

PartKind = Literal["system", "tools", "text", "thinking", "call", "result"]
"""What a part of a request is: a text of the system's, an offered tool, what somebody said, what a model thought, a
tool call that it asked for, or what a tool gave."""

_SYSTEM: Final = frozenset({"system", "developer", "SystemMessage"})
_BESIDE: Final = ("system", "system_prompt", "instructions")
"""Arguments under which a function takes its system text beside the messages."""
_LONGEST_LEAF: Final = 1_000


@dataclass(frozen=True, slots=True)
class Part:
    """One item of a request.

    Attributes:
        role: who speaks: `system`, `tools`, `user`, `assistant`, `tool`, or the provider's own word; `argument` of a
            function that takes no messages.
        kind: what it is.
        text: all of it; a tool call has its arguments on rows of their own, texts among them as they are.
        name: of a tool, its name.
        id: of a tool call and its result, the id that joins them; empty where there is none.
        path: where its message is in the call's arguments, in wire coordinates; None where only the provider's form
            says that.
    """

    role: str
    kind: PartKind
    text: str
    name: str = ""
    id: str = ""
    path: Path | None = None

    @property
    def joins(self) -> str:
        """The id, where it is one: of a provider without ids the results name their tool in its place."""
        return "" if self.id == self.name else self.id

    @property
    def key(self) -> tuple[str, str, str]:
        """What is equal where two requests say the same."""
        return self.role, self.kind, self.text

    @property
    def where(self) -> str | None:
        """The path of its message in the arguments, as people write it."""
        return None if self.path is None else format_path(self.path)


class Request(NamedTuple):
    """What a model call was asked with.

    Attributes:
        parts: its items in their order; parts that the last such call in its lane had are the same objects.
        talk: the same as messages, with what was answered.
        length: says how many bytes what the parts are of has as JSON; to be asked before the next request is read.
        last: the parts of the last such call; None where there is none.
        known: how many of these the parts begin with, at least.
    """

    parts: Sequence[Part]
    talk: ModelTalk
    length: Callable[[], int]
    last: Sequence[Part] | None = None
    known: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether the parts are all of it, as those of a request to a provider are.

        What a function was given, or what the file of another system kept of a request, need not be all of it.
        """
        return bool(self.talk.request.api)


class PartsOf:
    """Reads requests as parts, in the order of a run; what one has in common with the one before is not read again."""

    def __init__(self) -> None:
        self._talks = ModelTalks()
        self._last: dict[tuple[str, str, bool], _Told] = {}

    def read(self, call: Call) -> Request:
        """Read the items of a request."""
        talk = self._talks.of(call)
        if talk.request.api:
            turns = [(message,) for message in talk.request.messages]
            told = self._told(call, turns, None, list(_of_tools(talk.request.tools)), None)
            return Request(told.parts, talk, lambda: _length_of(call.args), told.last, told.known)
        if not talk.turns:
            return Request(tuple(_of_arguments(call.args)), talk, lambda: _length_of(call.args))
        told = self._told(call, talk.turns, conversation_in(call.args), list(_beside(call.args)), talk.known)
        return Request(told.parts, talk, lambda: told.length(call.args), told.last, told.known)

    def _told(
        self,
        call: Call,
        turns: Sequence[Sequence[Message]],
        at: Path | None,
        beside: list[Part],
        known: int | None,
    ) -> _Told:
        key = call.name, call.lane, known is None
        told = self._last.get(key)
        if told is None or told.at != at:
            told = self._last[key] = _Told(at)
        told.go_on(turns, beside, known)
        return told


class _Told:
    """What a conversation says, and what stands beside it.

    Attributes:
        at: where it is in the arguments of its call; None where only the provider's form says that.
        parts: system texts at the beginning first, then tools, then what was said: the order of a cached prefix.
        last: the same of the call before; None where there is none.
        known: how many of these the parts begin with.
    """

    def __init__(self, at: Path | None) -> None:
        self.at = at
        self.parts: Sequence[Part] = []
        self.last: Sequence[Part] | None = None
        self.known = 0
        self._beside: list[Part] = []
        self._turns: Sequence[Sequence[Message]] = []
        self._said: list[Part] = []
        self._ends = [0]
        """After each turn, the number of parts so far."""
        self._lengths = [0]
        """The same in bytes, of as many turns as somebody asked for."""
        self._names: dict[str, str] = {}
        """Tools that were asked for, by the id."""

    def go_on(self, turns: Sequence[Sequence[Message]], beside: list[Part], known: int | None) -> None:
        """Read the next call.

        Args:
            turns: its turns.
            beside: what stands beside them.
            known: how many of the turns are the first ones of this call; None where nobody looked.
        """
        if known is None or known > len(self._turns):
            known = alike(self._turns, turns)
        said, end = self._said, self._ends[known]
        is_asked_less = any(part.kind == "call" for part in said[end:])
        for each, keep in ((said, end), (self._ends, known + 1), (self._lengths, known + 1)):
            del each[keep:]
        if is_asked_less:
            self._names = {part.id or part.name: part.name for part in said if part.kind == "call"}
        for number, turn in enumerate(turns[known:], known):
            path = None if self.at is None else (*self.at, number)
            said += _of_messages(((message, path) for message in turn), self._names)
            self._ends.append(len(said))
        is_beside = self.last is not None and self._beside == beside
        if not is_beside:
            self._beside = beside
        first = [part for part in self._beside if part.kind != "tools"]
        tools = [part for part in self._beside if part.kind == "tools"]
        systems = sum(1 for _ in takewhile(lambda part: part.kind == "system", said))
        self.last = self.parts
        self.parts = [*first, *said[:systems], *tools, *said[systems:]] if first or tools else said[:]
        # System texts that are not followed by anything known may go on, and then stand before the tools.
        self.known = len(self._beside) + end if is_beside and end > systems else 0
        self._turns = turns

    def length(self, args: Wire) -> int:
        """Give the bytes that the messages of a request, its system texts and its tools take as JSON."""
        at = self.at
        places = {part.path[0] for part in self._beside if part.path} | {*(at or ())[:1]}
        named = args if isinstance(args, dict) else {"": args}
        sent: dict[str, Wire] = {name: each for name, each in named.items() if name in places or name == ""}
        listed = args if at == () else sent.get(str(at[0])) if at is not None and len(at) == 1 else None
        if not isinstance(listed, list) or len(listed) != len(self._turns):
            return _length_of(sent)
        lengths = self._lengths
        for turn in listed[len(lengths) - 1 :]:
            lengths.append(lengths[-1] + _length_of(turn) + 1)
        return _length_of({**sent, str((at or ("",))[0]): []}) + lengths[-1] - 1


def parts_in(turn: Wire) -> tuple[Part, ...]:
    """The parts of one message of a conversation; none where it is no message."""
    return tuple(_of_messages((message, None) for message in messages_in(turn)))


def said_parts(talk: ModelTalk) -> tuple[Part, ...]:
    """What a model answered, in parts as of a request."""
    return tuple(_of_messages((message, None) for message in talk.said))


def asked_text(asked: Asked) -> str:
    """A tool call as a text: its name, then each argument on a row, texts as they are."""
    rows = [asked.name, *(f"{name}: {value}" for name, value in _leaves("", asked.arguments))]
    return "\n".join(rows)


def _length_of(value: Wire) -> int:
    """How many bytes a value has as JSON."""
    try:
        return len(orjson.dumps(value))
    except TypeError:  # a number that JSON of this kind lacks, half of a character
        return len(json.dumps(value))


def _of_tools(tools: Sequence[OfferedTool]) -> Iterator[Part]:
    for tool in tools:
        said = "" if tool.parameters is None else json.dumps(tool.parameters, ensure_ascii=False)
        yield Part("tools", "tools", "\n".join(filter(None, (tool.name, tool.description, said))), tool.name)


def _of_messages(
    messages: Iterable[tuple[Message, Path | None]], names: dict[str, str] | None = None
) -> Iterator[Part]:
    names = {} if names is None else names
    for message, path in messages:
        role = message.role
        if message.reasoning:
            yield Part(role, "thinking", message.reasoning, path=path)
        if role in TOOLS or message.answers:
            yield Part("tool", "result", message.text, names.get(message.answers, ""), message.answers, path)
        elif message.text or not (message.calls or message.reasoning):
            yield Part(_role(role), "system" if role in _SYSTEM else "text", message.text, path=path)
        for asked in message.calls:
            names[asked.id or asked.name] = asked.name
            yield Part("assistant", "call", asked_text(asked), asked.name, asked.id, path)


def _role(role: str) -> str:
    if role in ASSISTANTS or role == "model":
        return "assistant"
    return "user" if role == "human" else "system" if role in _SYSTEM else role


def _beside(args: Wire) -> Iterator[Part]:
    """A system text and tools that a function takes beside the messages."""
    if not isinstance(args, dict) or envelope_type(args) is not None:
        return
    for name in _BESIDE:
        text = args.get(name)
        if isinstance(text, str) and text:
            yield Part("system", "system", text, path=(name,))
    tools = args.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, str):
            yield Part("tools", "tools", tool, tool, path=("tools",))
            continue
        function = tool.get("function", tool) if isinstance(tool, dict) else {}
        named = function.get("name") if isinstance(function, dict) else None
        yield Part("tools", "tools", pretty(tool), named if isinstance(named, str) else "", path=("tools",))


def _of_arguments(args: Wire) -> Iterator[Part]:
    """The arguments of a function that takes no messages: each a thing that it was asked with."""
    named = args if isinstance(args, dict) and envelope_type(args) is None else {"": args}
    for name, value in named.items():
        if value is None or value in ("", [], {}):
            continue
        text = value if isinstance(value, str) else pretty(value)
        path = (name,) if name else ()
        if name in _BESIDE:
            yield Part("system", "system", text, name, path=path)
        else:
            yield Part("argument", "text", text, name, path=path)


def _leaves(name: str, value: Wire) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value and envelope_type(value) is None:
        for key, inner in value.items():
            yield from _leaves(f"{name}.{key}" if name else key, inner)
    elif isinstance(value, list) and value and any(isinstance(each, str | dict) for each in value[:_LONGEST_LEAF]):
        for at, inner in enumerate(value):
            yield from _leaves(f"{name}[{at}]", inner)
    elif value is not None or name:
        yield name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
