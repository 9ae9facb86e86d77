"""A backend of state histories is twelve methods: over dictionaries it keeps the same rows as the store's file does."""

from __future__ import annotations

import bisect
import copy
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pytest
from tests.core.history.logs import MemoryLog
from tests.core.mutations import Mutator

from agent_tt.codec.tlv import tlv
from agent_tt.errors import Damaged
from agent_tt.history.hashing import path_id
from agent_tt.history.log.cursor import TrackCursor
from agent_tt.history.log.index import BLOCK
from agent_tt.history.log.states import load
from agent_tt.history.payloads.frames import DICTIONARY_SIZE
from agent_tt.history.rows import LogRows, LogTransaction, Row, row_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.history.rows import TouchKind

KINDS: Final = ("touched", "struct", "grown")
ALL: Final = (0, 1 << 62)


@dataclass
class PlainRows:
    """Rows in dictionaries, all as they were written."""

    tracks: list[list[int | None]] = field(default_factory=list)
    checkpoints: dict[int, Row] = field(default_factory=dict)
    states: dict[int, Row] = field(default_factory=dict)
    blobs: dict[bytes, Row] = field(default_factory=dict)
    dictionaries: dict[int, tuple[str, bytes]] = field(default_factory=dict)
    index: dict[tuple[int, int, int], list[Any]] = field(default_factory=dict)

    @property
    def tx(self) -> LogTransaction:
        return self

    def track(self, track: int, /) -> Row | None:
        return (*self.tracks[track - 1], True) if 0 < track <= len(self.tracks) else None

    def deltas(self, first: int, last: int, /, *, newest: bool = False) -> list[Row]:
        return _between(self.checkpoints, first, last, newest=newest)

    def keyframes(self, first: int, last: int, /, *, newest: bool = False) -> list[Row]:
        return _between(self.states, first, last, newest=newest)

    def blob(self, digest: bytes, /) -> Row | None:
        return self.blobs.get(digest)

    def dictionary(self, of: int | str, /) -> list[Row]:
        return [
            (number, frame) for number, (agent, frame) in sorted(self.dictionaries.items()) if of in (number, agent)
        ]

    def marks(self, track: int, path: int, kind: TouchKind, first: int, last: int, /) -> list[Row]:
        found = sorted((block, bits) for (*of, block), bits in self.index.items() if of == [track, path])
        of_kind = [(block, bits[KINDS.index(kind)], bits[3]) for block, bits in found if first <= block <= last]
        return [row for row in of_kind if row[1]]

    def add_track(self, run: int, name: str, parent: int | None, fork_seq: int | None, /) -> int:
        self.tracks.append([parent, fork_seq, -1 if fork_seq is None else fork_seq - 1])
        return len(self.tracks)

    def add_delta(self, row: Row, /) -> None:
        assert row[0] not in self.checkpoints
        self.checkpoints[row[0]] = row

    def put_keyframe(self, row: Row, /) -> None:
        self.states[row[0]] = row

    def put_blob(self, digest: bytes, row: Callable[[], Row], /) -> None:
        if digest not in self.blobs:
            self.blobs[digest] = row()

    def put_dictionary(self, number: int, agent: str, frame: bytes, /) -> None:
        self.dictionaries.setdefault(number, (agent, frame))

    def put_marks(self, track: int, seq: int, paths: Mapping[int, str], marks: Sequence[Row], /) -> None:
        for *key, touched, struct, grown, length in marks:
            known = self.index.setdefault((key[0], key[1], key[2]), [0, 0, 0, None])
            for kind, bits in enumerate((touched, struct, grown)):
                known[kind] |= bits
            known[3] = length if known[3] is None else known[3]
        self.tracks[track - 1][2] = max(self.tracks[track - 1][2] or 0, seq)


def _between(rows: dict[int, Row], first: int, last: int, *, newest: bool) -> list[Row]:
    keys = sorted(rows)
    found = keys[bisect.bisect_left(keys, first) : bisect.bisect_right(keys, last)]
    return [(*rows[key], True) for key in (found[-1:] if newest else found)]


def methods(protocol: type) -> set[str]:
    return {name for kind in protocol.__mro__ for name in vars(kind) if not name.startswith("_")}


def test_a_backend_has_six_methods_that_read_and_six_that_write() -> None:
    assert len(methods(LogRows)) == 6
    assert len(methods(LogTransaction)) == 12
    assert methods(LogTransaction) == methods(PlainRows) - {"tx"}


@pytest.mark.parametrize("seed", range(3))
def test_a_history_is_the_same_rows_in_both(seed: int) -> None:
    states = histories(seed, 2 * BLOCK + 9)
    plain, file = MemoryLog(rows=20, backend=PlainRows()), MemoryLog(rows=20)
    for log in (plain, file):
        writer = log.begin(states[0])
        for state in states[1:]:
            log.step(writer, state)
        fork = log.fork(writer.track, 70, {"edited": [1]})
        for state in states[5:12]:
            log.step(fork, state)
        writer.flush(log.tx)
        again = log.resume(fork.track)
        log.step(again, {"resumed": True, **states[3]})
    assert plain.rows.deltas(*ALL) == file.rows.deltas(*ALL)
    assert plain.rows.keyframes(*ALL) == file.rows.keyframes(*ALL)
    assert plain.rows.blobs == {name: file.rows.blob(name) for name in plain.rows.blobs}
    for track in (1, 2):
        assert plain.rows.track(track) == file.rows.track(track)
        for path, kind in ((path, kind) for path in ((), ("messages",), ("user", "tags")) for kind in KINDS):
            asked = (track, path_id(path), kind, 0, 9)
            assert plain.rows.marks(*asked) == file.rows.marks(*asked)
    for seq, state in enumerate(states):
        assert tlv(load(plain.fresh(), 1, seq).value) == tlv(state)
        for path in ((key,) for key in state):
            assert plain.index.last_write(1, seq, path) == file.index.last_write(1, seq, path)
    cursor = TrackCursor(plain.fresh(), 2, 76)
    assert [tlv(cursor.seek(seq)) for seq in (71, 70, 12)] == [
        tlv(state) for state in (states[5], {"edited": [1]}, states[12])
    ]


def histories(seed: int, steps: int) -> list[dict[str, Wire]]:
    """States as an agent leaves them, with parts that are large enough for blobs."""
    mutator = Mutator(random.Random(seed), large=True)
    state = mutator.state()
    states = [copy.deepcopy(state)]
    while len(states) < steps:
        mutator.mutate(state)
        states.append(copy.deepcopy(state))
    return states


def test_a_dictionary_and_what_is_not_there() -> None:
    log = MemoryLog(backend=PlainRows())
    writer = log.begin({"text": ""})
    while not log.trainer.dictionary:
        log.step(writer, {"text": f"{writer.seq} " * (DICTIONARY_SIZE // 100)})
    assert log.rows.dictionary("agent") == log.rows.dictionary(log.trainer.dictionary) != []
    log.step(writer, {"text": "after"})
    assert log.rows.checkpoints[row_key(1, writer.seq)][3] == log.trainer.dictionary
    assert load(log.fresh(), 1, writer.seq).value == {"text": "after"}
    with pytest.raises(Damaged, match="track 7 is missing"):
        log.log.segments(7, 0)
