"""One value of a state, followed from checkpoint to checkpoint by the operations that touch it.

Reading a state for every step would cost as much as the run is long, times as large as its state is. Most operations
say by themselves what lies at a place afterwards; where they do not (a list that shifted, a moved value) the value is
not known any more, and whoever asks reads it from the state once.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Final

from agent_tt.codec.sameness import identical
from agent_tt.codec.wire import VALUE, is_envelope
from agent_tt.errors import CorruptDelta
from agent_tt.history.changes.ops import apply, op_path
from agent_tt.querying.expressions.values import MISSING, Missing, at, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.ops import Op
    from agent_tt.querying.expressions.tree import Place
    from agent_tt.querying.expressions.values import Value

__all__ = ["TrackedValue", "indexed_path"]


class _Untouched:
    """The class of `_UNTOUCHED`."""


_UNTOUCHED: Final = _Untouched()
"""An operation is about something else."""


class _Unclear(Exception):
    """An operation does not say what lies at the place now."""


class TrackedValue:
    """The value at one place.

    Attributes:
        place: where.
        known: whether `value` is what lies there.
        value: the value; only to be read.
        changed: whether the last operations changed it; None where that is not known.
        is_indexed: whether the index of changes names the place as it is asked for. It does not where the place leads
            through a mapping with keys of other types, which is kept as a list of pairs.
    """

    __slots__ = ("changed", "is_indexed", "known", "place", "value")

    def __init__(self, place: Place) -> None:
        self.place = place
        self.known = False
        self.value: Value = MISSING
        self.changed: bool | None = None
        self.is_indexed = False

    def read(self, state: Value) -> None:
        """Take the value out of a whole state."""
        found = at(state, self.place)
        self.value = found if isinstance(found, Missing) else copy.deepcopy(found)
        self.known, self.changed = True, None
        self.is_indexed = not _leads_through_pairs(state, self.place)

    def forget(self) -> None:
        """The value is not known any more."""
        self.known, self.changed, self.value, self.is_indexed = False, None, MISSING, False

    def stay(self) -> None:
        """Nothing touched it."""
        self.changed = False if self.known else None

    def follow(self, ops: Sequence[Op], *, compare: bool) -> None:
        """Take in the operations of the next checkpoint.

        Args:
            ops: the operations; what they hold becomes part of the value.
            compare: whether `changed` is wanted.
        """
        before = self.value
        self.changed = False if self.known else None
        touched, grew = 0, False
        try:
            for op in ops:
                # A copy, once: what was there is still to be compared with.
                keep = compare and not touched and op[0] not in ("a", "t")
                found = self._after(op, copied=keep)
                if not isinstance(found, _Untouched):
                    touched += 1
                    grew = op[0] in ("a", "t") and op_path(op)[: len(self.place)] == self.place and bool(op[3])
                    self.value, self.known = found, True
        except (_Unclear, CorruptDelta):
            self.forget()
            return
        if self.changed is not None and touched:
            if touched == 1 and grew:
                self.changed = True
            elif compare and self.value is before:
                self.changed = None  # it grew in place and was changed again: what it was is gone
            else:
                self.changed = not identical(before, self.value) if compare else True

    def _after(self, op: Op, *, copied: bool) -> Value | _Untouched:
        """What lies at the place after an operation."""
        code, own, place = op[0], op_path(op), self.place
        if code == "m":
            target = tuple(step for step in op[2] if isinstance(step, str | int)) if isinstance(op[2], list) else ()
            if _overlap(own, place) or _overlap(target, place):
                raise _Unclear
            return _UNTOUCHED
        if not _overlap(own, place):
            return _UNTOUCHED
        if VALUE in own:
            raise _Unclear
        for mine, asked in zip(own, place, strict=False):
            if mine != asked:  # a position counted from the end
                raise _Unclear
        if len(own) > len(place) or (len(own) == len(place) and code in ("a", "x", "t", "o")):
            return self._inside(op, own[len(place) :], copied=copied)
        return _set(op, place[len(own) :])

    def _inside(self, op: Op, path: Path, *, copied: bool) -> Value:
        if not self.known or isinstance(self.value, Missing):
            raise _Unclear
        value = copy.deepcopy(self.value) if copied else self.value
        try:
            return apply(value, [[op[0], list(path), *op[2:]]])
        except (IndexError, KeyError, TypeError, ValueError):
            raise _Unclear from None


def _set(op: Op, rest: Place) -> Value | _Untouched:
    """What lies at `rest` inside the value that an operation is about."""
    match op:
        case ["s", _, value]:
            return _at_plain(value, rest)
        case ["d", _]:
            return MISSING
        case ["a", _, int(length), list(items)] if isinstance(rest[0], int):
            position = rest[0] - length if rest[0] >= 0 else rest[0] + len(items)
            if 0 <= position < len(items):
                return _at_plain(items[position], rest[1:])
            if rest[0] < 0:
                raise _Unclear
            return _UNTOUCHED
        case ["x", _, int(start), int(removed), list(items)] if isinstance(rest[0], int):
            if 0 <= rest[0] < start:
                return _UNTOUCHED
            if start <= rest[0] < start + len(items):
                return _at_plain(items[rest[0] - start], rest[1:])
            if removed == len(items) and rest[0] >= 0:
                return _UNTOUCHED
            raise _Unclear
        case ["a" | "x" | "t" | "o", *_]:
            return _UNTOUCHED
        case _:
            raise _Unclear


def _at_plain(value: Wire, rest: Place) -> Value:
    """What lies inside a value; unclear where that is not plain JSON, which the index may name in another way."""
    for step in rest:
        if is_envelope(value):
            raise _Unclear
        found = at(value, (step,))
        if isinstance(found, Missing):
            return MISSING
        value = found
    return value


def _overlap(own: Path, place: Place) -> bool:
    """Whether one of two paths may lead to the other; a position counted from the end may be any."""
    steps = tuple(step for step in own if step != VALUE)
    if len(steps) < len(own):  # inside an envelope positions may be those of pairs
        return not (own and place) or own[0] in (place[0], VALUE)
    for mine, asked in zip(steps, place, strict=False):
        if mine != asked and not (isinstance(mine, int) and isinstance(asked, int) and asked < 0):
            return False
    return True


def _leads_through_pairs(state: Value, place: Place) -> bool:
    value = state
    for step in place:
        if not isinstance(value, Missing) and is_envelope(value):
            pairs = value.get(VALUE)
            if isinstance(pairs, list) and (value.get("$type") == "dict" or value.get("base") == "dict"):
                return True
        value = at(plain(value), (step,))
    return False


def indexed_path(place: Place) -> Path:
    """A place as the index of changes knows it: up to the first position that is counted from the end."""
    known = next((depth for depth, step in enumerate(place) if isinstance(step, int) and step < 0), len(place))
    return place[:known]
