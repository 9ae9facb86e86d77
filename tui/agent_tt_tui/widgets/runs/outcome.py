"""How two runs ended, side by side; while one still runs, how far it is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from textual.reactive import reactive

from agent_tt.comparing.runs.without_effect import edits_without_effect
from agent_tt_tui import format as fmt
from agent_tt_tui.look import look_of
from agent_tt_tui.row import RowWidget
from agent_tt_tui.status import run_glyph, run_style
from agent_tt_tui.text import clean, show

if TYPE_CHECKING:
    from agent_tt.comparing.steps.outcome import Outcome
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.row import Row
    from agent_tt_tui.viewmodel.runs.comparison import CompareView

_WITH_TITLE: Final = 4
"""From so many rows on there is a title and a row of differences."""

_FIGURES_FROM: Final = 16
"""The column at which the figures begin."""


class OutcomePane(RowWidget):
    """Status, steps, time, tokens, cost and last words of A and B, and B − A."""

    view: reactive[CompareView | None] = reactive(None)

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw one row."""
        if self.view is None:
            return self.new_row()
        comparison = self.view.comparison
        if self.size.height < _WITH_TITLE:
            return self._side("A" if y == 0 else "B", columns, styles)
        if y == 0:
            row = self.new_row().add(" ").add("OUTCOME", styles.title_blurred).pad_to(_FIGURES_FROM)
            glyphs, effects = look_of(self).glyphs, comparison.outcome_b.effects.summary(look_of(self).glyphs.times)
            return row.add(show(f"B {effects}", columns - row.cells - 1, glyphs.cut), styles.muted) if effects else row
        if y in (1, 2):
            return self._side("A" if y == 1 else "B", columns, styles)
        return self._difference(comparison.outcome_a, comparison.outcome_b, styles) if y == 3 else self.new_row()

    def _side(self, side: str, columns: int, styles: Palette) -> Row:
        comparison = self.view.comparison if self.view is not None else None
        if comparison is None:
            return self.new_row()
        outcome = comparison.outcome_a if side == "A" else comparison.outcome_b
        run = comparison.a if side == "A" else comparison.b
        glyphs = look_of(self).glyphs
        tone = run_style(outcome.status, styles)
        row = self.new_row().add(" ").add(side, styles.strong).add(" ")
        row.add(f"{run_glyph(outcome.status, glyphs)} {outcome.status}", tone).pad_to(_FIGURES_FROM)
        duration = outcome.duration_us
        if duration is None and run.status == "running":
            duration = max(0, round(time.time() * 1e6) - run.started_us)
        tokens, cost = self._optional_columns()
        figures = (
            (fmt.counted(outcome.steps, "step"), 9),
            (fmt.duration(duration / 1e6) if duration is not None else "", 9),
            (fmt.tokens(outcome.tokens) if outcome.tokens is not None else "", tokens),
            (fmt.cost(outcome.cost_usd, outcome.unpriced) if outcome.cost_usd is not None else "", cost),
        )
        for text, size in figures:
            row.column(text, size, styles.muted, "right")
        row.add("   ")
        room = columns - row.cells - 1
        if outcome.error is not None:
            return row.add(show(outcome.error.short, room, glyphs.cut), styles.failed_text)
        held_back = ", ".join(outcome.denied)
        if held_back:
            text = f"{glyphs.writes} {held_back} denied  "
            row.add(show(text, room, glyphs.cut), styles.yours)
            room = columns - row.cells - 1
        unmade = edits_without_effect(run)
        if unmade and room > 1:
            where = ", ".join(each.edit.where or "the whole state" for each in unmade)
            row.add(show(f"{glyphs.edited} no effect: {where}  ", room, glyphs.cut), styles.failed)
            room = columns - row.cells - 1
        if outcome.answer and room > 1:
            row.add(show(f'"{outcome.answer}"', room, glyphs.cut), styles.text)
        return row

    def _optional_columns(self) -> tuple[int, int]:
        """The columns that tokens and cost take: none where neither run knows them."""
        comparison = self.view.comparison if self.view is not None else None
        both = () if comparison is None else (comparison.outcome_a, comparison.outcome_b)
        tokens = any(outcome.tokens is not None for outcome in both)
        return 12 if tokens else 0, 9 if any(outcome.cost_usd is not None for outcome in both) else 0

    def _difference(self, a: Outcome, b: Outcome, styles: Palette) -> Row:
        row = self.new_row().add(" ").add("B-A", styles.strong).pad_to(_FIGURES_FROM)
        steps = b.steps - a.steps
        row.column(f"{steps:+d}" if steps else "0", 9, styles.well if steps < 0 else styles.muted, "right")
        tokens, cost = self._optional_columns()
        figures = ((a.duration_us, b.duration_us, 9), (a.tokens, b.tokens, tokens), (a.whole_cost, b.whole_cost, cost))
        for old, new, size in figures:
            text = fmt.change(old, new, look_of(self).glyphs.times) if old and new is not None else ""
            row.column(text, size, styles.well if text.startswith("-") else styles.muted, "right")
        tools = [name for name in dict.fromkeys([*a.tools, *b.tools]) if a.tools.get(name, 0) != b.tools.get(name, 0)]
        glyphs = look_of(self).glyphs
        words = [f"{clean(name)} {a.tools.get(name, 0)} {glyphs.to} {b.tools.get(name, 0)}" for name in tools]
        return row.add("   ").add(f"  {glyphs.dot} ".join(words), styles.muted)


class LivePane(RowWidget):
    """What a fork has done so far, what it was kept from, and the last line that it printed."""

    view: reactive[CompareView | None] = reactive(None)
    last_output: reactive[str] = reactive("")

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw one row."""
        if self.view is None:
            return self.new_row()
        comparison = self.view.comparison
        outcome, run = comparison.outcome_b, comparison.b
        glyphs = look_of(self).glyphs
        if self.size.height < _WITH_TITLE:
            y = {0: 0, 1: 2}.get(y, y)
        if y == 0:
            row = self.new_row().add(" ").add("LIVE", styles.running).add("  ")
            seconds = max(0.0, time.time() - run.started_us / 1e6)
            own = outcome.steps - (run.fork_step or 0)
            facts = [f"{fmt.counted(max(0, own), 'step')} so far", fmt.duration(seconds)]
            if outcome.tokens is not None:
                facts.append(fmt.tokens(outcome.tokens))
            return row.add(f" {glyphs.dot} ".join(facts), styles.muted)
        if y == 1:
            row = self.new_row().add(" effects   ", styles.muted)
            told = outcome.effects.summary(glyphs.times) or "none yet"
            return row.add(show(told, columns - row.cells - 1, glyphs.cut), styles.text)
        if y == 2 and self.last_output:
            row = self.new_row().add(" output    ", styles.muted)
            return row.add(show(self.last_output, columns - row.cells - 1, glyphs.cut), styles.text)
        return self.new_row()
