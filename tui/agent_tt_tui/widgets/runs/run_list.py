"""The list of runs with its column titles: forks below what they were forked from."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt_tui import format as fmt
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row, RowWidget
from agent_tt_tui.text import Align, clean
from agent_tt_tui.viewmodel.runs.runtree import ListedRuns
from agent_tt_tui.widgets.runs.run_rows import RunRows, add_status

if TYPE_CHECKING:
    from rich.style import Style
    from textual.strip import Strip

    from agent_tt_tui.palette import Palette
    from agent_tt_tui.viewmodel.runs.runtree import RunRow, SortKey, SweepGroup

_WIDEST_NAME: Final = 56

MOST_LEVELS: Final = 8
"""Forks of forks nested deeper than this are drawn at this level."""


@dataclass(frozen=True, slots=True)
class Columns:
    """How many columns each part of a row has; 0 leaves a part out."""

    name: int
    status: int = 14
    steps: int = 6
    tokens: int = 9
    cost: int = 9
    took: int = 0
    model: int = 0
    age: int = 8

    @classmethod
    def of(cls, width: int) -> Columns:
        """Share out a row's columns: when there are few model, time, cost, tokens, age and steps go, in this order."""
        parts = {"steps": 6, "tokens": 9, "cost": 9, "took": 9, "model": 18, "age": 8}
        for dropped in ("model", "took", "cost", "tokens", "age", "steps"):
            if 27 + 14 + sum(parts.values()) <= width:
                break
            parts[dropped] = 0
        left = width - 14 - sum(parts.values())
        return cls(name=max(8, min(left, _WIDEST_NAME)), **parts)

    @property
    def named(self) -> int:
        """How many columns a name has before the gap."""
        return self.name - 1


class RunColumns(RowWidget):
    """The titles of the columns; the one that runs are sorted by is bright."""

    DEFAULT_CSS = "RunColumns { height: 1; }"

    sort: SortKey = "age"

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        """Draw the titles."""
        parts = Columns.of(columns - 2)

        row = self.new_row().add(" ")
        titles: tuple[tuple[str, int, str, Align], ...] = (
            ("RUN", parts.name, "name", "left"),
            ("STATUS", parts.status, "status", "left"),
            ("STEPS", parts.steps, "steps", "right"),
            ("TOKENS", parts.tokens, "", "right"),
            ("COST", parts.cost, "cost", "right"),
            ("TOOK", parts.took, "", "right"),
            ("  MODEL", parts.model, "", "left"),
            ("AGE", parts.age, "age", "right"),
        )
        for title, size, key, align in titles:
            row.column(title, size, styles.title if key == self.sort else styles.title_blurred, align)
        return row


class RunList(RunRows["RunRow"]):
    """All runs of a store."""

    HELP = "Runs: enter opens one, space selects it, c compares two that are selected."

    selected: frozenset[str] = frozenset()
    """Ids of the runs that were selected."""

    shown: ListedRuns = ListedRuns((), running=())
    """The rows."""

    def show(self, rows: ListedRuns, selected: frozenset[str], empty: str = "") -> None:
        """Show runs, or why there are none."""
        self.shown, self.selected, self.empty = rows, selected, empty
        self.show_rows(rows)

    @property
    def something_goes_on(self) -> bool:
        """Whether a run, or one of a sweep, still runs."""
        return self.shown.running

    def index_of(self, current: RunRow) -> int | None:
        """Where a run stands, or a sweep."""
        return self.shown.index_of(current)

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw one run."""
        glyphs, parts = look_of(self).glyphs, Columns.of(width)
        if not self.rows:
            return Row(glyphs.cut).add(" ").upto(self.empty, width, styles.note).strip(width)
        item = self.rows[index]
        run = item.run
        chosen = item.group is None and run.id in self.selected
        name = Row(glyphs.cut).add(glyphs.well if chosen else " ", styles.yours)
        levels = item.last[-MOST_LEVELS:]
        for depth, last in enumerate(levels):
            if depth == len(levels) - 1:
                name.add((glyphs.branch_last if last else glyphs.branch) + glyphs.line + " ", styles.faint)
            else:
                name.add(("  " if last else glyphs.rail + " ") + " ", styles.faint)
        if item.group is not None:
            return self._sweep(item.group, name.upto(clean(item.label), parts.named, styles.text), parts, width, styles)
        mark = "incomplete" if run.incomplete else "pinned" if run.pinned else "archived" if run.archived else ""
        mark = mark or clean(run.standing or "")
        style = (
            styles.muted if run.archived else styles.text if item.last and not styles.on_cursor_row else styles.strong
        )
        name.upto(clean(item.label), parts.named - (len(mark) + 1 if mark else 0), style)
        if mark:
            name.add(f" {mark}", styles.yours if run.pinned else styles.note)
        row = Row(glyphs.cut)
        row.upto_row(name, parts.named).pad_to(parts.name)
        waits = run.id in self._waiting
        add_status(row, run, parts.status, styles, glyphs, moving=self.moving, waits=waits)
        tokens = fmt.total_tokens(run.tokens_in, run.tokens_out)
        cost = glyphs.interrupted if run.cost_usd is None else fmt.cost(run.cost_usd, run.unpriced)
        took_us = None if run.ended_us is None else run.ended_us - run.started_us
        model = run.model.model if run.model is not None else None
        figures: tuple[tuple[str, int, Style, Align], ...] = (
            (fmt.count(run.steps), parts.steps, styles.text, "right"),
            (glyphs.interrupted if tokens is None else fmt.count(tokens), parts.tokens, styles.muted, "right"),
            (cost, parts.cost, styles.muted, "right"),
            (glyphs.interrupted if took_us is None else fmt.duration(took_us / 1e6), parts.took, styles.muted, "right"),
            (f"  {clean(model or glyphs.interrupted)}", parts.model, styles.muted, "left"),
            (fmt.age_since(run.started_us, time.time()) or glyphs.interrupted, parts.age, styles.muted, "right"),
        )
        for text, size, style, align in figures:
            row.column(text, size, style, align)
        return row.strip(width)

    def _sweep(self, group: SweepGroup, name: Row, parts: Columns, width: int, styles: Palette) -> Strip:
        """The row that stands for all runs of a sweep."""
        glyphs = look_of(self).glyphs
        row = Row(glyphs.cut)
        row.upto_row(name, parts.named).pad_to(parts.name)
        if group.running:
            row.add(f"{self.moving or glyphs.still} ", styles.running)
        else:
            row.add(f"{glyphs.folded} ", styles.muted)
        return row.upto(group.summary, width, styles.muted).strip(width)
