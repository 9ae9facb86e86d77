"""From a run to its sweeps: one that was begun is opened, or a new one is begun."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from agent_tt.errors import AgentTTError
from agent_tt_tui.keymaps.sweep import SWEEP_OPEN
from agent_tt_tui.look import look_of
from agent_tt_tui.ran import ran_of
from agent_tt_tui.running_forks import forks_of
from agent_tt_tui.screens.dialogs.pick import Choice, PickDialog
from agent_tt_tui.screens.sweep.form import SweepDialog
from agent_tt_tui.screens.sweep.screen import SweepScreen
from agent_tt_tui.sweep_process import SweepProcess

if TYPE_CHECKING:
    from agent_tt.model import Run, Sweep
    from agent_tt.protocols import RunSource
    from agent_tt_tui.screen import CommandScreen
    from agent_tt_tui.viewmodel.runs.sweep_form import SweepDraft

__all__ = ["open_sweeps", "sweeps_of"]

_NEW: Final = "\0new"


def sweeps_of(source: RunSource, run: Run) -> list[Sweep]:
    """The sweeps of a run, newest first, and that which the run itself is of.

    Raises:
        AgentTTError: they cannot be read.
    """
    own = run.facts.fork_sweep.id
    return [sweep for sweep in source.sweeps() if sweep.run == run.id or sweep.id == own]


def open_sweeps(
    screen: CommandScreen[None], source: RunSource, run: Run, draft: SweepDraft | None, *, suggestion: str = ""
) -> None:
    """Open a sweep of a run, or begin one.

    Args:
        screen: where that was asked for.
        source: where the run is.
        run: the run.
        draft: what a new one begins with; None where none can be begun.
        suggestion: see `SweepDialog`.
    """
    try:
        sweeps = sweeps_of(source, run)
    except AgentTTError as error:
        screen.say(error.message)
        return
    new = partial(_begin, screen, source, run, draft, suggestion)
    if draft is not None and not sweeps:
        new()
    elif draft is None and len(sweeps) == 1:
        _open(screen, source, sweeps[0].id)
    elif not sweeps:
        screen.say(f"this run has no sweep yet: {look_of(screen).key(SWEEP_OPEN)} in the debugger begins one")
    else:
        choices = [
            Choice(sweep.id, sweep.name, f"after step {sweep.step}, {_standing(source, sweep)}") for sweep in sweeps
        ]
        if draft is not None:
            choices.insert(0, Choice(_NEW, "new sweep", f"of {run.name} after step {draft.step}"))

        def chosen(choice: str) -> None:
            if choice == _NEW:
                new()
            else:
                _open(screen, source, choice)

        screen.ask(PickDialog("Sweeps", choices), chosen)


def _standing(source: RunSource, sweep: Sweep) -> str:
    """`interrupted, 13 of 15, 10 succeeded`: how far a sweep is, and what came of it."""
    from agent_tt.sweeping.matrix import standing_of

    try:
        found = standing_of(source, sweep)
    except AgentTTError as error:
        return f"how far it is cannot be read: {error.message}"
    far = f"{found.done:,} runs" if found.status == "complete" else f"{found.done:,} of {found.samples:,} runs"
    return f"{found.status}, {far}, {found.succeeded:,} succeeded"


def _begin(screen: CommandScreen[None], source: RunSource, run: Run, draft: SweepDraft | None, suggestion: str) -> None:
    if draft is None:
        return

    def written(sweep_id: str) -> None:
        """Start the process that drives it, and watch."""
        from agent_tt_tui.viewmodel.running.as_command import sweep_resume_command

        name = source.sweep(sweep_id).name
        forks_of(screen).add(name, SweepProcess(source.path, sweep_id))
        ran_of(screen).add("sweep", name, lambda: sweep_resume_command(source, sweep_id))
        _open(screen, source, sweep_id)

    screen.ask(SweepDialog(source, run, draft, suggestion=suggestion), written)


def _open(screen: CommandScreen[None], source: RunSource, sweep_id: str) -> None:
    screen.app.push_screen(SweepScreen(source, sweep_id))
