"""Append-only lists, which the rows of the log hold once: collected in segments, one for each page of rows.

A segment is what the rows of a page appended to one list. Segments are kept while they are used, so that a list of a
state that lies near another one is joined from them, and its rows are not read again.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final, cast

from agent_tt._dataclass import dataclass
from agent_tt.codec.paths import get
from agent_tt.codec.tlv import tlv
from agent_tt.errors import Damaged
from agent_tt.history.log.appends import appends_in
from agent_tt.history.log.log import RowOps
from agent_tt.history.log.pages import PAGE
from agent_tt.history.log.track_marks import TrackMarks
from agent_tt.history.payloads.parts import copied

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.ops import Op
    from agent_tt.history.log.log import Segment, StateLog

__all__ = ["as_path", "collect", "find_item"]

_HINT: Final = "Run `agent-tt verify` to see what else is affected."


@dataclass(slots=True)
class _Grown:
    """What the rows of a stretch did to one list.

    Attributes:
        is_set: whether one of them set it; then `items` is all of it.
        start: else its length before the first item.
        items: what they appended.
        ends: how many of the items there are after each row.
        whole: False if a blob in them could not be read; placeholders stand for it.
        size: bytes of the rows before compression; None where there are blobs beside them.
    """

    is_set: bool = False
    start: int = 0
    items: list[Wire] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    whole: bool = True
    size: int | None = 0


def collect(
    log: StateLog, segments: Sequence[Segment], last: int, births: Mapping[Path, int], *, shared: bool
) -> tuple[dict[Path, list[Wire]], bool]:
    """Append-only lists as they are at a checkpoint, and whether all of them could be read; else with placeholders.

    Args:
        log: the log.
        segments: where the checkpoints up to that one lie.
        last: the checkpoint.
        births: the lists, each with the checkpoint that set it.
        shared: whether the items may be those of other states too, which nobody changes; else they are the caller's.

    Raises:
        Damaged: a list did not only grow, or was never set; or a row cannot be read.
    """
    found: dict[Path, list[Wire]] = {path: [] for path in births}
    is_set: set[Path] = set()
    whole = True
    first = min(births.values())
    for segment in segments:
        start, end = max(segment.first, first), min(segment.last, last)
        if start > end:
            continue
        for page in range(start // PAGE, end // PAGE + 1):
            low, high = max(start, page * PAGE), min(end, page * PAGE + PAGE - 1)
            for path, grown in _stretch(log, segment.track, low, high, births).items():
                items = found[path]
                if grown.is_set:
                    items.clear()
                    is_set.add(path)
                elif path not in is_set:
                    continue
                count = grown.ends[high - low]
                if count and not grown.is_set and grown.start != len(items):
                    raise _not_grown(high)
                more = grown.items[:count]
                items += more if shared else cast("list[Wire]", copied(more))
                whole &= grown.whole
    if len(is_set) < len(births):
        raise _never_set()
    return found, whole


def find_item(log: StateLog, segments: Sequence[Segment], last: int, path: Path, born: int, position: int) -> Wire:
    """One item of an append-only list as it is at a checkpoint, which nobody may change.

    The index of changes says which row to look at. It has no proofs, and needs none here: of a list that only grew, the
    row that appended an item at a position is the one that did.

    Args:
        log: the log.
        segments: where the checkpoints up to that one lie.
        last: the checkpoint.
        path: the list.
        born: the checkpoint that set it.
        position: the item's position.

    Raises:
        PathNotFound: the list is shorter.
        Damaged: as `collect` does.
    """
    is_set_anew = any(segment.first == born for segment in segments[1:])  # perhaps, by the edit that a fork begins with
    for segment in () if is_set_anew else reversed(segments):
        start, end = max(segment.first, born), min(segment.last, last)
        if start > end:
            continue
        marks = TrackMarks(log, segment.track)
        # Above the index every row would have to be looked at, each time: pages of them are kept.
        wrote = marks.newest_append(path, position, start, min(end, marks.reach))
        for op in () if wrote is None else _with_blobs(log, segment.track, marks.row(wrote), [*path]):
            if op[0] == "a" and op[1] == [*path] and type(op[2]) is int and isinstance(op[3], list):
                at = position - op[2]
                if 0 <= at < len(op[3]):
                    return op[3][at]
    lists, _ = collect(log, segments, last, {path: born}, shared=True)
    return get(lists[path], (position,))


def _with_blobs(log: StateLog, track: int, row: RowOps, place: list[Wire]) -> list[Op]:
    """The operations of a row that was read without blobs, with those of the operations at a place."""
    if row.size is not None:  # there are none
        return row.ops
    (row,) = log.operations(track, row.seq, row.seq, lambda op, _: op[1] == place)
    return row.ops


def _stretch(log: StateLog, track: int, low: int, high: int, births: Mapping[Path, int]) -> dict[Path, _Grown]:
    """What rows low..high, which lie on one page, did to each list that was set by then."""
    found: dict[Path, _Grown] = {}
    missing: dict[Path, int] = {}
    for path, born in births.items():
        if born <= high:
            kept: _Grown | None = log.parts.get(("grown", track, low, path, born))
            if kept is not None and len(kept.ends) > high - low:
                found[path] = kept
            else:
                missing[path] = born
    if missing:
        read = _read(log, track, low, high, missing)
        for path, grown in read.items():
            if grown.whole:
                size = len(tlv(grown.items)) if grown.size is None else grown.size
                log.parts.put(("grown", track, low, path, missing[path]), grown, size)
        found |= read
    return found


def _read(log: StateLog, track: int, low: int, high: int, births: Mapping[Path, int]) -> dict[Path, _Grown]:
    found = {path: _Grown() for path in births}
    lists: list[tuple[list[Wire], int, _Grown]] = [([*path], births[path], grown) for path, grown in found.items()]
    born_at = {*births.values()}

    def appends(op: Op, at: Sequence[Wire]) -> bool:  # noqa: ARG001  # all that is appended is wanted
        return op[0] == "a" and any(op[1] == place for place, _, _ in lists)

    def sets(op: Op, at: Sequence[Wire]) -> bool:
        """Whether a blob lies in one of the lists, or one of them in the blob."""
        place = (*as_path(op[1]), *at)
        return appends(op, at) or (op[0] == "s" and any(path[: len(place)] == place[: len(path)] for path in births))

    rows = log.near_plain(track, low, high)
    for seq, plain, appended in zip(range(low, high + 1), rows, appends_in(rows), strict=True):
        row = RowOps(seq, appended or [], size=len(plain))
        if appended is None or seq in born_at:
            row = log.decode_plain(track, seq, plain, sets if seq in born_at else appends)
        for op in row.ops:
            if op[0] == "a":
                for place, born, grown in lists:
                    if op[1] == place and seq >= born:
                        _grow(grown, op, seq)
            elif op[0] == "s" and seq in born_at:
                _set(found, births, op, seq)
        for grown in found.values():
            grown.ends.append(len(grown.items))
            grown.whole &= row.whole
            grown.size = None if row.size is None or grown.size is None else grown.size + row.size
    return found


def _grow(grown: _Grown, op: Op, seq: int) -> None:
    length = op[2]
    if type(length) is not int or not isinstance(op[3], list):
        raise _not_grown(seq)
    if not grown.items and not grown.is_set:
        grown.start = length
    if length != grown.start + len(grown.items):
        raise _not_grown(seq)
    grown.items += op[3]


def _set(found: Mapping[Path, _Grown], births: Mapping[Path, int], op: Op, seq: int) -> None:
    path = as_path(op[1])
    for at, grown in found.items():
        if births[at] == seq and at[: len(path)] == path:
            grown.items = [*_list_in(op[2], at[len(path) :])]
            grown.is_set, grown.start = True, 0


def _list_in(value: Wire, at: Path) -> list[Wire]:
    for step in at:
        if not isinstance(value, dict) or not isinstance(step, str) or step not in value:
            raise _never_set()
        value = value[step]
    if not isinstance(value, list):
        raise _never_set()
    return value


def as_path(steps: Wire) -> Path:
    """A path from a file; what is no step of one is left out."""
    return tuple([step for step in steps if isinstance(step, str | int)]) if isinstance(steps, list) else ()


def _not_grown(seq: int) -> Damaged:
    return Damaged(f"the list that a keyframe names did not only grow at checkpoint {seq}", hint=_HINT)


def _never_set() -> Damaged:
    return Damaged("a keyframe names an append-only list that was never set", hint=_HINT)
