"""What stands below the matrix of a sweep: equal answers under letters, and the run that the cursor is on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.reactive import reactive

from agent_tt_tui import format as fmt
from agent_tt_tui.lines import LineView
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row, RowWidget
from agent_tt_tui.status import kind_glyph, sample_glyph, step_style
from agent_tt_tui.text import clean, show
from agent_tt_tui.viewmodel.runs.strip_cells import buckets
from agent_tt_tui.viewmodel.values.pieces import wrap
from agent_tt_tui.widgets.runs.sweep_matrix import sample_style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.strip import Strip

    from agent_tt.comparing.runs.equal_answers import Answer
    from agent_tt.sweeping.matrix import Sample
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.viewmodel.runs.sweeps import Chosen

__all__ = ["ChosenRun", "SweepAnswers"]

_COUNT: Final = 4
_STRIP: Final = 24
_ANSWER_FROM: Final = 3 + _COUNT + 2
"""The column at which answers begin."""


class SweepAnswers(LineView):
    """Equal answers, most frequent first, then what went wrong; the cursor follows the matrix while that has focus."""

    HELP = "What the runs came to: equal answers share a letter."

    def __init__(self) -> None:
        super().__init__()
        self.answers: Sequence[Answer] = ()
        self.empty = ""
        self._rows: list[tuple[int, str]] = []

    @property
    def line_count(self) -> int:
        """How many rows the answers take; where there is none, one that says so."""
        return len(self._rows) or bool(self.empty)

    def on_resize(self) -> None:
        """Break the answers for the new size."""
        self._lay_out()
        super().on_resize()

    def _lay_out(self) -> None:
        """Show answers to their end, the first before the others, where there are rows for that; else a row each."""
        room = max(1, self.size.width - 2 - _ANSWER_FROM)
        free = self.size.height - len(self.answers)
        self._rows = []
        for index, answer in enumerate(self.answers):
            rows = ["".join(text for text, _ in row) for row in wrap([(clean(answer.text), "text")], room)]
            if len(rows) <= 1 or len(rows) - 1 > free:
                rows = [answer.text]
            free -= len(rows) - 1
            self._rows += [(index, row) for row in rows]

    def is_here(self, index: int) -> bool:
        """Whether a row is of the answer under the cursor."""
        if not (0 <= self.cursor < len(self._rows) and 0 <= index < len(self._rows)):
            return index == self.cursor
        return self._rows[index][0] == self._rows[self.cursor][0]

    def show(self, answers: Sequence[Answer], empty: str) -> None:
        """Show answers, or why there are none."""
        self.answers, self.empty = answers, empty
        self._lay_out()
        self.refresh_lines_data()

    def follow(self, letter: str, error: str) -> None:
        """Put the cursor on the answer of the chosen run, if the person is not reading here."""
        if self.has_focus:
            return
        for index, answer in enumerate(self.answers):
            if (answer.text == error) if answer.failed else (answer.letter == letter):
                self.move_to(next(at for at, (shown, _) in enumerate(self._rows) if shown == index))
                return

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw one answer."""
        glyphs = look_of(self).glyphs
        row = Row(glyphs.cut)
        if not self.answers:
            return row.upto(self.empty, width, styles.note).strip(width)
        number, text = self._rows[index]
        answer = self.answers[number]
        style = styles.failed_text if answer.failed else styles.text
        if index and self._rows[index - 1][0] == number:
            return row.pad_to(_ANSWER_FROM).add(text, style).strip(width)
        letter = glyphs.interrupted if answer.failed else answer.letter
        row.add(f" {letter} ", styles.strong).column(f"{answer.count}{glyphs.times}", _COUNT, styles.muted, "right")
        row.add("  ")
        return row.add(show(text, width - row.cells, glyphs.cut), style).strip(width)


class ChosenRun(RowWidget):
    """Two rows about the run under the cursor: how it ended, its steps, and where it parts from the one beside it."""

    DEFAULT_CSS = "ChosenRun { height: 2; margin: 1 0 0 0; }"

    place: reactive[str] = reactive("")
    """`0.4 / 4`."""
    sample: reactive[Sample | None] = reactive(None)
    chosen: reactive[Chosen | None] = reactive(None)
    """What was read of it; None until then."""

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw one row."""
        return self._how(columns, styles) if y == 0 else self._steps(columns, styles)

    def _how(self, columns: int, styles: Palette) -> Row:
        row, sample, glyphs = self.new_row().add(" "), self.sample, look_of(self).glyphs
        if sample is None:
            return row
        words = {"broken": "broke off: it is taken again", "waiting": "waiting"}.get(sample.status, sample.status)
        row.add(clean(self.place), styles.strong).add("  ")
        row.add(f"{sample_glyph(sample.status, glyphs)} {words}", sample_style(sample.status, styles))  # type: ignore[arg-type]
        facts = []
        if sample.steps is not None:
            facts.append(fmt.counted(sample.steps, "step"))
        if sample.duration_us is not None:
            facts.append(fmt.duration(sample.duration_us / 1e6))
        if sample.tokens is not None:
            facts.append(fmt.tokens(sample.tokens))
        if sample.cost_usd is not None:
            facts.append(fmt.cost(sample.cost_usd, sample.unpriced))
        if sample.begun > 1:
            facts.append(f"begun {sample.begun}{glyphs.times}")
        if facts:
            row.add("   ").upto(f" {glyphs.dot} ".join(facts), columns - 1, styles.muted)
        return row

    def _steps(self, columns: int, styles: Palette) -> Row:
        row, chosen, glyphs = self.new_row().add(" "), self.chosen, look_of(self).glyphs
        if chosen is None:
            return row
        shown = buckets(chosen.steps, min(_STRIP, max(1, columns // 4)))
        for index, step in enumerate(shown):
            if index and len(shown) * 2 <= _STRIP:
                row.add(glyphs.line, styles.faint)
            parts = chosen.diverged_at is not None and step.number == chosen.diverged_at
            row.add(
                glyphs.differs if parts else kind_glyph(step.kind, glyphs),
                styles.yours if parts else step_style(step, styles),
            )
        row.add("  ")
        if chosen.beside is None:
            return row
        if chosen.diverged_at is None:
            return row.upto(f"does not part from {clean(chosen.beside_words)}", columns - 1, styles.muted)
        row.upto(f"parts from {clean(chosen.beside_words)} at ", columns - 1, styles.muted)
        row.upto(str(chosen.diverged_at), columns - 1, styles.yours)
        return row.upto(f": {clean(chosen.because)}" if chosen.because else "", columns - 1, styles.text)
