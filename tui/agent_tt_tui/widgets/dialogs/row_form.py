"""Editing a value in its row: the field, and what is said beside or below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message
from textual.widgets import TextArea

from agent_tt._dataclass import dataclass
from agent_tt.forking.editing.edits import type_word, with_article
from agent_tt_tui.keymaps import EDIT_ROW
from agent_tt_tui.look import look_of
from agent_tt_tui.row import RowWidget
from agent_tt_tui.text import clean, show, width

if TYPE_CHECKING:
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.row import Row
    from agent_tt_tui.viewmodel.edits.editing import Verdict

_SIGN = "  X  "
"""As wide as the sign before what is said, and the blanks around it."""

_MOST_RECORDED = 24
"""Columns of the recorded value, which is there only to be remembered."""


class RowArea(TextArea):
    """The field. Up and down step a number or a date where one was typed, else they move the caret."""

    HELP = "Type the new value; enter keeps it, tab also goes to the next value, esc drops it."

    @dataclass
    class Stepped(Message):
        """One more or one less was asked for."""

        by: int

    def __init__(self, text: str, *, steps: bool) -> None:
        """Make the field; `steps` says whether up and down step the value."""
        super().__init__(text, soft_wrap=True, show_line_numbers=False, tab_behavior="focus", compact=True)
        self.steps = steps
        """Whether up and down step the value."""

    def action_cursor_up(self, select: bool = False) -> None:  # noqa: FBT001, FBT002 - Textual's
        """Ask for one more, or move the caret."""
        if self.steps and not select:
            self.post_message(self.Stepped(1))
        else:
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:  # noqa: FBT001, FBT002 - Textual's
        """Ask for one less, or move the caret."""
        if self.steps and not select:
            self.post_message(self.Stepped(-1))
        else:
            super().action_cursor_down(select)


class RowAbout(RowWidget):
    """Beside or below the field: what was recorded, and what the typed text is: `20 recorded   ✓ still an int`."""

    recorded = ""
    """The recorded value as text; "" where it is not shown."""
    verdict: Verdict | None = None
    other: Verdict | None = None
    """What was typed as a value of another type, where it can be kept as one."""

    @property
    def is_wrong(self) -> bool:
        """Whether what was typed cannot be kept."""
        return self.verdict is not None and not self.verdict.good

    @property
    def needed(self) -> int:
        """Columns that what is said of the typed text takes."""
        said = "" if self.verdict is None else clean(self.verdict.message)
        if self.is_wrong and self.other is not None:
            said += f"  {look_of(self).key(EDIT_ROW.command('row.other'))}{self._keeps}"
        return len(_SIGN) + width(said)

    @property
    def _keeps(self) -> str:
        """What the key does that keeps what was typed as a value of another type."""
        return "" if self.other is None else f" keeps {with_article(type_word(self.other.value))}"

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        """Draw the row."""
        look, verdict, row = look_of(self), self.verdict, self.new_row().add(" ")
        if verdict is None:
            return row
        right = self.new_row()
        sign, style = (look.glyphs.well, styles.well) if verdict.good else (look.glyphs.failed, styles.failed)
        right.add(f"{sign} ", style)
        right.add(show(verdict.message, columns, look.glyphs.cut), styles.muted if verdict.good else styles.failed_text)
        if not verdict.good and self.other is not None:
            hint = self.new_row().add("  ").add(look.key(EDIT_ROW.command("row.other")), styles.key)
            hint.add(self._keeps, styles.muted)
            if right.cells + hint.cells < columns:  # the footer has the key, too
                right.join(hint)
        words = f"{show(self.recorded, _MOST_RECORDED, look.glyphs.cut)} recorded" if self.recorded else ""
        if len(words) + right.cells + 4 <= columns:  # what is wrong is never cut for it
            row.add(words, styles.muted)
        return row.right(right, max(0, columns - 1))
