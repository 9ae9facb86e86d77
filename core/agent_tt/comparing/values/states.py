"""What differs between two states, as people read it: a list of changes at human paths.

A walk over both states that stops at what is equal. It is exact on types: `1`, `1.0`, `True` and `"1"` differ, `0.0`
and `-0.0` too; NaN equals itself; None and nothing there are two things; texts are compared as they are, not by Unicode
normal form. A typed value (a datetime, bytes) is one thing; one that holds others (a tuple, a dataclass) is looked
into. Lists are aligned by content (`agent_tt.comparing.sequences.items`), sets by what is in them, dicts by key.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.codec.collector import collector_paused
from agent_tt.codec.paths import format_path
from agent_tt.codec.tlv import tlv
from agent_tt.codec.wire import VALUE, envelope_type, is_envelope
from agent_tt.errors import CorruptDelta
from agent_tt.history.changes.diff import same
from agent_tt.history.changes.ops import op_path

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.comparing.sequences.items import Matching
    from agent_tt.history.changes.ops import Op

ChangeOp: TypeAlias = Literal["add", "remove", "change", "move", "reorder"]

Reordered: TypeAlias = Literal["", "items", "keys"]
"""What changed its order: the items of a list or the keys of a dict; empty for changes of another kind."""

_MOST_MOVES: Final = 3
"""Items of one list that moved, up to which each is said by itself; of more it is said that the list was reordered."""

_TELLING: Final = 8
"""Characters from which a text under another key is known to be the same entry, renamed."""

_WHOLE: Final = frozenset({"complex", "range", "timedelta"})
"""Typed values that are one thing although lists are in their envelopes."""

_PARTS: Final = frozenset({VALUE, "attrs", "extra", "private"})
"""Entries of envelopes that hold a value's parts."""

_FIELDS_SET: Final = "set"
"""The entry of an envelope that tells which of its fields were given."""

_SHOWN_ONLY: Final = frozenset({"type", "context"})
"""Why values are opaque that are recorded as a `repr`: a client, a lock, what a framework hands on."""

_SETS: Final = frozenset({"frozenset", "set"})

_Entry: TypeAlias = "tuple[Hashable, Wire, Wire, Path]"
"""An entry of a dict: what tells its key from others, the key, the value, the way to it."""


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between an old and a new state.

    Attributes:
        op: `add`, `remove`, `change`; `move` for an item at another place of its list and for a dict entry under
            another key; `reorder` for a list in which more than three items moved, and for a dict whose keys changed
            their order (which makes no state another: see `makes_a_difference`).
        path: where it is, as people write it: in the new state, or in the old one for what was removed.
        old: the old value, None for `add`. For `reorder` what both states have: the keys of the dict, or the positions
            in the old state of the list's items, in their old order.
        new: the new value, None for `remove`. For `reorder` the same keys or positions in their new order.
        old_path: where it was in the old state, for `move` and where that differs from `path`; None otherwise.
        where: `path` in wire coordinates.
        of: For `reorder`: what changed its order.
    """

    op: ChangeOp
    path: str
    old: Wire = None
    new: Wire = None
    old_path: str | None = None
    where: Path = ()
    of: Reordered = ""

    @property
    def makes_a_difference(self) -> bool:
        """Whether the two states are unlike in it: dicts are the same in any order of their keys."""
        return self.of != "keys"

    def to_json(self) -> dict[str, Wire]:
        """`{op, path, old, new}`; `old_path` where it was elsewhere; `of`, what a `reorder` is one of."""
        said: dict[str, Wire] = {"op": self.op, "path": self.path, "old": self.old, "new": self.new}
        if self.of:
            said["of"] = self.of
        if self.old_path is not None:
            said["old_path"] = self.old_path
        return said


def compare_states(a: Wire, b: Wire) -> list[Change]:
    """List what differs between two states, in the order in which it stands in them.

    Args:
        a: The old state, a wire value.
        b: The new state. Containers that it shares with `a` are not looked into.

    Returns:
        The changes; empty when the states are equal in every respect. Values are parts of `a` and `b`, not copies.

    Raises:
        CorruptDelta: A value is nested deeper than anything that is ever recorded.
    """
    return _compare_at(a, b, [()])


def describe_ops(a: Wire, b: Wire, ops: Sequence[Op]) -> list[Change]:
    """List what differs between neighbours, whose operations are recorded: only what these touch is looked at.

    Args:
        a: The state before the operations.
        b: The state after them.
        ops: The operations, in order.

    Raises:
        CorruptDelta: See `compare_states`.
    """
    try:
        paths = sorted(_touched(ops), key=lambda path: _rank(b, path))
        for path in paths:
            _at(a, path)
    except (KeyError, IndexError, TypeError, ValueError):
        paths = [()]  # a placeholder stands where something is damaged
    return _compare_at(a, b, paths)


def _compare_at(a: Wire, b: Wire, paths: Sequence[Path]) -> list[Change]:
    """What differs at some places, which are the same in both states and none inside another."""
    walk = _Walk()
    try:
        with collector_paused():
            for path in paths:
                walk.values(_at(a, path), _at(b, path), path, path)
    except RecursionError as error:
        raise CorruptDelta("the states are nested too deeply to be ones that were recorded") from error
    return walk.found


def _touched(ops: Sequence[Op]) -> list[Path]:
    """The places that operations wrote: none inside another, and none that is at another place before or after them."""
    if any(op[0] == "m" for op in ops):
        return [()]
    written: set[Path] = set()
    for op in ops:
        path = op_path(op)
        if op[0] in ("s", "d"):
            path = path[:-1]  # what is above it is there before and after
        if VALUE in path:
            path = path[: path.index(VALUE)]  # a typed value is looked at as one
        written.add(path)
    # So a position in a list from which items were taken, or into which some were put, gives way to the whole list.
    return [path for path in written if not any(path[:length] in written for length in range(len(path)))]


def _is_shown(old: dict[str, Wire], new: dict[str, Wire]) -> bool:
    """Whether two opaque values of one class are only shown: what is known of them is a `repr`, which says little."""
    return old.get("why") in _SHOWN_ONLY and new.get("why") in _SHOWN_ONLY


class _Walk:
    """Goes through two states side by side and lists what differs."""

    def __init__(self) -> None:
        self.found: list[Change] = []

    def values(self, old: Wire, new: Wire, old_path: Path, path: Path) -> None:
        """Compare two values, each at its path."""
        if old is new or same(old, new):
            return
        if isinstance(old, dict) and isinstance(new, dict):
            if not is_envelope(old) and not is_envelope(new):
                self._dicts(old, new, old_path, path)
                return
            if is_envelope(old) and is_envelope(new) and self._envelopes(old, new, old_path, path):
                return
        elif isinstance(old, list) and isinstance(new, list):
            from agent_tt.comparing.sequences.items import match_items

            self._lists(match_items(old, new), old, new, old_path, path)
            return
        self._say("change", old, new, old_path, path)

    def _say(self, op: ChangeOp, old: Wire, new: Wire, old_path: Path, path: Path) -> None:
        text, old_text = format_path(path), format_path(old_path)
        elsewhere = op == "move" or old_text != text
        self.found.append(Change(op, text, old, new, old_text if elsewhere else None, path))

    def _reordered(self, old: Sequence[Wire], new: Sequence[Wire], of: Reordered, old_path: Path, path: Path) -> None:
        self._say("reorder", list(old), list(new), old_path, path)
        self.found[-1] = replace(self.found[-1], of=of)

    def _removed(self, value: Wire, path: Path) -> None:
        self.found.append(Change("remove", format_path(path), value, where=path))

    def _added(self, value: Wire, path: Path) -> None:
        self.found.append(Change("add", format_path(path), new=value, where=path))

    # Dicts, and what is like them.

    def _dicts(self, old: dict[str, Wire], new: dict[str, Wire], old_path: Path, path: Path) -> None:
        if list(old) == list(new):
            for key, value in old.items():
                other = new[key]
                if value is not other and not same(value, other):  # most are: nothing more is done about those
                    self.values(value, other, (*old_path, key), (*path, key))
            return
        renamed = renamed_keys(old, new)
        self._entries(
            [(key, key, value, (key,)) for key, value in old.items()],
            [(key, key, value, (key,)) for key, value in new.items()],
            renamed,
            old_path,
            path,
        )

    def _entries(
        self,
        old: Sequence[_Entry],
        new: Sequence[_Entry],
        renamed: Mapping[Hashable, Hashable],
        old_path: Path,
        path: Path,
    ) -> None:
        """Compare entries, each its key, the key as it is said, its value and the way to that."""
        before, after = {entry[0]: entry for entry in old}, {entry[0]: entry for entry in new}
        kept = [key for key in before if key in after]
        kept_after = [key for key in after if key in before]
        if kept != kept_after:
            names = {entry[0]: entry[1] for entry in old}
            ranks = [names[key] for key in kept], [names[key] for key in kept_after]
            self._reordered(*ranks, "keys", old_path, path)
        gone = before.keys() - after.keys() - set(renamed.values())
        ranked = [(rank, key) for rank, key in enumerate(before) if key in gone] + [*enumerate(after)]
        for _, key in sorted(ranked, key=itemgetter(0)):
            if key in gone:
                self._removed(before[key][2], (*old_path, *before[key][3]))
                continue
            _, _, value, way = after[key]
            origin = before.get(renamed.get(key, key))
            if origin is None:
                self._added(value, (*path, *way))
            elif key in renamed:
                self._say("move", origin[2], value, (*old_path, *origin[3]), (*path, *way))
            else:
                self.values(origin[2], value, (*old_path, *origin[3]), (*path, *way))

    def _envelopes(self, old: dict[str, Wire], new: dict[str, Wire], old_path: Path, path: Path) -> bool:
        """Look into two typed values; False if they are to be said as wholes."""
        kind = envelope_type(old)
        if kind == "opaque" == envelope_type(new) and old.get("class") == new.get("class") and _is_shown(old, new):
            return True
        if kind != envelope_type(new) or old.keys() != new.keys() or kind in _WHOLE:
            return False
        if kind == "float":  # a NaN is a NaN, whatever its bits
            return all(str(value.get(VALUE)).startswith("nan") for value in (old, new))
        parts = [key for key in old if key in _PARTS]
        if not all(same(old[key], new[key]) for key in old.keys() - _PARTS - {_FIELDS_SET}):
            return False
        if not isinstance(old.get(VALUE), (dict, list)) or any(type(old[key]) is not type(new[key]) for key in parts):
            return False
        number = len(self.found)
        for key in parts:
            ways = ((*old_path, key), (*path, key))
            if key == VALUE:
                self._payload(old.get("base", kind), old[key], new[key], *ways)
            else:
                self.values(old[key], new[key], *ways)
        # Where nothing in it differs (a NaN of other bits, say), it differs in the fields that were set, or not at all.
        return len(self.found) > number or same(old.get(_FIELDS_SET), new.get(_FIELDS_SET))

    def _payload(self, shape: Wire, old: Wire, new: Wire, old_path: Path, path: Path) -> None:
        if isinstance(old, list) and isinstance(new, list):
            if shape in _SETS:
                from agent_tt.comparing.sequences.items import match_members

                self._lists(match_members(old, new), old, new, old_path, path)
                return
            pairs, new_pairs = entries_of(old), entries_of(new)
            if shape == "dict" and pairs is not None and new_pairs is not None:
                self._entries(pairs, new_pairs, {}, old_path, path)
                return
        self.values(old, new, old_path, path)

    # Lists.

    def _lists(self, matching: Matching, old: list[Wire], new: list[Wire], old_path: Path, path: Path) -> None:
        moved = matching.moved
        if len(moved) > _MOST_MOVES:
            both = [one for one, _ in matching.pairs]
            self._reordered(sorted(both), both, "items", old_path, path)
            moved = frozenset()
        gone = iter(matching.removed)
        waiting = next(gone, None)
        origins = {other: one for one, other in matching.pairs}
        stays = {other for one, other in matching.pairs if (one, other) not in matching.moved}
        for at, value in enumerate(new):
            origin = origins.get(at)
            while waiting is not None and at in stays and origin is not None and waiting < origin:
                self._removed(old[waiting], (*old_path, waiting))
                waiting = next(gone, None)
            if origin is None:
                self._added(value, (*path, at))
                continue
            ways = ((*old_path, origin), (*path, at))
            if (origin, at) in moved:
                self._say("move", old[origin], value, *ways)
            if (origin, at) in matching.replaced:
                self._say("change", old[origin], value, *ways)
            else:
                self.values(old[origin], value, *ways)
        while waiting is not None:
            self._removed(old[waiting], (*old_path, waiting))
            waiting = next(gone, None)


def renamed_keys(old: Mapping[str, Wire], new: Mapping[str, Wire]) -> dict[Hashable, Hashable]:
    """New keys whose value stood under an old key that is gone, where it is telling: neither short nor there twice."""
    gone = [key for key in old if key not in new and _is_telling(old[key])]
    came = [key for key in new if key not in old and _is_telling(new[key])]
    if not gone or not came:
        return {}
    from agent_tt.comparing.sequences.anchors import once_in_both

    pairs = once_in_both([tlv(old[key]) for key in gone], [tlv(new[key]) for key in came])
    return {came[other]: gone[one] for one, other in pairs}


def entries_of(pairs: Sequence[Wire]) -> list[_Entry] | None:
    """The entries of a dict whose keys are not all plain text; None where it is not well formed."""
    found: dict[bytes, _Entry] = {}
    for at, pair in enumerate(pairs):
        if not isinstance(pair, list) or len(pair) != 2:
            return None
        found[tlv(pair[0])] = (tlv(pair[0]), pair[0], pair[1], (at, 1))
    return list(found.values()) if len(found) == len(pairs) else None


def _is_telling(value: Wire) -> bool:
    return len(value) >= (_TELLING if isinstance(value, str) else 1) if isinstance(value, (str, list, dict)) else False


def path_after(op: Op, path: Path) -> Path:
    """Where the value at `path` is after a shifting operation that does not take it away."""
    own = op_path(op)
    if path[: len(own)] != own:
        return path
    match op:
        case ["x", _, int(start), int(removed), list(items)] if len(path) > len(own):
            position = path[len(own)]
            if not isinstance(position, int) or position < start:
                return path
            return (*own, position - removed + len(items), *path[len(own) + 1 :])
        case ["m", _, list(steps)]:
            return (*(step for step in steps if isinstance(step, (str, int))), *path[len(own) :])
        case _:
            return path


class Shifts:
    """Where values are after all operations of a step; only those are looked at that shift something above a value."""

    def __init__(self, ops: Sequence[Op]) -> None:
        self._ops = ops
        self._by_place: dict[Path, list[int]] = {}
        for number, op in enumerate(ops):
            if op[0] in ("x", "m"):
                self._by_place.setdefault(op_path(op), []).append(number)

    def settled(self, path: Path, number: int) -> Path:
        """Where the value is in the end that is at `path` after operation `number`, counted from 0."""
        while self._by_place:
            numbers = [self._next(path[:length], number) for length in range(len(path) + 1)]
            number = min(numbers)
            if number == len(self._ops):
                break
            path = path_after(self._ops[number], path)
        return path

    def _next(self, place: Path, number: int) -> int:
        """The first later operation that shifts what is at a place, or how many operations there are."""
        numbers = self._by_place.get(place, ())
        at = bisect_right(numbers, number)
        return numbers[at] if at < len(numbers) else len(self._ops)


def _at(root: Wire, path: Path) -> Wire:
    """What is at a place, which must be there."""
    for step in path:
        root = root[step]  # type: ignore[index]  # see above
    return root


def _rank(root: Wire, path: Path) -> list[int]:
    """Where a place, which must be there, stands among others: its position at each level."""
    ranks = []
    for step in path:
        places: Sequence[str | int] = [*root] if isinstance(root, dict) else range(len(root))  # type: ignore[arg-type]
        ranks.append(places.index(step))
        root = root[step]  # type: ignore[index]  # see above
    return ranks
