"""What became of a run, or a thread, that was copied out of another program's file."""

from __future__ import annotations

from agent_tt._dataclass import dataclass

__all__ = ["Imported"]


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of one run or thread.

    Attributes:
        name: what the file calls it: the id of a session or trace, or of a thread.
        run: the id of its (first) run in the store; None where nothing of it is there.
        added, known: how many of its steps (checkpoints of a thread) are new, and how many were there already.
        problems: what was left out, and why.
    """

    name: str
    run: str | None
    added: int
    known: int
    problems: tuple[str, ...] = ()
