"""Operations: what a step did to the state, as it is stored.

| operation | meaning |
|---|---|
| `["s", path, value]` | set; a new key goes last, an existing one keeps its place; path `[]` is the whole state |
| `["d", path]` | delete a key |
| `["a", path, n, [items]]` | append to the list of length n |
| `["x", path, i, removed, [items]]` | splice |
| `["t", path, n, "suffix"]` | append to the string of n code points |
| `["o", path, [keys]]` | the dict's new key order, all keys |
| `["m", from, to]` | move a dict entry; nobody wrote the value |

Paths are arrays of dict keys and list positions in wire coordinates *at that moment*: operations apply in order, and
list edits of one step are given from the end to the front.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn, TypeAlias

from agent_tt.codec.wire import VALUE, Path, Wire
from agent_tt.errors import CorruptDelta

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["MAX_TOUCHES", "Op", "Touch", "apply", "op_path", "touches", "trace"]

Op: TypeAlias = "list[Wire]"

_TEXT: Final = frozenset({str})

MAX_TOUCHES: Final = 256
"""Most paths that one step may put into the index of changes."""


def op_path(op: Op) -> Path:
    """The path that an operation names (for `m`, where it takes from).

    Raises:
        CorruptDelta: it names none.
    """
    return _path(op[1], op) if len(op) > 1 else _corrupt(op, "it names no path")


# ---------------------------------------------------------------- applying


def apply(root: Wire, ops: Iterable[Op]) -> Wire:
    """Apply operations in order, in place, and give the new root.

    The values inside `ops` become part of the state, so apply each list of operations once, or a copy of it. Every
    operation is checked against the state; after an error the state is half changed and must be thrown away.

    Raises:
        CorruptDelta: an operation does not fit the state, or is none that this version knows.
    """
    for op in ops:
        if type(op) is not list or not op or type(op[0]) is not str:
            _corrupt(op, "it is not an operation")
        if op[0] == "s" and _set_entry(root, op):
            continue
        run = _APPLY.get(op[0])
        if run is None:
            _corrupt(op, "this version does not know it")
        try:
            root = run(root, op)
        except (ValueError, IndexError, KeyError) as error:
            raise _error(op, f"it does not fit the state ({type(error).__name__}: {error})") from error
    return root


def _set_entry(root: Wire, op: Op) -> bool:
    """Set an entry of a dict that is reached through dicts: what most operations do. False if this is another one."""
    if len(op) != 3 or type(op[1]) is not list or not op[1]:
        return False
    *above, last = op[1]
    for step in above:
        if type(root) is not dict or type(step) is not str or step not in root:
            return False
        root = root[step]
    if type(root) is not dict or type(last) is not str:
        return False
    root[last] = op[2]
    return True


def _set(root: Wire, op: Op) -> Wire:
    _, path, value = op
    steps = _path(path, op)
    if not steps:
        return value
    parent, last = _at(root, steps[:-1], op), steps[-1]
    if type(parent) is dict and type(last) is str:
        parent[last] = value
        return root
    if type(parent) is list and type(last) is int:
        parent[last] = value
        return root
    raise _error(op, "there is nothing to set it in")


def _delete(root: Wire, op: Op) -> Wire:
    _, path = op
    _entry_out(root, _path(path, op), op)
    return root


def _append(root: Wire, op: Op) -> Wire:
    _, path, length, items = op
    target = _at(root, _path(path, op), op)
    if type(target) is not list or type(items) is not list or type(length) is not int or len(target) != length:
        _corrupt(op, f"there is no list of length {length}")
    target.extend(items)
    return root


def _splice(root: Wire, op: Op) -> Wire:
    _, path, start, removed, items = op
    target = _at(root, _path(path, op), op)
    if type(target) is not list or type(items) is not list or type(start) is not int or type(removed) is not int:
        _corrupt(op, "there is no list")
    if not 0 <= start <= start + removed <= len(target):
        _corrupt(op, f"the list has {len(target)} elements")
    target[start : start + removed] = items
    return root


def _extend_text(root: Wire, op: Op) -> Wire:
    _, path, length, suffix = op
    steps = _path(path, op)
    text = _at(root, steps, op)
    if type(text) is not str or type(suffix) is not str or type(length) is not int or len(text) != length:
        _corrupt(op, f"there is no text of {length} characters")
    return _set(root, ["s", path, text + suffix])


def _reorder(root: Wire, op: Op) -> Wire:
    _, path, keys = op
    target = _at(root, _path(path, op), op)
    if type(target) is not dict or type(keys) is not list or len(keys) != len(target):
        _corrupt(op, "these are not the keys of a dict")
    reordered = {key: target[key] for key in keys if type(key) is str}
    if len(reordered) != len(target):
        _corrupt(op, "these are not the keys of a dict")
    target.clear()
    target.update(reordered)
    return root


def _move(root: Wire, op: Op) -> Wire:
    _, origin, target = op
    steps = _path(target, op)
    value = _entry_out(root, _path(origin, op), op)
    parent = _at(root, steps[:-1], op)
    if type(parent) is not dict or not steps or type(steps[-1]) is not str:
        _corrupt(op, "there is no dict to move it to")
    parent[steps[-1]] = value
    return root


_APPLY: Final[dict[str, Callable[[Wire, Op], Wire]]] = {
    "s": _set,
    "d": _delete,
    "a": _append,
    "x": _splice,
    "t": _extend_text,
    "o": _reorder,
    "m": _move,
}


def _entry_out(root: Wire, steps: Path, op: Op) -> Wire:
    parent = _at(root, steps[:-1], op)
    if not steps or type(parent) is not dict or type(steps[-1]) is not str:
        _corrupt(op, "there is no such entry")
    return parent.pop(steps[-1])


def _at(root: Wire, path: Path, op: Op) -> Wire:
    for step in path:
        root = _child(root, step, op)
    return root


def _child(parent: Wire, step: str | int, op: Op) -> Wire:
    if type(parent) is dict and type(step) is str:
        return parent[step]
    if type(parent) is list and type(step) is int:
        return parent[step]
    raise _error(op, "its path leads nowhere")


def _path(steps: Wire, op: Op) -> Path:
    if type(steps) is not list:
        _corrupt(op, "its path is not a list")
    if _TEXT.issuperset(map(type, steps)):
        return tuple(steps)  # type: ignore[arg-type]  # texts, all of them
    path: list[str | int] = []
    for step in steps:
        if type(step) is str or (type(step) is int and step >= 0):
            path.append(step)
        else:
            _corrupt(op, "its path holds something that is neither key nor position")
    return tuple(path)


def _error(op: Wire, why: str) -> CorruptDelta:
    shown = repr(op[:2] if type(op) is list else op)[:120]
    return CorruptDelta(f"operation {shown} is damaged: {why}", hint="Run `agent-tt verify` on the store.")


def _corrupt(op: Wire, why: str) -> NoReturn:
    raise _error(op, why)


# ---------------------------------------------------------------- who wrote it


def trace(op: Op, path: Path) -> Path | None:
    """Where the value now at `path` was before `op`; None if `op` wrote it, or something in it.

    Follows the value, not the position: before a splice took three elements away in front of it, `[5]` was `[8]`.
    """
    code, own = op[0], op_path(op)
    if code == "m":
        return _trace_move(own, _path(op[2], op), path)
    if path[: len(own)] != own:
        return None if own[: len(path)] == path else path
    if code in ("s", "d") or len(own) == len(path):
        return None
    position = path[len(own)]
    if type(position) is int and code == "a":
        length = op[2]
        return None if type(length) is int and position >= length else path
    if type(position) is int and code == "x":
        _, _, start, removed, items = op
        if type(start) is not int or type(removed) is not int or type(items) is not list:
            _corrupt(op, "it is not a splice")
        if position < start:
            return path
        if position < start + len(items):
            return None
        return (*own, position - len(items) + removed, *path[len(own) + 1 :])
    return path


def _trace_move(origin: Path, target: Path, path: Path) -> Path | None:
    if path[: len(target)] == target:
        return origin + path[len(target) :]
    return None if path in (target[: len(path)], origin[: len(path)]) else path


class Touch(NamedTuple):
    """What a step did at one path (or below it).

    Attributes:
        struct: it set, deleted, spliced or moved the path itself, so that everything below may be new.
        grown: it appended to the list there.
        length: the list's length before its first append, where `grown`.
    """

    struct: bool = False
    grown: bool = False
    length: int | None = None


def touches(ops: Sequence[Op]) -> dict[Path, Touch]:
    """What the index says about a step: every path of its operations and all their ancestors.

    Paths are those of people: without the `$v` of envelopes. A step with more than `MAX_TOUCHES` paths is marked at the
    deepest level that fits, as `struct`: the index may name a step too much, never one too few.
    """
    found: dict[Path, Touch] = {}
    for op in ops:
        code, own = op[0], op_path(op)
        for wire_path in (own, _path(op[2], op)) if code == "m" else (own,):
            path = wire_path if VALUE not in wire_path else tuple(step for step in wire_path if step != VALUE)
            for depth in range(len(path) - 1, -1, -1):
                above = path[:depth]
                if above in found:
                    break  # and with it all that is above it
                found[above] = _TOUCHED
            touch = found.get(path, _TOUCHED)
            if code in ("s", "d", "x", "m"):
                touch = Touch(struct=True, grown=True, length=touch.length) if touch.grown else _REWRITTEN
            elif code == "a" and not touch.grown:
                length = op[2]
                touch = Touch(touch.struct, grown=True, length=length if type(length) is int else None)
            found[path] = touch
    depth = max(map(len, found), default=0)
    while len(found) > MAX_TOUCHES:
        depth -= 1
        deeper = [path for path in found if len(path) > depth]
        for path in deeper:
            del found[path]
        for path in deeper:
            found[path[:depth]] = _REWRITTEN
    return found


_TOUCHED: Final = Touch()
_REWRITTEN: Final = Touch(struct=True)
