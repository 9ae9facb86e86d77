"""The tools that a run's conversations show: what models were offered, what they asked for and what was answered.

A fork can hold only what is recorded: a tool of the agent's own that nobody marked, named or registered is code that
runs for real as soon as a model asks for it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from agent_tt.forking.editing.answer_text import answer_of
from agent_tt.providers.loose import dicts, mapping, parse_arguments, text
from agent_tt.providers.reading import messages_of_turn, recorded_answer, recorded_call

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call
    from agent_tt.providers.shapes import Asked, Json, Message

__all__ = ["ShownTool", "ShownTools"]

_PART: Final = re.compile(r"[^A-Za-z0-9_-]+")
_TURNS: Final = ("messages", "input", "contents")
_TOOLS: Final = ("tools", "functions")


@dataclass(frozen=True, slots=True)
class ShownTool:
    """A tool that a model was offered, or asked for, and no call of the run is one of.

    Attributes:
        name: by which models know it.
        asked: how often one asked for it.
    """

    name: str
    asked: int


class ShownTools:
    """Collects what the calls of a run show, given in their order."""

    def __init__(self) -> None:
        self._names: dict[str, None] = {}
        self._hosted: set[str] = set()
        self._asked: dict[str, list[Asked]] = {}
        self._answered: set[str] = set()
        self._called: list[Call] = []

    def see(self, call: Call) -> None:
        """Look at one call."""
        if call.kind == "tool":
            self._called.append(call)
        elif call.kind == "llm":
            request = recorded_call(call.args)
            if request is None:
                self._see_function(call)
                return
            self._hosted |= {tool.name for tool in request.tools if tool.is_hosted}
            self._names.update((tool.name, None) for tool in request.tools if not tool.is_hosted)
            self._hear(request.messages)
            self._hear(recorded_answer(request, call.result).messages)

    def unrecorded(self, known: Iterable[str], *, ended_well: bool) -> Iterator[ShownTool]:
        """The tools of which nothing is recorded, in the order in which they were first shown.

        Args:
            known: names under which tools are recorded, where they are called.
            ended_well: whether the run came to its end: then a call that was never answered was not one to be made, but
                the form of an answer.
        """
        parts = {part for name in (*known, *(call.name for call in self._called)) for part in _PART.split(name)}
        for name in dict.fromkeys((*self._names, *self._asked)):
            asked = self._asked.get(name, [])
            if not name or name in self._hosted or name in parts or any(map(self._was_called, asked)):
                continue
            is_form = ended_well and asked and not any(each.id in self._answered for each in asked)
            if not is_form:
                yield ShownTool(name, len({each.id or index for index, each in enumerate(asked)}))

    def _see_function(self, call: Call) -> None:
        """A model call that a function makes: in the forms that are common."""
        asked = mapping(call.args)
        for key in _TOOLS:
            for tool in dicts(asked.get(key)):
                inner = mapping(tool.get("function")) or tool
                self._names[text(inner.get("name"))] = None
        for key in _TURNS:
            for turn in dicts(asked.get(key)):
                self._hear(messages_of_turn(turn))
        said = answer_of(call)
        for tool in dicts(mapping(said).get("tool_calls") if isinstance(said, dict) else said):
            name, given = text(tool.get("name")), tool.get("arguments")
            if name and "arguments" in tool:
                self._ask(_asked(text(tool.get("id")), name, given))

    def _hear(self, messages: Iterable[Message]) -> None:
        for message in messages:
            for each in message.calls:
                self._ask(each)
            if message.answers:
                self._answered.add(message.answers)

    def _ask(self, asked: Asked) -> None:
        self._asked.setdefault(asked.name, []).append(asked)

    def _was_called(self, asked: Asked) -> bool:
        """Whether a recorded call, whatever its name, was given what the model asked for."""
        if not asked.arguments:
            return False
        return any(_is_given(call.args, asked.arguments) for call in self._called)


def _asked(call_id: str, name: str, given: Json) -> Asked:
    from agent_tt.providers.shapes import Asked

    return Asked(call_id, name, parse_arguments(given))


def _is_given(args: Wire, asked: Json) -> bool:
    if args == asked:
        return True
    values = args.values() if isinstance(args, dict) else ()
    return any(value == asked or (isinstance(value, str) and _parsed(value) == asked) for value in values)


def _parsed(value: str) -> object:
    try:
        return json.loads(value)
    except ValueError:
        return None
