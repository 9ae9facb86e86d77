"""Appending checkpoints to a track: changes, chain, keyframes and index, in the transaction of their step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.codec.wire import Encoded
from agent_tt.errors import Damaged
from agent_tt.history.changes.append_only import Births
from agent_tt.history.changes.change_detector import Shadow
from agent_tt.history.changes.diff import diff
from agent_tt.history.changes.kept_values import KeptValues
from agent_tt.history.digest import chain, digest
from agent_tt.history.log import keyframes
from agent_tt.history.log.index import PendingMarks
from agent_tt.history.log.keyframes import KeyframePolicy
from agent_tt.history.log.states import load
from agent_tt.history.payloads.payload import pack_ops
from agent_tt.history.rows import row_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.change_detector import Admit
    from agent_tt.history.changes.ops import Op
    from agent_tt.history.log.log import StateLog
    from agent_tt.history.payloads.training import DictionaryTrainer
    from agent_tt.history.rows import LogTransaction, Row

__all__ = ["SHARED", "UNEDITED", "Checkpoint", "TrackWriter", "Unedited", "create_track", "fork_track", "write_anew"]

SHARED: Final = 1
"""Bit of `deltas.flags`: other steps were open on the track, so the changes may be theirs too."""


class Unedited:
    """The class of `UNEDITED`."""


UNEDITED: Final = Unedited()
"""Given to `fork_track` where a fork changes nothing."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint that was compared but is not stored yet.

    Attributes:
        ops: what changed since the checkpoint before.
        digest: the digest of the whole state.
        unnoticed: where a write was found that a tracked state did not note; see `Shadow.unnoticed`.
        is_certain: whether all of the state was compared.
    """

    seq: int
    ops: list[Op]
    digest: bytes
    unnoticed: Path | None = None
    is_certain: bool = True


class _BlobSink:
    """Stores blobs and remembers their hashes, for the `refs` column."""

    def __init__(self, log: StateLog, tx: LogTransaction) -> None:
        self._log = log
        self._tx = tx
        self.hashes: list[bytes] = []

    def put(self, plain: bytes) -> str:
        stored = self._log.blobs.put(self._tx, plain)
        self.hashes.append(stored)
        return stored.hex()


class TrackWriter:
    """The open end of one track. After an error in `compare` or `store` it must be thrown away and resumed.

    Args:
        log: the log.
        track: the track, which has no checkpoint yet.
        trainer: gives the dictionary.
        policy: says when a keyframe is due.
        admit: gives what may be kept of a part of a state; None for all of it.
        keeps: whether states are wire values that nobody changes, and all of them may be kept.
    """

    def __init__(
        self,
        log: StateLog,
        track: int,
        trainer: DictionaryTrainer,
        policy: KeyframePolicy | None = None,
        *,
        admit: Admit | None = None,
        keeps: bool = False,
    ) -> None:
        self._log = log
        self._trainer = trainer
        self._policy = policy or KeyframePolicy()
        self._shadow: Shadow | KeptValues = KeptValues() if keeps else Shadow(admit)
        self._marks = PendingMarks()
        self._chain = b""
        self.track = track
        self.seq = -1

    @classmethod
    def resume(
        cls,
        log: StateLog,
        track: int,
        trainer: DictionaryTrainer,
        policy: KeyframePolicy | None = None,
        *,
        admit: Admit | None = None,
        keeps: bool = False,
    ) -> TrackWriter:
        """Continue a track where the file says it ends; the arguments are those of the class.

        Raises:
            Damaged: its last checkpoint cannot be read in full.
        """
        self = cls(log, track, trainer, policy, admit=admit, keeps=keeps)
        seq = log.last_seq(track)
        if seq is None:
            return self
        state = load(log, track, seq)
        if not state.whole:
            raise Damaged(f"checkpoint {seq} of track {track} holds damaged values, so nothing can follow it")
        self.seq = seq
        self._chain = log.head(track, seq).chain
        births = self._recount(seq)
        if keeps:
            self._shadow = KeptValues.from_wire(state.value, births.known())
        else:
            self._shadow = Shadow.from_wire(state.value, births.known(), admit)
        self._policy.last_size = self._shadow.weight()
        first = log.segments(track, seq)[-1].first
        for row in log.operations(track, max(first, log.indexed_to(track) + 1), seq):
            self._marks.add(row.seq, row.ops)
        return self

    def _recount(self, seq: int) -> Births:
        """Count what lies after the last keyframe, also where that is a parent's, and find the append-only lists."""
        log = self._log
        segments = log.segments(self.track, seq)
        last = keyframes.newest(log, segments)
        births = Births({} if last is None else keyframes.append_only(log, last))
        for position, segment in enumerate(segments):
            first = segment.first
            if last is not None and position <= last.segment:
                first = last.seq + 1 if position == last.segment else segment.last + 1
            for row in log.scan(segment.track, first, segment.last):
                self._policy.add(row.size)
                births.follow(log.ops(row).ops, row.seq)
        return births

    def compare(self, state: object) -> Checkpoint:
        """Find what changed in the agent's own object since the last checkpoint; touch no file."""
        seq = self.seq + 1
        shadow = self._shadow
        ops, found = shadow.step(state, seq)
        if isinstance(shadow, KeptValues):
            return Checkpoint(seq, ops, found)
        return Checkpoint(seq, ops, found, shadow.unnoticed, shadow.is_certain)

    def look_again(self) -> Path | None:
        """Look for what a tracked state did not note, at the end of its run; give the place of what is found."""
        return None if isinstance(self._shadow, KeptValues) else self._shadow.look_again()

    def store(self, tx: LogTransaction, checkpoint: Checkpoint, *, shared: bool = False) -> None:
        """Store a checkpoint, and with it what is due of keyframes, dictionary and index."""
        seq = checkpoint.seq
        dictionary = self._trainer.dictionary
        plain, self._chain = _insert(self._log, tx, self.track, checkpoint, self._chain, dictionary, shared=shared)
        self.seq = seq
        self._marks.add(seq, checkpoint.ops)
        if self._policy.add(len(plain)):
            self._store_keyframe(tx, checkpoint)
        self._marks.flush_in_pieces(tx, self.track, seq)
        self._trainer.add(tx, self._log.frames, plain)

    def _store_keyframe(self, tx: LogTransaction, checkpoint: Checkpoint) -> None:
        sink = _BlobSink(self._log, tx)
        skeleton, refs = self._shadow.keyframe(sink.put)
        key = row_key(self.track, checkpoint.seq)
        keyframes.write(tx, self._log, key, skeleton, refs, sink.hashes, checkpoint.digest)
        self._policy.written(self._shadow.weight())

    def flush(self, tx: LogTransaction) -> None:
        """Write the index up to the last checkpoint."""
        self._marks.flush(tx, self.track, self.seq)


def create_track(
    tx: LogTransaction, run: int, name: str, *, parent: int | None = None, fork_seq: int | None = None
) -> int:
    """Make a track's row and give its number. A fork's track still lacks its first checkpoint."""
    return tx.add_track(run, name, parent, fork_seq)


def fork_track(
    tx: LogTransaction, log: StateLog, run: int, name: str, *, parent: int, seq: int, edited: Wire | Unedited = UNEDITED
) -> int:
    """Make a track that continues another one's checkpoint `seq`, with its first row: the edit, or none.

    Args:
        tx: the transaction.
        log: the log.
        run: row number of the run that the track belongs to.
        name: its name.
        parent: the track it continues.
        seq: the checkpoint that it continues.
        edited: the state that it starts from; by default the parent's as it is.

    Raises:
        Damaged: the parent's state cannot be read in full.
    """
    head = log.head(parent, seq)
    ops: list[Op] = []
    found = head.digest
    if not isinstance(edited, Unedited):
        base = load(log, parent, seq)
        ops, found = diff(base.value, edited), digest(edited)
    track = create_track(tx, run, name, parent=parent, fork_seq=seq)
    _insert(log, tx, track, Checkpoint(seq, ops, found), head.chain, 0, shared=False)
    return track


def write_anew(
    tx: LogTransaction, log: StateLog, track: int, trainer: DictionaryTrainer, states: Iterable[Row], admit: Admit
) -> None:
    """Write the checkpoints of a track that is there, and has no rows any more.

    Args:
        tx: the transaction.
        log: a log over the transaction.
        track: the track; what it continues is written already.
        trainer: gives the dictionary.
        states: number, state and flags of each checkpoint, in order; nobody else holds or changes the states.
        admit: gives what may be kept of a part of a state.

    Raises:
        Damaged: what the track continues cannot be read in full.
    """
    writer = TrackWriter(log, track, trainer, admit=admit)
    found = tx.track(track)
    parent = None if found is None else found[0]
    for seq, state, flags in states:
        shared = bool(flags & SHARED)
        if parent is not None and writer.seq < 0:
            base, edited = load(log, parent, seq), admit(state, "")
            edit = Checkpoint(seq, diff(base.value, edited), digest(edited))
            _insert(log, tx, track, edit, log.head(parent, seq).chain, 0, shared=shared)
            writer = TrackWriter.resume(log, track, trainer, admit=admit)
        else:
            writer.store(tx, writer.compare(Encoded(state)), shared=shared)
    writer.flush(tx)


def _insert(
    log: StateLog,
    tx: LogTransaction,
    track: int,
    checkpoint: Checkpoint,
    before: bytes,
    dictionary: int,
    *,
    shared: bool,
) -> tuple[bytes, bytes]:
    """Store one row of the log; give the plain bytes of its operations and the new chain hash."""
    sink = _BlobSink(log, tx)
    plain = pack_ops(checkpoint.ops, sink.put)
    linked = chain(before, checkpoint.seq, checkpoint.digest, plain)
    tx.add_delta(
        (
            row_key(track, checkpoint.seq),
            checkpoint.digest,
            linked,
            dictionary,
            len(plain),
            SHARED if shared else 0,
            b"".join(sink.hashes) or None,
            log.frames.compress(plain, dictionary),
        )
    )
    return plain, linked
