"""What runs when a recorded agent is run again, and the row of a dialog's facts that says it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from agent_tt.errors import AgentTTError
from agent_tt.forking.entry.code import plan_code
from agent_tt_tui.text import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.model import Run
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.row import Row

LABEL: Final = 12
"""Columns of what a fact is called."""


def add_will_run(
    row: Row,
    run: Run,
    columns: int,
    styles: Palette,
    glyphs: Glyphs,
    *,
    changed: bool,
    arguments: Sequence[str] = (),
    agent: str = "",
) -> Row:
    """Add what will run.

    Args:
        row: the row, empty.
        run: the run whose agent it is.
        columns: the columns of the row.
        styles: the roles to draw with.
        glyphs: the glyphs to draw with.
        changed: whether the agent's file is another than when the run was recorded.
        arguments: what the agent is given in place of its recorded arguments; empty for those.
        agent: the entry point that runs in place of the recorded one; empty for that.
    """
    row.column("will run", LABEL, styles.muted)
    row.upto(clean(agent or what_runs(run)), columns, styles.yours if agent else styles.text)
    if arguments:
        row.upto(clean(f" {shlex.join(arguments)}"), columns, styles.yours)
    else:
        row.upto(clean(f" {recorded_arguments(run)}").rstrip(), columns, styles.muted)
    for text in ("changed since it was recorded", "changed") if changed and not agent else ():
        if row.cells + 4 + len(text) <= columns:
            return row.add(f"  {glyphs.differs} {text}", styles.changed_mark)
    return row


def what_runs(run: Run) -> str:
    """The function that recorded the run; of a script just its file."""
    return (run.code.entry or run.facts.script or "").removesuffix(":__main__")


def recorded_arguments(run: Run) -> str:
    """The arguments that the run's script was given, as a shell would take them."""
    return shlex.join(run.facts.arguments or ())


def is_changed(run: Run) -> bool:
    """Whether the file of a run's entry point is known to be another than when it was recorded."""
    try:
        code, _ = plan_code(run, None)
    except AgentTTError:  # an entry point that takes no state can be replayed, but not forked
        return False
    return bool(code.changed)
