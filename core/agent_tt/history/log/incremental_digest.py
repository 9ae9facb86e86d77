"""The digest of a state kept up to date as operations are applied: it costs what they change, not what there is.

Beside the state stands a tree of tallies: the tokens of a container's entries, of which its own token is made. A tally
is made when an operation first reaches into its container; a container that is hashed in one piece has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

from agent_tt.codec.paths import get
from agent_tt.errors import CorruptDelta
from agent_tt.history.changes.ops import apply, op_path
from agent_tt.history.digest import (
    DIGEST_SIZE,
    entry_token,
    is_hashed_whole,
    list_token,
    polynomial,
    replaced,
    sum_token,
    token,
)
from agent_tt.history.log.states import RollingState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.ops import Op
    from agent_tt.history.log.log import RowOps

__all__ = ["TalliedState"]


class TalliedState(RollingState):
    """A state that rows are applied to and that always knows its digest, as long as all of it can be read."""

    __slots__ = ("_root", "_token")

    def __init__(self) -> None:
        super().__init__()
        self._root: _Tally | None = None
        self._token = token(None)

    @property
    def digest(self) -> bytes | None:
        """The 16-byte digest of the state now; None once something in it could not be read."""
        return self._token.to_bytes(DIGEST_SIZE, "little") if self.whole else None

    def apply(self, row: RowOps) -> None:
        """Apply one row's operations; they become part of the state.

        Raises:
            CorruptDelta: they do not fit, or nest deeper than anything that is ever recorded.
        """
        if not (self.whole and row.whole):
            super().apply(row)
            return
        try:
            for op in row.ops:
                self.value = apply(self.value, [op])
                self._follow(op)
            self._token = _token(self.value, self._root)
        except RecursionError as error:
            raise CorruptDelta("the state is nested too deeply to be one that was recorded") from error

    def _follow(self, op: Op) -> None:
        """Take in one operation that was just applied."""
        code, path = op[0], op_path(op)
        if code == "a":
            self._change(path, _Splice(cast("int", op[2]), 0, cast("list[Wire]", op[3])))
        elif code == "x":
            self._change(path, _Splice(cast("int", op[2]), cast("int", op[3]), cast("list[Wire]", op[4])))
        elif code in ("d", "m"):
            self._change(path[:-1], _Removal(cast("str", path[-1])))
            if code == "m":
                self._set(tuple(cast("list[str | int]", op[2])))
        elif code != "o":  # a digest is blind to the order of keys
            self._set(path)

    def _set(self, path: Path) -> None:
        if path:
            self._change(path[:-1], _Setting(path[-1], get(self.value, path)))
        else:
            self._root = None

    def _change(self, path: Path, change: _Change) -> None:
        self._root = _changed(self._root, self.value, path, change)


@dataclass(frozen=True, slots=True)
class _Setting:
    """An entry or element was set."""

    step: str | int
    value: Wire


@dataclass(frozen=True, slots=True)
class _Removal:
    """An entry of a dict went."""

    key: str


@dataclass(frozen=True, slots=True)
class _Splice:
    """Elements of a list gave way to others."""

    start: int
    removed: int
    items: list[Wire]


_Change: TypeAlias = _Setting | _Removal | _Splice


class _DictTally:
    """The tokens of a dict's entries.

    Attributes:
        below: tallies of containers in it, by key.
    """

    __slots__ = ("_entries", "_total", "below")

    def __init__(self, wire: dict[str, Wire]) -> None:
        self.below: dict[str | int, _Tally] = {}
        self._entries: dict[str, int] = {}
        self._total = 0
        for key, value in wire.items():
            self.set(key, value, None)

    def token(self) -> int:
        return sum_token(len(self._entries), self._total)

    def set(self, step: str | int, value: Wire, tally: _Tally | None) -> None:
        key = cast("str", step)
        self.remove(key)
        if tally is not None:
            self.below[key] = tally
        self._entries[key] = entry_token(key, _token(value, tally))
        self._total += self._entries[key]

    def remove(self, key: str) -> None:
        self._total -= self._entries.pop(key, 0)
        self.below.pop(key, None)


class _ListTally:
    """The tokens of a list's elements.

    Attributes:
        below: tallies of containers in it, by position.
    """

    __slots__ = ("_polynomial", "_tokens", "below")

    def __init__(self, wire: list[Wire]) -> None:
        self.below: dict[str | int, _Tally] = {}
        self._tokens = [token(item) for item in wire]
        self._polynomial = polynomial(0, self._tokens)

    def token(self) -> int:
        return list_token(len(self._tokens), self._polynomial)

    def set(self, step: str | int, value: Wire, tally: _Tally | None) -> None:
        position = cast("int", step)
        self._replace(position, 1, [_token(value, tally)])
        self.below.pop(position, None)
        if tally is not None:
            self.below[position] = tally

    def splice(self, start: int, removed: int, items: Sequence[Wire]) -> None:
        self._replace(start, removed, [token(item) for item in items])
        end, shift = start + removed, len(items) - removed
        self.below = {
            position if position < start else position + shift: tally
            for position, tally in cast("dict[int, _Tally]", self.below).items()
            if not start <= position < end
        }

    def _replace(self, start: int, removed: int, added: list[int]) -> None:
        before, end = self._tokens, start + removed
        if start == len(before):
            self._polynomial = polynomial(self._polynomial, added)
        elif start == 0 or removed == len(added):
            self._polynomial = replaced(self._polynomial, before[start:end], added, len(before) - end)
        else:
            self._polynomial = polynomial(polynomial(polynomial(0, before[:start]), added), before[end:])
        before[start:end] = added


_Tally: TypeAlias = _DictTally | _ListTally


def _token(value: Wire, tally: _Tally | None) -> int:
    return token(value) if tally is None else tally.token()


def _changed(tally: _Tally | None, value: Wire, path: Path, change: _Change) -> _Tally | None:
    """The tally of a container after a change at `path` in it; `value` is the container as it is now."""
    if not isinstance(value, dict | list) or is_hashed_whole(value):
        return None
    if tally is None:
        return _DictTally(value) if isinstance(value, dict) else _ListTally(value)
    if path:
        child = get(value, path[:1])
        tally.set(path[0], child, _changed(tally.below.get(path[0]), child, path[1:], change))
    elif isinstance(change, _Setting):
        tally.set(change.step, change.value, None)
    elif isinstance(change, _Removal) and isinstance(tally, _DictTally):
        tally.remove(change.key)
    elif isinstance(change, _Splice) and isinstance(tally, _ListTally):
        tally.splice(change.start, change.removed, change.items)
    return tally
