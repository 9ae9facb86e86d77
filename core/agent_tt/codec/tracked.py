"""Dicts and lists that know what was written into them, so that what changed is found without looking at the rest.

They are subclasses of `dict` and `list` that hold the same values and give the same answers. Each notes which of its
entries were written, and tells the containers around it; `agent_tt.codec.track_reader` takes these notes. A value
is held as it is: a plain dict that is put into one stays that very object, and whoever holds it goes on writing to it.

Writes that go around the methods are not noted: those of C code that treats a subclass as a dict (`heapq`), and
`dict.__setitem__(tracked, …)`. Whoever relies on the notes has to look at all of it from time to time.

A copy, a pickle, a slice and a sum of them are plain dicts and lists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, SupportsIndex, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["TRACKED", "Tracked", "TrackedDict", "TrackedList", "mark"]

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")

_ABSENT: Final = object()


class TrackedDict(dict[K, V], Generic[K, V]):
    """A dict that knows what was written into it. `tracked` of `agent_tt.codec.track_reader` makes one."""

    # above: the containers that hold it · at: its place in them, many: there may be several · below: those in it that
    # were written · touched: keys that were written, order: whether one was removed · watched: keys of values that
    # change without a note · reader: who took the notes last
    __slots__ = ("_above", "_at", "_below", "_many", "_order", "_reader", "_touched", "_watched")

    _above: list[Tracked]
    _at: object
    _below: dict[int, Tracked]
    _many: bool
    _order: bool
    _reader: object
    _touched: dict[object, None]
    _watched: dict[Any, None]

    def __new__(cls, *_args: object, **_entries: object) -> TrackedDict[K, V]:  # noqa: D102  as of any class
        self = dict.__new__(cls)
        self._above = []
        self._at = None
        self._many = False
        self._below = {}
        self._touched = {}
        self._order = False
        self._watched = {}
        self._reader = None
        return self

    def __init__(self, *args: Any, **entries: Any) -> None:
        self.update(*args, **entries)

    def __setitem__(self, key: K, value: V) -> None:
        # The note comes after the write: a reader in another thread that takes it has then seen the value.
        dict.__setitem__(self, key, value)
        self._touched[key] = None
        if self._above:
            mark(self)

    def __delitem__(self, key: K) -> None:
        dict.__delitem__(self, key)
        self._removed(key)

    def pop(self, key: K, *default: Any) -> Any:
        """As of a dict."""
        found = dict.pop(self, key, _ABSENT)
        if found is _ABSENT:
            return dict.pop(self, key, *default)
        self._removed(key)
        return found

    def popitem(self) -> tuple[K, V]:
        """As of a dict."""
        key, value = dict.popitem(self)
        self._removed(key)
        return key, value

    def clear(self) -> None:
        """As of a dict."""
        keys = list(self)
        dict.clear(self)
        self._touched.update(dict.fromkeys(keys))
        self._order = True
        mark(self)

    def update(self, *args: Any, **entries: Any) -> None:
        """As of a dict."""
        given: dict[K, V] = dict(*args, **entries)
        dict.update(self, given)
        self._touched.update(dict.fromkeys(given))
        mark(self)

    def setdefault(self, key: K, default: Any = None) -> Any:
        """As of a dict."""
        if key not in self:
            self[key] = default
        return self[key]

    def __ior__(self, other: Any) -> TrackedDict[K, V]:  # type: ignore[override,misc]  # as wide as that of a dict
        self.update(other)
        return self

    def _removed(self, key: object) -> None:
        self._touched[key] = None
        self._order = True
        mark(self)

    def __reduce_ex__(self, _protocol: SupportsIndex) -> tuple[Any, ...]:
        return dict, (), None, None, iter(list(self.items()))


class TrackedList(list[T], Generic[T]):
    """A list that knows what was written into it. `tracked` of `agent_tt.codec.track_reader` makes one."""

    # as of a dict · size: its length when notes were taken · first: from here on elements may be others · set: places
    # that were set
    __slots__ = ("_above", "_at", "_below", "_first", "_many", "_reader", "_set", "_size", "_watched")

    _above: list[Tracked]
    _at: object
    _below: dict[int, Tracked]
    _first: int
    _many: bool
    _reader: object
    _set: dict[int, None]
    _size: int
    _watched: dict[Any, None]

    def __new__(cls, *_args: object) -> TrackedList[T]:  # noqa: D102  as of any class
        self = list.__new__(cls)
        self._above = []
        self._at = None
        self._many = False
        self._below = {}
        self._first = self._size = 0
        self._set = {}
        self._watched = {}
        self._reader = None
        return self

    def __init__(self, items: Iterable[T] = ()) -> None:
        list.__init__(self, items)
        self._changed(0)

    def append(self, item: T) -> None:
        """As of a list."""
        list.append(self, item)
        mark(self)

    def extend(self, items: Iterable[T]) -> None:
        """As of a list."""
        try:
            list.extend(self, items)
        finally:  # what came before the iterable raised is in it
            mark(self)

    def __iadd__(self, items: Iterable[T]) -> TrackedList[T]:  # type: ignore[override,misc]  # as that of a list
        self.extend(items)
        return self

    def __imul__(self, times: SupportsIndex) -> TrackedList[T]:
        list.__imul__(self, times)
        self._changed(len(self) if times.__index__() > 0 else 0)
        return self

    def __setitem__(self, at: Any, value: Any) -> None:
        if isinstance(at, slice):
            low = self._low(at)
            list.__setitem__(self, at, value)
            self._changed(low)
            return
        list.__setitem__(self, at, value)
        place = at.__index__()
        self._set[place if place >= 0 else place + len(self)] = None
        mark(self)

    def __delitem__(self, at: Any) -> None:
        low = self._low(at)
        list.__delitem__(self, at)
        self._changed(low)

    def insert(self, at: SupportsIndex, item: T) -> None:
        """As of a list."""
        low = self._low(at)
        list.insert(self, at, item)
        self._changed(low)

    def pop(self, at: SupportsIndex = -1) -> T:
        """As of a list."""
        low = self._low(at)
        found = list.pop(self, at)
        self._changed(low)
        return found

    def remove(self, item: T) -> None:
        """As of a list."""
        list.remove(self, item)
        self._changed(0)

    def clear(self) -> None:
        """As of a list."""
        list.clear(self)
        self._changed(0)

    def reverse(self) -> None:
        """As of a list."""
        list.reverse(self)
        self._changed(0)

    def sort(self, *, key: Callable[[T], Any] | None = None, reverse: bool = False) -> None:
        """As of a list."""
        try:
            list.sort(self, key=key, reverse=reverse)  # type: ignore[type-var,arg-type]  # as of a list
        finally:  # where a comparison raised, some are in another order
            self._changed(0)

    def _low(self, at: Any) -> int:
        """The first place that is another one after a write at `at`."""
        if isinstance(at, slice):
            start, stop, step = at.indices(len(self))
            return max(0, min(start, stop) if step < 0 else start)
        place: int = at.__index__()
        return max(0, place if place >= 0 else place + len(self))

    def _changed(self, low: int) -> None:
        self._first = min(self._first, low)
        mark(self)

    def __reduce_ex__(self, _protocol: SupportsIndex) -> tuple[Any, ...]:
        return list, (), None, iter(list(self))


Tracked: TypeAlias = "TrackedDict[Any, Any] | TrackedList[Any]"
TRACKED: Final = frozenset({TrackedDict, TrackedList})


def mark(written: Tracked) -> None:
    """Tell the containers around one, all the way out, that something in it was written."""
    left = [written]
    while left:
        one = left.pop()
        for above in one._above:  # noqa: SLF001  one class in two
            if id(one) not in above._below:  # noqa: SLF001
                above._below[id(one)] = one  # noqa: SLF001
                left.append(above)
