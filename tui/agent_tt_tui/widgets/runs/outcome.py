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
from agent_tt_tui.text import clean, show, width
from agent_tt_tui.viewmodel.runs.comparison import lane_fate
from agent_tt_tui.viewmodel.values.pieces import wrap_text
from agent_tt_tui.widgets.drawing import add_pieces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.comparing.runs.comparison import LanePair
    from agent_tt.comparing.steps.outcome import Outcome
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.row import Row
    from agent_tt_tui.viewmodel.runs.comparison import CompareView
    from agent_tt_tui.viewmodel.values.pieces import Piece

_WITH_TITLE: Final = 4
"""From so many rows on there is a title and a row of differences."""

_FIGURES_FROM: Final = 16
"""The column at which the figures begin."""

_FIGURES: Final = 18
"""The columns of steps and duration, which are always there."""

_WORDS_FROM: Final = 4
"""The column at which last words begin that stand below the figures."""

_MOST_WORDS: Final = 2_000
"""Characters of last words that are shown."""


def _lanes_that_differ(lanes: Sequence[LanePair]) -> list[LanePair]:
    """Those of several lanes in which something differs."""
    differ = [lane for lane in lanes if lane.diverged_at is not None or lane.final_changes]
    return differ if len(lanes) > 1 else []


class OutcomePane(RowWidget):
    """Status, steps, time, tokens, cost and last words of A and B, B − A, and how each lane that differs ended.

    Last words are shown to their end where there are rows for that; lanes as far as rows are left.
    """

    view: reactive[CompareView | None] = reactive(None)
    has_title = False
    """Whether there is a title and a row of differences."""
    counts_tools = True
    """Whether the row of differences says how often which tool was called."""

    @property
    def least(self) -> int:
        """How many rows there are at least."""
        return _WITH_TITLE if self.has_title else 2

    def needed(self, columns: int) -> int:
        """How many rows show all that there is to say on a screen so wide."""
        comparison = self.view.comparison if self.view is not None else None
        if comparison is None:
            return self.least
        words = sum(len(self._words_below(side, columns)) for side in "AB")
        return self.least + words + len(_lanes_that_differ(comparison.lanes))

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw one row."""
        if self.view is None:
            return self.new_row()
        comparison, glyphs = self.view.comparison, look_of(self).glyphs
        if self.has_title and y == 0:
            row = self.new_row().add(" ").add("OUTCOME", styles.title_blurred).pad_to(_FIGURES_FROM)
            effects = comparison.outcome_b.effects.summary(glyphs.times)
            return row.add(show(f"B {effects}", columns - row.cells - 1, glyphs.cut), styles.muted) if effects else row
        y -= self.has_title
        free = self.size.height - self.least
        for side in "AB":
            words = self._words_below(side, columns)
            below = words if len(words) <= free else []
            free -= len(below)
            if y == 0:
                return self._side(side, columns, styles, words_below=bool(below))
            if y <= len(below):
                return add_pieces(self.new_row().pad_to(_WORDS_FROM), below[y - 1], styles)
            y -= 1 + len(below)
        if self.has_title:
            if y == 0:
                return self._difference(comparison.outcome_a, comparison.outcome_b, styles)
            y -= 1
        lanes = _lanes_that_differ(comparison.lanes)
        return self._lane(lanes[y], columns, styles) if y < min(len(lanes), free) else self.new_row()

    def _lane(self, lane: LanePair, columns: int, styles: Palette) -> Row:
        """What became of a lane, and how it ended in A and in B."""
        glyphs = look_of(self).glyphs
        name = lane.a if lane.a == lane.b else f"{lane.a or '-'} {glyphs.dot} {lane.b or '-'}"
        row = self.new_row().pad_to(3).column(clean(name or ""), _FIGURES_FROM - 4, styles.text).add(" ")
        if lane.diverged_at is not None:
            row.add(f"{glyphs.differs} parted at {lane.diverged_at}, ", styles.yours)
        row.add(lane_fate(lane), styles.muted)
        for side, end in (("A", lane.outcome_a), ("B", lane.outcome_b)):
            if end is not None:
                how = end.error.short if end.error is not None else end.status
                row.add(f"   {side} ", styles.strong).add(f"{fmt.counted(end.steps, 'step')}, ", styles.muted)
                row.upto(clean(how), columns - 1, styles.failed_text if end.error is not None else styles.muted)
        return row

    def _words_below(self, side: str, columns: int) -> list[tuple[Piece, ...]]:
        """The rows of the last words of a run that have no room beside its figures; none where they have."""
        outcome = self._outcome(side)
        if outcome is None:
            return []
        tokens, cost = self._optional_columns()
        room = columns - _FIGURES_FROM - _FIGURES - tokens - cost - 4
        if outcome.error is not None:
            words, role = outcome.error.short, "failed_text"
        else:
            words, role = f'"{outcome.answer}"' if outcome.answer else "", "text"
        if "\n" not in words and width(clean(words)) <= room:
            return []
        more = look_of(self).glyphs.cut
        return list(wrap_text(words, columns - _WORDS_FROM - 1, role, more, limit=_MOST_WORDS))  # type: ignore[arg-type]

    def _outcome(self, side: str) -> Outcome | None:
        if self.view is None:
            return None
        comparison = self.view.comparison
        return comparison.outcome_a if side == "A" else comparison.outcome_b

    def _side(self, side: str, columns: int, styles: Palette, *, words_below: bool) -> Row:
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
        if outcome.error is not None and words_below:
            return row
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
        if outcome.answer and room > 1 and not words_below:
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
        figures = (
            (a.duration_us, b.duration_us, 9),
            (a.whole_tokens, b.whole_tokens, tokens),
            (a.whole_cost, b.whole_cost, cost),
        )
        for old, new, size in figures:
            text = fmt.change(old, new, look_of(self).glyphs.times) if old and new is not None else ""
            row.column(text, size, styles.well if text.startswith("-") else styles.muted, "right")
        tools = [name for name in dict.fromkeys([*a.tools, *b.tools]) if a.tools.get(name, 0) != b.tools.get(name, 0)]
        glyphs = look_of(self).glyphs
        if not self.counts_tools:
            return row
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
            # The title of its side counts those before the fork too.
            whose = " of its own" if run.fork_step else ""
            facts = [f"{fmt.counted(max(0, own), 'step')}{whose} so far", fmt.duration(seconds)]
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
