"""The tests that are kept (goldens) as a list with its column titles, and what is to be known of one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, Final

from agent_tt._dataclass import dataclass
from agent_tt_tui import format as fmt
from agent_tt_tui.lines import RowList
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row, RowWidget
from agent_tt_tui.status import verdict_glyph, verdict_style
from agent_tt_tui.text import clean, show
from agent_tt_tui.viewmodel.golden.kept_tests import detail_lines
from agent_tt_tui.viewmodel.values.pieces import TextLine, wrap
from agent_tt_tui.widgets.tall_lines import NONE_TALL, share_lines
from agent_tt_tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style
    from textual.strip import Strip

    from agent_tt.golden.running import GoldenResult
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.viewmodel.golden.kept_tests import KeptTest
    from agent_tt_tui.widgets.tall_lines import Lines

__all__ = ["GoldenColumns", "GoldenDetail", "GoldenList"]

_LAST: Final = 12
"""So many results are shown: as many as are kept."""

_LAST_NARROW: Final = 5
_NARROW_BELOW: Final = 70
"""Columns below which names and results leave some of theirs to why a test does not pass."""

_MOST_SAID: Final = 400
"""How many characters of the reason why a test does not pass are shown."""


@dataclass(frozen=True, slots=True)
class Parts:
    """How many columns each part of a row has; 0 leaves a part out."""

    name: int
    rules: int = 7
    last: int = _LAST + 2
    steps: int = 7
    cost: int = 9
    age: int = 8

    @classmethod
    def of(cls, width: int) -> Parts:
        """Share out a row's columns: when there are few, cost goes first, then steps and age."""
        parts = {"cost": 9, "steps": 7, "age": 8}
        for dropped in ("cost", "steps", "age"):
            if width >= 76 + sum(parts.values()):
                break
            parts[dropped] = 0
        if width < _NARROW_BELOW:
            return cls(name=16, last=_LAST_NARROW + 2, **parts)
        return cls(name=24 if width < 150 else 40, **parts)


class GoldenColumns(RowWidget):
    """The titles of the columns."""

    DEFAULT_CSS = "GoldenColumns { height: 1; }"

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        """Draw the titles."""
        parts = Parts.of(columns - 2)
        row = self.new_row().add("   ").column("test", parts.name, styles.muted)
        row.column("rules", parts.rules, styles.muted, "right").add("  ")
        row.column(f"last {parts.last - 2}", parts.last, styles.muted)
        row.column("steps", parts.steps, styles.muted, "right").column("cost", parts.cost, styles.muted, "right")
        row.column("run", parts.age, styles.muted, "right")
        return row.add("  ").upto("why it does not pass", columns - 1, styles.muted)


class GoldenList(RowList["KeptTest"]):
    """The tests, one a line; why one does not pass goes on below where lines are free."""

    HELP = "The tests that are kept: r runs one, R all, enter opens the kept run and the new one."

    _wrapped = NONE_TALL
    """The lines of each row that takes several, by the number of the row."""

    @property
    def line_count(self) -> int:
        """The number of lines: one for each test, and more for those that take several."""
        return len(self.rows) + self.tall.more

    @property
    def shows_age(self) -> bool:
        """Whether there is room to say when each test was run."""
        return Parts.of(self.size.width - 2).age > 0

    def show_rows(self, rows: Sequence[KeptTest]) -> None:
        """Show other tests."""
        super().show_rows(rows)
        self._measure()

    def on_resize(self) -> None:
        """Break the reasons into lines of the new width."""
        self._measure()
        self.reveal(self.cursor)

    def _measure(self) -> None:
        self._wrapped = share_lines(self, len(self.rows), range(len(self.rows)), self._lines_of)

    def _lines_of(self, row: int) -> Lines:
        said = clean(self._said(self.rows[row], self.canvas.palette)[0][:_MOST_SAID])
        return list(wrap([(said, "text")], self.size.width - 2 - self._figures(row, self.canvas.palette).cells))

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw a line of a test."""
        number, part = self.tall.row_of(index)
        row, (said, style) = self._figures(number, styles), self._said(self.rows[number], styles)
        if part:
            row = Row(look_of(self).glyphs.cut).pad_to(row.cells)
        wrapped = self._wrapped.get(number)
        if wrapped is not None:
            said = "".join(text for text, _ in wrapped[part])
        return row.add(show(said, width - row.cells, look_of(self).glyphs.cut), style).strip(width)

    def _figures(self, index: int, styles: Palette) -> Row:
        """All of a row but why the test does not pass."""
        glyphs, test, parts = look_of(self).glyphs, self.rows[index], Parts.of(self.size.width - 2)
        row = Row(glyphs.cut)
        row.add(*_mark(test, glyphs, styles)).add(" ").column(clean(test.name), parts.name - 1, styles.strong).add(" ")
        rules = test.golden.rules if test.golden is not None else ()
        on = f"{sum(each.is_on for each in rules)}/{len(rules)}" if test.golden is not None else glyphs.span
        row.column(on, parts.rules, styles.muted, "right").add("  ")
        results = test.results[2 - parts.last :]
        row.add(glyphs.ambient * (parts.last - 2 - len(results)), styles.faint)
        for result in results:
            row.add(verdict_glyph(result.outcome, glyphs), verdict_style(result.outcome, styles))
        row.add("  ")
        run = None if test.last is None else test.last.now
        steps = glyphs.span if run is None else fmt.count(run.steps)
        row.column(steps, parts.steps, styles.muted, "right")
        cost = glyphs.span if run is None or run.cost_usd is None else fmt.cost(run.cost_usd, run.unpriced)
        row.column(cost, parts.cost, styles.muted, "right")
        age = glyphs.span if test.last is None else fmt.age(max(0.0, time.time() - test.last.at_us / 1e6))
        return row.column(age, parts.age, styles.muted, "right").add("  ")

    def _said(self, test: KeptTest, styles: Palette) -> tuple[str, Style]:
        if test.under_way == "running":
            answered = f", {fmt.counted(test.answered, 'call')} answered" if test.answered else ""
            return f"running{answered}", styles.running
        if test.under_way:
            return "waits", styles.muted
        if test.first:
            return test.first, styles.failed_text if test.state == "failed" else styles.changed_mark
        if test.state == "new":
            return "not run yet", styles.note
        return "its rules were changed since" if test.is_changed else "", styles.note


def _mark(test: KeptTest, glyphs: Glyphs, styles: Palette) -> tuple[str, Style]:
    match test.state:
        case "running":
            return glyphs.still, styles.running
        case "waiting" | "new":
            return glyphs.ambient, styles.muted
        case outcome:
            return verdict_glyph(outcome, glyphs), verdict_style(outcome, styles)


class GoldenDetail(TextView):
    """What is to be known of the test under the cursor."""

    QUIET: ClassVar[bool] = True
    HELP = "What each rule said the last time, and what differs."

    def __init__(self) -> None:
        super().__init__(id="golden-detail")
        self._shown: tuple[KeptTest, GoldenResult | None] | None = None

    def show(self, test: KeptTest | None, fresh: GoldenResult | None) -> None:
        """Show a test, and what came of it since the app was opened."""
        self._shown = None if test is None else (test, fresh)
        self.lay_out_again()

    def lay_out(self, columns: int) -> Sequence[TextLine]:
        """Break it into rows."""
        if self._shown is None:
            return ()
        return [TextLine(row) for row in detail_lines(*self._shown, columns, look_of(self).glyphs)]
