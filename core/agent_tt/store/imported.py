"""Runs that were copied out of other programs' files: they are found again by where they came from.

Everything that comes in passes the one ingest filter; see `agent_tt.importing`, which asks it of steps and calls before
they are compared with what is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.codec.wire import Encoded
from agent_tt.model import NewRun, Usage
from agent_tt.model.facts.stored import RunMeta
from agent_tt.store import ingest_filter, keeping
from agent_tt.store.file.opening import open_database
from agent_tt.store.liveness import as_if
from agent_tt.store.rows import columns
from agent_tt.store.rows.usage import usage_to_wire
from agent_tt.store.tables.definitions import NOTES, RUNS, TAGS
from agent_tt.store.threads import ThreadStore, ThreadWriter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.history.rows import Row
    from agent_tt.model import Run
    from agent_tt.store.tables.asking import SqlValue

__all__ = ["ImportStore", "ImportedWriter", "Marked", "open_imports"]


class ImportedWriter(ThreadWriter):
    """The open end of a run that is imported."""

    _admit = staticmethod(ingest_filter.admit)
    _keeps = False


@dataclass(frozen=True, slots=True)
class Marked:
    """What people wrote down about a run, as rows: it stays when the run is written anew."""

    name: str
    hidden: int
    meta: dict[str, Wire]
    notes: Sequence[Row]
    tags: Sequence[str]


class ImportStore(ThreadStore):
    """A store file that runs are imported into."""

    def _writer_class(self) -> type[ImportedWriter]:
        return ImportedWriter

    def write_run(self, run_id: str) -> ImportedWriter:
        """The open end of a run.

        Raises:
            RunNotFound: no such run.
        """
        return self._open_end(run_id, ImportedWriter)

    def origins(self) -> list[tuple[str, Mapping[str, str]]]:
        """The ids of all imported runs and where each came from, the oldest row first."""
        key = RunMeta.origin.key
        rows = self.database.query("SELECT id, meta FROM runs WHERE instr(meta, ?) ORDER BY run", (f'"{key}"',))
        found = [(str(run_id), RunMeta.origin.of(columns.mapping_from_text(meta))) for run_id, meta in rows]
        return [(run_id, origin) for run_id, origin in found if origin]

    def asked(self, run_id: str) -> dict[int, list[tuple[SqlValue, ...]]]:
        """What was asked in each own step of a run, and whether it was answered.

        Returns:
            By step of each call its kind, name, status, signature in hex, and when it began and ended.
        """
        found: dict[int, list[tuple[SqlValue, ...]]] = {}
        for step, *call in self.database.query(
            "SELECT step, kind, name, status, lower(hex(signature)), started_us, ended_us FROM calls"
            " WHERE run = ? ORDER BY step, call",
            (keeping.row_number(self.database, run_id),),
        ):
            found.setdefault(int(step), []).append(tuple(call))
        return found

    def begin_imported(
        self, run: Run, origin: Mapping[str, str], state: Wire, run_id: str | None, parent: str | None
    ) -> str:
        """Make the row of a run with its first state; give its id.

        Args:
            run: the run as its file tells it.
            origin: where it came from.
            state: what it began with; of a branch that of its parent counts.
            run_id: its id, which no run of the store may have; None to draw one.
            parent: the id, in this store, of the run that it left.
        """
        new = NewRun(run.name, model=run.model, metadata=run.metadata)
        name, facts = ingest_filter.admit_text(run.name), RunMeta.origin.entry({**origin})
        with as_if(run.started_us, None):
            if parent is not None:
                step = run.fork_step or 0
                return self.begin_branch(parent, step, new, name=name, branch_id=run_id, facts=facts)
            with self.database.transaction() as tx:
                number, run_id = self._insert_run(tx, new, name, run_id=run_id, facts=facts)
                self._writer(number, run_id, new, first_step=1).start_track(tx, Encoded(state))
        return run_id

    def end_imported(self, run_id: str, writer: ImportedWriter, run: Run) -> None:
        """Write down how a run stands in its file."""
        writer.finish(
            "unknown" if run.status == "running" else run.status, run.error
        )  # who writes it is not this process
        with self.database.transaction() as tx:
            number = keeping.row_number(tx, run_id)
            ((meta,),) = tx.query("SELECT meta FROM runs WHERE run = ?", (number,))
            facts = columns.mapping_from_text(meta)
            told = ingest_filter.admit_mapping(run.metadata)
            facts[RunMeta.metadata.key] = {**_not_imported(facts), **told} or None
            facts[RunMeta.imported.key] = [*told] or None
            if run.model is not None:
                facts |= RunMeta.model.entry(run.model)
            if run.parent is None:  # of a branch its own steps count, beside those of its parent
                usage = Usage(run.tokens_in, run.tokens_out, run.cost_usd, run.unpriced or None)
                facts[RunMeta.usage.key] = usage_to_wire(usage)
            changes: dict[str, SqlValue] = {
                "started_us": run.started_us,
                "ended_us": run.ended_us,
                "owner": None,
                "beat_us": None,
            }
            RUNS.update(tx, (number,), {**changes, "meta": columns.mapping_to_text(facts) or "{}"})

    def says(self, run_id: str, metadata: Mapping[str, Wire]) -> bool:
        """Whether the metadata of a run that its file says is this, as it may be stored, and no more."""
        ((meta,),) = self.database.query("SELECT meta FROM runs WHERE id = ?", (run_id,))
        facts = columns.mapping_from_text(meta)
        held = RunMeta.metadata.of(facts).raw
        is_there = all(key in held and held[key] == value for key, value in metadata.items())
        return is_there and {*RunMeta.imported.of(facts)} <= metadata.keys()

    def take_marks(self, run_id: str) -> Marked:
        """What people wrote down about a run that is about to be written anew."""
        rows = self.database
        number = keeping.row_number(rows, run_id)
        ((name, hidden, meta),) = rows.query("SELECT name, hidden, meta FROM runs WHERE run = ?", (number,))
        return Marked(
            str(name),
            int(hidden),
            columns.mapping_from_text(meta),
            NOTES.read(rows, "run = ? ORDER BY note", (number,)),
            [str(tag) for (tag,) in rows.query("SELECT tag FROM tags WHERE run = ? ORDER BY tag", (number,))],
        )

    def put_marks(self, run_id: str, marked: Marked) -> None:
        """Give a run that was written anew what people wrote down about it."""
        with self.database.transaction() as tx:
            number = keeping.row_number(tx, run_id)
            ((meta,),) = tx.query("SELECT meta FROM runs WHERE run = ?", (number,))
            now = columns.mapping_from_text(meta)
            metadata = {**_not_imported(marked.meta), **RunMeta.metadata.of(now).raw}
            facts = {**marked.meta, **now, RunMeta.metadata.key: metadata or None}
            changes: dict[str, SqlValue] = {
                "name": marked.name,
                "hidden": marked.hidden,
                "meta": columns.mapping_to_text(facts) or "{}",
            }
            RUNS.update(tx, (number,), changes)
            for row in marked.notes:
                facts_of_note = dict(zip(NOTES.columns, row, strict=False)) | {"note": None, "run": number}
                NOTES.insert(tx, [facts_of_note[name] for name in NOTES.columns])
            for tag in marked.tags:
                TAGS.insert(tx, (number, tag))


def _not_imported(facts: Mapping[str, Wire]) -> dict[str, Wire]:
    """What is said of a run that its file did not say, as it was imported before."""
    imported = RunMeta.imported.of(facts)
    return {key: value for key, value in RunMeta.metadata.of(facts).raw.items() if key not in imported}


def open_imports(path: Path) -> ImportStore:
    """Open a store file for imports; it is made, with its folder, where it is missing.

    Raises:
        NotAStore, NewerFormat, OlderFormat: as `open_store`.
    """
    return ImportStore(open_database(path, create=True))
