"""Keeping order among runs by records: notes, names, pins, archives, deleting; and sweeps."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from agent_tt.errors import NotFound, RunNotFound, UsageError
from agent_tt.model import Deletion, Label, Note, Run, Sweep
from agent_tt.protocols import Store
from agent_tt.protocols.references import new_id
from agent_tt.questions import Decision
from agent_tt.store import ingest_filter, keeping
from agent_tt.store.liveness import current_owner, now_us
from agent_tt.store.records.kinds import Asked, Driven
from agent_tt.store.records.reader import RecordReader
from agent_tt.store.rows import naming, sweeps
from agent_tt.store.rows.replays import admitted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from agent_tt.codec.wire import Wire
    from agent_tt.model import NoteKind, Replay
    from agent_tt.store.records.kinds import Record

__all__ = ["RecordKeeper"]


class RecordKeeper(RecordReader, Store):
    """Writes what people say about runs."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[object]:
        """A stretch of writing of which all is kept, durably when it ends, or nothing where it fails.

        One writer at a time: what `find` gives inside is what nobody else changes meanwhile. One that is begun inside
        another on the same thread is a part of it.
        """

    @abstractmethod
    def save(self, run_id: str, record: Record) -> None:
        """Write a record of a run, in place of the one with its key. Called inside `transaction`."""

    @abstractmethod
    def remove(self, run_id: str, record: Record | None = None) -> None:
        """Take a record away, or with None a run and all its records. Called inside `transaction`."""

    @abstractmethod
    def new_number(self) -> int:
        """A number that was never given before: what it stood for may be gone, and is not another thing then."""

    # ---------------------------------------------------------------- notes and labels

    def add_note(self, run_id: str, step: int | None, kind: str, body: str) -> Note:
        """Write a `note`, a `bookmark` or a `watch`."""
        with self.transaction():
            note = Note(self.new_number(), cast("NoteKind", kind), step, ingest_filter.admit_text(body), now_us())
            self.save(self._row(run_id).id, note)
        return note

    def change_note(self, note_id: int, body: str) -> None:
        """Replace what a note, a bookmark or a watch says."""
        with self.transaction():
            for run in self.find(Run):
                for note in self.find(Note, run.id, note_id, note_id):
                    if note.kind != "effect":
                        return self.save(run.id, replace(note, body=ingest_filter.admit_text(body)))
        raise NotFound(f"note {note_id} is gone", hint="Somebody took it away meanwhile.")

    def delete_note(self, note_id: int) -> None:
        """Remove a note, a bookmark or a watch; one that is gone already stays gone."""
        with self.transaction():
            for run in self.find(Run):
                for note in self.find(Note, run.id, note_id, note_id):
                    self.remove(run.id, note)

    def set_tags(self, run_id: str, tags: Sequence[str]) -> None:
        """Replace a run's tags."""
        with self.transaction():
            self.save(run_id, replace(self._row(run_id), tags=tuple(sorted(set(map(ingest_filter.admit_text, tags))))))

    def set_metadata(
        self, run_id: str, metadata: Mapping[str, Wire], *, remove: Sequence[str] = (), step: int | None = None
    ) -> None:
        """Merge into the metadata of a run, or of one of its checkpoints, and take facts away."""
        facts = keeping.checked_metadata(metadata)

        def merged(before: Mapping[str, Wire]) -> dict[str, Wire]:
            return {name: value for name, value in {**before, **facts}.items() if name not in remove}

        with self.transaction():
            if step is None:
                run = self._row(run_id)
                self.save(run_id, replace(run, metadata=merged(run.metadata)))
            else:
                label = self._label(run_id, step)
                self._save_label(run_id, replace(label, metadata=merged(label.metadata)))

    def name_checkpoint(self, run_id: str, step: int, name: str | None) -> None:
        """Name a checkpoint, or take its name away."""
        with self.transaction():
            label = self._label(run_id, step)
            if name is not None:
                name = naming.tidy(ingest_filter.admit_text(name))
                others = {other.name for other in self.find(Label, run_id) if other.step != step and other.name}
                naming.check_checkpoint_name(name, others)
            self._save_label(run_id, replace(label, name=name))

    def _label(self, run_id: str, step: int) -> Label:
        self.check_step(run_id, step)
        return next(iter(self.find(Label, run_id, step, step)), Label(step))

    def _save_label(self, run_id: str, label: Label) -> None:
        """Write a label; one that says nothing is taken away."""
        if label.name is not None or label.metadata:
            self.save(run_id, label)
        else:
            self.remove(run_id, label)

    # ---------------------------------------------------------------- names, pins, the archive

    def rename_run(self, run_id: str, name: str) -> None:
        """Rename a run, and with it the forks that are called after it."""
        with self.transaction():
            run, name = self._row(run_id), naming.tidy(ingest_filter.admit_text(name))
            if name == run.name:
                return
            runs = self.find(Run)
            naming.check_name(name, run, runs)
            self.save(run_id, naming.renamed(run, name))
            for fork in self.forks(run_id, deep=True):
                if fork.name.startswith(f"{run.name}/"):
                    theirs = name + fork.name[len(run.name) :]
                    if any(each.name == theirs and each.id != fork.id for each in runs):
                        raise UsageError(f"its fork {fork.name} would be called {theirs}, as another run is already")
                    self.save(fork.id, naming.renamed(self._row(fork.id), theirs))

    def set_pinned(self, run_ids: Sequence[str], *, pinned: bool) -> None:
        """Pin runs, so that they are neither archived nor deleted, or unpin them."""
        with self.transaction():
            for run in map(self._row, run_ids):
                self.save(run.id, replace(run, pinned=pinned, archived=run.archived and not pinned))

    def set_archived(self, run_ids: Sequence[str], *, archived: bool) -> None:
        """Hide runs from lists, or show them again; all of them, or none."""
        with self.transaction():
            runs = [self._row(run_id) for run_id in run_ids]
            if archived:
                keeping.check_unpinned([run.name for run in runs if run.pinned])
            for run in runs:
                self.save(run.id, replace(run, archived=archived))

    # ---------------------------------------------------------------- replays

    def keep_replay(self, replay: Replay) -> Replay:
        """Write down what came of a replay, with its run."""
        with self.transaction():
            kept = replace(admitted(replay), id=self.new_number(), at_us=now_us())
            self.save(self._row(replay.run).id, kept)
        return kept

    # ---------------------------------------------------------------- deleting

    def plan_deletion(self, run_ids: Sequence[str], *, with_forks: bool = False) -> list[Run]:
        """What `delete_runs` would delete now; raise what it would raise."""
        chosen = {self._row(run_id).id for run_id in run_ids}
        below = {fork.id for run_id in chosen for fork in self.forks(run_id, deep=True)}
        known = [self._shown(run) for run in self.find(Run)]
        runs = [run for run in known if run.id in chosen or (with_forks and run.id in below)]
        left = [run for run in known if run.id in below and run not in runs]
        keeping.check_deletion(runs, left)
        return runs

    def delete_runs(self, run_ids: Sequence[str], *, with_forks: bool = False) -> Deletion:
        """Delete runs with everything that belongs to them alone, all of them or none."""
        with self.transaction():
            runs = self.plan_deletion(run_ids, with_forks=with_forks)
            for run in runs:
                self.remove(run.id)
        return Deletion(tuple(runs), 0)

    # ---------------------------------------------------------------- sweeps

    def begin_sweep(self, run_id: str, step: int, definition: Mapping[str, Wire], *, driven: bool = True) -> Sweep:
        """Write a new sweep of a run."""
        with self.transaction():
            run, known = self._row(run_id), self.find(Driven, run_id)
            number = 1 + max((each.sweep.number for each in known), default=0)
            facts, now = ingest_filter.admit_mapping(definition), now_us()
            sweep = Sweep(new_id(), run_id, run.name, number, step, facts, now, driven=driven)
            self.save(run_id, Driven(sweep, current_owner() if driven else None, now))
        return sweep

    def claim_sweep(self, sweep_id: str, definition: Mapping[str, Wire] | None = None) -> None:
        """Let this process drive a sweep that nobody drives."""
        with self.transaction():
            for known in self.find(Driven):
                if known.sweep.id == sweep_id:
                    sweep = self._sweep(known)
                    sweeps.check_idle(sweep, known.owner)
                    if definition is not None:
                        sweep = replace(sweep, definition=ingest_filter.admit_mapping(definition))
                    return self.save(sweep.run, Driven(sweep, current_owner(), now_us()))
        raise RunNotFound(f"no sweep {sweep_id!r}", hint="`agent-tt sweep --list` lists them.")

    def beat_sweep(self, sweep_id: str) -> None:
        """Write down that this process still drives a sweep."""
        with self.transaction():
            for known in self._driven_here(sweep_id):
                self.save(known.sweep.run, replace(known, beat_us=now_us()))

    def release_sweep(self, sweep_id: str) -> None:
        """Let others drive a sweep that this process drove."""
        with self.transaction():
            for known in self._driven_here(sweep_id):
                self.save(known.sweep.run, replace(known, owner=None))

    def _driven_here(self, sweep_id: str) -> list[Driven]:
        mine = current_owner()
        return [known for known in self.find(Driven) if known.sweep.id == sweep_id and known.owner == mine]

    # ---------------------------------------------------------------- questions

    def decide(self, asked: Asked, decision: Decision) -> None:
        """Write down a decision where there is none yet."""
        with self.transaction():
            if asked.decision is None:
                self.save(asked.question.run_id, replace(asked, decision=decision))

    def decision_of(self, run_id: str, question: int) -> Decision | None:
        """What was decided of a question; None as long as nothing was."""
        found = self.find(Asked, run_id, question, question)
        return found[0].decision if found else Decision("stop", why="the question was deleted")
