"""What a run did to the world, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt_tui.cli.terminal import Cell, Column, Role, Terminal
from agent_tt_tui.cli.wording import place_words
from agent_tt_tui.format import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.comparing.steps.effects import Effects, Happened
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource

_ROLES: Final[dict[Happened, Role]] = {
    "sent": "text",
    "sent edited": "yours",
    "failed": "failed",
    "unknown": "failed",
    "waiting": "running",
    "denied": "yours",
    "refused": "yours",
    "stubbed": "changed",
    "recorded": "changed",
}


def print_effects(terminal: Terminal, run: Run, effects: Effects, unrecorded: Sequence[str] = ()) -> None:
    """Write the ledger: a line for each call that did something, was to do it, or was decided about.

    Args:
        terminal: where it is written.
        run: the run.
        effects: the ledger.
        unrecorded: tools that ran, and of which no call was recorded.
    """
    from agent_tt_tui.viewmodel.running.effects import (
        asked_words,
        call_words,
        came_back_words,
        counted_names,
        place_of,
        site_words,
    )

    columns = (
        Column("STEP", "right"),
        Column("HAPPENED"),
        Column("CALL", flexible=True),
        Column("DECIDED BY", flexible=True),
        Column("AT"),
    )
    rows: list[list[Cell]] = []
    below: list[list[list[Cell | str]]] = []
    for row in effects.rows:
        role = _ROLES[row.happened]
        back = came_back_words(row)
        call = f"{call_words(row)} = {back}" if back else call_words(row)
        cells = [place_of(row), row.happened, call, place_words(row.because), site_words(row)]
        rows.append([Cell(text, role if index == 1 else "text") for index, text in enumerate(cells)])
        told = [("asked", asked_words(row))] if row.asked else []
        told += [("within", f"{counted(row.inside, 'request')} or processes")] if row.inside else []
        below.append(
            [[Cell(f"      {label:<8}", "muted"), terminal.short(text, terminal.columns - 14)] for label, text in told]
        )
    if rows:
        terminal.table(columns, rows, below)
    else:
        # What other systems' files leave out, and libraries that no rule holds, may have done something besides.
        is_part = unrecorded or run.read_only or run.origin or run.facts.unseen_libraries
        of = " of what was recorded" if is_part else ""
        rest = ["reads"] * bool(effects.reads) + ["questions to models"] * bool(effects.models)
        but = f" but {' and '.join(rest)}" if rest else ""
        terminal.line(Cell(f"Nothing{of} went out{but}, and nothing was held back.", "muted"))
    if unrecorded:
        text = f"{', '.join(unrecorded)} ran, and what that did is not known: nothing records it"
        terminal.line(Cell("unknown ", "failed"), terminal.short(text, terminal.columns - 8))
    for label, names in (("read", effects.reads), ("models", effects.models)):
        if names:
            text = counted_names(names, terminal.glyphs.times)
            terminal.line(Cell(f"{label:<8}", "muted"), terminal.short(text, terminal.columns - 8))


def print_summary(terminal: Terminal, source: RunSource, run: Run) -> None:
    """Write the ledger of a run in one line, if there is anything in it."""
    from agent_tt.forking.outside.ledger import effects_of

    text = effects_of(source, run, values=False).summary(terminal.glyphs.times)
    if text:
        terminal.line(Cell("effects  ", "muted"), terminal.safe(text))
