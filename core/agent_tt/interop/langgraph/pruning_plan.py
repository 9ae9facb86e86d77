"""Making a LangGraph database smaller: the newest checkpoints of each thread stay, with all that they need.

What stays of a thread:

- the newest checkpoints of the graph itself, and each that waits for a person at the end of a branch;
- the checkpoints before these that a delta channel is put together from, back to its last snapshot;
- the checkpoints of subgraphs that ran from one that stays; of a subgraph that remembers, the newest as well;
- what was written from all of these, and what belongs to no checkpoint that goes.

So LangGraph's history of what stays is the same as before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.errors import Damaged, RunNotFound, UsageError
from agent_tt.interop.langgraph.checkpoint import FORMAT, Checkpoint, open_checkpoint
from agent_tt.interop.langgraph.decode import read_value
from agent_tt.interop.langgraph.detect import Family, tables_of
from agent_tt.interop.langgraph.layout import ThreadMap
from agent_tt.interop.langgraph.sqlite import fetch_blob, read_threads

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from agent_tt.interop.langgraph.branches import Tree
    from agent_tt.interop.langgraph.detect import Tables
    from agent_tt.interop.langgraph.rows import CheckpointKey, CheckpointRow, ThreadRows

__all__ = ["Plan", "Report", "ThreadPlan", "plan_pruning"]

Report: TypeAlias = "Callable[[int, int], None]"


@dataclass(frozen=True, slots=True)
class ThreadPlan:
    """What is to become of a thread.

    Attributes:
        thread: its id.
        kept: namespace and id of the checkpoints that stay.
        dropped: of those that go.
        sends: of those that go but for the packets that were sent from them.
        kept_for: why older checkpoints than the newest stay: in words, with how many.
        bytes: what goes, in bytes of checkpoints and writes.
    """

    thread: str
    kept: frozenset[CheckpointKey]
    dropped: frozenset[CheckpointKey]
    sends: frozenset[CheckpointKey]
    kept_for: Mapping[str, int]
    bytes: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to become of a database.

    Attributes:
        keep_last: how many checkpoints of each thread stay at least.
        threads: those of which something goes.
        untouched: how many threads stay as they are.
    """

    keep_last: int
    threads: Sequence[ThreadPlan]
    untouched: int

    @property
    def bytes(self) -> int:
        """What goes, in bytes of checkpoints and writes."""
        return sum(thread.bytes for thread in self.threads)

    @property
    def checkpoints(self) -> int:
        """How many checkpoints go."""
        return sum(len(thread.dropped) for thread in self.threads)


def plan_pruning(
    connection: sqlite3.Connection, keep_last: int, threads: Collection[str] = (), report: Report | None = None
) -> Plan:
    """Work out what may go. Nothing is changed; values are read only where a delta channel needs its snapshot.

    Args:
        connection: a LangGraph database.
        keep_last: how many checkpoints of each thread stay at least.
        threads: which threads lose checkpoints; all where it is empty.
        report: told (done, in all).

    Raises:
        RunNotFound: there is no such thread.
        UsageError: the number is none, or the database is of a layout from before 0.2.
    """
    tables = tables_of(connection)
    if keep_last < 1:
        raise UsageError("at least one checkpoint of each thread has to stay", hint="Give --keep-last 1 or more.")
    if tables is None or tables.family is Family.OLDEST:
        raise UsageError("databases from before LangGraph 0.2 are not pruned", hint="They can be opened and read.")
    known = read_threads(connection, tables)
    missing = sorted(set(threads) - set(known))
    if missing:
        raise RunNotFound(f"there is no thread {missing[0]!r}", hint="List threads with `agent-tt du`.")
    found: list[ThreadPlan] = []
    for number, (thread, rows) in enumerate(known.items(), 1):
        if not threads or thread in threads:
            planned = _Thread(connection, tables, rows).plan(keep_last)
            found += [planned] if planned.dropped else []
        if report is not None:
            report(number, len(known))
    return Plan(keep_last, found, len(known) - len(found))


class _Thread:
    """Works out what of one thread stays."""

    def __init__(self, connection: sqlite3.Connection, tables: Tables, rows: ThreadRows) -> None:
        self._connection, self._tables = connection, tables
        self._map = ThreadMap(rows)
        self._why: dict[CheckpointKey, str] = {}
        self._new: list[CheckpointRow] = []

    def plan(self, keep_last: int) -> ThreadPlan:
        rows = self._map.rows
        for namespace, tree in self._map.trees.items():
            if namespace and not _remembers(namespace):
                continue
            members = sorted(tree.rows.values(), key=lambda row: row.id, reverse=True)
            for row in members[:keep_last]:
                self._keep(row, "newest")
            for row in members[keep_last:]:
                if not tree.children(row) and self._waits(row):
                    self._keep(row, "waiting for a person")
        for strays in self._map.strays.values():
            for row in strays:
                self._keep(row, "of subgraphs")
        while self._new:
            row = self._new.pop()
            self._keep_deltas(self._map.trees[row.namespace], row)
            for guests in self._map.guests(row).values():
                for guest in guests:
                    self._keep(guest, "of subgraphs")
        dropped = frozenset(rows.checkpoints.keys() - self._why.keys())
        reasons = [why for why in self._why.values() if why != "newest"]
        counts = {why: reasons.count(why) for why in dict.fromkeys(reasons)}
        sends = frozenset(self._parents_with_sends(dropped))
        return ThreadPlan(rows.thread, frozenset(self._why), dropped, sends, counts, self._bytes(dropped))

    def _keep(self, row: CheckpointRow, why: str) -> None:
        if row.key not in self._why:
            self._why[row.key] = why
            self._new.append(row)

    def _parents_with_sends(self, dropped: Collection[CheckpointKey]) -> Iterator[CheckpointKey]:
        """List checkpoints to remove whose packets a kept child needs: before format 4 a child does not hold them."""
        for key in self._why:
            row = self._map.rows.checkpoints[key]
            parent = (row.namespace, row.parent or "")
            if parent in dropped and (checkpoint := self._opened(row)) is not None and checkpoint.format < FORMAT:
                yield parent

    def _waits(self, row: CheckpointRow) -> bool:
        return any(task.interrupts is not None and not task.results for task in self._map.tasks(row))

    def _keep_deltas(self, tree: Tree, row: CheckpointRow) -> None:
        """Keep the checkpoints that the delta channels of one are put together from."""
        wanted = set(row.delta_counts)
        way: list[CheckpointRow] = []
        needed = 0
        at = tree.parent(row)
        while wanted and at is not None:
            way.append(at)
            written = {write.channel for write in self._map.rows.writes.get(at.key, ())}
            checkpoint = self._opened(at) if wanted - at.delta_counts.keys() else None
            held = wanted & checkpoint.values.keys() if checkpoint is not None else set()
            if wanted & written or held:
                needed = len(way)
            wanted -= held
            at = tree.parent(at)
        for each in way[:needed]:
            self._keep(each, "delta channels")

    def _opened(self, row: CheckpointRow) -> Checkpoint | None:
        """A checkpoint; None where it cannot be read."""
        try:
            checkpoint = open_checkpoint(read_value(row.encoding, fetch_blob(self._connection, self._tables, row)))
        except Damaged:
            return None
        return checkpoint if isinstance(checkpoint, Checkpoint) else None

    def _bytes(self, dropped: Collection[CheckpointKey]) -> int:
        total = 0
        for namespace, checkpoint in dropped:
            names = (self._map.rows.thread, namespace, checkpoint)
            for table, columns in (("checkpoints", "checkpoint, metadata"), ("writes", "value")):
                if table == "writes" and not self._tables.has_writes:
                    continue
                lengths = " + ".join(f"coalesce(length({column}), 0)" for column in columns.split(", "))
                ((size,),) = self._connection.execute(
                    f"SELECT coalesce(sum({lengths}), 0) FROM {table}"  # noqa: S608  # one of two
                    " WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?",
                    names,
                )
                total += size
        return total


def _remembers(namespace: str) -> bool:
    """Whether a subgraph goes on from its own last checkpoint each time that it runs: its name has no task in it."""
    parts = [part for part in namespace.split("|") if not part.isdigit()]
    return bool(parts) and ":" not in parts[-1]
