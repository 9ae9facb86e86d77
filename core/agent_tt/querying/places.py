"""Places in a state as people write them, and as they are kept: `messages[-1]`, a key of a mapping kept as pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.codec.paths import format_path, get, parse_path, to_wire_path
from agent_tt.codec.wire import VALUE
from agent_tt.errors import AgentTTError, InvalidPath, PathNotFound

if TYPE_CHECKING:
    from agent_tt.codec.wire import Path, Wire
    from agent_tt.protocols import RunSource

__all__ = ["leads_to", "path_in", "read_path", "text_path", "written_path"]


def path_in(state: Wire, text: str) -> Path:
    """As `read_path`; `state.answer`, as expressions say it, is `answer`, unless the state has a key of that name."""
    try:
        path = read_path(state, text)
        get(state, path)
    except PathNotFound:
        if not text.startswith("state."):
            raise
        return read_path(state, text.removeprefix("state."))
    return path


def read_path(state: Wire, text: str) -> Path:
    """A person's path as it leads into a state; `[-1]` is the last element of a list.

    Raises:
        InvalidPath: it cannot be read.
        PathNotFound: it leads nowhere.
    """
    if "[-" not in text:
        return to_wire_path(state, parse_path(text))
    path: Path = ()
    pieces = text.split("[-")
    path = to_wire_path(state, parse_path(pieces[0])) if pieces[0] else ()
    for piece in pieces[1:]:
        digits, closed, rest = piece.partition("]")
        if not closed:
            raise InvalidPath(f"path {text!r} cannot be read: a bracket is not closed", text=text, position=len(text))
        values = get(state, path)
        if isinstance(values, dict) and isinstance(values.get("$v"), list):
            path, values = (*path, "$v"), values["$v"]
        if not digits.isdecimal() or not isinstance(values, list) or not 0 < int(digits) <= len(values):
            raise PathNotFound(f"there is no {text}: {format_path(path) or 'the state'} has no such element")
        path = (*path, len(values) - int(digits))
        inner = parse_path(rest.removeprefix("."))
        try:
            path = (*path, *to_wire_path(get(state, path), inner))
        except PathNotFound as error:  # which names only what follows
            raise PathNotFound(f"there is no {text}") from error
    return path


def leads_to(edited: str, path: str) -> bool:
    """Whether a path as people write it is another one, or leads to it."""
    return edited == path or not edited or (path.startswith(edited) and path[len(edited)] in ".[")


def text_path(source: RunSource, run_id: str, step: int, path: Path) -> str:
    """A wire path of a checkpoint as people write it."""
    if VALUE not in path:
        return format_path(path)
    try:
        return written_path(source.state(run_id, step), path)
    except AgentTTError:
        return format_path(path)


def written_path(state: Wire, path: Path) -> str:
    """A wire path as people write it; a text key of a mapping that is kept as pairs is said by itself."""
    steps: list[str | int] = []
    part: Wire = state
    depth = 0
    while depth < len(path):
        pair = path[depth + 1 : depth + 3]
        if path[depth] == VALUE and len(pair) == 2 and pair[1] == 1 and _is_mapping(part):
            try:
                key = get(part, (VALUE, pair[0], 0))
                if isinstance(key, str):
                    part = get(part, (VALUE, *pair))
                    steps.append(key)
                    depth += 3
                    continue
            except AgentTTError:
                pass
        steps.append(path[depth])
        try:
            part = get(part, (path[depth],))
        except AgentTTError:
            part = None
        depth += 1
    return format_path(tuple(steps))


def _is_mapping(part: Wire) -> bool:
    return isinstance(part, dict) and (part.get("$type") == "dict" or part.get("base") == "dict")
