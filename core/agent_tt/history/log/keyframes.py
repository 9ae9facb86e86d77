"""Keyframes: whole states in the log, so that no load replays more than a bounded number of rows.

A keyframe follows when reading the rows since the last one would cost more than reading a state. Its payload is
`{"v": skeleton, "r": [[place, kind, x], ...], "d": digest}`; places named in `r` hold null (or are appended into):

| kind | x |
|---|---|
| `b` | the hash of a blob |
| `l` | a list: the hashes of blobs to join, 64 elements each |
| `g` | a dict: the hashes of blobs to merge, 64 entries each |
| `a` | an append-only list: set by the row at seq x and only grown since; its elements are collected from the rows |

An append-only list is therefore stored once, ever. `d` is the digest that the checkpoint's own row names, in hex: a
keyframe that strayed to another row is noticed. A keyframe that is damaged costs time, not data: an older one is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.codec.paths import get
from agent_tt.codec.tlv import tlv
from agent_tt.errors import Damaged
from agent_tt.history.log.grown_lists import as_path, collect, find_item
from agent_tt.history.log.superseded import is_replaced
from agent_tt.history.payloads.parts import BlobParts, copied
from agent_tt.history.payloads.payload import blob_value, bounded, pack, place_part, unpack
from agent_tt.history.rows import SEQ_BITS, row_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.large_parts import Reference
    from agent_tt.history.log.log import Segment, StateLog
    from agent_tt.history.log.superseded import Replaced
    from agent_tt.history.rows import LogTransaction, Row

__all__ = [
    "KeyframePolicy",
    "StoredKeyframe",
    "append_only",
    "check",
    "fill",
    "in_grown_list",
    "newest",
    "places",
    "value_in",
    "within",
    "write",
]

GetPart: TypeAlias = "Callable[[Wire], tuple[Wire, bool]]"
"""Gives the value that a reference names, and whether it could be read."""

_HINT: Final = "Run `agent-tt verify` to see what else is affected."
_SEQ_MASK: Final = (1 << SEQ_BITS) - 1
_AHEAD: Final = ((1, 32), (33, 128))
"""How far after a checkpoint a keyframe is looked for, near ones first."""


@dataclass(slots=True)
class KeyframePolicy:
    """Decides when a keyframe is due: after `MOST_ROWS` rows, or when the rows weigh more than a state.

    Attributes:
        rows: rows since the last keyframe.
        weight: bytes of their operations before compression.
        last_size: bytes of the last keyframed state, before compression.
    """

    rows: int = 0
    weight: int = 0
    last_size: int = 0
    most_rows: int = 128
    least_weight: int = 64 * 1024

    def add(self, size: int) -> bool:
        """Count a row of `size` bytes; True if a keyframe is due."""
        self.rows += 1
        self.weight += size
        return self.rows >= self.most_rows or self.weight >= max(self.least_weight, self.last_size)

    def written(self, size: int) -> None:
        """A keyframe of a state of `size` bytes was written."""
        self.rows = self.weight = 0
        self.last_size = size


class StoredKeyframe(NamedTuple):
    """A keyframe as it lies in the file.

    Attributes:
        segment: its position among the segments it was looked for in.
        proven: whether its row is as it was written.
    """

    segment: int
    track: int
    seq: int
    size: int
    frame: bytes
    proven: bool

    @property
    def what(self) -> str:
        """How errors name it."""
        return f"keyframe {self.seq} of track {self.track}"


def write(
    tx: LogTransaction,
    log: StateLog,
    key: int,
    skeleton: Wire,
    refs: list[Reference],
    blobs: Sequence[bytes],
    digest: bytes,
) -> None:
    """Store a keyframe for the checkpoint of that row key; `blobs` are the hashes that it names."""
    plain = pack({"v": skeleton, "r": [*refs], "d": digest.hex()})
    tx.put_keyframe((key, len(plain), b"".join(blobs) or None, log.frames.compress(plain)))


def newest(log: StateLog, segments: Sequence[Segment], before: StoredKeyframe | None = None) -> StoredKeyframe | None:
    """The newest keyframe of the segments, or the one before `before`; None when there is none."""
    for position in range(len(segments) - 1 if before is None else before.segment, -1, -1):
        segment = segments[position]
        last = segment.last
        if before is not None and position == before.segment:
            last = before.seq - 1
        if segment.first > last:
            continue
        first = row_key(segment.track, segment.first)
        found = log.rows.keyframes(first, row_key(segment.track, last), newest=True)
        if found:
            return _stored(position, segment.track, found[0])
    return None


def _stored(position: int, track: int, columns: Row) -> StoredKeyframe:
    key, size, _, frame, proven = columns
    return StoredKeyframe(position, track, key & _SEQ_MASK, size, frame, proven)


def within(log: StateLog, segment: Segment) -> dict[int, StoredKeyframe]:
    """All keyframes of a segment, by checkpoint; their `segment` is 0."""
    found = log.rows.keyframes(row_key(segment.track, segment.first), row_key(segment.track, segment.last))
    stored = [_stored(0, segment.track, columns) for columns in found]
    return {keyframe.seq: keyframe for keyframe in stored}


def check(log: StateLog, keyframe: StoredKeyframe, known: tuple[Wire] | None, births: Mapping[Path, int]) -> None:
    """Read a keyframe, and compare it with the state of its checkpoint as the log alone gives it.

    Args:
        log: the log.
        keyframe: the keyframe.
        known: the state, left as it is; None where it is not known in full, and there is nothing to compare with.
        births: its append-only lists, each with the checkpoint that set it.

    Raises:
        Damaged: something in it cannot be read, or it holds another state.
        StepNotFound: there is no such checkpoint.
    """
    what = keyframe.what
    held, refs = _payload(log, keyframe)
    get_bytes = bounded(log.blobs.get)  # as they are in the file, never those that were read before
    for ref in refs:
        at, kind, named = _reference(ref, what)
        if kind != "a":
            held = place_part(held, at, _part(lambda name: blob_value(name, get_bytes), kind, named, what))
        elif known is not None:
            if births.get(as_path(at)) != named:
                raise Damaged(f"{what} names a list as append-only that is not", hint=_HINT)
            held = place_part(held, at, get(known[0], as_path(at)))
    if known is not None and tlv(held) != tlv(known[0]):
        raise Damaged(f"{what} does not hold the state of its checkpoint", hint=_HINT)


def places(log: StateLog, keyframe: StoredKeyframe) -> list[Path]:
    """Where in the state of a keyframe something lies that is stored apart.

    Raises:
        Damaged: the keyframe cannot be read.
    """
    return [as_path(_reference(ref, keyframe.what)[0]) for ref in _kept_payload(log, keyframe)[1]]


def fill(
    log: StateLog,
    segments: Sequence[Segment],
    keyframe: StoredKeyframe,
    shared: set[Path] | None = None,
    replaced: Replaced = frozenset(),
) -> tuple[Wire, bool]:
    """The state that a keyframe holds, and whether all of it could be read (placeholders stand for lost list elements).

    Args:
        log: the log.
        segments: where the checkpoints up to it lie.
        keyframe: the keyframe.
        shared: receives the append-only lists whose items are those of other states too, and are not to be changed;
            None where all of it is to be the caller's own.
        replaced: places at which nothing need be read, because rows after it replace what is there.

    Raises:
        Damaged: anything in it cannot be read; then an older keyframe should be tried.
    """
    what = keyframe.what
    skeleton, refs = _kept_payload(log, keyframe)
    state = copied(skeleton)
    births: dict[Path, int] = {}
    parts = BlobParts(log.blobs, log.parts)
    for ref in refs:
        at, kind, named = _reference(ref, what)
        if replaced and is_replaced(as_path(at), replaced):
            continue
        if kind == "a" and type(named) is int:
            births[as_path(at)] = named
        else:
            state = place_part(state, at, _part(parts.value, kind, named, what))
    if not births:
        return state, True
    lists, whole = collect(log, segments[: keyframe.segment + 1], keyframe.seq, births, shared=shared is not None)
    if shared is not None:
        shared.update(lists)
    for path, items in lists.items():
        state = place_part(state, [*path], items)
    return state, whole


def value_in(
    log: StateLog, segments: Sequence[Segment], keyframe: StoredKeyframe, path: Path, *, read: bool = True
) -> Wire:
    """The value at a place of the state that a keyframe holds, which nobody may change.

    Args:
        log: the log.
        segments: where the checkpoints up to it lie.
        keyframe: the keyframe.
        path: the place, in wire coordinates.
        read: whether the value is wanted; else None stands for one that is stored apart.

    Raises:
        PathNotFound: there is nothing.
        Damaged: what it lies in cannot be read.
    """
    skeleton, refs = _kept_payload(log, keyframe)
    parts = BlobParts(log.blobs, log.parts)
    for ref in refs:
        at, kind, named = _reference(ref, keyframe.what)
        place = as_path(at)
        if place != path[: len(place)]:
            continue
        rest = path[len(place) :]
        if not rest and not read:
            return None
        if kind == "a" and type(named) is int and rest and type(rest[0]) is int:
            item = find_item(log, segments, keyframe.seq, place, named, rest[0])
            return get(item, rest[1:])
        return get(_part(parts.value, kind, named, keyframe.what), rest)
    return get(skeleton, path)


def in_grown_list(log: StateLog, segments: Sequence[Segment], path: Path) -> tuple[Wire] | None:
    """An item, or something in it, of a list that only grew from before a checkpoint to a keyframe after it.

    Nobody may change it. The rows between the checkpoint and the keyframe before it, which may have written anything
    else, need not be looked at. None where no such keyframe tells.

    Raises:
        PathNotFound: the list has no such item yet, or the item nothing there.
        Damaged: what tells cannot be read.
    """
    track, seq = segments[-1].track, segments[-1].last
    for low, high in _AHEAD:
        found = log.rows.keyframes(row_key(track, seq + low), row_key(track, seq + high))
        if found:
            keyframe = _stored(len(segments) - 1, track, found[0])
            for ref in _kept_payload(log, keyframe)[1]:
                at, kind, born = _reference(ref, keyframe.what)
                place = as_path(at)
                rest = path[len(place) :]
                if kind == "a" and type(born) is int and born <= seq and rest and place == path[: len(place)]:
                    if type(rest[0]) is not int:
                        return None
                    return (get(find_item(log, segments, seq, place, born, rest[0]), rest[1:]),)
            return None
    return None


def _kept_payload(log: StateLog, keyframe: StoredKeyframe) -> tuple[Wire, list[Wire]]:
    """What `_payload` gives, from what was read lately where that is the same; nobody may change it."""
    key = ("keyframe", keyframe.track, keyframe.seq)
    known: tuple[bytes, Wire, list[Wire]] | None = log.parts.get(key)
    if known is None or not keyframe.proven or known[0] != keyframe.frame:
        known = (keyframe.frame, *_payload(log, keyframe))
        log.parts.put(key, known, keyframe.size + len(keyframe.frame))
    return known[1], known[2]


def _payload(log: StateLog, keyframe: StoredKeyframe) -> tuple[Wire, list[Wire]]:
    """The skeleton and the references of a keyframe that belongs where it lies."""
    what = keyframe.what
    if not keyframe.proven:
        raise Damaged(f"{what} is damaged: its row is not as it was written", hint=_HINT)
    payload = unpack(log.frames.decompress(keyframe.frame, keyframe.size, what), what)
    if not isinstance(payload, dict) or payload.keys() != {"v", "r", "d"}:
        raise _malformed(what)
    if payload["d"] != log.head(keyframe.track, keyframe.seq).digest.hex():
        raise Damaged(f"{what} belongs to another checkpoint", hint=_HINT)
    refs = payload["r"]
    if not isinstance(refs, list):
        raise _malformed(what)
    return payload["v"], refs


def append_only(log: StateLog, keyframe: StoredKeyframe) -> dict[Path, int]:
    """The append-only lists that a keyframe names, each with the seq that set it.

    Raises:
        Damaged: the keyframe cannot be read.
    """
    _, refs = _payload(log, keyframe)
    return {
        as_path(ref[0]): ref[2]
        for ref in refs
        if isinstance(ref, list) and len(ref) == 3 and ref[1] == "a" and type(ref[2]) is int
    }


def _reference(ref: Wire, what: str) -> tuple[list[Wire], Wire, Wire]:
    """Place, kind and name of a reference."""
    if not isinstance(ref, list) or len(ref) != 3 or not isinstance(ref[0], list):
        raise _malformed(what)
    return ref[0], ref[1], ref[2]


def _part(blobs: GetPart, kind: Wire, named: Wire, what: str) -> Wire:
    if kind == "b":
        return _blob(blobs, named)
    if not isinstance(named, list):
        raise _malformed(what)
    if kind == "l":
        joined: list[Wire] = []
        for name in named:
            items = _blob(blobs, name)
            if not isinstance(items, list):
                raise _malformed(what)
            joined.extend(items)
        return joined
    if kind == "g":
        merged: dict[str, Wire] = {}
        for name in named:
            entries = _blob(blobs, name)
            if not isinstance(entries, dict):
                raise _malformed(what)
            merged.update(entries)
        return merged
    raise _malformed(what)


def _blob(blobs: GetPart, name: Wire) -> Wire:
    value, readable = blobs(name)
    if not readable:
        raise Damaged("a blob of a keyframe cannot be read", hint=_HINT)
    return value


def _malformed(what: str) -> Damaged:
    return Damaged(f"{what} is damaged: it does not hold a state", hint=_HINT)
