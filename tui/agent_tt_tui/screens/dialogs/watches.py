"""The dialog of a run's watches: where each holds, which of them are breakpoints, and what can be done with them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from textual.widgets import Static

from agent_tt.errors import InvalidExpression
from agent_tt.querying.expressions import parse
from agent_tt.querying.watches.kept_watches import change_watch, keep_watch, remove_watch
from agent_tt_tui.dialog import Dialog, DialogTitle
from agent_tt_tui.keymaps import WATCHES
from agent_tt_tui.look import look_of
from agent_tt_tui.screens.dialogs.prompt import PromptDialog
from agent_tt_tui.text import clean, show
from agent_tt_tui.widgets.debugger.watch_list import WatchList

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from agent_tt.protocols import MarkedRuns
    from agent_tt.querying.watches.watchpoints import Watchpoint
    from agent_tt_tui.lines import LineView
    from agent_tt_tui.screens.debugger.watch_reading import WatchReading
    from agent_tt_tui.viewmodel.debugger.runmodel import RunModel

_CHANGING = frozenset({"watch.add", "watch.edit", "watch.name", "watch.break", "watch.off", "watch.remove"})
_ABOUT_ONE = _CHANGING - {"watch.add"} | {"list.choose"}
_MOST_SAID = 300
_DETAIL = "state.budget < 0, changed(state.plan), error"


class WatchesDialog(Dialog[int]):
    """Shows the watches of a run; returns the number of the one whose steps are to be shown."""

    CONTEXT = WATCHES
    AUTO_FOCUS = "WatchList"
    HELP = "What is watched in the run: enter goes through the steps at which it holds, b makes it a breakpoint."

    def __init__(self, model: RunModel, marks: MarkedRuns | None, reading: WatchReading, question: str = "") -> None:
        """Show the watches of a run.

        Args:
            model: the run.
            marks: what takes them down; None where nothing does.
            reading: does the work.
            question: what was asked last, offered where one is added.
        """
        super().__init__()
        self._model, self._marks, self._reading, self._question = model, marks, reading, question
        self._trouble = ""

    def compose_content(self) -> ComposeResult:
        """Yield the title, the list, and what the row under the cursor has no room for."""
        yield DialogTitle("Watches", detail="marked where they hold; breakpoints stop play and follow")
        yield WatchList()
        yield Static("", classes="watch-where", markup=False)
        yield Static("", classes="dialog-note", markup=False)

    def on_mount(self) -> None:
        """Show what there is."""
        self.refresh_rows()

    def refresh_rows(self, why: str | None = None) -> None:
        """Show the watches as they are known now.

        Args:
            why: what went wrong with the last change, "" for nothing; None where there was none since it was said.
        """
        self._trouble = self._trouble if why is None else why
        if not self.query(WatchList):
            return  # it is not laid out yet
        self.query_one(WatchList).show(self._model.board.rows, self._model.last)
        self._say_more()
        self.refresh_footer()

    def _say_more(self) -> None:
        """Say in full what the row has no room for."""
        glyphs, row = look_of(self).glyphs, self._row
        trouble = self._trouble or ("" if row is None else row.why)
        said = f"{glyphs.failed} {show(trouble, _MOST_SAID, glyphs.cut)}" if trouble else ""
        where, note = self.query_one(".watch-where", Static), self.query_one(".dialog-note", Static)
        where.update("" if row is None else show(row.watch.where, _MOST_SAID, glyphs.cut))
        # As long as any row is cut, so that nothing moves while the cursor goes through them.
        where.display = self.query_one(WatchList).cuts
        note.update(said)
        note.display = bool(said)

    def on_resize(self) -> None:
        """Say in full what has no room now."""
        self.call_after_refresh(self._say_more)

    @property
    def _row(self) -> Watchpoint | None:
        return self.query_one(WatchList).current

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now."""
        if command_id in _CHANGING and self._marks is None:
            return "this file is only read: nothing can be kept with its runs"
        if command_id in _ABOUT_ONE and self._row is None:
            return "nothing is watched yet: a adds an expression"
        return super().blocked(command_id)

    def on_line_view_cursor_moved(self, _message: LineView.CursorMoved) -> None:
        """Say more of another row."""
        self._trouble = ""
        self._say_more()

    def on_line_view_chosen(self, _message: LineView.Chosen) -> None:
        """Go through the steps of the watch."""
        if self._row is not None:
            self.dismiss(self._row.watch.id)

    def action_add(self) -> None:
        """Ask for an expression and keep it."""
        marks, run_id = self._marks, self._model.run.id
        if marks is not None:
            dialog = PromptDialog("Watch", detail=_DETAIL, value=self._question, check=_why_unreadable)
            self.ask(dialog, lambda text: self._reading.write(lambda: keep_watch(marks, run_id, text)))

    def action_edit(self) -> None:
        """Ask for another expression in place of this one."""
        if self._row is not None:
            watch = self._row.watch
            dialog = PromptDialog("Watch", detail=_DETAIL, value=clean(watch.where), check=_why_unreadable)
            self.ask(dialog, lambda text: self._change(where=text))

    def action_name(self) -> None:
        """Ask for a name."""
        if self._row is not None:
            watch = self._row.watch
            detail = f"of watch {watch.letter}; an empty line takes it away"
            dialog = PromptDialog("Name", detail=detail, value=clean(watch.name or ""))
            self.ask(dialog, lambda text: self._change(name=text))

    def action_break(self) -> None:
        """Make it a breakpoint; again: only watch it."""
        if self._row is not None:
            self._change(breaks=not self._row.watch.breaks)

    def action_off(self) -> None:
        """Turn the watch off, or on again."""
        if self._row is not None:
            self._change(on=not self._row.watch.on)

    def action_remove(self) -> None:
        """Remove the watch."""
        marks, row = self._marks, self._row
        if marks is not None and row is not None:
            self._reading.write(lambda: remove_watch(marks, row.watch))

    def _change(self, **changes: str | bool) -> None:
        marks, row, run_id = self._marks, self._row, self._model.run.id
        if marks is not None and row is not None:
            changed = replace(row.watch, **changes)  # type: ignore[arg-type]
            self._reading.write(lambda: change_watch(marks, run_id, changed))


def _why_unreadable(text: str) -> str | None:
    try:
        parse(text)
    except InvalidExpression as error:
        return error.why
    return None
