"""Writing states of runs anew in one transaction: what redaction and dropping a checkpoint have in common.

Runs go by families: a fork is read through the rows of what it was forked from, so none of them is written anew without
the others. Digests, chains, index, blobs and dictionaries are made anew from what stays: after a kill at any moment the
store is as it was before or as it is after. What SQLite has let go (free pages, the log) is overwritten next; until
that is done, `unclean` stands in `meta`, and `verify` says so. On a server its tables are written anew for that.

Nobody may record into the file meanwhile: a writer remembers dictionaries that are gone then. On a server nobody may
record a run of the family, or of an agent whose dictionaries go; others wait for the transaction, and go on.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Final

from agent_tt.addresses import Address
from agent_tt.errors import Damaged, IsRunning
from agent_tt.history.hashing import blob_names
from agent_tt.history.log.append import write_anew
from agent_tt.history.log.log import StateLog
from agent_tt.history.log.states import load
from agent_tt.history.payloads.payload import pack, unpack
from agent_tt.history.payloads.training import DictionaryTrainer
from agent_tt.history.rows import row_key
from agent_tt.store.file.connection import Database
from agent_tt.store.keeping import row_number
from agent_tt.store.liveness import now_us
from agent_tt.store.rows.deliveries import NUMBER_MASK
from agent_tt.store.rows.run_rows import descendants, shown_status
from agent_tt.store.tables.definitions import DELTAS, DICTS, KEYFRAMES, META, TRACKS, UNCLEAN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from agent_tt.history.changes.change_detector import Admit
    from agent_tt.history.rows import Row
    from agent_tt.store.file.transaction import Transaction
    from agent_tt.store.tables.asking import Rows, SqlValue
    from agent_tt.store.tables.table import Table

__all__ = ["StatesAnew", "family_of", "in_one_transaction", "rows_as_written"]

_MOST_LISTED: Final = 10


class _Back(Exception):
    """Ends the transaction of what is only tried."""


def family_of(rows: Rows, run_ids: Iterable[str]) -> list[int]:
    """The row numbers of runs, of all that they descend from, and of all that descend from these; ancestors first.

    Raises:
        RunNotFound: one of the runs is not there.
    """
    found: dict[int, None] = {}
    parents: dict[int, int | None] = dict(rows.query("SELECT run, parent FROM runs"))
    for run_id in run_ids:
        root, seen = row_number(rows, run_id), set[int]()
        while (above := parents.get(root)) in parents and root not in seen:
            seen.add(root)
            root = above
        found |= dict.fromkeys((root, *descendants(rows, root)))
    return sorted(found)  # numbers rise: whoever is forked from is there first


def in_one_transaction(
    path: Path, write: Callable[[StatesAnew], None], *, is_tried: bool, besides: Callable[[], None]
) -> bool:
    """Write rows anew, and overwrite what the file has let go.

    Args:
        path: the store.
        write: writes them.
        is_tried: whether all is only tried, and nothing kept.
        besides: takes away what was made of the rows elsewhere; called when they are committed.

    Returns:
        Whether what the file has let go is overwritten.

    Raises:
        IsRunning: a run of the store is being recorded; on a server, see `StatesAnew.without_dictionaries`.
    """
    with closing(_opened(path)) as database:
        try:
            with closing(_opened(path, read_only=True)) as before, database.transaction() as tx:
                if database.is_file:
                    _check_not_recorded(_recorded(tx).values())
                write(StatesAnew(tx, StateLog(before), is_file=database.is_file))
                if is_tried:
                    _go_back()
                if not tx.query("SELECT 1 FROM meta WHERE key = ?", (UNCLEAN,)):
                    META.insert(tx, (UNCLEAN, str(now_us())))
        except _Back:
            return False
        besides()
        if not database.purge():
            return False
        with database.transaction() as tx:
            META.delete(tx, "key = ?", (UNCLEAN,))
        database.checkpoint("TRUNCATE")
        return True


def _go_back() -> None:
    raise _Back


def _opened(path: Path, *, read_only: bool = False) -> Database:
    if isinstance(path, Address):
        from agent_tt.store.postgres.opening import open_address

        return open_address(path, read_only=read_only)
    return Database(path, read_only=read_only)


def _recorded(rows: Rows) -> dict[int, str]:
    """Names of the runs that are being recorded, by their row numbers."""
    found = rows.query("SELECT run, name, status, owner, beat_us FROM runs WHERE status = 'running'")
    return {run: str(name) for run, name, *state in found if shown_status(*state) == "running"}


def _check_not_recorded(running: Iterable[str]) -> None:
    """Refuse where runs are being recorded.

    Raises:
        IsRunning: there are some.
    """
    names = [*running]
    if names:
        raise IsRunning(
            f"{', '.join(names[:_MOST_LISTED])} {'is' if len(names) == 1 else 'are'} running, and nobody may record"
            " into the store meanwhile",
            runs=names,
            hint="Stop it first, or wait.",
        )


def rows_as_written(rows: Rows, table: Table, where: str, given: Sequence[SqlValue]) -> Iterator[Row]:
    """Rows as they were written.

    Raises:
        Damaged: one is not.
    """
    for row in table.read(rows, where, given):
        if not table.holds(row):
            raise Damaged(
                f"a row of {table.name} is damaged, so nobody can say what it held",
                hint="`agent-tt verify` says which; `agent-tt delete` takes whole runs away.",
            )
        yield row


class StatesAnew:
    """Writes the states of runs anew.

    Args:
        tx: the transaction.
        before: the histories as they were when it began.
        is_file: whether the store is a file, and not on a server.

    Attributes:
        tx: the transaction.
        before: the histories as they were when it began.
        log: the histories as they become.
        is_alone: whether nobody records into the store.
    """

    def __init__(self, tx: Transaction, before: StateLog, *, is_file: bool) -> None:
        self.tx = tx
        self.before = before
        self._is_file = is_file
        self._recorded = _recorded(tx)
        self.log = StateLog(tx)
        self.is_alone = not self._recorded

    def agents(self) -> dict[int, str]:
        """Whose dictionaries each run uses, by its row number."""
        return {run: str(agent or name) for run, agent, name in self.tx.query("SELECT run, agent, name FROM runs")}

    def take(self, track: int) -> tuple[list[tuple[int, int]], set[bytes]]:
        """Take away the rows of a track: number and flags of each of its checkpoints, and what blobs they named.

        Raises:
            Damaged: one is not as it was written.
        """
        keys = (row_key(track, 0), row_key(track, NUMBER_MASK))
        rows = [*rows_as_written(self.tx, DELTAS, "id BETWEEN ? AND ? ORDER BY id", keys)]
        named: set[bytes] = set()
        for table in (DELTAS, KEYFRAMES):
            for (refs,) in self.tx.query(f"SELECT refs FROM {table.name} WHERE id BETWEEN ? AND ?", keys):  # noqa: S608  # ours
                named |= {*blob_names(refs)}
            table.delete(self.tx, "id BETWEEN ? AND ?", keys)
        self.tx.execute("DELETE FROM changes WHERE track = ?", (track,))
        return [(int(row[0]) & NUMBER_MASK, int(row[5])) for row in rows], named

    def write(self, track: int, agent: str, states: Iterable[Row], admit: Admit) -> None:
        """Write the checkpoints of a track whose rows were taken away, as `write_anew` does."""
        # A dictionary is its recorder's own on a server, by the roles: none is made there for others.
        trainer = DictionaryTrainer(self.tx, agent, is_wanted=self._is_file)
        write_anew(self.tx, self.log, track, trainer, states, admit)

    def states(self, track: int, rows: Sequence[tuple[int, int]]) -> Iterator[Row]:
        """Each state of a track as it was: number, a state that nobody else has, and the flags of its row.

        Raises:
            Damaged: one cannot be read in full.
        """
        if not rows:
            return
        first = rows[0][0]
        state = load(self.before, track, first)
        for seq, flags in rows:
            if seq > first:
                for found in self.before.operations(track, seq, seq):
                    state.apply(found)
            if not state.whole:
                raise Damaged(
                    f"checkpoint {seq} of track {track} cannot be read in full, so nobody can say what it held",
                    hint="`agent-tt delete` takes whole runs away.",
                )
            yield seq, unpack(pack(state.value), "a state"), flags

    def without_dictionaries(self, agents: set[str], numbers: Sequence[int]) -> None:
        """Let go the dictionaries that may hold what goes, and write the rows of others that use them without.

        Raises:
            IsRunning: one of the runs is being recorded, or one that may use such a dictionary.
        """
        tx = self.tx
        made = {number for number, agent in tx.query("SELECT id, agent FROM dicts") if agent in agents}
        used = {
            number
            for run in numbers
            for (number,) in tx.query(
                "SELECT DISTINCT d.dict FROM deltas d JOIN tracks t ON t.track = d.id >> 32 WHERE t.run = ?", (run,)
            )
        }
        going = (made | used) - {0}
        self._check_not_used(agents, numbers, going)
        for number in going:
            for row in rows_as_written(tx, DELTAS, "dict = ?", (number,)):
                plain = self.before.frames.decompress(row[7], row[4], "a checkpoint", number)
                DELTAS.rewrite(tx, DELTAS.with_digests(row[:-1]), {"dict": 0, "ops": self.log.frames.compress(plain)})
            TRACKS.change(tx, "dict = ?", (number,), {"dict": 0})
            DICTS.delete(tx, "id = ?", (number,))

    def _check_not_used(self, agents: set[str], numbers: Sequence[int], going: set[int]) -> None:
        """Refuse where a run is being recorded that is to be written anew, or that may use a dictionary that goes."""
        if self.is_alone:
            return
        trained = {str(agent) for number, agent in self.tx.query("SELECT id, agent FROM dicts") if number in going}
        known = self.agents()
        _check_not_recorded(
            name
            for run, name in self._recorded.items()
            if run in numbers or known[run] in agents | trained or (going and self._is_nameless(run))
        )

    def _is_nameless(self, run: int) -> bool:
        """Whether a run has no entry point: its dictionary goes by its name, which may have been another one."""
        return bool(self.tx.query("SELECT 1 FROM runs WHERE run = ? AND agent IS NULL", (run,)))
