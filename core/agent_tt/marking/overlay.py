"""Applying marks: which run and step each is about now, and how these look with them.

In a file of another system runs and numbers may move as it grows. There a mark points to a checkpoint: what is said
of a run belongs to the run that made that checkpoint, whatever the run's id is today; what is said of a checkpoint is
shown in every run that passes through it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from agent_tt.errors import StepNotFound
from agent_tt.model import Label, Note
from agent_tt.store.foreign_marks import Place

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import NoteKind, Run
    from agent_tt.protocols import RunSource
    from agent_tt.store.foreign_marks import ForeignMark

__all__ = ["LABEL", "RUN", "Overlay", "merge_metadata"]

RUN: Final = "run"
LABEL: Final = "label"


class Overlay:
    """The marks on a source as it is now."""

    def __init__(self, source: RunSource, marks: Sequence[ForeignMark]) -> None:
        self._source = source
        self._anchors = source.capabilities.anchors
        self._by_run: dict[str, list[ForeignMark]] = {}
        for mark in marks:
            self._by_run.setdefault(mark.place.run, []).append(mark)
        self._about: dict[str, list[tuple[ForeignMark, int | None]]] = {}

    def place(self, run_id: str, step: int | None) -> Place:
        """What a new mark on a run or one of its checkpoints points to.

        Raises:
            StepNotFound: the run has no such step.
        """
        last = self._source.step_count(run_id)
        if step is not None and not 0 <= step <= last:
            raise StepNotFound(f"there is no step {step}: the last one is {last}")
        return Place(*self._source.anchor(run_id, step), step)

    def run(self, run: Run) -> Run:
        """A run with what was written down about it."""
        facts = self.run_facts(run.id)
        if not facts:
            return run
        name, tags, former = facts.get("name"), facts.get("tags"), facts.get("former_names")
        shown = name if isinstance(name, str) else run.name
        names = [*run.former_names, run.name, *(_texts(former) or ())]
        pinned, archived = facts.get("pinned"), facts.get("archived")
        return replace(
            run,
            name=shown,
            former_names=tuple(dict.fromkeys(each for each in names if each != shown)),
            tags=run.tags if (own := _texts(tags)) is None else tuple(sorted(set(own))),
            metadata=_with_facts(run.metadata, facts),
            pinned=pinned if isinstance(pinned, bool) else run.pinned,
            archived=archived if isinstance(archived, bool) else run.archived,
        )

    def notes(self, run_id: str) -> list[Note]:
        """Notes, bookmarks and watches, oldest first."""
        return [
            Note(mark.id, cast("NoteKind", mark.kind), step, mark.body, mark.created_us)
            for mark, step in self._marks(run_id)
            if mark.kind in ("note", "bookmark", "watch")
        ]

    def labels(self, run_id: str) -> dict[int, Label]:
        """The labels of checkpoints: those in the file, and what was written over them."""
        labels = dict(self._source.labels(run_id))
        for mark, step in self._marks(run_id):
            if mark.kind == LABEL and step is not None:
                facts, label = mark.facts, labels.get(step, Label(step))
                name = facts.get("name")
                kept = label.name if not isinstance(name, str) else name or None
                labels[step] = Label(step, kept, _with_facts(label.metadata, facts))
        said = {step: label for step, label in labels.items() if label.name is not None or label.metadata}
        return dict(sorted(said.items()))

    def run_facts(self, run_id: str) -> dict[str, Wire]:
        """What was written down about a run."""
        facts: dict[str, Wire] = {}
        for mark, _ in self._marks(run_id):
            if mark.kind == RUN:
                facts |= mark.facts
        return facts

    def renamed(self) -> bool:
        """Whether a run may be called, or archived, otherwise than in its file."""
        return any(mark.kind == RUN for marks in self._by_run.values() for mark in marks)

    def holder(self, run_id: str, kind: str, step: int | None) -> int | None:
        """The number of the mark that holds the facts about a run or a checkpoint; None where none does."""
        found = [mark.id for mark, at in self._marks(run_id) if mark.kind == kind and at == step]
        return found[-1] if found else None

    def _marks(self, run_id: str) -> list[tuple[ForeignMark, int | None]]:
        """The marks about a run or its checkpoints, with the number that the checkpoint has now, None for the run."""
        if not self._by_run:
            return []
        if run_id not in self._about:
            known = {self._source.anchor(run_id, None)[0], run_id}
            self._about[run_id] = [
                (mark, step)
                for mark in sorted((mark for run in known for mark in self._by_run.get(run, ())), key=lambda m: m.id)
                for step in self._steps(mark, run_id)
            ]
        return self._about[run_id]

    def _steps(self, mark: ForeignMark, run_id: str) -> Sequence[int | None]:
        """Where in a run a mark belongs: one place, or none."""
        place = mark.place
        if place.checkpoint is None or not self._anchors:
            return [place.step] if place.run == run_id else []
        found = self._source.anchored_at(run_id, place.checkpoint, own=not place.step)
        return [] if found is None else [found if place.step else place.step]


def merge_metadata(
    facts: dict[str, Wire], metadata: Mapping[str, Wire], remove: Sequence[str], in_file: Mapping[str, Wire]
) -> None:
    """Merge into the metadata that lies over that in the file, and note which of the file's are taken away."""
    known, removed = facts.get("metadata"), _texts(facts.get("removed")) or ()
    merged = {**(known if isinstance(known, dict) else {}), **metadata}
    facts["metadata"] = {name: value for name, value in merged.items() if name not in remove} or None
    gone: list[Wire] = [name for name in in_file if name in remove or (name in removed and name not in metadata)]
    facts["removed"] = gone or None


def _with_facts(in_file: Mapping[str, Wire], facts: Mapping[str, Wire]) -> dict[str, Wire]:
    removed, more = _texts(facts.get("removed")) or (), facts.get("metadata")
    kept = {name: value for name, value in in_file.items() if name not in removed}
    return {**kept, **(more if isinstance(more, dict) else {})}


def _texts(found: Wire) -> list[str] | None:
    return [text for text in found if isinstance(text, str)] if isinstance(found, list) else None
