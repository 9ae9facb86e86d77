"""The runs around the one that is shown, and what was written down about it: opened, compared, described."""

from __future__ import annotations

from functools import partial
from time import time as now
from typing import TYPE_CHECKING, Final

from agent_tt_tui import format as fmt
from agent_tt_tui.feature import hears
from agent_tt_tui.requests import OpenRun
from agent_tt_tui.screens.debugger import run_reading as reading
from agent_tt_tui.screens.debugger.features.base import DebuggerFeature
from agent_tt_tui.viewmodel.past.related import forks_among

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.model import Run
    from agent_tt_tui.viewmodel.past.related import Kin

_ALL_FORKS: Final = "\0all forks"
"""Stands for all forks of the run in a list of runs: no run has such an id."""


class Related(DebuggerFeature):
    """Opens forks and parents of the run, compares it with others, and shows what was written down about it."""

    COMMANDS = frozenset({"run.about", "run.kin", "compare.open"})

    def action_about(self) -> None:
        """Show what was written down about the run and the state."""
        from agent_tt_tui.screens.dialogs.about import AboutDialog

        dialog = AboutDialog(self.model.source, self.model.run.id, self.time.number)
        self.screen.app.push_screen(dialog, self._about_closed)

    def _about_closed(self, step: int | None) -> None:
        self.time.reading.poll()
        if step is not None:
            self.time.go(step)

    def action_kin(self) -> None:
        """Open a fork of this run, its parent or another fork of that: at once where there is only one."""
        self.time.reading.read_kin(self.time.number)

    @hears(reading.KinRead)
    def _on_kin_read(self, message: reading.KinRead) -> None:
        from agent_tt_tui.screens.dialogs.pick import Choice, PickDialog

        if not message.kin:
            fork = self.key("fork.open")
            self.screen.say(f"nothing was forked from this run yet, nor this run from another: {fork} forks it")
        elif len(message.kin) == 1:
            self._open_kin(message.kin, message.kin[0].run.id)
        else:
            choices = [Choice(kin.run.id, kin.run.name, f"{kin.words}, {kin.run.status}") for kin in message.kin]
            self.screen.ask(PickDialog("Open", choices), partial(self._open_kin, message.kin))

    def _open_kin(self, kin: Sequence[Kin], run_id: str) -> None:
        chosen = next(found for found in kin if found.run.id == run_id)
        self.screen.post_message(OpenRun(self.model.source, chosen.run, chosen.step))

    def action_compare(self) -> None:
        """Compare with another run: at once where there is only one, else with one that is chosen."""
        self.time.reading.read_runs()

    @hears(reading.RunsRead)
    def _on_runs_read(self, message: reading.RunsRead) -> None:
        from agent_tt_tui.screens.dialogs.pick import Choice, PickDialog

        runs = message.runs
        if not runs:
            self.screen.say(f"there is no other run to compare with yet: {self.key('fork.open')} forks this one")
        elif len(runs) == 1:
            self._compare(runs[0][0].id)
        else:
            forks = forks_among(self.model.run, [run for run, _ in runs])
            choices = [Choice(_ALL_FORKS, f"all {forks} forks", "in a table")] if forks > 1 else []
            choices += [Choice(run.id, run.name, f"{kin or run.status}, {_age(run)}") for run, kin in runs]
            self.screen.ask(PickDialog("Compare with", choices), self._compare)

    def _compare(self, run_id: str) -> None:
        from agent_tt_tui.screens.compare.screen import CompareScreen
        from agent_tt_tui.screens.compare.table import TableScreen

        source = self.model.source
        if run_id == _ALL_FORKS:
            self.screen.app.push_screen(TableScreen(source, self.model.run))
        else:
            self.screen.app.push_screen(CompareScreen(source, self.model.run, source, source.run(run_id)))


def _age(run: Run) -> str:
    age = fmt.age_since(run.started_us, now())
    return age if age in ("now", "") else f"{age} ago"
