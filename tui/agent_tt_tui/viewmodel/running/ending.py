"""How a run ended, to be read: its status, what it failed with, the traceback, and what it printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.comparing.runs.without_effect import edits_without_effect
from agent_tt_tui.text import clean
from agent_tt_tui.viewmodel.values.pieces import TextLine, wrap_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.model import Run
    from agent_tt_tui.viewmodel.values.pieces import PieceRole

_NOTHING_FAILED: Final = "nothing failed, and nothing that it printed is known here"
_NOTHING_KNOWN: Final = {
    "crashed": "its process ended without a word: what it recorded until then is all there is",
    "interrupted": "it was interrupted, and nothing that it printed is known here",
    "failed": "it failed, and with what was not recorded",
    "unknown": "how it ended is not known: its file does not tell whether anything was left to run",
    "running": "it still runs, and nothing that it printed is known here",
}
"""What is said of a run without a recorded error, by its status."""

_UNFINISHED: Final = "some of its tasks did not finish: it was stopped, or it still runs"
"""What is said instead of a crashed run in another system's file, which does not tell."""

_LONGEST: Final = 20_000
"""Characters shown of a message, a traceback or an output."""


def ending_lines(
    side: str, run: Run, status: str, output: str, columns: int, more: str, *, effects: Sequence[TextLine] = ()
) -> Iterator[TextLine]:
    """Lay out how a run ended.

    Args:
        side: `A` or `B` where two runs are shown, else empty.
        run: the run.
        status: its status as it is shown, with its glyph.
        output: what its process printed, as far as it is known.
        columns: columns there are.
        more: the glyph that says something was left out.
        effects: what it did to the world, laid out; empty for nothing.

    Yields:
        Its rows.
    """
    failed = run.status in ("failed", "crashed")
    name: tuple[str, PieceRole] = (clean(run.name), "strong")
    letter: tuple[tuple[str, PieceRole], ...] = ((f"{side}  ", "key"),) if side else ()
    yield TextLine((*letter, name, ("  ", "text"), (status, "failed" if failed else "muted")))
    error = run.error
    if run.damaged is not None:
        yield from _passage(run.damaged, "failed_text", columns, more)
    elif error is None and not output:
        known = _UNFINISHED if run.read_only and run.status == "crashed" else _NOTHING_KNOWN.get(run.status)
        yield from _passage(known or _NOTHING_FAILED, "note", columns, more)
    if error is not None:
        kind = error.class_name.rpartition(":")[2]
        yield from _passage(f"{kind}: {error.message}" if error.message else kind, "failed_text", columns, more)
    unmade = edits_without_effect(run)
    if unmade:
        yield TextLine()
        yield TextLine((("EDITS WITHOUT EFFECT", "title"),))
        for each in unmade:
            yield from _passage(f"{each.edit.where or 'the whole state'}: {each.reason}", "yours", columns, more)
    if effects:
        yield TextLine()
        yield TextLine((("EFFECTS", "title"),))
        yield from effects
    if error is not None and error.traceback:
        # A process that died leaves no traceback: what it printed last is kept in its place.
        title = "LAST PRINTED" if error.class_name == "agent_tt.errors:AgentFailed" else "TRACEBACK"
        yield from _titled(title, error.traceback, columns, more)
    printed = _without(output, error.traceback if error is not None else "")
    if printed:
        yield from _titled("PRINTED", printed[-_LONGEST:], columns, more)


def _without(output: str, traceback: str) -> str:
    """What was printed before the traceback, which Python prints last and which is shown already."""
    shown = traceback.rstrip()
    rest = output.rstrip()
    return rest.removesuffix(shown).rstrip() if shown else rest


def _titled(title: str, text: str, columns: int, more: str) -> Iterator[TextLine]:
    yield TextLine()
    yield TextLine(((title, "title"),))
    yield from _passage(text.rstrip("\n"), "text", columns, more)


def _passage(text: str, role: PieceRole, columns: int, more: str) -> Iterator[TextLine]:
    for pieces in wrap_text(text, columns, role, more, limit=_LONGEST):
        yield TextLine(pieces)
