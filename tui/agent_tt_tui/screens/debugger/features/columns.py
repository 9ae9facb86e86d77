"""Columns: which the timeline has, chosen in a list and kept in the user's settings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from textual.message import Message

from agent_tt import config
from agent_tt._dataclass import dataclass
from agent_tt.errors import UsageError
from agent_tt_tui.feature import hears
from agent_tt_tui.look import look_of
from agent_tt_tui.screens.debugger.features.base import DebuggerFeature
from agent_tt_tui.text import show
from agent_tt_tui.viewmodel.debugger.marked_steps import name_of
from agent_tt_tui.viewmodel.debugger.timeline_columns import COLUMNS, NAME, Piece

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt_tui.screens.dialogs.columns import Columns

_LONGEST_SAMPLE = 20


@dataclass
class ColumnsKept(Message):
    """The columns were written into the settings, or why not; and whether other settings are stronger."""

    why: str = ""


class ChoosesColumns(DebuggerFeature):
    """Lets the user choose the columns of the timeline."""

    COMMANDS = frozenset({"columns.open"})

    def action_columns(self) -> None:
        """Show the columns, to be chosen."""
        from agent_tt_tui.screens.dialogs.columns import ColumnsDialog

        chosen = look_of(self.screen).columns
        self.screen.ask(ColumnsDialog(chosen, self.panes.timeline.try_columns, self._samples()), self._use)

    def _samples(self) -> Mapping[str, Sequence[Piece]]:
        """The cells of the step that is shown."""
        step = self.model.peek(max(1, self.time.number))
        if step is None:
            return {}
        facts, glyphs = self.panes.timeline.facts_of(step), look_of(self.screen).glyphs
        cells = {name: column.cell(facts, column.width) for name, column in COLUMNS.items()}
        return cells | {NAME: [Piece(show(name_of(step), _LONGEST_SAMPLE, glyphs.cut))]}

    def _use(self, chosen: Columns) -> None:
        app = self.screen.app
        app.look = replace(look_of(self.screen), columns=chosen.names)  # type: ignore[attr-defined]
        self.panes.refresh_run()
        self.screen.run_worker(lambda: self._keep(chosen.names), group="settings", thread=True)

    def _keep(self, names: Sequence[str] | None) -> None:
        """Write the choice down, in a thread."""
        from agent_tt.config_writing import keep_names

        path = config.user_file()
        try:
            keep_names(path, "columns", names)
            stronger = config.load().columns
        except UsageError as error:
            self.screen.post_message(ColumnsKept(f"not kept: {error.message}. {error.hint or ''}".rstrip()))
            return
        if stronger != (None if names is None else tuple(names)):
            self.screen.post_message(ColumnsKept("kept, but the settings of this project name other columns"))
            return
        self.screen.post_message(ColumnsKept())

    @hears(ColumnsKept)
    def _on_kept(self, message: ColumnsKept) -> None:
        self.screen.say(message.why or f"kept in {config.user_file()}", 6.0)
