"""Making containers tracked, and taking their notes.

`tracked` copies a tree of dicts and lists. What is put into a tracked container afterwards is held as it is: a plain
dict or list becomes a tracked one when notes are taken, once nobody else holds it: then nobody can tell. As long as
somebody does, it is that one's own object, and is *watched*: compared each time.
"""

from __future__ import annotations

import datetime as dt
import decimal
import sys
import uuid
from operator import is_
from typing import TYPE_CHECKING, Any, Final

from agent_tt.codec.tracked import TRACKED, TrackedDict, TrackedList, mark
from agent_tt.codec.wire import MAX_DEPTH

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt.codec.tracked import Tracked

__all__ = ["Notes", "TrackReader", "tracked"]

_STILL: Final = frozenset(
    {str, int, float, bool, type(None), bytes, complex, decimal.Decimal, uuid.UUID, dt.date, dt.timedelta}
)
"""Types whose values nobody can change."""


def tracked(value: object, known: dict[int, object] | None = None) -> Any:
    """A tracked copy of a dict or list, and of all dicts and lists in it; what it holds twice, the copy holds twice.

    Args:
        value: the dict or list. Anything else, in it too, is given as it is.
        known: copies by the `id` of what they are copies of.
    """
    kind = type(value)
    if kind is not dict and kind is not list:
        return value
    known = {} if known is None else known
    if id(value) not in known:
        copy: Any = TrackedDict() if isinstance(value, dict) else TrackedList()
        known[id(value)] = copy
        if isinstance(value, dict):
            dict.update(copy, {key: tracked(item, known) for key, item in list(value.items())})
        elif isinstance(value, list):
            list.extend(copy, [tracked(item, known) for item in value])
    return known[id(value)]


class Notes:
    """What was noted of one container since its notes were taken last.

    Attributes:
        container: the container.
        all: nothing is known of it: any entry may be another one.
        changed: whether entries were written, or a list has another length.
        places: keys or positions of what may be another value, or holds one that may be.
        written: those of them where another value may stand.
        first: of a list, the position from which all elements may be others, or new.
        order: of a dict, whether the order of its keys may be another one.
    """

    __slots__ = ("all", "changed", "container", "first", "order", "places", "written")

    def __init__(
        self, container: Tracked, places: dict[Any, None], first: int, *, order: bool, all_: bool, changed: bool
    ) -> None:
        self.container = container
        self.changed = changed
        self.places = places
        self.written = places
        self.first = first
        self.order = order
        self.all = all_


class TrackReader:
    """Takes the notes of the containers of one state, again and again.

    Attributes:
        count: how many containers it came to know; more than there are, where some are gone.
        notes: those that were taken last, by the `id` of their container. What is not among them was not changed.
    """

    __slots__ = ("count", "notes")

    def __init__(self) -> None:
        self.count = 0
        self.notes: dict[int, Notes] = {}

    def begin(self) -> None:
        """Begin a step: what is taken from now on was noted since the step before."""
        self.notes = {}

    def take(self, root: Tracked) -> Notes:
        """Take the notes of a container, and of all in it that were written; once in a step."""
        found = self.notes.get(id(root))
        if found is None:
            self._take(root, 0)
            found = self.notes[id(root)]
        return found

    def end(self) -> None:
        """End a step: what holds values that change without a note is looked at again in the next."""
        for found in self.notes.values():
            if found.container._watched:
                mark(found.container)

    def has_more(self, root: object) -> bool:
        """Whether something was noted in a container since its notes were taken in this step."""
        if isinstance(root, TrackedDict):
            return bool(root._below or root._touched or root._order)
        return isinstance(root, TrackedList) and bool(
            root._below or root._set or root._first < root._size or len(root) != root._size
        )

    def _take(self, one: Tracked, depth: int) -> None:
        if id(one) in self.notes:
            return
        is_new, one._reader = one._reader is not self, self
        self.count += is_new
        below, one._below = one._below, {}
        notes = _of_dict(one, is_new=is_new) if isinstance(one, TrackedDict) else _of_list(one, is_new=is_new)
        self.notes[id(one)] = notes
        notes.places.update(one._watched)
        notes.written = dict(notes.places)
        places: Iterable[Any] = list(notes.places)
        if isinstance(one, TrackedList):
            places = [*places, *range(notes.first, len(one))]
        elif is_new:
            places = list(one)
        for place in places:
            self._settle(one, place, depth)
        for written in below.values():
            found = _places_of(one, written)
            if not found:
                written._above = [above for above in written._above if above is not one]
            for place in found:
                notes.places[place] = None
            if found:
                self._take(written, depth + 1)

    def _settle(self, holder: Any, place: Any, depth: int) -> None:
        """See what stands at a place now: a value that stays as it is, a tracked container, or one to be watched."""
        kind = _kind_at(holder, place)
        if (kind is dict or kind is list) and depth < MAX_DEPTH:
            _adopt(holder, place)
            kind = _kind_at(holder, place)
        if kind in TRACKED and depth < MAX_DEPTH:
            child: Tracked = holder[place]
            _hold(child, holder, place)
            holder._watched.pop(place, None)
            self._take(child, depth + 1)
        elif kind in _STILL or kind is None:
            holder._watched.pop(place, None)
        else:
            holder._watched[place] = None


def _of_dict(one: TrackedDict[Any, Any], *, is_new: bool) -> Notes:
    touched, one._touched = one._touched, {}
    order, one._order = one._order, False
    return Notes(one, touched, 0, order=order, all_=is_new, changed=bool(touched) or order)


def _of_list(one: TrackedList[Any], *, is_new: bool) -> Notes:
    set_, one._set = one._set, {}
    low, size, now = one._first, one._size, len(one)
    first = 0 if is_new else min(low, size, now)
    one._first = one._size = now
    one._watched = {at: None for at in one._watched if at < first}
    changed = bool(set_) or low < size or size != now
    return Notes(one, {at: None for at in set_ if at < first}, first, order=False, all_=is_new, changed=changed)


def _kind_at(holder: Any, place: Any) -> type | None:
    """The type of what stands at a place; None where nothing does any more."""
    try:
        return type(holder[place])
    except LookupError:
        return None


def _hold(child: Tracked, holder: Tracked, place: Any) -> None:
    """Let a tracked container know what holds it, and where."""
    if any(above is holder for above in child._above):
        child._many = child._many or child._at != place  # it may be there twice
    else:
        child._many = bool(child._above)
        child._above.append(holder)
    child._at = place


def _is_at(holder: Any, place: Any, child: object) -> bool:
    try:
        return holder[place] is child
    except (LookupError, TypeError):
        return False


def _places_of(holder: Any, child: Tracked) -> list[Any]:
    """Where in a container a tracked one stands."""
    if not child._many and _is_at(holder, child._at, child):
        return [child._at]
    pairs = list(holder.items()) if isinstance(holder, TrackedDict) else list(enumerate(holder))
    found = [place for place, item in pairs if item is child]
    if found:
        child._at = found[-1]
        child._many = len(found) > 1 or len(child._above) > 1
    return found


# ---------------------------------------------------------------- making a plain container tracked


def _adopt(holder: Any, place: Any) -> None:
    """Put a tracked container in the place of a plain one that nobody else holds."""
    if _holders(holder, place) != _HELD_ONCE:
        return
    held = holder[place]
    new: Any = TrackedDict() if type(held) is dict else TrackedList()
    _fill(new, held)
    base: Any = dict if isinstance(holder, dict) else list
    base.__setitem__(holder, place, new)
    if _references(held) != _GONE or not _is_same(new, held):  # another thread took it, or wrote, just now
        base.__setitem__(holder, place, held)


def _fill(new: Any, held: Any) -> None:
    if isinstance(held, dict):
        dict.update(new, held)
    else:
        list.extend(new, held)


def _is_same(new: Any, held: Any) -> bool:
    if len(new) != len(held):
        return False
    if isinstance(held, list):
        return all(map(is_, new, held))
    return all(map(is_, new, held)) and all(map(is_, new.values(), held.values()))


def _holders(holder: Any, place: Any) -> int:
    """How many references there are to what stands at a place, with those that asking takes."""
    return sys.getrefcount(holder[place])


def _references(held: object) -> int:
    return sys.getrefcount(held)


def _once() -> tuple[int, int]:
    """What these two say of a container that nothing else holds: that differs between versions of Python."""
    holder: dict[str, object] = {"": []}
    held_once = _holders(holder, "")
    held = holder[""]
    holder[""] = None
    return held_once, _references(held)


_HELD_ONCE, _GONE = _once()
if not getattr(sys, "_is_gil_enabled", lambda: True)():  # counts of references are not exact then
    _HELD_ONCE = -1
