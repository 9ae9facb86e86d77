"""Runs that are only read, with the marks on them that lie in the user's own store."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from agent_tt.errors import ReadOnlySource
from agent_tt.marking.book import MarkBook
from agent_tt.marking.overlay import LABEL, RUN, Overlay, merge_metadata
from agent_tt.marking.reading import Reading
from agent_tt.model import Label, Note
from agent_tt.protocols import MarkedRuns
from agent_tt.protocols.references import find_run
from agent_tt.store import ingest_filter, keeping
from agent_tt.store.foreign_marks import Change
from agent_tt.store.rows import naming

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from agent_tt.codec.wire import Wire
    from agent_tt.model import NoteKind, Run
    from agent_tt.model.statistics import CallGroup, CallGroups, Chosen, RunGroup, RunGroups, Statistics
    from agent_tt.protocols import RunSource
    from agent_tt.store.foreign_marks import ForeignMark

    _Changing: TypeAlias = Callable[[dict[str, Wire]], None]

__all__ = ["MarkedSource", "marked"]


def marked(source: RunSource) -> MarkedSource:
    """A source that is only read, with the marks on its runs in the user's own store; it closes the source."""
    return MarkedSource(source)


class MarkedSource(Reading, MarkedRuns):
    """A `RunSource` that also takes `Marks`. Safe to use from several threads.

    Attributes:
        reader: the source itself.
    """

    def __init__(self, reader: RunSource) -> None:
        super().__init__(reader)
        self._book = MarkBook(reader.path)
        self._lock = threading.RLock()
        self._seen: tuple[int, Sequence[ForeignMark], Overlay] | None = None

    def close(self) -> None:
        """Let go of the file and of the own store."""
        self.reader.close()
        self._book.close()

    def version(self) -> int:
        """Give a number that differs after the file or the own store changed."""
        return hash((self.reader.version(), self._book.version()))

    # ---------------------------------------------------------------- reading

    def runs(self, *, archived: bool = False, limit: int | None = None) -> list[Run]:
        """List runs, newest first: with `archived` also those that are, with `limit` no more than so many."""
        overlay = self._overlay()
        if not overlay.renamed():
            return self.reader.runs(archived=archived, limit=limit)
        shown = [overlay.run(run) for run in self.reader.runs(archived=True)]
        return [run for run in shown if archived or not run.archived][:limit]

    def forks(self, run_id: str, *, deep: bool = False) -> list[Run]:
        """List the runs that were forked from a run, oldest first; with `deep` also what was forked from those."""
        overlay = self._overlay()
        return [overlay.run(run) for run in self.reader.forks(run_id, deep=deep)]

    def run(self, ref: str) -> Run:
        """Find the run that `ref` names, by what it is called now or was before."""
        if not self._overlay().renamed():
            return self.reader.run(ref)
        return find_run(self.runs(archived=True), ref, self.reader.run)

    def statistics(self, chosen: Chosen) -> Statistics:
        """Count what there is of the chosen runs."""
        return super().statistics(chosen) if self._overlay().renamed() else self.reader.statistics(chosen)

    def run_groups(self, chosen: Chosen, by: RunGroups) -> list[RunGroup]:
        """Count the chosen runs by what they have in common: tags are those of today."""
        return super().run_groups(chosen, by) if self._overlay().renamed() else self.reader.run_groups(chosen, by)

    def call_groups(self, chosen: Chosen, by: CallGroups) -> list[CallGroup]:
        """Count the calls of the chosen runs."""
        return self.reader.call_groups(chosen, by)

    def step_number(self, run: Run, ref: str) -> int:
        """Find the step that `ref` names; the name of a checkpoint is good too."""
        named = [label.step for label in self.labels(run.id).values() if label.name == ref]
        return named[0] if named else self.reader.step_number(run, ref)

    def notes(self, run_id: str) -> list[Note]:
        """List notes and bookmarks of a run: those in the file, then those in the own store."""
        own = self._overlay().notes(run_id)
        return [*self.reader.notes(run_id), *(replace(note, id=self._shown(note.id)) for note in own)]

    def labels(self, run_id: str) -> dict[int, Label]:
        """Give the names and metadata that people gave to checkpoints, by step."""
        return self._overlay().labels(run_id)

    def _overlay(self) -> Overlay:
        """The marks on the file as both are now."""
        with self._lock:
            version, marks = self.reader.version(), self._book.marks()
            if self._seen is None or self._seen[0] != version or self._seen[1] is not marks:
                self._seen = (version, marks, Overlay(self.reader, marks))
            return self._seen[2]

    def _shown(self, mark: int) -> int:
        """The number of a note as people see it: below zero where the file counts notes of its own."""
        return -mark if self.capabilities.records else mark

    # ---------------------------------------------------------------- writing, into the own store

    def add_note(self, run_id: str, step: int | None, kind: str, body: str) -> Note:
        """Write a `note`, a `bookmark` or a `watch`."""
        place = self._overlay().place(run_id, step)  # which refuses what is not there, before a store is made for it
        mark = self._book.writing().add(place, kind, body)
        return Note(self._shown(mark.id), cast("NoteKind", kind), step, mark.body, mark.created_us)

    def change_note(self, note_id: int, body: str) -> None:
        """Replace what a note, a bookmark or a watch says.

        Raises:
            ReadOnlySource: it lies in the file.
            NotFound: it is gone.
        """
        self._book.writing().change_text(self._own_mark(note_id), body)

    def delete_note(self, note_id: int) -> None:
        """Remove a note, a bookmark or a watch; one that is gone already stays gone.

        Raises:
            ReadOnlySource: it lies in the file.
        """
        self._book.writing().remove(self._own_mark(note_id))

    def _own_mark(self, note_id: int) -> int:
        """The number that a note has in the own store.

        Raises:
            ReadOnlySource: it lies in the file.
        """
        mark = self._shown(note_id)
        if mark < 0:
            raise ReadOnlySource(
                f"note {note_id} lies in {self.path}, which is only read",
                hint="Only notes in your own store can be changed or removed.",
            )
        return mark

    def set_tags(self, run_id: str, tags: Sequence[str]) -> None:
        """Replace a run's tags."""
        kept: list[Wire] = [ingest_filter.admit_text(tag) for tag in tags]
        self._change([run_id], lambda facts: facts.update(tags=kept))

    def set_metadata(
        self, run_id: str, metadata: Mapping[str, Wire], *, remove: Sequence[str] = (), step: int | None = None
    ) -> None:
        """Merge into the metadata of a run, or of one of its checkpoints.

        Raises:
            UsageError: `purpose` or `ticket` is not text.
            StepNotFound: the run has no such step.
        """
        more = keeping.checked_metadata(metadata)
        if step is None:
            in_file = self.reader.run(run_id).metadata
            self._change([run_id], lambda facts: merge_metadata(facts, more, remove, in_file))
        else:
            in_file = self.reader.labels(run_id).get(step, Label(step)).metadata
            self._change_label(run_id, step, lambda facts: merge_metadata(facts, more, remove, in_file))

    def rename_run(self, run_id: str, name: str) -> None:
        """Give a run another name, and with it the forks that are called after it.

        Raises:
            UsageError: the name would name something else too.
        """
        runs = self.runs(archived=True)
        run, name = self.run(run_id), naming.tidy(ingest_filter.admit_text(name))
        if name == run.name:
            return
        naming.check_name(name, run, runs)
        new = {run.id: name}
        for fork in self.forks(run_id, deep=True):
            if fork.name.startswith(f"{run.name}/"):
                new[fork.id] = name + fork.name[len(run.name) :]
                naming.check_free(new[fork.id], fork, runs)
        called = {each.id: each.name for each in runs}
        overlay = self._overlay()
        self._book.writing().change(
            [
                Change(overlay.holder(each, RUN, None), overlay.place(each, None), RUN, _renaming(called[each], to))
                for each, to in new.items()
            ]
        )

    def name_checkpoint(self, run_id: str, step: int, name: str | None) -> None:
        """Give a checkpoint a name, or take it away.

        Raises:
            UsageError: the name would name another step too.
            StepNotFound: the run has no such step.
        """
        if name is not None:
            name = naming.tidy(ingest_filter.admit_text(name))
            others = {label.name for at, label in self.labels(run_id).items() if at != step}
            naming.check_checkpoint_name(name, {other for other in others if other is not None})
        self._change_label(run_id, step, lambda facts: facts.update(name=name or ""))

    def set_pinned(self, run_ids: Sequence[str], *, pinned: bool) -> None:
        """Pin runs, which are then not archived, or unpin them; what is pinned is listed."""
        more: dict[str, Wire] = {"pinned": True, "archived": False} if pinned else {"pinned": False}
        self._change(run_ids, lambda facts: facts.update(more))

    def set_archived(self, run_ids: Sequence[str], *, archived: bool) -> None:
        """Hide runs from lists, or show them again; all of them, or none.

        Raises:
            IsPinned: a run to be archived is pinned.
        """
        if archived:
            keeping.check_unpinned([run.name for run in map(self.run, run_ids) if run.pinned])
        self._change(run_ids, lambda facts: facts.update(archived=archived))

    def _change(self, run_ids: Sequence[str], change: _Changing) -> None:
        overlay = self._overlay()
        changes = [Change(overlay.holder(each, RUN, None), overlay.place(each, None), RUN, change) for each in run_ids]
        self._book.writing().change(changes)

    def _change_label(self, run_id: str, step: int, change: _Changing) -> None:
        overlay = self._overlay()
        place = overlay.place(run_id, step)
        self._book.writing().change([Change(overlay.holder(run_id, LABEL, step), place, LABEL, change)])


def _renaming(old: str, name: str) -> _Changing:
    def change(facts: dict[str, Wire]) -> None:
        known = facts.get("former_names")
        former: list[Wire] = [each for each in known if each not in (old, name)] if isinstance(known, list) else []
        facts.update(name=name, former_names=[*former, old])

    return change
