"""What the form of a new sweep says, and the definition that it makes: lines as people type them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from agent_tt._dataclass import dataclass
from agent_tt.codec.paths import format_path
from agent_tt.errors import AgentTTError, UsageError
from agent_tt.forking.editing.edits import is_retyped
from agent_tt.forking.request import ForkRequest
from agent_tt.querying.predicates import parse_predicate
from agent_tt.sweeping.axes import KINDS, Axis, axes_of, axis_of
from agent_tt.sweeping.definition import Definition

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.model import Edit

__all__ = ["FormRow", "SweepDraft", "axes_of_edits", "axis_line", "axis_of_edit", "check_line", "example"]

RowKind = Literal["vary", "samples", "jobs", "outcome", "cost", "allow"]

_LABELS: dict[RowKind, str] = {
    "vary": "varied",
    "samples": "samples",
    "jobs": "at a time",
    "outcome": "ask",
    "cost": "at most",
    "allow": "may write",
}


@dataclass(frozen=True, slots=True)
class FormRow:
    """A row of the form.

    Attributes:
        kind: What it says.
        index: Which, of several of its kind; -1 of the one that adds another.
        text: What stands there; "" where nothing was said.
    """

    kind: RowKind
    index: int
    text: str

    @property
    def label(self) -> str:
        """What stands before it."""
        return _LABELS[self.kind]


@dataclass(frozen=True, slots=True)
class SweepDraft:
    """What was said so far.

    Attributes:
        step: The step to fork after.
        fixed: Edits that hold for every run: those that were made before.
        lines: What is varied, a line each: `temperature=0,0.5,1`, `model m-1,m-2`.
        samples, jobs: How often, and how many at a time.
        outcomes: What is asked of each run's last step.
        max_cost: US dollars; None for no limit.
        allow: Tools that may write.
    """

    step: int
    fixed: tuple[Axis, ...] = ()
    lines: tuple[str, ...] = ()
    samples: int = 3
    jobs: int = 2
    outcomes: tuple[str, ...] = ()
    max_cost: float | None = None
    allow: tuple[str, ...] = ()

    def rows(self) -> list[FormRow]:
        """The rows of the form."""
        return [
            *(FormRow("vary", index, text) for index, text in enumerate(self.lines)),
            *([] if self.lines else [FormRow("vary", -1, "")]),
            FormRow("samples", 0, str(self.samples)),
            FormRow("jobs", 0, str(self.jobs)),
            *(FormRow("outcome", index, text) for index, text in enumerate(self.outcomes)),
            FormRow("outcome", -1, ""),
            FormRow("cost", 0, "" if self.max_cost is None else f"${self.max_cost:g}"),
            FormRow("allow", 0, ", ".join(self.allow)),
        ]

    def definition(self) -> Definition:
        """The sweep that this is.

        Raises:
            UsageError: It makes no sense.
        """
        if not self.lines and self.samples < 2:
            raise UsageError("nothing is varied yet", hint="say what, or take several samples")
        return Definition(
            axes=axes_of([*self.fixed, *map(axis_line, self.lines)]),
            fork=ForkRequest(self.step, allow=self.allow),
            samples=self.samples,
            jobs=self.jobs,
            outcomes=self.outcomes,
            max_cost=self.max_cost,
        ).checked()

    def said(self, row: FormRow, text: str) -> SweepDraft:
        """The same with another text in a row; an empty one takes the row's back."""
        match row.kind:
            case "vary":
                return replace(self, lines=_with(self.lines, row.index, text))
            case "outcome":
                return replace(self, outcomes=_with(self.outcomes, row.index, text))
            case "samples":
                return replace(self, samples=int(text or 1))
            case "jobs":
                return replace(self, jobs=int(text or 1))
            case "cost":
                return replace(self, max_cost=float(text.removeprefix("$")) if text else None)
        return replace(self, allow=tuple(name.strip() for name in text.split(",") if name.strip()))


def _with(texts: tuple[str, ...], index: int, text: str) -> tuple[str, ...]:
    if index < 0:
        return (*texts, text) if text else texts
    return tuple(new for at, old in enumerate(texts) if (new := text if at == index else old))


def axis_line(text: str) -> Axis:
    """Read a line: `PATH=V,V` of the state, or any option of `agent-tt sweep` with what follows it: `model a,b`.

    Raises:
        UsageError: It cannot be read.
    """
    word, _, rest = text.strip().partition(" ")
    name = word.removeprefix("--")
    kind = next((kind for kind in KINDS if kind == name), None)
    return axis_of("set", text.strip()) if kind is None or not rest.strip() else axis_of(kind, rest.strip())


def axis_of_edit(edit: Edit) -> Axis:
    """The axis that makes a pending edit in every run."""
    match edit.target:
        case "state":
            kind = "retype" if edit.op == "set" and is_retyped(edit) else edit.op
            return Axis(kind, edit.path, (edit.to,) if edit.op == "move" else (edit.value,))
        case "step":
            return Axis("mute", "", (str(edit.step),))
        case "result" | "error" | "answer":
            place = f"{edit.step}" if edit.call is None else f"{edit.step}.{edit.call}"
            inside = edit.path if edit.path.startswith("[") or not edit.path else f".{edit.path}"
            return Axis(edit.target, place + inside, (edit.value,))
        case "parameter":
            return Axis("param", edit.path, (edit.value,))
    return Axis(edit.target, "", (edit.value,))


def axes_of_edits(edits: Sequence[Edit]) -> tuple[Axis, ...]:
    """The axes that make pending edits in every run; of a value that was set several times the last counts."""
    last = {edit.path: index for index, edit in enumerate(edits) if edit.target == "state" and edit.op == "set"}
    shifting = any(edit.target == "state" and edit.op != "set" for edit in edits)
    return tuple(
        axis_of_edit(edit)
        for index, edit in enumerate(edits)
        if shifting or edit.target != "state" or last[edit.path] == index
    )


def check_line(draft: SweepDraft, row: FormRow, text: str) -> str | None:
    """What is wrong with a text for a row; None if it can be taken."""
    if not text:
        return None
    try:
        if row.kind == "vary":
            axes_of([*draft.fixed, *map(axis_line, draft.said(row, text).lines)])
        elif row.kind == "outcome":
            parse_predicate(text)
        elif row.kind in ("samples", "jobs") and not (text.isascii() and text.isdecimal() and int(text) > 0):
            return "write a number, from 1"
        elif row.kind == "cost":
            return None if float(text.removeprefix("$")) >= 0 else "it cannot cost less than nothing"
    except ValueError:
        return "write dollars: 0.50"
    except AgentTTError as error:
        return f"{error.message}. {error.hint}".rstrip(" .")
    return None


def example(path: Path, value: Wire, fixed: Iterable[Axis] = ()) -> str:
    """A line to begin with, for the selected value: `budget.max=3`; "" where it is not simple, or is edited."""
    place = format_path(path)
    if not path or isinstance(value, list | dict) or any(axis.place == place for axis in fixed):
        return ""
    return f"{place}={json.dumps(value, ensure_ascii=False)}"
