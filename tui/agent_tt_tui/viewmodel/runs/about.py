"""What people wrote down about a run and one of its checkpoints: names, tags, facts and notes, one a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from agent_tt._dataclass import dataclass
from agent_tt.codec.text import summary
from agent_tt.model import Label

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Note, Run
    from agent_tt.protocols import RunSource

RowKind = Literal["title", "name", "tag", "fact", "note", "nothing", "blank"]

_LONGEST_VALUE = 400


@dataclass(frozen=True, slots=True)
class About:
    """A run with what was written down about it.

    Attributes:
        run: The run.
        notes: Its notes, those about its checkpoints included, without bookmarks.
        labels: Names of and facts about its checkpoints, by step.
        step: The checkpoint that is looked at; None in the browser, where none is.
    """

    run: Run
    notes: tuple[Note, ...]
    labels: Mapping[int, Label]
    step: int | None

    @property
    def label(self) -> Label:
        """The label of the checkpoint that is looked at."""
        return self.labels.get(self.step or 0, Label(self.step or 0))


@dataclass(frozen=True, slots=True)
class AboutRow:
    """One row.

    Attributes:
        kind: What it is; `nothing` says that there is none of it yet.
        step: The checkpoint that it is about; None for the run.
        label: What stands before it.
        text: What it says.
        key: The name of a fact.
        note: The number of a note.
    """

    kind: RowKind
    step: int | None
    label: str = ""
    text: str = ""
    key: str = ""
    note: int | None = None


def read_about(source: RunSource, run_id: str, step: int | None) -> About:
    """Read what was written down about a run.

    Raises:
        AgentTTError: It is gone, or cannot be read.
    """
    notes = tuple(note for note in source.notes(run_id) if note.kind == "note")
    return About(source.run(run_id), notes, source.labels(run_id), step)


def about_rows(about: About) -> list[AboutRow]:
    """Lay out what was written down: the run, then the checkpoint, then what is noted about others."""
    run = about.run
    rows = [AboutRow("title", None, "Run", run.name), AboutRow("name", None, "name", run.name)]
    if run.former_names:
        rows.append(AboutRow("name", None, "before", ", ".join(reversed(run.former_names))))
    rows += [AboutRow("tag", None, "tags", " ".join(run.tags))] if run.tags else []
    rows += _facts(None, run.metadata)
    rows += _notes(None, about.notes)
    if len(rows) == 2:
        rows.append(AboutRow("nothing", None, text="nothing is written down about this run yet"))
    if about.step is not None:
        step, label = about.step, about.label
        rows += [AboutRow("blank", None), AboutRow("title", step, f"After step {step}" if step else "Input")]
        rows += [AboutRow("name", step, "name", label.name)] if label.name is not None else []
        rows += _facts(step, label.metadata)
        rows += _notes(step, about.notes)
        if rows[-1].kind == "title":
            rows.append(AboutRow("nothing", step, text="nothing is written down about this state yet"))
    others = _elsewhere(about)
    if others:
        rows += [AboutRow("blank", None), AboutRow("title", None, "Elsewhere"), *others]
    return rows


def _elsewhere(about: About) -> list[AboutRow]:
    """Names and notes of the checkpoints that are not looked at, in the order of time."""
    named = [
        AboutRow("name", label.step, f"@{label.step}", label.name)
        for label in about.labels.values()
        if label.name is not None and label.step != about.step
    ]
    noted = [
        AboutRow("note", note.step, f"@{note.step}", _one_line(note.body), note=note.id)
        for note in about.notes
        if note.step is not None and note.step != about.step
    ]
    return sorted([*named, *noted], key=lambda row: row.step or 0)


def _facts(step: int | None, metadata: Mapping[str, Wire]) -> list[AboutRow]:
    return [
        AboutRow("fact", step, key, value if isinstance(value, str) else summary(value, _LONGEST_VALUE), key=key)
        for key, value in metadata.items()
    ]


def _notes(step: int | None, notes: Sequence[Note]) -> list[AboutRow]:
    return [AboutRow("note", step, "note", _one_line(note.body), note=note.id) for note in notes if note.step == step]


def _one_line(text: str) -> str:
    return " ".join(text.split())
