"""Which texts a call brings into a run, and what kind of origin it is."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from agent_tt.codec.text import pretty
from agent_tt.codec.wire import envelope_type, is_envelope
from agent_tt.context.parts import asked_text
from agent_tt.context.shown import Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agent_tt.codec.wire import Wire
    from agent_tt.context.parts import Part
    from agent_tt.context.shown import OriginKind
    from agent_tt.model import Call
    from agent_tt.providers.shapes import Message

__all__ = ["kind_of_result", "leaves", "origin_of_call", "said", "texts_of"]

_READING: Final = frozenset(
    {
        "cat",
        "file_read",
        "load_file",
        "open",
        "open_file",
        "read",
        "read_file",
        "read_text_file",
        "readfile",
        "str_replace_based_edit_tool",
        "str_replace_editor",
        "view",
        "view_file",
    }
)
"""Names of tools that read a file, where they are given the path of one."""

_RUNNING: Final = frozenset(
    {
        "bash",
        "command",
        "exec",
        "exec_command",
        "execute",
        "execute_bash",
        "execute_command",
        "local_shell",
        "powershell",
        "python",
        "run",
        "run_bash",
        "run_command",
        "run_in_terminal",
        "run_python",
        "run_shell_command",
        "shell",
        "terminal",
    }
)
"""Names of tools that run a command or a program."""

_PATHS: Final = ("file_path", "path", "filename", "file", "target_file", "notebook_path", "filepath")
_MOST_LEAVES: Final = 20_000


def origin_of_call(call: Call) -> Origin:
    """What a call is to the texts that came back of it."""
    if call.kind == "llm":
        return Origin("model", call.step, call.number, call.facts.model or call.name)
    if call.kind == "human":
        return Origin("user", call.step, call.number, call.name)
    args = call.args if isinstance(call.args, dict) else {}
    path = next((found for key in _PATHS if isinstance(found := args.get(key), str) and found), "")
    kind, name = _kind_of_tool(call.name, path)
    return Origin("command" if call.kind == "subprocess" else kind, call.step, call.number, name)


def kind_of_result(part: Part, asked: Part | None) -> tuple[OriginKind, str]:
    """The kind and the name of a tool's result of which no call was recorded, by what the model asked for."""
    if asked is None:
        return _kind_of_tool(part.name, "")
    rows = dict(row.split(": ", 1) for row in asked.text.splitlines()[1:] if ": " in row)
    return _kind_of_tool(asked.name, next((rows[key] for key in _PATHS if rows.get(key)), ""))


def _kind_of_tool(name: str, path: str) -> tuple[OriginKind, str]:
    bare = re.split(r"[./:]|__", name)[-1].lower()
    if bare in _READING and path:
        return "file", path
    return "command" if bare in _RUNNING else "result", name


def texts_of(value: Wire) -> Iterator[str]:
    """The texts that a value may stand as in a request: its own texts, and the forms in which programs write it."""
    if value is None:
        return
    if isinstance(value, str):
        yield from _as_written(value)
        return
    if is_envelope(value):
        yield pretty(value)
    for count, leaf in enumerate(leaves(value)):
        if count >= _MOST_LEAVES:
            break
        yield from _as_written(leaf)
    if isinstance(value, bool | int | float):
        yield json.dumps(value)
        return
    if envelope_type(value) is None:
        yield json.dumps(value, ensure_ascii=False)
        yield json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        yield json.dumps(value, ensure_ascii=False, indent=2)
        ascii_only = json.dumps(value)
        yield ascii_only
        yield repr(value)


def said(messages: Iterable[Message]) -> Iterator[str]:
    """The texts of what a model answered."""
    for message in messages:
        for text in filter(None, (message.text, message.reasoning)):
            yield from _as_written(text)
        for asked in message.calls:
            yield asked_text(asked)


def _as_written(text: str) -> Iterator[str]:
    yield text
    inner = json.dumps(text, ensure_ascii=False)[1:-1]
    if inner != text:
        yield inner  # as it stands inside of JSON


def leaves(value: Wire) -> Iterator[str]:
    """The texts in a value, in their order; keys are none."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            waiting.extend(reversed(each.values()))
        elif isinstance(each, list):
            waiting.extend(reversed(each))
