"""Changing an agent's own objects in place: lists and dicts stay the objects that they are, whoever holds them.

Paths are those of `agent_tt.forking.editing.edits`, read along live objects: items of lists and tuples, keys of dicts,
fields and attributes of anything else. What cannot be changed itself (a tuple, a frozen dataclass) is made anew in its
holder.
"""

from __future__ import annotations

import dataclasses
import sys
from collections import deque
from collections.abc import Mapping, MutableMapping, MutableSequence
from copy import copy
from typing import TYPE_CHECKING, Any, Final, cast

from agent_tt.codec.decode import decode
from agent_tt.codec.encode import encode
from agent_tt.codec.loaded_classes import LOADED
from agent_tt.codec.paths import format_path, parse_path
from agent_tt.history.changes.census import references_to
from agent_tt.history.digest import digest
from agent_tt.recording.steps.snapshot import gives_state

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_tt.codec.wire import Path
    from agent_tt.model import Edit
    from agent_tt.recording.open_run import OpenStep

__all__ = ["CannotChange", "change_in_place", "change_state", "change_state_of"]

_GONE: Final = object()
_OURS: Final = 2
"""References to an object that are only ours: a variable, and the argument of `sys.getrefcount`."""


class CannotChange(Exception):
    """A live object does not take an edit; the message says which, and why."""


def change_in_place(root: object, edits: Iterable[Edit]) -> object:
    """Apply edits to a live object.

    Args:
        root: the object.
        edits: changes of a state, in order.

    Returns:
        `root` itself where it could be changed; else what is to stand in its place.

    Raises:
        CannotChange: there is no such place, or what is there cannot be changed.
        NotRebuildable: a value cannot be made with the classes that are loaded.
    """
    for edit in edits:
        path = parse_path(edit.path)
        match edit.op:
            case "set":
                root = _changed(root, path, _Set(decode(edit.value, LOADED)), ())
            case "insert":
                root = _changed(root, path, _Insert(decode(edit.value, LOADED)), ())
            case "delete":
                root = _changed(root, path, _Delete(), ())
            case "move":
                target = parse_path(edit.to or "")
                value = _value_at(root, path)
                root = _changed(root, path, _Delete(), ())
                change = _Insert(value) if target and isinstance(target[-1], int) else _Set(value)
                root = _changed(root, target, change, ())
            case "mute":
                pass
    return root


def change_state_of(step: OpenStep, edits: Sequence[Edit]) -> None:
    """Change what a step works on, for the agent too.

    Args:
        step: the step, which is open or has just ended.
        edits: changes of its state, in order.

    Raises:
        CannotChange: there is nothing that could be changed, or the change would not reach the agent.
        NotRebuildable: a value cannot be made with the classes that are loaded.
    """
    steps = step.recording.model_steps
    state = step.state
    if state is None or (steps is not None and steps.makes(step.number)):
        raise CannotChange("the agent has no state that could be changed")
    others = sys.getrefcount(state) - _OURS - step.references_to(state)
    change_state(state, edits, is_shared=others > 0 and others > references_to(state))


def change_state(state: object, edits: Sequence[Edit], *, is_shared: bool) -> None:
    """Change a live state object in place, and make sure that this reaches the agent.

    Args:
        state: the object.
        edits: changes of it, in order.
        is_shared: whether anybody but the recording holds it.

    Raises:
        CannotChange: as of `change_in_place`, or the change would not reach the agent.
        NotRebuildable: a value cannot be made with the classes that are loaded.
    """
    if gives_state(state):
        _change_object(state, edits)
        return
    for edit in edits:
        if not is_shared and not _is_held_inside(state, parse_path(edit.path)):
            raise CannotChange(
                f"nothing of the agent's holds {edit.path or 'it'}, because each step is given a state made for it;"
                " edit a result or an answer instead"
            )
        if change_in_place(state, [edit]) is not state:
            raise CannotChange(f"it is a {type(state).__name__}, which cannot be changed in place")


def _change_object(state: Any, edits: Sequence[Edit]) -> None:
    """Change an object that says itself what its state is: by `load_state` where it has one, else what it holds."""
    owner = type(state)
    load = getattr(owner, "load_state", None)
    wanted = change_in_place(decode(encode(state.get_state()), LOADED), edits)
    if callable(load) and getattr(load, "__self__", None) is not owner:
        load(state, copy(wanted))
    else:
        change_in_place(state, edits)
    if digest(encode(state.get_state())) != digest(encode(wanted)):
        raise CannotChange(f"{owner.__name__}.get_state() gives something else afterwards")


def _is_held_inside(root: object, path: Path) -> bool:
    """Whether anybody holds a part of `root` that an edit at `path` changes, so that the change is not lost."""
    node = root
    for key in path[:-1]:
        inner = _part(node, key)
        if inner is _GONE or isinstance(inner, (str, int, float, tuple, type(None))):
            return False
        del node
        node = inner
        del inner
        held = sys.getrefcount(node) - _OURS - 1  # the part that it is in holds it too
        if held > 0 and held > references_to(node):
            return True
    return False


class _Set:
    def __init__(self, value: object) -> None:
        self.value = value


class _Insert(_Set):
    pass


class _Delete:
    pass


_Change = _Set | _Delete


def _changed(node: object, path: Path, change: _Change, way: Path) -> object:
    """`node` with the change inside it: itself, or what is to stand in its place."""
    if not path:
        if not isinstance(change, _Set):
            raise CannotChange("the whole state can only be set")
        return _replaced(node, change.value)
    key, rest = path[0], path[1:]
    if rest:
        inner = _part(node, key)
        if inner is _GONE:
            raise CannotChange(f"{format_path((*way, key))} is not there any more")
        new = _changed(inner, rest, change, (*way, key))
        return node if new is inner else _put(node, key, new, way)
    if isinstance(change, _Insert):
        if not isinstance(node, MutableSequence | deque) or not isinstance(key, int):
            raise CannotChange(f"{format_path(way) or 'the state'} is not a list")
        node.insert(key, change.value)
        return node
    if isinstance(change, _Delete):
        return _without(node, key, way)
    before = _part(node, key)
    return node if _fill(before, change.value) else _put(node, key, change.value, way)


def _replaced(node: object, value: object) -> object:
    return node if _fill(node, value) else value


def _fill(node: object, value: object) -> bool:
    """Give a list or dict the items of another one, so that it stays the object that it is."""
    if isinstance(node, (MutableSequence, deque)) and isinstance(value, (list, deque)):
        node.clear()
        node.extend(value)
        return True
    if isinstance(node, MutableMapping) and isinstance(value, Mapping):
        node.clear()
        node.update(value)
        return True
    return False


def _value_at(node: object, path: Path) -> object:
    for depth, key in enumerate(path):
        node = _part(node, key)
        if node is _GONE:
            raise CannotChange(f"{format_path(path[: depth + 1])} is not there any more")
    return node


def _part(node: object, key: str | int) -> object:
    """The item, value or attribute that a path's next step means; `_GONE` where there is none."""
    if isinstance(node, Mapping):
        if isinstance(key, int) and not _is_plain(node):
            entries = list(node.items())
            return entries[key] if key < len(entries) else _GONE
        return node.get(key, _GONE)
    if isinstance(key, int):
        items = cast("Sequence[object]", node) if isinstance(node, (list, tuple, deque, MutableSequence)) else ()
        return items[key] if key < len(items) else _GONE
    return getattr(node, key, _GONE)


def _put(node: object, key: str | int, value: object, way: Path) -> object:
    """Give a part of `node` another value: `node` itself, or one that is made anew."""
    where = format_path((*way, key))
    if isinstance(node, MutableMapping):
        if isinstance(key, int) and not _is_plain(node):
            name, given = cast("tuple[object, object]", value)  # an entry: its key and its value
            if list(node)[key] != name:
                raise CannotChange(f"{where}: a key of a dict cannot be changed")
            node[name] = given
        else:
            node[key] = value
        return node
    if isinstance(key, int):
        if isinstance(node, (MutableSequence, deque)):
            _set_item(node, key, value)
            return node
        if isinstance(node, tuple) and key < len(node):
            fields: tuple[str, ...] = getattr(node, "_fields", ())
            if fields:
                return cast("Any", node)._replace(**{fields[key]: value})
            return type(node)([*node[:key], value, *node[key + 1 :]])
        raise CannotChange(f"{where} is not there any more")
    if hasattr(node, "_replace") and isinstance(node, tuple):
        return cast("Any", node)._replace(**{key: value})
    return _with_attribute(node, key, value, where)


def _set_item(node: MutableSequence[object] | deque[object], index: int, value: object) -> None:
    """Give an item another value; the position just after the end adds one."""
    if index < len(node):
        node[index] = value
    else:
        node.append(value)


def _with_attribute(node: object, name: str, value: object, where: str) -> object:
    try:
        setattr(node, name, value)
    except (AttributeError, TypeError, ValueError):
        if dataclasses.is_dataclass(node) and not isinstance(node, type):
            return dataclasses.replace(node, **{name: value})
        if hasattr(type(node), "__attrs_attrs__") and hasattr(node, name):
            changed = copy(node)
            object.__setattr__(changed, name, value)
            return changed
        if hasattr(node, "model_copy"):
            return cast("Any", node).model_copy(update={name: value})
        raise CannotChange(f"{where} of a {type(node).__name__} cannot be changed") from None
    return node


def _without(node: object, key: str | int, way: Path) -> object:
    where = format_path((*way, key))
    if isinstance(node, MutableMapping):
        name = list(node)[key] if isinstance(key, int) and not _is_plain(node) and key < len(node) else key
        if name not in node:
            raise CannotChange(f"{where} is not there any more")
        del node[name]
        return node
    if isinstance(key, int) and isinstance(node, (list, deque, MutableSequence, tuple)):
        if key >= len(node):
            raise CannotChange(f"{where} is not there any more")
        if isinstance(node, tuple):
            return type(node)([*node[:key], *node[key + 1 :]])
        del node[key]
        return node
    if not isinstance(key, str) or not hasattr(node, key):
        raise CannotChange(f"{where} is not there any more")
    delattr(node, key)
    return node


def _is_plain(node: Mapping[object, object]) -> bool:
    """Whether a dict is kept as an object: all of its keys are text."""
    return all(isinstance(key, str) for key in node)
