"""The parts of the dialog that asks about a call: what waits, and what would go out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.reactive import reactive

from agent_tt_tui.chrome import PaneTitle
from agent_tt_tui.keymaps import ASK
from agent_tt_tui.look import look_of
from agent_tt_tui.row import RowWidget
from agent_tt_tui.text import clean

if TYPE_CHECKING:
    from agent_tt.questions import CallQuestion
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.row import Row
    from agent_tt_tui.viewmodel.running.asking import Judged


class AskTitle(PaneTitle):
    """`ASK  ▲ charge_card waits for you`."""

    def __init__(self, question: CallQuestion, hint: str) -> None:
        """Say what waits.

        Args:
            question: the call.
            hint: where it is, at the right edge.
        """
        super().__init__("Ask", hint=hint)
        self._question = question

    def draw_left(self, row: Row, styles: Palette) -> None:
        """Add the title and what waits."""
        glyphs, question = look_of(self).glyphs, self._question
        row.add(clean(self.title).upper(), styles.title).add(f"  {glyphs.person} ", styles.yours)
        waits = " waits for you" if question.hold is None else f" is held in lane {clean(question.lane)}"
        row.add(clean(question.name), styles.strong).add(waits, styles.yours)


class AskFacts(RowWidget):
    """What the call does to the world, and why an earlier answer could not be used."""

    DEFAULT_CSS = "AskFacts { height: auto; }"

    def __init__(self, question: CallQuestion) -> None:
        """Tell of a call."""
        super().__init__()
        self._question = question

    def get_content_height(self, *_: object) -> int:
        """One row, and one more for trouble."""
        return 2 if self._question.trouble else 1

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw a row."""
        glyphs, question = look_of(self).glyphs, self._question
        row = self.new_row().add("   ")
        if y:
            row.add(f"{glyphs.failed} ", styles.failed)
            return row.upto(clean(f"the answer could not be used: {question.trouble}"), columns - 1, styles.failed_text)
        if question.effect == "write":
            row.add(f"{glyphs.writes} it writes", styles.yours)
        else:
            row.add({"llm": "it asks a model", "http": "a request"}.get(question.kind, "it reads"), styles.muted)
        return row.add("  nothing has gone out yet", styles.note)


class AskAction(RowWidget):
    """The last row: what runs the call, and what the arguments are or what is wrong with them."""

    judged: reactive[Judged | None] = reactive(None)

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        """Draw the row."""
        glyphs, judged = look_of(self).glyphs, self.judged
        row = self.new_row().add(" ")
        if judged is None:
            return row
        good = judged.decision is not None
        words = "run it as edited" if judged.decision is not None and judged.decision.args else "run it"
        row.add(f" {look_of(self).key(ASK.command('ask.run'))} {words} ", styles.chip if good else styles.faint)
        right = self.new_row().add(f"{glyphs.well if good else glyphs.failed} ", styles.well if good else styles.failed)
        right.add(clean(judged.message), styles.muted if good else styles.failed_text)
        return row.right(right, max(0, columns - 1))
