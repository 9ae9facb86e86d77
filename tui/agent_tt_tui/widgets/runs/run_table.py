"""One run against many: a row for each of them below that of the base."""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING, Final

from textual.reactive import reactive

from agent_tt._dataclass import dataclass
from agent_tt.comparing.runs.equal_answers import NONE
from agent_tt_tui import format as fmt
from agent_tt_tui.glyphs import ASCII
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row, RowWidget
from agent_tt_tui.text import Align, clean, show, width
from agent_tt_tui.viewmodel.runs.run_table import (
    all_changed,
    change,
    changed_words,
    counts_of,
    effect_counts,
    label_of,
    more_steps,
    only_words,
    parting,
)
from agent_tt_tui.viewmodel.values.pieces import wrap
from agent_tt_tui.widgets.drawing import add_pieces
from agent_tt_tui.widgets.runs.run_rows import GLYPH, RunRows, add_status
from agent_tt_tui.widgets.tall_lines import NONE_TALL, share_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style
    from textual.strip import Strip

    from agent_tt.comparing.runs.table import SortKey, Table, TableRow
    from agent_tt.comparing.steps.outcome import Outcome
    from agent_tt.model import Run
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.widgets.tall_lines import Lines

__all__ = ["RunTable", "TableHead", "TableLayout"]

_NAME_LEAST, _NAME_MOST = 10, 26
_CHANGED_LEAST: Final = 22
_MOST_LINES: Final = 4
"""How many lines a run may take to say in full what was changed; what needs more is cut to one."""
_KEPT: Final = {"at": 6, "letter": 4, "steps": 6}
"""Columns of what is never left out."""

_GIVEN_UP: Final = ("tokens_more", "cost_more", "time", "effects", "tokens", "state", "status", "cost", "rejoined")
"""What is left out when there are few columns, the first first; of the status the glyph stays."""


@dataclass(frozen=True, slots=True)
class TableLayout:
    """How many columns each part of a row has, in the order in which they stand; 0 leaves one out.

    What was changed takes what is left at the right of them.
    """

    name: int
    status: int
    at: int
    rejoined: int
    only: int
    letter: int
    steps: int
    more: int
    tokens: int
    tokens_more: int
    cost: int
    cost_more: int
    time: int
    state: int
    effects: int

    @classmethod
    def of(cls, table: Table, columns: int) -> TableLayout:
        """Share out a row; what no row of the table knows has no column."""
        outcomes = [each for each in (table.outcome, *(row.outcome for row in table.rows)) if each is not None]
        tokens = any(outcome.tokens is not None for outcome in outcomes)
        cost = any(outcome.cost_usd is not None for outcome in outcomes)
        names = [width(clean(_indented(row, table))) for row in table.rows[:500]]
        longest = max([width(clean(table.base.name)), *names])
        parts = {
            "name": max(_NAME_LEAST, min(longest + 2, _NAME_MOST, columns // 5)),
            "status": 13,
            "rejoined": 6 if any(row.rejoined_at is not None for row in table.rows) else 0,
            "only": max([4, *(len(only_words(row, ASCII)) + 2 for row in table.rows)]),
            "more": max(len(more_steps(row)) + 2 for row in table.rows) if table.rows else 0,
            "tokens": 10 if tokens else 0,
            "tokens_more": 8 if tokens else 0,
            "cost": 9 if cost else 0,
            "cost_more": 8 if cost else 0,
            "time": 9,
            "state": 7,
            "effects": 14 if any(effect_counts(outcome) for outcome in outcomes) else 0,
            **_KEPT,
        }
        for part in _GIVEN_UP:
            if sum(parts.values()) + _CHANGED_LEAST <= columns:
                break
            parts[part] = GLYPH if part == "status" else 0
        return cls(**parts)

    @property
    def cells(self) -> int:
        """The columns of all of them."""
        return sum(astuple(self))


class TableHead(RowWidget):
    """The titles of the columns, and the base below them."""

    DEFAULT_CSS = "TableHead { height: 2; }"

    table: reactive[Table | None] = reactive(None)
    sort: reactive[SortKey] = reactive("made")

    _layout: TableLayout | None = None

    def watch_table(self) -> None:
        """Share out the columns anew."""
        self._layout = None

    def on_resize(self) -> None:
        """Share out the columns anew."""
        self._layout = None

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw titles or base."""
        table = self.table
        if table is None:
            return self.new_row()
        if self._layout is None:
            self._layout = TableLayout.of(table, columns - 2)
        layout = self._layout
        if y == 0:
            return self.new_row().add(" ").join(self._titles(layout, styles))
        row = self.new_row().add(" ")
        return row.join(_figures(table, layout, columns - 2, table.base, None, styles, look_of(self).glyphs))

    def _titles(self, layout: TableLayout, styles: Palette) -> Row:
        glyphs = look_of(self).glyphs
        titles: tuple[tuple[str, int, SortKey | None, Align], ...] = (
            ("RUN", layout.name, "made", "left"),
            ("STATUS" if layout.status > GLYPH else "", layout.status, "status", "left"),
            (f"{glyphs.differs} AT", layout.at, "diverged", "right"),
            (f"{glyphs.same} AT", layout.rejoined, None, "right"),
            (f"{glyphs.only_a} {glyphs.only_b}", layout.only, None, "right"),
            ("ANS", layout.letter, "answer", "right"),
            ("STEPS", layout.steps, "steps", "right"),
            ("", layout.more, None, "right"),
            ("TOKENS", layout.tokens, None, "right"),
            ("", layout.tokens_more, None, "right"),
            ("COST", layout.cost, "cost", "right"),
            ("", layout.cost_more, None, "right"),
            ("TIME", layout.time, None, "right"),
            ("STATE", layout.state, None, "right"),
            ("EFFECTS", layout.effects, None, "right"),
            ("  CHANGED", 12, None, "left"),
        )
        row = self.new_row()
        for title, size, key, align in titles:
            row.column(title, size, styles.title if key == self.sort else styles.title_blurred, align)
        return row


class RunTable(RunRows["TableRow"]):
    """The runs, each on one line; what was changed goes on below where lines are free."""

    HELP = (
        "One line a run: ≠ AT is the step at which it parts from the base (none: nothing differs; end: the same moves, "
        "another question, state or ending), ≡ AT the step at which it rejoins, < and > count the steps that only the "
        "base and only the run took; enter compares it."
    )

    table: Table | None = None
    """What is shown."""
    trouble = False
    """Whether what is said where there is no row is an error."""
    _layout: TableLayout | None = None
    _wrapped = NONE_TALL
    """The lines of each row that takes several, by the number of the row."""

    @property
    def line_count(self) -> int:
        """The lines of all runs."""
        return super().line_count + self.tall.more

    def show(self, table: Table, rows: Sequence[TableRow], empty: str = "", *, trouble: bool = False) -> None:
        """Show rows, or why there are none."""
        self.table, self.empty, self.trouble = table, empty, trouble
        self._layout, before = None, self.line_count
        self.show_rows(rows)
        self._measure()
        if self.line_count != before:
            self.refresh(layout=True)  # it is as tall as its rows: what is known of one has the others

    def goes_on(self, row: TableRow) -> bool:
        """Whether a run still runs."""
        return row.run.status == "running"

    def is_same(self, row: TableRow, other: TableRow) -> bool:
        """Whether two rows are of the same run."""
        return row.run.id == other.run.id

    def on_resize(self) -> None:
        """Share out the columns anew."""
        self._layout = None
        self._measure()
        self.reveal(self.cursor)

    def _measure(self) -> None:
        self._wrapped = share_lines(self, len(self.rows), range(len(self.rows)), self._lines_of)

    def _lines_of(self, row: int) -> Lines:
        """What was changed in lines; none where the row says something else, or more than a few lines hold."""
        shown, columns = self.rows[row], self.size.width - 2
        if self.table is None or shown.error is not None or shown.damaged or not shown.changed:
            return []
        if self._layout is None:
            self._layout = TableLayout.of(self.table, columns)
        lines = list(wrap([(all_changed(shown), "text")], columns - self._layout.cells - 2))
        return lines if len(lines) <= _MOST_LINES else []

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw a line of a run."""
        glyphs, table = look_of(self).glyphs, self.table
        if not self.rows or table is None:
            style = styles.failed_text if self.trouble else styles.note
            mark = f"{glyphs.failed} " if self.trouble else ""
            return Row(glyphs.cut).add(" ").add(show(f"{mark}{self.empty}", width - 1, glyphs.cut), style).strip(width)
        if self._layout is None:
            self._layout = TableLayout.of(table, width)
        number, part = self.tall.row_of(index)
        row, wrapped = self.rows[number], self._wrapped.get(number)
        if wrapped is not None and part:
            return add_pieces(Row(glyphs.cut).pad_to(self._layout.cells + 2), wrapped[part], styles).strip(width)
        first = None if wrapped is None else "".join(text for text, _ in wrapped[0])
        waits = row.run.id in self._waiting
        cells = _figures(
            table, self._layout, width, row.run, row, styles, glyphs, moving=self.moving, waits=waits, changed=first
        )
        return cells.strip(width)


def _indented(row: TableRow, table: Table) -> str:
    """The name of a row; a fork of a fork stands a little further in."""
    return "  " * max(0, row.depth - 1) + label_of(row, table.base)


def _figures(
    table: Table,
    layout: TableLayout,
    columns: int,
    run: Run,
    row: TableRow | None,
    styles: Palette,
    glyphs: Glyphs,
    *,
    moving: str = "",
    waits: bool = False,
    changed: str | None = None,
) -> Row:
    """All cells of one line; `row` is None for the base, `changed` the first of the changes where more lines follow."""
    line = Row(glyphs.cut)
    name = run.name if row is None else _indented(row, table)
    line.column(clean(name), layout.name - 1, styles.muted if row is None else styles.strong).add(" ")
    add_status(line, run, layout.status, styles, glyphs, moving=moving, waits=waits)
    outcome = table.outcome if row is None else row.outcome
    if row is not None and row.error is not None:
        return line.add("  ").add(show(row.error.message, 400, glyphs.cut), styles.failed_text)
    if outcome is not None:
        _numbers(line, table, layout, row, outcome, styles, glyphs)
    else:
        line.column(glyphs.ambient, layout.at, styles.faint, "right").pad_to(layout.cells)
    line.add("  ")
    if row is None:
        return line.add("A, the base", styles.muted)
    if row.damaged:
        line.add(f"{glyphs.failed} {row.trouble}  ", styles.failed_text)
    return line.add(changed_words(row, columns - line.cells, glyphs.cut) if changed is None else changed, styles.text)


def _numbers(
    line: Row,
    table: Table,
    layout: TableLayout,
    row: TableRow | None,
    outcome: Outcome,
    styles: Palette,
    glyphs: Glyphs,
) -> None:
    """What is known of a run that was compared, at the right of their columns."""
    tokens, cost, duration = counts_of(outcome)
    first = table.outcome if row is not None else None
    letter = table.letter(table.base.id if row is None else row.run.id)
    at = "" if row is None else parting(row, glyphs)
    known = letter not in ("", NONE)
    cells: tuple[tuple[str, int, Style], ...] = (
        (at, layout.at, styles.yours if row is not None and row.diverged_at is not None else styles.muted),
        ("" if row is None or row.rejoined_at is None else str(row.rejoined_at), layout.rejoined, styles.well),
        ("" if row is None else only_words(row, glyphs), layout.only, styles.muted),
        (letter, layout.letter, styles.strong if known else styles.faint),
        (fmt.count(outcome.steps), layout.steps, styles.text),
        ("" if row is None else more_steps(row), layout.more, styles.muted),
        (tokens, layout.tokens, styles.text),
        (
            "" if first is None else change(first.whole_tokens, outcome.whole_tokens, glyphs.times),
            layout.tokens_more,
            styles.muted,
        ),
        (cost, layout.cost, styles.text),
        (
            "" if first is None else change(first.whole_cost, outcome.whole_cost, glyphs.times),
            layout.cost_more,
            styles.muted,
        ),
        (duration, layout.time, styles.muted),
        ("" if row is None or not row.final_changes else fmt.count(row.final_changes), layout.state, styles.muted),
        (effect_counts(outcome), layout.effects, styles.text),
    )
    for text, size, style in cells:
        line.column(text, size, style, "right")
