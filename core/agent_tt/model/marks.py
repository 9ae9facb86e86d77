"""What people write down about runs, and what comes of keeping them."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model.kinds import NoteKind
    from agent_tt.model.runs import Run

__all__ = ["Deletion", "Label", "Note", "Problem"]


@dataclass(frozen=True, slots=True)
class Note:
    """What a person wrote down: a `note`, a `bookmark` whose body is its letter, a `watch` (an expression)."""

    id: int
    kind: NoteKind
    step: int | None
    body: str
    created_us: int


@dataclass(frozen=True, slots=True)
class Label:
    """What a person calls a checkpoint of a run, and the facts that were written down about it.

    Attributes:
        step: the checkpoint; 0 is the input.
        name: a name that is good in place of the step's number; None for none.
        metadata: facts by name, `purpose` and `ticket` among them.
    """

    step: int
    name: str | None = None
    metadata: Mapping[str, Wire] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Deletion:
    """What was deleted.

    Attributes:
        runs: the runs that are gone, forks after what they were forked from.
        freed_bytes: room in the file that is free again; later recordings use it.
    """

    runs: tuple[Run, ...]
    freed_bytes: int


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that `verify` found.

    Attributes:
        run: id of the run, or None when it concerns the file.
        step: the checkpoint concerned, None when unknown.
        what: one line.
    """

    run: str | None
    step: int | None
    what: str
