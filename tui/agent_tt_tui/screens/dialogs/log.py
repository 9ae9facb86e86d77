"""The log: what was run from this app, what went out, and what undo takes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.worker import get_current_worker

from agent_tt.errors import AgentTTError
from agent_tt_tui import format as fmt
from agent_tt_tui.dialog import Dialog, DialogTitle
from agent_tt_tui.keymaps import DEBUGGER, LOG
from agent_tt_tui.lines import LineView, RowList
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row
from agent_tt_tui.screens.running.copied import copy_command
from agent_tt_tui.text import clean
from agent_tt_tui.viewmodel.running.log_lines import LogRow, detail_lines, log_rows
from agent_tt_tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual.app import ComposeResult
    from textual.strip import Strip

    from agent_tt_tui.palette import Palette
    from agent_tt_tui.ran import Ran
    from agent_tt_tui.viewmodel.values.pieces import TextLine

_KIND = 9
_CLOCK = 10


class LogList(RowList[LogRow]):
    """What was run, one a line."""

    HELP = "What was run from here, the newest first, below the edits that undo takes back."

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw one."""
        row, each = Row(look_of(self).glyphs.cut).add(" "), self.rows[index]
        row.column(each.clock, _CLOCK, styles.muted)
        row.column(each.kind, _KIND, styles.yours if each.ran is None else styles.muted)
        return row.upto(clean(each.what), width, styles.strong).strip(width)


class LogDetail(TextView):
    """One of them in full."""

    HELP = "The command, what went out, and what undo takes back."

    def __init__(self) -> None:
        super().__init__(id="log-detail")
        self._row: LogRow | None = None
        self._went_out: Mapping[str, str] = {}

    def show(self, row: LogRow | None, went_out: Mapping[str, str]) -> None:
        """Show a row, with what the runs say went out, by their ids."""
        self._row, self._went_out = row, went_out
        self.refresh(layout=True)
        self.lay_out_again()

    def lay_out(self, columns: int) -> Sequence[TextLine]:
        """Lay out the row."""
        if self._row is None:
            return []
        known = None if self._row.ran is None else self._went_out.get(self._row.ran.run_id)
        return detail_lines(self._row, known, look_of(self).key(DEBUGGER.command("edit.undo")), columns)


class LogDialog(Dialog["Ran"]):
    """Lists what was run; returns the one whose run is to be opened."""

    CONTEXT = LOG
    AUTO_FOCUS = "LogList"
    HELP = "What was run from here: y copies its command, enter opens its run."

    def __init__(self, edits: Sequence[str], ran: Sequence[Ran]) -> None:
        """Show the log.

        Args:
            edits: The edits that undo takes back, in words, the last first.
            ran: What was run, the newest first.
        """
        super().__init__(classes="log")
        self._rows = log_rows(edits, ran)
        self._went_out: dict[str, str] = {}

    def compose_content(self) -> ComposeResult:
        """Yield the title, the rows, and one of them in full."""
        ran = sum(row.ran is not None for row in self._rows)
        detail = "what was run from here" if ran else "nothing was run from here yet"
        yield DialogTitle("Log", detail=detail, hint=fmt.count(len(self._rows)))
        yield LogList(self._rows)
        yield LogDetail()

    def on_mount(self) -> None:
        """Read what went out, which may take a moment."""
        self._show()
        self.run_worker(self._read, thread=True, exit_on_error=False)

    def _read(self) -> None:
        from agent_tt.forking.outside.ledger import effects_of

        worker, times = get_current_worker(), look_of(self).glyphs.times
        for row in self._rows:
            ran = row.ran
            if ran is None or ran.source is None or not ran.run_id or worker.is_cancelled:
                continue
            try:
                run = ran.source.run(ran.run_id)
                said = effects_of(ran.source, run, values=False).summary(times) or "nothing that was recorded"
                goes_on = ", and it runs still" if run.status == "running" else ""
                self._went_out[ran.run_id] = f"{said}{goes_on}"
            except AgentTTError as error:
                self._went_out[ran.run_id] = f"not known: {error.message}"
        if not worker.is_cancelled:
            self.app.call_from_thread(self._show)

    def _show(self) -> None:
        self.query_one(LogDetail).show(self.query_one(LogList).current, self._went_out)

    def on_line_view_cursor_moved(self, message: LineView.CursorMoved) -> None:
        """Show the row under the cursor in full."""
        if isinstance(message.view, LogList):
            self._show()

    def on_line_view_chosen(self, message: LineView.Chosen) -> None:
        """Open the run of the row."""
        ran = self._rows[message.index].ran if isinstance(message.view, LogList) else None
        if ran is not None and ran.source is not None and ran.run_id:
            self.dismiss(ran)
        else:
            self.say("it filled no run")

    def blocked(self, command_id: str) -> str | None:
        """Say why there is no command to copy."""
        if command_id != "command.copy":
            return None
        row = self.query_one(LogList).current
        if row is None or row.ran is None:
            return "nothing was run here" if row is None else "an edit is no command: a fork with it is"
        return None if row.ran.command else f"no command does the same: {clean(row.ran.why)}"

    def action_copy_command(self) -> None:
        """Copy the command of the row."""
        row = self.query_one(LogList).current
        if row is not None and row.ran is not None:
            command = row.ran.command
            copy_command(self, lambda: command)
