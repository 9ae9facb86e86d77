"""The matrix of a sweep: a row for each combination of values, a column for each sample, what came out at the right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.message import Message
from textual.reactive import reactive, var
from textual.strip import Strip

from agent_tt._dataclass import dataclass
from agent_tt_tui import format as fmt
from agent_tt_tui.chrome import Motion
from agent_tt_tui.lines import LineView
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row, RowWidget
from agent_tt_tui.status import sample_glyph
from agent_tt_tui.text import clean, cut, cut_start, fair_share, show, width
from agent_tt_tui.viewmodel.runs.sweeps import interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.sweeping.matrix import Matrix, MatrixCell, Rate, Sample, SampleStatus
    from agent_tt_tui.palette import Palette

__all__ = ["MatrixLegend", "MatrixTitles", "SweepLayout", "SweepMatrix", "fair_label", "sample_style"]

_CELL: Final = 9
_SEEN: Final = 5
"""Samples that are in view before what is said of all of them, but for how often they succeeded."""
_LABEL_LEAST, _LABEL_MOST = 8, 28
_RATE, _INTERVAL, _STEPS, _TOKENS, _COST = 6, 11, 7, 9, 9
_BAR: Final = 12
_STEP_DIGITS: Final = 3


@dataclass(frozen=True, slots=True)
class SweepLayout:
    """The columns of a matrix; 0 leaves a part out.

    Attributes:
        label: Of the values.
        shown: How many samples are in view.
        cell: Of a sample.
        bar, interval, steps, tokens, cost: Of what stands at the right of the rate, which is never left out.
    """

    label: int
    shown: int
    cell: int = _CELL
    bar: int = 0
    interval: int = 0
    steps: int = 0
    tokens: int = 0
    cost: int = 0

    @classmethod
    def of(cls, matrix: Matrix, columns: int, answer: int = 0) -> SweepLayout:
        """Share out a row; when there are few columns, first the bar goes, then cost, tokens, steps, the interval.

        Args:
            matrix: What is shown.
            columns: Columns there are.
            answer: Columns of the longest answer. Samples say theirs in words where all of that fits; else the letter
                leads to the answers below, which are shown to their end.
        """
        names = ", ".join(axis.name for axis in matrix.definition.varied)
        values = max([width(clean(label_of(cell))) for cell in matrix.cells[:200]], default=0)
        longest = max(width(clean(names)), values)
        label = max(_LABEL_LEAST, min(longest + 2, _LABEL_MOST, max(_LABEL_LEAST, columns // 4)))
        parts = {
            "interval": _INTERVAL,
            "steps": _STEPS,
            "tokens": _TOKENS if matrix.total.tokens is not None else 0,
            "cost": _COST if matrix.total.cost_usd is not None else 0,
            "bar": _BAR,
        }
        samples = matrix.definition.samples
        wanted = min(samples, _SEEN) * _CELL
        for dropped, seen in (("bar", _SEEN), ("cost", _SEEN), ("tokens", _SEEN), ("steps", _SEEN), ("interval", 3)):
            if label + min(samples, seen) * _CELL + _RATE + sum(parts.values()) <= columns:
                break
            parts[dropped] = 0
        lacking = wanted - (columns - label - _RATE - sum(parts.values()))
        label = max(
            label - max(0, lacking), min(label, max(_LABEL_LEAST, values + 2))
        )  # its name says less than a sample
        left = columns - label - _RATE - sum(parts.values())
        shown = max(1, min(samples, left // _CELL))
        # What is left over first shows values in full, and then answers.
        more = min(max(0, longest + 2 - label), max(0, left - shown * _CELL))
        free = (left - more) // shown - _CELL
        cell = _CELL + answer + 1 if 0 < answer < free else _CELL
        return cls(label=label + more, shown=shown, cell=cell, **parts)


def label_of(cell: MatrixCell) -> str:
    """The values of a row."""
    return ", ".join(cell.labels) or "all"


def fair_label(labels: Sequence[str], columns: int, more: str) -> str:
    """The values of a row, the long ones cut so that each is seen: rows may differ in the last one alone."""
    shown = [clean(label) for label in labels]
    most = fair_share([width(label) for label in shown], columns - 2 * (len(shown) - 1))
    return ", ".join(cut(label, most, more) for label in shown)


def sample_style(status: SampleStatus, styles: Palette) -> object:
    """The style of a sample's glyph."""
    return {
        "succeeded": styles.well,
        "failed": styles.failed,
        "crashed": styles.failed,
        "running": styles.running,
    }.get(status, styles.muted)


class MatrixTitles(RowWidget):
    """The names of what is varied, the numbers of the samples, and what the figures at the right are."""

    DEFAULT_CSS = "MatrixTitles { height: 1; background: $surface; }"

    matrix: reactive[Matrix | None] = reactive(None)
    first: reactive[int] = reactive(0)
    """The first sample in view, from 0."""
    sample: reactive[int] = reactive(0)
    answer: reactive[int] = reactive(0)
    """Columns of the longest answer."""

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        """Draw the titles."""
        row, matrix = self.new_row().add(" "), self.matrix
        if matrix is None:
            return row
        layout = SweepLayout.of(matrix, columns - 2, self.answer)
        names = ", ".join(axis.name for axis in matrix.definition.varied) or "samples"
        names = cut_start(clean(names), layout.label - 1, look_of(self).glyphs.cut)  # of a path the end says more
        row.column(names, layout.label - 1, styles.title_blurred).add(" ")
        for number in range(self.first, min(self.first + layout.shown, matrix.definition.samples)):
            style = styles.strong if number == self.sample else styles.muted
            row.column(f"  {number + 1}", layout.cell, style)
        if matrix.definition.samples > self.first + layout.shown:
            row.add(look_of(self).glyphs.cut, styles.muted)
        tail = self.new_row()
        tail.column("", layout.bar).column("ok", _RATE, styles.title_blurred, "right")
        tail.column("95 %", layout.interval, styles.muted, "right").column("steps", layout.steps, styles.muted, "right")
        tail.column("tokens", layout.tokens, styles.muted, "right").column("cost", layout.cost, styles.muted, "right")
        return row.right(tail, columns - 1)


class SweepMatrix(LineView):
    """One line for each combination of values; the cursor stands on one of its samples."""

    HELP = "Up and down go through the values, left and right through the samples; enter opens the run."

    sample: var[int] = var(0, init=False)
    """The sample under the cursor, from 0."""

    @dataclass
    class SampleMoved(Message):
        """The cursor came to stand on another sample."""

        view: SweepMatrix

    def __init__(self) -> None:
        super().__init__()
        self.matrix: Matrix | None = None
        """What is shown."""
        self.rates: dict[int, Rate] = {}
        """How often the chosen outcome holds, by row; empty to show how often runs succeeded."""
        self.letters: Mapping[tuple[int, int], str] = {}
        """What stands for each sample's answer, by cell and sample."""
        self.answers: Mapping[str, str] = {}
        """The answers that the letters stand for."""
        self.marked: frozenset[str] = frozenset()
        """Ids of the runs that are marked for comparing."""
        self._frame = -1
        self._motion = Motion(self, self._tick)

    @property
    def line_count(self) -> int:
        """One line a combination."""
        return len(self.matrix.cells) if self.matrix is not None else 0

    @property
    def chosen(self) -> Sample | None:
        """The sample under the cursor."""
        if self.matrix is None or not 0 <= self.cursor < len(self.matrix.cells):
            return None
        return self.matrix.cells[self.cursor].samples[self.sample]

    @property
    def longest(self) -> int:
        """Columns of the longest answer."""
        return max((width(clean(text)) for text in self.answers.values()), default=0)

    @property
    def first(self) -> int:
        """The first sample in view: so many that the one under the cursor is among them."""
        if self.matrix is None:
            return 0
        shown = SweepLayout.of(self.matrix, max(1, self.size.width - 2), self.longest).shown
        return max(0, self.sample - shown + 1)

    def show(
        self,
        matrix: Matrix,
        letters: Mapping[tuple[int, int], str],
        rates: dict[int, Rate],
        marked: frozenset[str],
        answers: Mapping[str, str],
    ) -> None:
        """Show how far it is now; the cursor stays where it is."""
        self.matrix, self.letters, self.rates, self.marked = matrix, letters, rates, marked
        self.answers = answers
        self._move_glyphs()
        self.refresh_lines_data()

    def on_mount(self) -> None:
        """Begin to move."""
        self._move_glyphs()

    def _move_glyphs(self) -> None:
        """Move the glyphs of what runs as long as something does, and nothing else ever."""
        self._motion.follow(runs=self.matrix is not None and bool(self.matrix.running))

    def _tick(self) -> None:
        self._frame += 1
        self.refresh()

    def validate_sample(self, sample: int) -> int:
        """Keep the cursor on a sample that there is."""
        last = self.matrix.definition.samples - 1 if self.matrix is not None else 0
        return max(0, min(sample, last))

    def watch_sample(self) -> None:
        """Repaint, and tell the parent."""
        self.refresh()
        self.post_message(self.SampleMoved(self))

    def render_line(self, y: int) -> Strip:
        """Draw one line: only the sample under the cursor stands out, not the whole line."""
        index, columns = y + self.scroll_offset.y, self.size.width
        if index >= self.line_count:
            return Strip.blank(columns, self.canvas.ground)
        cells = self.line(index, max(0, columns - 2), self.canvas.palette)
        return Strip.join([Strip.blank(1), cells, Strip.blank(1)]).apply_style(self.canvas.ground)

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw one combination."""
        matrix, glyphs = self.matrix, look_of(self).glyphs
        if matrix is None:
            return Strip.blank(width)
        cell, layout = matrix.cells[index], SweepLayout.of(matrix, width, self.longest)
        here = index == self.cursor
        label = fair_label(cell.labels, layout.label - 1, glyphs.cut) or label_of(cell)
        row = Row(glyphs.cut).column(label, layout.label - 1, styles.strong if here else styles.text)
        row.add(" ")
        first = self.first
        for sample in cell.samples[first : first + layout.shown]:
            is_here = here and sample.number == self.sample + 1
            row.join(self._sample(cell, sample, layout.cell, styles, here=is_here))
        return row.right(self._figures(cell, layout, styles, index), width).strip(width)

    def _sample(self, cell: MatrixCell, sample: Sample, columns: int, styles: Palette, *, here: bool) -> Row:
        """One cell: the cursor or a mark, what became of it, how many steps, the letter of its answer."""
        glyphs, run = look_of(self).glyphs, sample.run
        ground = (styles.cursor_focused if self.has_focus else styles.cursor_blurred) if here else None
        running = sample.status == "running" and self._frame >= 0
        glyph = glyphs.running[self._frame % len(glyphs.running)] if running else sample_glyph(sample.status, glyphs)
        steps = sample.steps if sample.steps is not None else run.steps if run is not None and running else None
        letter = self.letters.get((cell.cell.number, sample.number), glyphs.interrupted if sample.is_done else "")
        row = Row(glyphs.cut)
        bar = styles.bar_focused if self.has_focus else styles.bar_blurred
        if here:
            row.add(glyphs.bar, bar)
        else:
            row.add(glyphs.edited if run is not None and run.id in self.marked else " ", styles.yours)
        style = sample_style(sample.status, styles)
        row.add(glyph, style)  # type: ignore[arg-type]
        text = styles.strong if here else styles.muted
        row.column("" if steps is None else fmt.count(steps), _STEP_DIGITS, text, "right")
        known = letter not in ("", glyphs.interrupted)
        row.add(" ").add(letter or " ", styles.strong if known else styles.faint)
        if here and run is not None and run.id in self.marked:
            row.add(glyphs.edited, styles.yours)
        if columns > _CELL and letter in self.answers:
            row.pad_to(_CELL - 1).upto(show(self.answers[letter], columns, glyphs.cut), columns - 2, text)
        row.pad_to(columns - 1)
        if ground is not None:
            painted = row.strip(columns - 1).apply_style(ground)
            row = Row(glyphs.cut)
            for segment in painted:
                row.add(segment.text, segment.style)
        return row.add(" ")

    def _figures(self, cell: MatrixCell, layout: SweepLayout, styles: Palette, index: int) -> Row:
        glyphs, tally = look_of(self).glyphs, cell.tally
        rate = self.rates.get(index, tally.succeeded)
        row = Row(glyphs.cut)
        style = (
            styles.muted
            if not rate.runs
            else styles.well
            if rate.count == rate.runs
            else styles.failed
            if not rate.count
            else styles.strong
        )
        if layout.bar:
            filled = round((layout.bar - 2) * (rate.share or 0.0))
            row.add("  ").add(glyphs.busy * filled, styles.well).add(
                glyphs.line * (layout.bar - 2 - filled), styles.faint
            )
        row.column(f"{rate.count}/{rate.runs}", _RATE, style, "right")
        row.column(interval(rate) if rate.runs else "", layout.interval, styles.muted, "right")
        row.column("" if tally.steps is None else f"{tally.steps:.3g}", layout.steps, styles.muted, "right")
        tokens = "" if tally.tokens is None else fmt.count(round(tally.tokens))
        row.column(tokens, layout.tokens, styles.muted, "right")
        cost = "" if tally.cost_usd is None else fmt.cost(tally.cost_usd, tally.unpriced)
        return row.column(cost, layout.cost, styles.muted, "right")


class MatrixLegend(RowWidget):
    """What the glyphs mean."""

    DEFAULT_CSS = "MatrixLegend { height: 1; margin: 1 0 1 0; background: $surface; }"

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        """Draw as many as fit."""
        glyphs = look_of(self).glyphs
        parts = (
            (glyphs.well, styles.well, "ended well"),
            (glyphs.failed, styles.failed, "failed"),
            (glyphs.still, styles.running, "running"),
            (glyphs.ambient, styles.muted, "waiting"),
            (glyphs.unknown, styles.muted, "broke off"),
            ("n", styles.text, "steps"),
            ("a b", styles.strong, "which answer"),
        )
        row = self.new_row().add(" ")
        for glyph, style, words in parts:
            if row.cells + width(glyph) + len(words) + 3 > columns:
                break
            row.add(" ").add(glyph, style).add(f" {words} ", styles.muted)
        return row
