"""Which objects parts of a state consist of: the cheapest exact sign that nothing in them has changed.

A census keeps, level by level, the dicts and lists of some parts, and the very objects that each holds. As long as each
holds the same ones, nothing can have changed: texts and numbers cannot, and dicts and lists are looked into themselves.
No text is read, so that a look costs by the number of containers, at the speed of C, and not by their bytes.

Objects are told by their addresses. All of them are kept alive, so that no address comes to stand for another object.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from bisect import bisect_right
from itertools import accumulate, chain, compress, count
from operator import is_not, ne
from typing import TYPE_CHECKING, Final

from agent_tt.codec.wire import MAX_DEPTH

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["WORKS", "Census", "references_to"]

_CONTAINERS: Final = frozenset({dict, list})
_LEAVES: Final = frozenset({str, int, float, bool, type(None)})
_KINDS: Final = _LEAVES | _CONTAINERS
_TEXT: Final = frozenset({str})
_MOST: Final = 1 << 14
"""Containers in one census, at most: what is shared, or holds itself, would be counted without end."""
_TOGETHER: Final = 64
"""Objects that are compared together where some differ."""
_ITEMS: Final = tuple.__basicsize__
_POINTER: Final = ctypes.sizeof(ctypes.c_void_p)
_joined: Final = chain.from_iterable


def _addresses(objects: tuple[object, ...]) -> bytes:
    """The addresses of the objects in a tuple, as they lie in it."""
    return ctypes.string_at(id(objects) + _ITEMS, _POINTER * len(objects))


class _Flat:
    """What some containers hold, one after another."""

    __slots__ = ("_ends", "at", "objects", "sizes")

    def __init__(self, sizes: list[int], objects: tuple[object, ...], at: bytes | None = None) -> None:
        self.sizes = sizes
        self.objects = objects
        self.at = _addresses(objects) if at is None else at
        self._ends: list[int] | None = None

    @property
    def ends(self) -> list[int]:
        """Where each container's objects end."""
        if self._ends is None:
            self._ends = list(accumulate(self.sizes))
        return self._ends

    def of(self, number: int) -> tuple[object, ...]:
        """The objects of one container."""
        end = self.ends[number]
        return self.objects[end - self.sizes[number] : end]

    def with_ends_of(self, other: _Flat) -> _Flat:
        """Take over where containers end, where they are as large as before."""
        if self.sizes == other.sizes:
            self._ends = other._ends
        return self

    def differing(self, other: _Flat) -> list[int]:
        """The numbers of the containers that hold other objects there."""
        if self.sizes == other.sizes:
            return [] if self.at == other.at else self._among(other, 0, len(self.sizes))
        found, begin = [], 0
        for number in (*compress(count(), map(ne, self.sizes, other.sizes)), len(self.sizes)):
            found += self._among(other, begin, number)
            if number < len(self.sizes):
                found.append(number)
            begin = number + 1
        return found

    def _among(self, other: _Flat, begin: int, end: int) -> list[int]:
        """Of containers of the same sizes, from `begin` to `end`."""
        first, start = (self.ends[begin - 1], other.ends[begin - 1]) if begin else (0, 0)
        length = (self.ends[end - 1] if end else 0) - first
        found: dict[int, None] = {}
        for at in range(0, length, _TOGETHER):
            more = min(_TOGETHER, length - at)
            one, two = slice(first + at, first + at + more), slice(start + at, start + at + more)
            if (
                self.at[one.start * _POINTER : one.stop * _POINTER]
                != other.at[two.start * _POINTER : two.stop * _POINTER]
            ):
                places = compress(count(one.start), map(is_not, self.objects[one], other.objects[two]))
                found.update((bisect_right(self.ends, place), None) for place in places)
        return list(found)


class _Unclear(Exception):
    """What some containers hold cannot be told."""


class _Level:
    """The containers that lie at one depth."""

    __slots__ = ("containers", "dicts", "held", "keys", "number_of_dict", "owners", "parents")

    def __init__(self, containers: list[object], owners: list[int], parents: list[int]) -> None:
        self.containers = containers
        self.owners = owners
        self.parents = parents
        self.number_of_dict = [number for number, item in enumerate(containers) if type(item) is dict]
        self.dicts: list[dict[object, object]] = [containers[number] for number in self.number_of_dict]  # type: ignore[misc]  # dicts
        self.held = self.keys = _Flat([], ())
        self.look()

    def look(self) -> tuple[_Flat, _Flat] | None:
        """Look at what the containers and the keys of the dicts are now; give what they were. None if that is the same.

        Raises:
            _Unclear: it cannot be told.
        """
        sizes = list(map(len, self.containers))  # type: ignore[arg-type]  # containers
        held = tuple(gc.get_referents(*self.containers))
        keys = tuple(_joined(self.dicts))
        before, at, keys_at = (self.held, self.keys), _addresses(held), _addresses(keys)
        if sizes == before[0].sizes and at == before[0].at and keys_at == before[1].at:
            return None
        # A dict of other keys than texts holds these too; or another thread has come between.
        of_dicts = sizes if len(self.dicts) == len(sizes) else [sizes[number] for number in self.number_of_dict]
        if len(held) != sum(sizes) or len(keys) != sum(of_dicts) or list(map(len, self.containers)) != sizes:  # type: ignore[arg-type]
            raise _Unclear
        self.held = _Flat(sizes, held, at).with_ends_of(before[0])
        self.keys = _Flat(of_dicts, keys, keys_at).with_ends_of(before[1])
        return before

    def is_sound(self) -> bool:
        """Whether it holds JSON's types alone, and what dicts hold was found in the order of their keys."""
        if not _KINDS.issuperset(map(type, self.held.objects)):
            return False
        return _TEXT.issuperset(map(type, self.keys.objects)) and _are_in_order(self.dicts)


def _are_in_order(dicts: Sequence[dict[object, object]]) -> bool:
    """Whether the collector finds the values of dicts in their order: of the attributes of an object it may not."""
    return not dicts or _addresses(tuple(gc.get_referents(*dicts))) == _addresses(
        tuple(_joined(map(dict.values, dicts)))
    )


def references_to(part: object) -> int:
    """How many references to a dict or list of a state are those by which it is known here, and nobody's who uses it.

    Looks at all objects of the process: for who has to know, once.
    """
    found = 0
    for each in gc.get_objects():
        if type(each) is _Flat:
            found += sum(one is part for one in each.objects)
        elif type(each) is _Level:
            found += sum(one is part for one in each.containers) + sum(one is part for one in each.dicts)
    return found


class Census:
    """The objects of some parts of a state, which are called its roots.

    Args:
        roots: the parts. Whoever encodes them does so after this, so that what is changed in between is seen.

    Attributes:
        is_sound: whether anything may be said of them: they are trees of JSON's own types.
        loose: the numbers of roots of which nothing is known any more.
    """

    __slots__ = ("_levels", "_roots", "is_sound", "loose")

    def __init__(self, roots: Iterable[object]) -> None:
        found = tuple(roots)
        self._roots = _Flat([1] * len(found), found)
        self._levels: list[_Level] = []
        self.loose: set[int] = set()
        self.is_sound = WORKS and _KINDS.issuperset(map(type, found)) and self._go_down()

    def __len__(self) -> int:
        return len(self._roots.objects)

    def _go_down(self) -> bool:
        owners = [number for number, item in enumerate(self._roots.objects) if type(item) in _CONTAINERS]
        containers, parents = [self._roots.objects[number] for number in owners], list(owners)
        seen = len(containers)
        while containers:
            if seen > _MOST or len(self._levels) >= MAX_DEPTH:
                return False
            try:
                level = _Level(containers, owners, parents)
            except _Unclear:
                return False
            if not level.is_sound():
                return False
            self._levels.append(level)
            if _CONTAINERS.isdisjoint(map(type, level.held.objects)):
                return True
            within = _joined([number] * size for number, size in enumerate(level.held.sizes))
            below = [
                (number, item)
                for number, item in zip(within, level.held.objects, strict=True)
                if type(item) in _CONTAINERS
            ]
            parents, containers = [number for number, _ in below], [item for _, item in below]
            owners = [owners[number] for number in parents]
            seen += len(containers)
        return True

    def joined(self, other: Census) -> Census:
        """The census of this one's roots and then another's; neither has loose ones, or is used any more."""
        first = len(self)
        self._roots = _Flat(self._roots.sizes + other._roots.sizes, self._roots.objects + other._roots.objects)
        above = 0
        for depth, more in enumerate(other._levels):
            if depth == len(self._levels):
                self._levels.append(_Level([], [], []))
            level = self._levels[depth]
            before = len(level.containers)
            level.containers += more.containers
            level.owners += [first + owner for owner in more.owners]
            level.parents += [above + parent for parent in more.parents]
            level.number_of_dict += [before + number for number in more.number_of_dict]
            level.dicts += more.dicts
            level.held = _Flat(level.held.sizes + more.held.sizes, level.held.objects + more.held.objects)
            level.keys = _Flat(level.keys.sizes + more.keys.sizes, level.keys.objects + more.keys.objects)
            above = before
        return self

    def changed(self, roots: Sequence[object]) -> dict[int, set[int]]:
        """The roots that are not, or may not be, as they were when this was asked last.

        What may be said of them again, once somebody encodes them, is remembered; of the others nothing is said again:
        they are loose.

        Args:
            roots: the parts that stand in the places of the roots now, as many.

        Returns:
            By the root's number, the `id` of each container in it that holds other texts or numbers, or one that does;
            that says all only where the root is not loose.
        """
        now = tuple(roots)
        if _addresses(now) != self._roots.at:
            self.loose.update(self._roots.differing(_Flat(self._roots.sizes, now)))
        found: dict[int, set[int]] = {}
        for depth, level in enumerate(self._levels):
            try:
                before = level.look()
            except _Unclear:
                self.loose.update(range(len(self)))
                break
            if before is not None:
                self._compare(depth, *before, found)
        for number in self.loose:
            found.setdefault(number, set())
        return found

    def _compare(self, depth: int, held: _Flat, keys: _Flat, found: dict[int, set[int]]) -> None:
        level = self._levels[depth]
        for number in keys.differing(level.keys):
            self.loose.add(level.owners[level.number_of_dict[number]])
        for number in held.differing(level.held):
            owner = level.owners[number]
            if owner in self.loose:
                continue
            if not _only_leaves(held.of(number), level.held.of(number)):
                self.loose.add(owner)
            touched = found.setdefault(owner, set())
            at = number
            for above in reversed(self._levels[: depth + 1]):
                touched.add(id(above.containers[at]))
                at = above.parents[at]


def _only_leaves(before: tuple[object, ...], now: tuple[object, ...]) -> bool:
    """Whether a container holds other texts and numbers, and no other containers."""
    return len(before) == len(now) and all(
        one is other or (type(one) in _LEAVES and type(other) in _LEAVES)
        for one, other in zip(before, now, strict=True)
    )


def _works() -> bool:
    """Whether this interpreter lays out tuples, and finds what dicts and lists hold, as is expected here."""
    if not getattr(sys, "_is_gil_enabled", lambda: True)():  # other threads could write while something is read
        return False
    one, other = object(), object()
    found = _addresses((one, other))
    expected = id(one).to_bytes(_POINTER, sys.byteorder) + id(other).to_bytes(_POINTER, sys.byteorder)
    return found == expected and gc.get_referents({"a": one, "b": other}, [one]) == [one, other, one]


WORKS: Final = sys.implementation.name == "cpython" and _works()
