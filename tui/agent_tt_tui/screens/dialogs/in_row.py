"""Editing a value in its row of the state: a field over it, with the rest of the screen as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from textual.containers import Vertical

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentTTError
from agent_tt_tui.dialog import Dialog
from agent_tt_tui.keymaps import EDIT_ROW
from agent_tt_tui.screens.dialogs.external import edit_in_terminal
from agent_tt_tui.text import width as columns_of
from agent_tt_tui.viewmodel.edits.editing import Verdict
from agent_tt_tui.viewmodel.edits.in_row import MOST_ROWS
from agent_tt_tui.widgets.dialogs.row_form import RowAbout, RowArea

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult
    from textual.geometry import Region

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Edit
    from agent_tt_tui.lines import LineView
    from agent_tt_tui.viewmodel.edits.in_row import RowField
    from agent_tt_tui.viewmodel.edits.subjects import Subject

_SHORT = 40
"""Characters of what was typed up to which it is dropped without asking."""

_FIELD = 12
"""Columns of a field of a number, beside which there is room for what is said of it."""


@dataclass(frozen=True, slots=True)
class Kept:
    """How a person left the field.

    Attributes:
        edit: The edit; None where nothing is to change.
        then: What to do next: nothing, edit the next value, or edit this one in the dialog.
    """

    edit: Edit | None
    then: Literal["", "next", "dialog"] = ""


class RowEdit(Dialog[Kept]):
    """Edits a value where it stands; returns how it was left, or None where it was dropped."""

    CONTEXT = EDIT_ROW
    AUTO_FOCUS = "RowArea"
    HELP = "A value that is edited in its row: enter keeps it, tab also goes to the next one, esc drops it."

    def __init__(self, subject: Subject, field: RowField, view: LineView, where: Callable[[], Region | None]) -> None:
        """Edit a value in its row.

        Args:
            subject: What is edited.
            field: The value as text.
            view: What the value stands in: as that is laid out anew, the field goes with it.
            where: Where the value stands on the screen, its rows without the pane's edge; None while it is not there.
        """
        super().__init__()
        self._subject, self._field, self._view, self._where = subject, field, view, where
        self._area = RowArea(field.text, steps=field.stepped(field.text, 1) is not None)
        self._about = RowAbout()
        self._box = Vertical(self._area, self._about, classes="in-row")
        self._trouble = ""

    def compose(self) -> ComposeResult:
        """Lay the field over the value, with the keys in the footer row."""
        yield self._box
        yield self.footer()

    def on_mount(self) -> None:
        """Show the value; a number is replaced by what is typed, a text is gone on with."""
        # The screen below may be laid out anew after this one, as its panes share another size.
        self.app.screen_stack[-2].screen_layout_refresh_signal.subscribe(self, lambda _: self._follow())
        for attribute in ("cursor", "scroll_y"):
            self.watch(self._view, attribute, self._follow, init=False)
        if self._field.is_text:
            self._area.move_cursor(self._area.document.end)
        else:
            self._area.select_all()
        self._judge()

    def on_resize(self) -> None:
        """Follow the value to where it stands now."""
        self.call_after_refresh(self._place)

    def _follow(self) -> None:
        self.call_later(self._place)

    def _place(self) -> None:
        region = self._where()
        if region is None:
            return
        rows, beside = 1, False
        if self._field.is_text:
            rows = min(MOST_ROWS, columns_of(self._area.text) // max(1, region.width - 1) + 1)
            wide = region.width
        else:
            free = min(_FIELD, region.width - self._about.needed)  # what is said of it comes before empty columns
            wide = min(region.width, max(free, columns_of(self._area.text) + 2))
            beside = region.width - wide >= self._about.needed
        # Below it would stand over the next value: there only for what is wrong, which has to be read.
        below = not beside and self._about.is_wrong
        self._about.display = beside or below
        self._box.set_class(beside, "beside")
        self._area.styles.width, self._area.styles.height = wide, rows
        tall = rows + below
        lowest = self.size.height - 1 - tall  # the last row is the footer
        self._box.styles.offset = region.x, max(0, min(region.y, lowest))
        self._box.styles.width, self._box.styles.height = region.width, tall

    def on_text_area_changed(self) -> None:
        """Judge what was typed, and make room for it."""
        self._trouble = ""
        self._judge()

    def on_row_area_stepped(self, message: RowArea.Stepped) -> None:
        """Put one more or one less in place of what was typed."""
        text = self._field.stepped(self._area.text, message.by)
        if text is None:
            self.say("what is typed here has no next value")
        else:
            self._area.text = text
            self._area.move_cursor(self._area.document.end)

    @property
    def _verdict(self) -> Verdict:
        return self._field.judge(self._area.text)

    @property
    def _touched(self) -> bool:
        return self._area.text != self._field.text

    def _judge(self) -> None:
        verdict = Verdict(good=False, message=self._trouble) if self._trouble else self._verdict
        self._about.verdict, self._about.other = verdict, self._field.other(self._area.text)
        self._about.recorded = "" if self._field.is_text else self._field.recorded_text
        self._about.refresh()
        self._place()
        self.refresh_footer()

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now."""
        if command_id in ("row.keep", "row.next") and not self._verdict.good:
            return self._verdict.message
        if command_id == "row.more" and not self._area.steps:
            return "a text has no next value: up and down move the caret"
        if command_id == "row.other" and self._field.other(self._area.text) is None:
            return "what is typed here is taken for the recorded type"
        return None

    def action_keep(self) -> None:
        """Keep what was typed."""
        self._keep(self._verdict.value, "")

    def action_next(self) -> None:
        """Keep what was typed, and edit the next value."""
        self._keep(self._verdict.value, "next")

    def action_other(self) -> None:
        """Keep what was typed as the type that it reads as."""
        other = self._field.other(self._area.text)
        if other is not None:
            self._keep(other.value, "")

    def action_recorded(self) -> None:
        """Reset to the recorded value."""
        self._area.text = self._field.recorded_text
        self._area.move_cursor(self._area.document.end)

    def action_dialog(self) -> None:
        """Edit it in the dialog, which has room for what was recorded and what changes."""
        self.dismiss(Kept(None, "dialog"))

    def action_escape(self) -> None:
        """Drop what was typed; where that is much, after asking."""
        if self._touched and len(self._area.text) > _SHORT:
            question = "What you typed here is not kept yet. Drop it?"
            self.confirm("Drop this edit", question, lambda: self.dismiss(None))
        else:
            self.dismiss(None)

    def action_editor(self) -> None:
        """Edit what is typed in `$EDITOR`."""
        try:
            edited = edit_in_terminal(self.app, self._area.text, ".txt", self._wrong)
        except AgentTTError as error:
            self.say(error.message)
            return
        if edited is None:
            self.say("nothing was changed in the editor")
        else:
            self._area.text = edited

    def _wrong(self, typed: str) -> str | None:
        verdict = self._field.judge(typed)
        return None if verdict.good else verdict.message

    def _keep(self, value: Wire, then: Literal["", "next"]) -> None:
        if type(value) is type(self._field.value) and value == self._field.value:
            self.dismiss(Kept(None, then))
            return
        edit = self._subject.make(value)
        self._trouble = self._subject.check(edit) or ""
        if self._trouble:
            self._judge()
        else:
            self.dismiss(Kept(edit, then))
