"""The digest of a state kept up to date as operations are applied: it costs what they change, not what there is.

A tally is made when an operation first reaches into its container.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, cast

from agent_tt._dataclass import dataclass
from agent_tt.codec.paths import get
from agent_tt.errors import CorruptDelta
from agent_tt.history.changes.ops import apply, op_path
from agent_tt.history.changes.tallies import DictTally, ListTally, token_of
from agent_tt.history.digest import DIGEST_SIZE, is_hashed_whole, token
from agent_tt.history.log.states import RollingState

if TYPE_CHECKING:
    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.ops import Op
    from agent_tt.history.changes.tallies import Tally
    from agent_tt.history.log.log import RowOps

__all__ = ["TalliedState"]


class TalliedState(RollingState):
    """A state that rows are applied to and that always knows its digest, as long as all of it can be read."""

    __slots__ = ("_root", "_token")

    def __init__(self) -> None:
        super().__init__()
        self._root: Tally | None = None
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
            self._token = token_of(self.value, self._root)
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


def _changed(tally: Tally | None, value: Wire, path: Path, change: _Change) -> Tally | None:
    """The tally of a container after a change at `path` in it; `value` is the container as it is now."""
    if not isinstance(value, dict | list) or is_hashed_whole(value):
        return None
    if tally is None:
        return DictTally(value) if isinstance(value, dict) else ListTally(value)
    if path:
        child = get(value, path[:1])
        tally.set(path[0], child, _changed(tally.below.get(path[0]), child, path[1:], change))
    elif isinstance(change, _Setting):
        tally.set(change.step, change.value, None)
    elif isinstance(change, _Removal) and isinstance(tally, DictTally):
        tally.remove(change.key)
    elif isinstance(change, _Splice) and isinstance(tally, ListTally):
        tally.splice(change.start, change.removed, change.items)
    return tally
