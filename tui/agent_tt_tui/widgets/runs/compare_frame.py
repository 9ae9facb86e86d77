"""The frame of a comparison: the header with both runs, the titles of both sides, and the strip of all pairs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from textual.reactive import reactive

from agent_tt_tui import format as fmt
from agent_tt_tui.chrome import Motion
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row, RowWidget
from agent_tt_tui.status import run_glyph, run_style
from agent_tt_tui.text import clean, cut_start, width
from agent_tt_tui.widgets.runs.compare_steps import GUTTER, SIDE_BY_SIDE_FROM, half

if TYPE_CHECKING:
    from rich.style import Style

    from agent_tt.comparing.runs.comparison import LanePair, RowKind
    from agent_tt.comparing.runs.comparison import Row as Pair
    from agent_tt.model import Run
    from agent_tt_tui.palette import Palette

_CELL: Final = 2
_LEAST_NAME: Final = 8
"""Columns that a run's name keeps: beside them the glyph alone says how it ended."""

_RARITY: Final = {"same": 0, "pending": 0, "only_a": 1, "only_b": 2, "different": 3}

_LEAST_LANES: Final = 16
"""From so many free columns on, the lanes that part are named."""


class CompareHeader(RowWidget):
    """Row 0: A's name and status at the left, B's from the middle on."""

    DEFAULT_CSS = "CompareHeader { dock: top; height: 1; background: $panel; }"

    runs: reactive[tuple[Run, Run] | None] = reactive(None)
    frame: reactive[int] = reactive(0)
    waiting: reactive[frozenset[str]] = reactive(frozenset())
    """Ids of the runs in which a call waits for a decision."""
    packed: reactive[bool] = reactive(default=False)
    """Whether B stands next to A, as nothing below begins in the middle."""

    def __init__(self) -> None:
        super().__init__()
        self._motion = Motion(self, self._tick)

    def on_mount(self) -> None:
        """Begin to move."""
        self.watch_runs()

    def watch_runs(self) -> None:
        """Move the glyph of a run as long as it is under way, and nothing else ever."""
        self._motion.follow(runs=any(run.status == "running" for run in self.runs or ()))

    def _tick(self) -> None:
        self.frame += 1

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        """Draw both halves."""
        row = self.new_row()
        if self.runs is None:
            return row
        side = half(columns)
        row.upto_row(self._half("A", self.runs[0], side, styles), side)
        if self.packed:
            return row.add(" " * GUTTER).upto_row(self._half("B", self.runs[1], side, styles), side)
        return row.pad_to(side + GUTTER + 1).upto_row(self._half("B", self.runs[1], side, styles), side)

    def _half(self, letter: str, run: Run, columns: int, styles: Palette) -> Row:
        glyphs = look_of(self).glyphs
        glyph = run_glyph(run.status, glyphs)
        if run.status == "running" and self.app.animation_level != "none":
            glyph = glyphs.running[self.frame % len(glyphs.running)]
        waits = run.id in self.waiting
        if waits:
            glyph = glyphs.person
        status = f"{glyph} {'waits for you' if waits else run.status}"
        row = self.new_row().add(f" {letter} ", styles.active_tab).add("  ")
        name, room = clean(run.name), columns - row.cells - 2 - width(status)
        if room < _LEAST_NAME:
            status = glyph
            room = columns - row.cells - 2 - width(status)
        row.add(cut_start(name, room, glyphs.cut), styles.strong).add("  ")
        return row.add(status, styles.yours if waits else run_style(run.status, styles))


class SideTitles(RowWidget):
    """`STEPS 21` over each side, or of both where A stands above B; at the right which of several lanes part."""

    DEFAULT_CSS = "SideTitles { height: 1; }"

    runs: reactive[tuple[Run, Run] | None] = reactive(None)
    active: reactive[bool] = reactive(default=False)
    """Whether the steps below have the focus."""
    inline: reactive[bool] = reactive(default=False)
    """Whether A stands above B although there is room beside it."""
    in_column: reactive[bool] = reactive(default=False)
    """Whether the steps are one of several columns; their sides stand beside each other all the same."""
    lanes: reactive[tuple[LanePair, ...]] = reactive(())
    """The lanes that belong together; nothing is said of them where there is one."""

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        """Draw both titles."""
        row = self.new_row().add(look_of(self).glyphs.bar if self.active else " ", styles.bar_focused)
        stacks = self.inline or (columns < SIDE_BY_SIDE_FROM and not self.in_column)
        for index, run in enumerate(self.runs or ()):
            if stacks:
                row.add("  " if index else "").add(f"{'AB'[index]} ", styles.muted)
            else:
                row.pad_to((half(columns) + GUTTER + 1) * index + 1)
            row.add("STEPS", styles.title if self.active else styles.title_blurred).add("  ").add(
                fmt.count(run.steps), styles.muted
            )
            if run.status == "running":
                row.add(", live", styles.running)
        return self._with_lanes(row, columns, styles)

    def _with_lanes(self, row: Row, columns: int, styles: Palette) -> Row:
        """Add how many lanes part, and where, as much as there is room for."""
        parted = [lane for lane in self.lanes if lane.diverged_at is not None]
        if not parted or len(self.lanes) == 1:
            return row
        glyphs, room = look_of(self).glyphs, columns - row.cells - 3
        few = f"{len(parted)}/{len(self.lanes)} lanes {glyphs.differs}"
        named = ", ".join(f"{clean(lane.a or lane.b or '')} at {lane.diverged_at}" for lane in parted)
        tail = Row(glyphs.cut)
        if width(few) <= room:
            tail.upto(f"{few}  {named}" if width(few) + _LEAST_LANES <= room else few, room, styles.muted).add(" ")
        return row.right(tail, columns)


class PairStrip(RowWidget):
    """All pairs on one row, the selected one reversed, and how many there are of each kind, under its glyph."""

    DEFAULT_CSS = "PairStrip { height: 1; background: $panel; }"

    pairs: reactive[tuple[Pair, ...]] = reactive(())
    current: reactive[int] = reactive(0)
    """Index of the selected pair."""

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        """Draw the strip."""
        glyphs, pairs = look_of(self).glyphs, self.pairs
        looks: dict[RowKind, tuple[str, Style]] = {
            "same": (glyphs.same, styles.faint),
            "different": (glyphs.differs, styles.yours),
            "only_a": (glyphs.only_a, styles.muted),
            "only_b": (glyphs.only_b, styles.muted),
            "pending": (glyphs.ambient, styles.faint),
        }
        kinds = Counter(pair.kind for pair in pairs)
        counts = [f"{fmt.count(kinds[kind])} {glyph}" for kind, (glyph, _) in looks.items() if kinds[kind]]
        right = Row(glyphs.cut).add("  ".join(counts), styles.muted).add(" ")
        row = self.new_row().add(" ").add(fmt.count(self.current + 1 if pairs else 0), styles.strong)
        row.add(f"/{fmt.count(len(pairs))} pairs  ", styles.muted)
        room = columns - row.cells - right.cells - 2
        if not pairs or room < 1:
            return row.right(right, columns)
        cells = min(len(pairs), room if len(pairs) * _CELL > room else len(pairs))
        wide = _CELL if cells * _CELL <= room else 1
        for cell in range(cells):
            start, stop = cell * len(pairs) // cells, (cell + 1) * len(pairs) // cells
            rarest = max(pairs[start:stop], key=lambda pair: _RARITY[pair.kind])
            glyph, style = looks[rarest.kind]
            row.add(glyph, styles.time_cursor if start <= self.current < stop else style)
            if wide == _CELL and cell < cells - 1:
                row.add(glyphs.line, styles.faint)
        return row.right(right, columns)
