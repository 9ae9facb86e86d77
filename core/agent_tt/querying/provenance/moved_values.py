"""Where a value was before a step put it elsewhere, told by content: a list that was sorted, a key that was renamed.

The operations of a step say what stands where afterwards, not what was carried there: a list that was reversed reads as
if every element had been written anew. An element that is the same as one that stood elsewhere, or that has the same
id, is that one. So is the only one that has something telling in common with it, where its place held nothing like it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.codec.paths import get
from agent_tt.codec.sameness import identical
from agent_tt.codec.wire import TYPE, VALUE, is_envelope
from agent_tt.errors import AgentTTError
from agent_tt.querying.expressions.values import plain
from agent_tt.querying.provenance.origins import is_telling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent_tt.codec.wire import Path, Wire

__all__ = ["place_by_content"]

_IDS: Final = ("id", "uuid", "tool_call_id", "call_id", "key")
_MOST_ITEMS: Final = 20_000
_MOST_NODES: Final = 20_000
_MOST_ALIKE: Final = 200
"""Elements of the longest list in which elements are compared by what they hold."""


def place_by_content(before: Wire, after: Wire, path: Path, traced: Callable[[Path], Path | None]) -> Path | None:
    """Where the value at a path of `after` was in `before`.

    Args:
        before: the state before the step.
        after: the state after it.
        path: a wire path of `after`.
        traced: where a place of `after` was in `before` by the step's operations; None where it was not there.

    Returns:
        A wire path of `before`: where something that the value is in was carried from, else what `traced` says. None
        where it was not there.
    """
    for depth in range(1, len(path) + 1):
        here, step = path[:depth], path[depth - 1]
        container, was = _part(after, here[:-1]), traced(here[:-1]) if depth > 1 else ()
        old = None if was is None else _part(before, was)
        if was is None or type(container) is not type(old):
            return _elsewhere(before, after, here[:-1] or here, path)
        at = traced(here)
        item = _part(after, here)
        found: str | int | None = None
        if isinstance(container, list) and isinstance(old, list) and isinstance(step, int):
            earlier = None if at is None else _part(before, at)
            pairs = depth > 1 and _is_pairs(after, here[:-1])
            if earlier is not None and _is_same(earlier, item, pairs=pairs):
                continue
            found = _position(old, container, step, pairs=pairs)
            if found is None and not pairs and not _is_like(earlier, item):
                alike = _alike(old, container, step)
                if alike is not None:  # what is in it may have moved there, too
                    inside = place_by_content([old[alike]], [item], (0, *path[depth:]), lambda place: place)
                    return None if inside is None else _existing(before, (*was, alike, *inside[1:]))
            is_new = earlier is not None and _is_other(earlier, item)
        elif isinstance(container, dict) and isinstance(old, dict) and isinstance(step, str):
            if step in old:
                continue
            found, is_new = _renamed(old, container, step), True
        else:
            return traced(path)
        if found is not None:
            return _existing(before, (*was, found, *path[depth:]))
        if at is None or is_new:
            return _elsewhere(before, after, here, path)
    return traced(path)


def _position(old: list[Wire], new: list[Wire], at: int, *, pairs: bool) -> int | None:
    """Which element of a list before is the element at a position of it now."""
    if max(len(old), len(new)) > _MOST_ITEMS:
        return None
    item = new[at]
    if pairs:
        return _pair(old, new, item)
    mark = _mark(item)
    if mark is not None:
        before = [number for number, each in enumerate(old) if _mark(each) == mark]
        if len(before) == 1 and sum(_mark(each) == mark for each in new) == 1:
            return before[0]
    before = [number for number, each in enumerate(old) if each == item and identical(each, item)]
    now = [number for number, each in enumerate(new) if each == item and identical(each, item)]
    if not is_telling(item) and len(before) != len(now):
        return None
    turn = now.index(at) if at in now else len(before)
    return before[turn] if turn < len(before) else None


def _alike(old: list[Wire], new: list[Wire], at: int) -> int | None:
    """Which element of a list before has become the element at a position now: the only two that are alike.

    Where an element changed while one before it went away, nothing that is there now is as it was.
    """
    item = new[at]
    if not isinstance(item, dict | list) or _mark(item) is not None or max(len(old), len(new)) > _MOST_ALIKE:
        return None
    before = [number for number, each in enumerate(old) if _mark(each) is None and _is_like(each, item)]
    if len(before) != 1 or any(_is_like(old[before[0]], each) for number, each in enumerate(new) if number != at):
        return None
    return before[0]


def _is_like(one: Wire, other: Wire) -> bool:
    """Whether two lists or two objects hold something telling in common: objects under the same name."""
    if isinstance(one, dict) and isinstance(other, dict):
        return any(key in one and identical(one[key], item) and is_telling(item) for key, item in other.items())
    if isinstance(one, list) and isinstance(other, list):
        most = slice(_MOST_ALIKE)
        return any(is_telling(item) and any(identical(each, item) for each in one[most]) for item in other[most])
    return False


def _pair(old: list[Wire], new: list[Wire], item: Wire) -> int | None:
    """Which pair of a mapping before had the key that a pair has now, or its value under a key that is gone."""
    if not isinstance(item, list) or len(item) != 2:
        return None
    were, are = (
        [each[0] if isinstance(each, list) and each else None for each in old],
        [each[0] if isinstance(each, list) and each else None for each in new],
    )
    if item[0] in were:
        return were.index(item[0])
    gone = [
        number
        for number, each in enumerate(old)
        if were[number] not in are and isinstance(each, list) and len(each) == 2 and identical(each[1], item[1])
    ]
    return gone[0] if len(gone) == 1 and is_telling(item[1]) else None


def _is_pairs(state: Wire, path: Path) -> bool:
    """Whether a list is what a mapping with keys of other types is kept as."""
    above = _part(state, path[:-1])
    return path[-1] == VALUE and isinstance(above, dict) and "dict" in (above.get(TYPE), above.get("base"))


def _renamed(old: dict[str, Wire], new: dict[str, Wire], key: str) -> str | None:
    """Under which key a value of a mapping stood that stands under a new one now."""
    gone = [each for each in old if each not in new and identical(old[each], new[key])]
    return gone[0] if len(gone) == 1 and is_telling(new[key]) else None


def _elsewhere(before: Wire, after: Wire, here: Path, path: Path) -> Path | None:
    """The one place of the state before that held the same, and does so no more: an element went to another list."""
    item = _part(after, here)
    if not isinstance(item, dict | list | str) or not is_telling(item) or len(str(item)[:20]) < 8:
        return None
    found = [where for where, node in _nodes(before) if node == item and identical(node, item)]
    if len(found) != 1 or sum(node == item for _, node in _nodes(after)) != 1:
        return None
    return _existing(before, (*found[0], *path[len(here) :]))


def _nodes(value: Wire) -> Iterator[tuple[Path, Wire]]:
    waiting: list[tuple[Path, Wire]] = [((), value)]
    for _ in range(_MOST_NODES):
        if not waiting:
            return
        where, node = waiting.pop()
        yield where, node
        if isinstance(node, dict):
            waiting += [((*where, key), item) for key, item in node.items()]
        elif isinstance(node, list):
            waiting += [((*where, position), item) for position, item in enumerate(node[:_MOST_NODES])]


def _is_same(one: Wire, other: Wire, *, pairs: bool) -> bool:
    """Whether two elements are one, which may have been edited."""
    if one == other:
        return True
    if pairs and isinstance(one, list) and isinstance(other, list) and one and other:
        return bool(one[0] == other[0])
    mine = _mark(one)
    return mine is not None and mine == _mark(other)


def _is_other(one: Wire, other: Wire) -> bool:
    """Whether two elements have ids, and not the same."""
    mine, theirs = _mark(one), _mark(other)
    return mine is not None and theirs is not None and mine != theirs


def _mark(item: Wire) -> tuple[str, Wire] | None:
    """What an element is known by, whatever else of it changes: its id; the key of a pair."""
    inside = plain(item) if is_envelope(item) else item
    if not isinstance(inside, dict):
        return None
    for key in _IDS:
        value = inside.get(key)
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            return key, value
    return None


def _part(value: Wire, path: Path) -> Wire:
    try:
        return get(value, path)
    except AgentTTError:
        return None


def _existing(value: Wire, path: Path) -> Path | None:
    try:
        get(value, path)
    except AgentTTError:
        return None
    return path
