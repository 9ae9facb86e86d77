"""Which loaded modules are not as they were when somebody looked last.

Recordings and replays put their stand-ins under every name that modules have for something, as they begin and as they
end. A large program has thousands of modules, of which hardly any differ from one time to the next; so what all of them
look like is kept, and compared without a line of Python for each.
"""

from __future__ import annotations

import itertools
import sys
import threading
import weakref
from contextlib import contextmanager
from operator import call, is_
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["changed_modules", "looking_anew", "looking_once", "namespace_of"]


class _Look(NamedTuple):
    """All modules, as they were seen; lists are of one length, but for `sizes`.

    Attributes:
        moment: when, as a number that grows.
        names: what they are called.
        modules: give each, or None where it is gone.
        are_searched: whether each is a real module.
        sizes: of those that are, how many names they have.
        since: the moment of the look that first saw each as it is.
    """

    moment: int
    names: list[str]
    modules: list[Callable[[], object]]
    are_searched: list[bool]
    sizes: list[int]
    since: list[int]


class _Process:
    """What was seen last. A look replaces another as a whole: threads that look at once see too much, never too little.

    Attributes:
        last: the last look.
        moments: those of the looks to come.
    """

    def __init__(self) -> None:
        self.last = _Look(0, [], [], [], [], [])
        self.moments = itertools.count(1)


_PROCESS: Final = _Process()


class _Here(threading.local):
    """Whether this thread looks once for all that ask, and what it saw."""

    is_shared = False
    seen: tuple[_Look, dict[str, ModuleType]] | None = None


_HERE: Final = _Here()


@contextmanager
def looking_once() -> Iterator[None]:
    """Let one look do for all that ask in this thread while the block lasts; not inside `looking_anew`.

    For what is put in place together, and taken away together: even a look takes milliseconds in a large program.
    A block inside of another one shares its look.
    """
    if _HERE.is_shared:
        yield
        return
    before, _HERE.is_shared, _HERE.seen = _HERE.is_shared, True, None
    try:
        yield
    finally:
        _HERE.is_shared, _HERE.seen = before, None


@contextmanager
def looking_anew() -> Iterator[None]:
    """The block inside of `looking_once` in which modules may change; one look does for all after it, too."""
    before, _HERE.is_shared, _HERE.seen = _HERE.is_shared, False, None
    try:
        yield
    finally:
        _HERE.is_shared, _HERE.seen = before, None


def namespace_of(module: ModuleType) -> dict[str, Any]:
    """The globals of a module. One that loads itself when it is touched is not touched."""
    namespace: dict[str, Any] = object.__getattribute__(module, "__dict__")
    return namespace


def changed_modules(since: int) -> tuple[int, list[tuple[str, ModuleType]]]:
    """The modules that are new since a moment, or have another number of names than then.

    One that bound an old name to something else meanwhile is not told.

    Args:
        since: what the last look gave; 0 for all modules.

    Returns:
        The moment of this look, and the modules by name.
    """
    look, loaded = _HERE.seen or _look()
    if look.moment <= since:
        return look.moment, []
    seen = zip(look.names, look.are_searched, look.since, strict=True)
    found = [(name, loaded[name]) for name, is_searched, moment in seen if is_searched and moment > since]
    return look.moment, found


def _look() -> tuple[_Look, dict[str, ModuleType]]:
    look = _PROCESS.last
    loaded = sys.modules.copy()
    if not _is_as_seen(look, loaded):
        look = _PROCESS.last = _look_again(look, loaded)
    if _HERE.is_shared:
        _HERE.seen = look, loaded
    return look, loaded


def _is_as_seen(look: _Look, loaded: dict[str, ModuleType]) -> bool:
    if look.names != list(loaded):
        return False
    modules: Any = loaded.values()
    if not all(map(is_, modules, map(call, look.modules))):
        return False
    searched: Any = itertools.compress(modules, look.are_searched)
    return list(map(len, map(object.__getattribute__, searched, itertools.repeat("__dict__")))) == look.sizes


def _look_again(before: _Look, loaded: dict[str, ModuleType]) -> _Look:
    moment = next(_PROCESS.moments)
    sizes = iter(before.sizes)
    known = {
        name: (module, next(sizes) if is_searched else -1, since)
        for name, module, is_searched, since in zip(
            before.names, before.modules, before.are_searched, before.since, strict=True
        )
    }
    look = _Look(moment, list(loaded), [], [], [], [])
    for name, module in loaded.items():
        is_searched = issubclass(type(module), ModuleType)  # not `isinstance`, which asks the module for its class
        size = len(namespace_of(module)) if is_searched else -1
        seen = known.get(name)
        is_same = seen is not None and seen[0]() is module
        look.modules.append(seen[0] if seen is not None and is_same else _reference(module))
        look.are_searched.append(is_searched)
        look.since.append(seen[2] if seen is not None and is_same and seen[1] == size else moment)
        if is_searched:
            look.sizes.append(size)
    return look


def _reference(module: object) -> Callable[[], object]:
    """What gives a module without keeping it alive."""
    try:
        return weakref.ref(module)
    except TypeError:  # anything may stand among the modules, None too
        return lambda: module
