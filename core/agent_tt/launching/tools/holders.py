"""Replacing an object wherever it is held: for functions written in C, whose code cannot be redirected.

Modules, classes, attributes, slots, dicts, lists, sets, closures, default arguments and partials are given the
replacement; a tuple, a bound method or a property is made anew and replaced in its turn. What else holds the object (a
local variable of a running function, an object of a library written in C) keeps it, and is named.
"""

from __future__ import annotations

import collections
import functools
import gc
import sys
from types import (
    CellType,
    CodeType,
    FrameType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from agent_tt.recording.calls.site import is_agent_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Undo: TypeAlias = Callable[[], None]

__all__ = ["replace_in_holders"]

_OWN: Final = "agent_tt"
_DEPTH: Final = 4
"""So many tuples, bound methods and the like may lie inside each other."""
_MOST: Final = 8
"""So many holders are named at most."""
_UNBOUND: Final = (staticmethod, classmethod)


def replace_in_holders(original: object, make: Callable[[], object]) -> tuple[list[Undo], tuple[str, ...]]:
    """Put a replacement wherever an object is held.

    Args:
        original: the object.
        make: makes the replacement. It is called when the holders are known: what the replacement itself holds stays.

    Returns:
        What undoes it, to be called from the last to the first, and where the original is still held, in words.
    """
    holders = gc.get_referrers(original)
    work = _Work()
    work.replace(original, make(), holders, 0)
    return work.undo, tuple(sorted(work.left)[:_MOST])


class _Work:
    """One replacement under way.

    Attributes:
        undo: what puts everything back.
        left: where an original stays, in words.
    """

    def __init__(self) -> None:
        self.undo: list[Undo] = []
        self.left: set[str] = set()
        self._modules = {id(vars(m)): name for name, m in list(sys.modules.items()) if isinstance(m, ModuleType)}
        self._ours = {id(self), id(self.__dict__), id(self.undo), id(self.left), id(self._modules)}

    def replace(self, old: Any, new: Any, holders: Iterable[Any], depth: int) -> None:
        """Give each holder of `old` the new object."""
        self._ours.add(id(holders))
        for holder in holders:
            if id(holder) in self._ours or isinstance(holder, CodeType):
                continue
            if self._modules.get(id(holder), "").partition(".")[0] == _OWN:
                continue
            if isinstance(holder, FrameType):
                self._see_frame(holder, old)
            elif not self._in(holder, old, new) and not self._anew(holder, old, new, depth):
                self.left.add(self._words(holder))

    def _in(self, holder: Any, old: Any, new: Any) -> bool:
        """Replace it in something that can be changed; whether it was."""
        if isinstance(holder, dict):
            return self._in_dict(holder, old, new)
        if isinstance(holder, list | collections.deque):
            return self._in_places(holder, [i for i, value in enumerate(holder) if value is old], old, new)
        if isinstance(holder, set):
            return self._in_set(holder, old, new)
        if isinstance(holder, CellType):
            return self._set(holder, "cell_contents", old, new, setattr)
        if isinstance(holder, functools.partial):
            return self._in_partial(holder, old, new)
        if isinstance(holder, FunctionType):
            return self._in_defaults(holder, old, new)
        if isinstance(holder, type):
            return self._in_class(holder, old, new)
        return self._in_object(holder, old, new)

    def _in_dict(self, holder: dict[Any, Any], old: Any, new: Any) -> bool:
        keys = [key for key, value in list(holder.items()) if value is old]
        if keys and id(holder) not in self._modules:
            for owner in gc.get_referrers(holder):
                if isinstance(owner, type) and owner.__dict__.get(keys[0]) is old:
                    return self._in_class(owner, old, new)
        return self._in_places(holder, keys, old, new)

    def _in_class(self, owner: type, old: Any, new: Any) -> bool:
        names = [name for name, value in list(vars(owner).items()) if value is old]
        # A function of Python's would be bound to the object that it is looked up on; one of C's is not.
        given = new if hasattr(type(old), "__get__") else staticmethod(new)
        return bool(names) and all(self._set(owner, name, old, given, setattr) for name in names)

    def _in_object(self, holder: Any, old: Any, new: Any) -> bool:
        names = [name for name, value in list(getattr(holder, "__dict__", {}).items()) if value is old]
        for owner in type(holder).__mro__:
            for name, kind in list(vars(owner).items()):
                if isinstance(kind, MemberDescriptorType) and _read(kind, holder) is old:
                    names.append(name)
        return bool(names) and all(self._set(holder, name, old, new, object.__setattr__) for name in names)

    def _in_places(self, holder: Any, places: list[Any], old: Any, new: Any) -> bool:
        for place in places:
            holder[place] = new

        def undo() -> None:
            for place in places:
                if place in holder if isinstance(holder, dict) else place < len(holder):
                    holder[place] = old if holder[place] is new else holder[place]

        self.undo.append(undo)
        return bool(places)

    def _in_set(self, holder: set[Any], old: Any, new: Any) -> bool:
        holder.discard(old)
        holder.add(new)

        def undo() -> None:
            if new in holder:
                holder.discard(new)
                holder.add(old)

        self.undo.append(undo)
        return True

    def _in_partial(self, holder: functools.partial[Any], old: Any, new: Any) -> bool:
        """A partial is changed by the state that it would be pickled with: its function, or the tuple of its arguments.

        What is given by name lies in a dict.
        """

        def swap(before: Any, after: Any) -> None:
            func, args = (after if value is before else value for value in (holder.func, holder.args))
            holder.__setstate__((func, args, holder.keywords, vars(holder) or None))  # type: ignore[attr-defined]  # not in its stub

        if type(holder) is not functools.partial or (holder.func is not old and holder.args is not old):
            return False
        swap(old, new)
        self.undo.append(lambda: swap(new, old))
        return True

    def _in_defaults(self, holder: FunctionType, old: Any, new: Any) -> bool:
        """Of functions; their closures are cells, their attributes and keyword defaults dicts."""
        defaults = holder.__defaults__ or ()
        if not any(value is old for value in defaults):
            return False
        return self._set(
            holder, "__defaults__", defaults, tuple(new if value is old else value for value in defaults), setattr
        )

    def _set(self, holder: Any, name: str, old: Any, new: Any, setter: Callable[[Any, str, Any], None]) -> bool:
        try:
            setter(holder, name, new)
        except (AttributeError, TypeError):
            return False
        self.undo.append(lambda: setter(holder, name, old))
        return True

    def _anew(self, holder: Any, old: Any, new: Any, depth: int) -> bool:
        """Make something anew that cannot be changed, with the new object in it, and replace it in its turn."""
        if depth >= _DEPTH:
            return False
        made: Any
        if isinstance(holder, tuple):
            if not any(value is old for value in holder):
                return True  # a moment's arguments
            made = tuple.__new__(type(holder), (new if value is old else value for value in holder))
        elif isinstance(holder, frozenset):
            made = frozenset(new if value is old else value for value in holder)
        elif isinstance(holder, MethodType) and holder.__func__ is old:
            made = MethodType(new, holder.__self__)
        elif isinstance(holder, _UNBOUND):
            made = type(holder)(new)
        elif type(holder) is property:
            swapped: list[Any] = [new if each is old else each for each in (holder.fget, holder.fset, holder.fdel)]
            made = property(swapped[0], swapped[1], swapped[2], holder.__doc__)
        else:
            return False
        above = [each for each in gc.get_referrers(holder) if id(each) not in self._ours]
        functions = [
            each for each in above if isinstance(each, FunctionType) and getattr(each, "__defaults__", None) is holder
        ]
        for function in functions:
            self._set(function, "__defaults__", holder, made, setattr)
        rest = [each for each in above if not any(each is function for function in functions)]
        self.replace(holder, made, rest, depth + 1)
        return True

    def _see_frame(self, frame: FrameType, old: Any) -> None:
        """A local variable of a function that runs cannot be replaced."""
        code = frame.f_code
        if code.co_name == "<module>" or not is_agent_code(code):
            return
        names = [name for name, value in list(frame.f_locals.items()) if value is old]
        if names:
            self.left.add(f"the local variable {names[0]} of {code.co_qualname}")

    def _words(self, holder: Any) -> str:
        kind = type(holder)
        where = f"a {kind.__module__}.{kind.__qualname__}".replace(" builtins.", " ")
        for outer in gc.get_referrers(holder):
            module = self._modules.get(id(outer))
            if module is not None:
                names = [name for name, value in list(outer.items()) if value is holder]
                if names:
                    return f"{where} called {module}.{names[0]}"
        return where


def _read(kind: MemberDescriptorType | GetSetDescriptorType, holder: Any) -> object:
    try:
        return kind.__get__(holder)
    except (AttributeError, TypeError):
        return None
