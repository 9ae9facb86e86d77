"""The log of what was run: a row each, and in full what went out and what can be taken back."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt_tui.text import clean
from agent_tt_tui.viewmodel.values.pieces import TextLine, wrap

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agent_tt_tui.ran import Ran, RanKind
    from agent_tt_tui.viewmodel.values.pieces import Piece, PieceRole

__all__ = ["LogRow", "detail_lines", "log_rows"]

_LEAD: Final = 10
_NO_RUN_BACK: Final = "takes back no run: it is deleted in the list of runs; what went out stays out"

_WENT_OUT: Final[Mapping[RanKind, str]] = {
    "sweep": "each of its runs says so: open one, and its outcome",
    "replay": "no recorded call: each was answered from the recording",
    "again": "the request, no more often than that: its run says which answers came",
    "pdb": "no recorded call: each was answered from the recording",
    "command": "not known: agent-tt does not look into commands of your own",
}
"""What is said where no run of its own tells it."""

_BACK: Final[Mapping[RanKind, str]] = {
    "fork": _NO_RUN_BACK,
    "resume": "nothing: what it went on with stays in the run, and what went out stays out",
    "sweep": _NO_RUN_BACK,
    "replay": "nothing has to be: the recording is as it was",
    "again": _NO_RUN_BACK,
    "pdb": "nothing has to be: the recording is as it was",
    "command": "not known: agent-tt does not look into commands of your own",
}


@dataclass(frozen=True, slots=True)
class LogRow:
    """One row: an edit that nothing has run with yet, or something that was run.

    Attributes:
        kind: What it is, in a word.
        what: Which.
        edit: Of an edit, which one it is from the last, from 1; 0 of what was run.
        ran: What was run.
    """

    kind: str
    what: str
    edit: int = 0
    ran: Ran | None = None

    @property
    def clock(self) -> str:
        """When it was started, `13:21:05`; of an edit nothing."""
        return "" if self.ran is None else time.strftime("%H:%M:%S", time.localtime(self.ran.at))


def log_rows(edits: Sequence[str], ran: Sequence[Ran]) -> list[LogRow]:
    """The edits that undo takes back, the last first, then what was run, the newest first."""
    return [
        *(LogRow("edit", words, number) for number, words in enumerate(edits, 1)),
        *(LogRow(each.kind, each.what, ran=each) for each in ran),
    ]


def detail_lines(row: LogRow, went_out: str | None, undo: str, columns: int) -> list[TextLine]:
    """One row in full.

    Args:
        row: The row.
        went_out: What its run says went out; None while that is read, or where it fills no run.
        undo: The key that takes back an edit.
        columns: The width.
    """
    return list(_lines(row, went_out, undo, columns))


def _lines(row: LogRow, went_out: str | None, undo: str, columns: int) -> Iterator[TextLine]:
    ran = row.ran
    if ran is None:
        times = "once" if row.edit == 1 else f"{row.edit} times"
        yield from _said("WENT OUT", "nothing: no fork has run with it yet", columns)
        yield from _said("UNDO", f"{undo} pressed {times} in the debugger takes it back", columns)
        return
    if ran.command:
        yield from _said("COMMAND", ran.command, columns, "strong")
    else:
        yield from _said("COMMAND", f"none does the same: {ran.why}", columns, "note")
    yield from _said("WENT OUT", _WENT_OUT.get(ran.kind) or went_out or "being read", columns)
    yield from _said("UNDO", _BACK[ran.kind], columns)


def _said(title: str, words: str, columns: int, role: PieceRole = "text") -> Iterator[TextLine]:
    pieces: list[Piece] = [(clean(words), role)]
    for number, line in enumerate(wrap(pieces, max(1, columns - _LEAD - 1))):
        yield TextLine(line, lead=((f" {title:<{_LEAD}}" if number == 0 else " " * (_LEAD + 1), "muted"),))
