"""The items of one request to a model: system text, tools, and each part of each message, as texts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import chain, takewhile
from typing import TYPE_CHECKING, Final, Literal

from agent_tt.codec.paths import format_path
from agent_tt.codec.text import pretty
from agent_tt.codec.wire import envelope_type
from agent_tt.providers.chat import ASSISTANTS, TOOLS, conversation_in
from agent_tt.providers.model_talk import ModelTalks, messages_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.model import Call
    from agent_tt.providers.model_talk import ModelTalk
    from agent_tt.providers.shapes import Asked, Message, OfferedTool

__all__ = ["Part", "PartKind", "PartsOf", "asked_text", "parts_in", "said_parts"]

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


class PartsOf:
    """Reads requests as parts, in the order of a run; what one has in common with the one before is not read again."""

    def __init__(self) -> None:
        self._talks = ModelTalks()
        self._last: dict[tuple[str, str], tuple[Sequence[Sequence[Message]], list[tuple[Part, ...]], Path | None]] = {}

    def read(self, call: Call) -> tuple[tuple[Part, ...], bool, ModelTalk]:
        """The items of a request in their order, whether these are all of it, and what was answered.

        What a function was given, or what the file of another system kept of a request, need not be all that the model
        was shown; a request to a provider is.
        """
        talk = self._talks.of(call)
        if talk.request.api:
            parts = [*_of_messages((message, None) for message in talk.shown), *_of_tools(talk.request.tools)]
            return _in_order(parts), True, talk
        if not talk.turns:
            return tuple(_of_arguments(call.args)), False, talk
        at = conversation_in(call.args)
        before, known, was_at = self._last.get((call.name, call.lane), ([], [], None))
        alike = 0
        if at == was_at:
            alike = len(list(takewhile(lambda pair: pair[0] is pair[1], zip(before, talk.turns, strict=False))))
        told = known[:alike]
        names = {part.id: part.name for parts in told for part in parts if part.kind == "call"}
        for number, turn in enumerate(talk.turns[alike:], alike):
            path = None if at is None else (*at, number)
            told.append(tuple(_of_messages(((message, path) for message in turn), names)))
        self._last[call.name, call.lane] = talk.turns, told, at
        return _in_order([*_beside(call.args), *chain.from_iterable(told)]), False, talk


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


def _in_order(parts: Iterable[Part]) -> tuple[Part, ...]:
    """System texts at the beginning first, then tools, then what was said: the order of a cached prefix."""
    listed = list(parts)
    said = [part for part in listed if part.kind != "tools"]
    begins = next((at for at, part in enumerate(said) if part.kind != "system"), len(said))
    return (*said[:begins], *(part for part in listed if part.kind == "tools"), *said[begins:])


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
