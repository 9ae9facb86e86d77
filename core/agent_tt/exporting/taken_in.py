"""Runs of files of other systems as runs of a store, so that a bundle can be made of them."""

from __future__ import annotations

from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from agent_tt.errors import UsageError
from agent_tt.exporting.redacted import RedactedRuns
from agent_tt.importing import import_file
from agent_tt.marking import MarkedSource
from agent_tt.store import SqliteStore, open_store
from agent_tt.temporary import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource

__all__ = ["as_store"]


@contextmanager
def as_store(source: RunSource, runs: Sequence[Run], remarks: list[str]) -> Iterator[tuple[SqliteStore, list[Run]]]:
    """Give the store that runs lie in, and the runs there: one of another system's file is copied into a store first.

    Args:
        source: where they are, whatever stands before it.
        runs: the runs.
        remarks: what could not be copied is added to it.

    Raises:
        StoreUnreadable, UsageError, Damaged: as of `import_file`.
    """
    marked: RunSource = source
    while isinstance(marked, RedactedRuns):
        marked = marked.reader
    reader: RunSource = marked
    while isinstance(reader, RedactedRuns | MarkedSource):
        reader = reader.reader
    if isinstance(reader, SqliteStore):
        yield reader, [reader.run(run.id) for run in runs]
        return
    with temporary_folder("agent-tt-export-") as folder:
        path = Path(folder) / "runs.db"
        names = {run.origin.get("thread", run.id): run for run in runs}
        copies = {each.name: each for each in import_file(reader.path, path, [*names])}
        remarks += [f"{name}: {problem}" for name, each in copies.items() for problem in each.problems]
        with closing(open_store(path)) as store:
            found = []
            for run in runs:
                copy = _copy_of(reader, run, store, copies[run.origin.get("thread", run.id)].run)
                if not copy.origin and run.origin:  # threads of LangGraph are kept as their own checkpointer does
                    said = ", ".join(part for part in (run.origin.get("system"), reader.path.name) if part)
                    store.set_metadata(copy.id, {"origin": said})
                _take_marks(marked, reader, run, store, copy, remarks)
                found.append(store.run(copy.id))
            yield store, found


def _copy_of(reader: RunSource, run: Run, store: SqliteStore, first: str | None) -> Run:
    """The copy of a run: that of a thread, or the branch of it that has as many steps from the same place on."""
    if first is None:
        raise UsageError(f"nothing of {run.name} could be copied", hint="`agent-tt verify` says what is wrong with it")
    family = [store.run(first), *store.forks(first, deep=True)]
    last = reader.step_count(run.id)
    known = [each for each in family if (each.fork_step, store.step_count(each.id)) == (run.fork_step, last)]
    return known[0] if known else family[0]


def _take_marks(
    marked: RunSource, reader: RunSource, run: Run, store: SqliteStore, copy: Run, remarks: list[str]
) -> None:
    """Write down about a copy what people wrote about the run in its file."""
    if marked is reader:
        return
    plain, shown = reader.run(run.id), marked.run(run.id)
    last = store.step_count(copy.id)
    if shown.name != plain.name:
        store.rename_run(copy.id, shown.name)
    if shown.tags != plain.tags:
        store.set_tags(copy.id, shown.tags)
    said = {key: value for key, value in shown.metadata.items() if plain.metadata.get(key) != value}
    if said:
        store.set_metadata(copy.id, said)
    notes = marked.notes(run.id)
    for note in notes:
        if note.step is None or note.step <= last:
            store.add_note(copy.id, note.step, note.kind, note.body)
    labels = {step: label for step, label in marked.labels(run.id).items() if step <= last}
    for step, label in labels.items():
        store.name_checkpoint(copy.id, step, label.name)
        if label.metadata:
            store.set_metadata(copy.id, label.metadata, step=step)
    lost = sum(note.step is not None and note.step > last for note in notes)
    if lost:
        remarks.append(f"{run.name}: {lost} notes are left out: their steps could not be copied")
