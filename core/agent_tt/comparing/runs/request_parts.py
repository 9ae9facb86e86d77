"""Which parts of two requests to a model differ, in people's words: system prompt, tools, a message, a parameter."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt.codec.paths import format_path, parse_path
from agent_tt.codec.text import summary
from agent_tt.comparing.steps.moves import value_key
from agent_tt.errors import InvalidPath

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.comparing.values.states import Change

__all__ = ["Part", "parts_of_request"]

_SYSTEM_ROLES: Final = frozenset({"system", "developer"})
_SYSTEM_KEYS: Final = frozenset({"system", "instructions", "system_instruction", "systemInstruction", "preamble"})
"""Where a request has its system prompt: in a message of one of these roles, or under one of these keys."""

_MESSAGES: Final = frozenset({"messages", "contents", "input", "history"})
_TOOLS: Final = frozenset({"tools", "functions"})
_GROUPS: Final = ("functionDeclarations", "function_declarations")
"""Keys below which Gemini lists the tools of a group."""

_MOST_VALUE: Final = 40
"""Characters of a value that are named."""

_MOST_TOOLS: Final = 3
"""So many tools are named before the rest is counted."""


class Part(NamedTuple):
    """A part of a request that differs.

    Attributes:
        rank: What a person set comes first: 0 the system prompt, 1 settings and tools, 2 what the run made of it.
        said: The part, and how it differs.
        change: The first change of it.
    """

    rank: int
    said: str
    change: Change


def parts_of_request(a: Wire, b: Wire, changes: Sequence[Change]) -> list[Part]:
    """Name the parts of two requests that differ, the most telling first, each once.

    Args:
        a: What the one model was asked.
        b: What the other was.
        changes: What differs between them.
    """
    found: dict[str, Part] = {}
    for change in changes:
        part = _part(a, b, change)
        found.setdefault(part.said, part)
    return sorted(found.values(), key=lambda part: part.rank)


def _part(a: Wire, b: Wire, change: Change) -> Part:
    try:
        path = parse_path(change.path)
    except InvalidPath:
        return Part(2, f"{change.path} differs", change)
    holder: Path = ()
    if path[:1] == ("body",):  # a request over HTTP
        holder, path = path[:1], path[1:]
    if not path:
        return Part(2, "another question", change)
    key = path[0]
    if key in _SYSTEM_KEYS or any(_is_system(root, place) for root, place in _places(a, b, change)):
        return Part(0, _in_one("system prompt", change) if len(path) <= 2 else "another system prompt", change)
    if key in _TOOLS:
        return Part(1, _tools(*(_at(root, (*holder, key)) for root in (a, b))), change)
    if key in _MESSAGES:
        return Part(2, _message(a, b, holder, path, change), change)
    if all(isinstance(step, str) for step in path):
        return Part(1, _setting(format_path(path), change), change)
    return Part(2, f"{format_path(path)} differs", change)


def _places(a: Wire, b: Wire, change: Change) -> Iterator[tuple[Wire, Path]]:
    """Where a change is in the requests that have it: what was added is in B alone, what was removed in A."""
    if change.op != "remove":
        yield b, parse_path(change.path)
    if change.op != "add":
        yield a, parse_path(change.old_path or change.path)


def _is_system(root: Wire, path: Path) -> bool:
    """Whether a message on the way to a place is a system prompt."""
    for length in range(1, len(path) + 1):
        item = _at(root, path[:length])
        if isinstance(item, dict) and item.get("role") in _SYSTEM_ROLES:
            return True
    return False


def _in_one(name: str, change: Change) -> str:
    if change.op in ("add", "remove"):
        return f"a {name} only in {'B' if change.op == 'add' else 'A'}"
    return f"the {name} at another place" if change.op == "move" else f"another {name}"


def _setting(name: str, change: Change) -> str:
    old, new = (summary(value, _MOST_VALUE) for value in (change.old, change.new))
    if change.op == "add":
        return f"{name} {new} only in B"
    return f"{name} {old} only in A" if change.op == "remove" else f"{name} {old} in A, {new} in B"


def _message(a: Wire, b: Wire, holder: Path, path: Path, change: Change) -> str:
    if len(path) == 1 or not isinstance(path[1], int):
        return "messages in another order" if change.op == "reorder" else "other messages"
    root = a if change.op == "remove" and len(path) == 2 else b
    item = _at(root, (*holder, *path[:2]))
    role = item.get("role", item.get("type")) if isinstance(item, dict) else None
    name = f"message {path[1] + 1}{f' ({role})' if isinstance(role, str) else ''}"
    if len(path) == 2 and change.op in ("add", "remove"):
        return f"{name} only in {'B' if change.op == 'add' else 'A'}"
    if len(path) == 2 and change.op == "move" and change.old_path is not None:
        was = parse_path(change.old_path)[-1]
        return f"{name} in B is message {was + 1} in A" if isinstance(was, int) else f"{name} at another place"
    return f"{name} differs"


def _tools(a: Wire, b: Wire) -> str:
    """Which tools only one of them offers; where both offer the same, which of them are described otherwise."""
    listed = [list(_named(tools)) for tools in (a, b)]
    ours, theirs = (dict(tools) for tools in listed)
    said = []
    for side, mine, others in (("A", ours, theirs), ("B", theirs, ours)):
        own = [name for name in mine if name not in others]
        if own:
            said.append(f"{_names(own)} {'is' if len(own) == 1 else 'are'} offered only in {side}")
    if said:
        return ", ".join(said)
    counts = [Counter(value_key([name, tool]) for name, tool in tools) for tools in listed]
    if counts[0] == counts[1]:
        return "the same tools in another order"
    times = [Counter(name for name, _ in tools) for tools in listed]
    more = next((name for name in ours if times[0][name] != times[1][name]), None)
    if more is not None:
        in_a, in_b = ("once" if count[more] == 1 else f"{count[more]} times" for count in times)
        return f"{more} is offered {in_a} in A, {in_b} in B"
    other = [name for name in ours if ours[name] != theirs[name]]
    return f"the tool {_names(other)} is described otherwise" if len(other) == 1 else "tools are described otherwise"


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_TOOLS} more" if len(names) > _MOST_TOOLS else ""
    return ", ".join(names[:_MOST_TOOLS]) + more


def _named(tools: Wire) -> Iterator[tuple[str, Wire]]:
    for tool in tools if isinstance(tools, list) else ():
        group = next((tool[key] for key in _GROUPS if key in tool), None) if isinstance(tool, dict) else None
        if group is not None:
            yield from _named(group)
            continue
        inner = tool.get("function") if isinstance(tool, dict) else None
        held = inner if isinstance(inner, dict) else tool
        name = held.get("name", held.get("type")) if isinstance(held, dict) else held
        yield (name if isinstance(name, str) else summary(name, _MOST_VALUE)), tool


def _at(root: Wire, path: Path) -> Wire:
    """What is at a place; None where there is nothing."""
    for step in path:
        if isinstance(root, list) and isinstance(step, int):
            root = root[step] if step < len(root) else None
        else:
            root = root.get(str(step)) if isinstance(root, dict) else None
    return root
