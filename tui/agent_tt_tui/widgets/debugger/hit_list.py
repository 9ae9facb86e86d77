"""The hits of a search, one a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt_tui.format import counted
from agent_tt_tui.lines import LineView
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row
from agent_tt_tui.status import kind_glyph
from agent_tt_tui.text import clean, cut
from agent_tt_tui.text import width as columns_of
from agent_tt_tui.viewmodel.past.finding import HitRows, where, where_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.strip import Strip

    from agent_tt.querying.search.hits import Hit
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.viewmodel.past.filtering import TermsRow
    from agent_tt_tui.viewmodel.past.finding import HitRow

_STEP = 9
_TITLE = 9
_WHERE, _WHERE_SHARE = 22, 3
"""Columns of where a hit is at least, and the part of a row that they may take where that is longer."""

_MEASURED = 500
"""How many hits are measured to find the longest place."""


class HitList(LineView, can_focus=False):
    """The hits; repeats of the same words take one row."""

    is_old = False
    """Whether they are those of a search before, and muted until there are new ones."""

    def __init__(self, kind_of: Callable[[int], str | None] | None) -> None:
        """Show hits.

        Args:
            kind_of: Tells the kind of a step; None where that is not known.
        """
        super().__init__()
        self.found = HitRows()
        """What is shown."""
        self._kind_of = kind_of
        self._terms: Sequence[TermsRow] = ()
        self._measured = (self.found, 0, 0)

    def watch_cursor(self, old: int, new: int) -> None:
        """Draw the chosen hit otherwise than the others, also while something else is in focus."""
        self._cache.clear()
        super().watch_cursor(old, new)

    @property
    def line_count(self) -> int:
        """A row for each new hit and for each group of repeats; without any, what can be typed."""
        return len(self.found.rows) or len(self._terms)

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw a hit with the words that were found, a group of repeats, or the name of a run."""
        glyphs = look_of(self).glyphs
        if not self.found.rows:
            return self._draw_terms(Row(glyphs.cut), index, width, styles).strip(width)
        item = self.found.rows[index]
        hit, here = item.hit, index == self.cursor
        strong, text = (styles.faint, styles.faint) if self.is_old else (styles.strong, styles.text)
        if item.heading:
            times = counted(item.count, "hit")
            return Row(glyphs.cut).add(clean(item.heading), strong).add(f"  {times}", styles.muted).strip(width)
        steps = str(hit.step) if item.last == hit.step or item.like is None else f"{hit.step}-{item.last}"
        row = Row(glyphs.cut).column(steps, _STEP - 3, strong if here else styles.muted, "right").add(" ")
        if self._kind_of is not None:
            row.add(kind_glyph(self._kind_of(hit.step) if hit.step else "human", glyphs), text).add(" ")
        if item.like is not None:
            times = f"{item.count:,} more, like step {item.like}"
            return row.add(times, text).add(f"  {glyphs.same}", styles.muted).strip(width)
        return self._draw_hit(row, item, hit, width, styles).strip(width)

    def is_here(self, index: int) -> bool:
        """Only a hit has the cursor: what can be typed is only read."""
        return bool(self.found.rows) and super().is_here(index)

    def show_terms(self, terms: Sequence[TermsRow]) -> None:
        """Show what can be typed where there is no hit to be shown."""
        self._terms = terms
        self.refresh_lines_data()

    def _draw_terms(self, row: Row, index: int, width: int, styles: Palette) -> Row:
        title, terms = self._terms[index]
        row.add(" ").column(title, _TITLE, styles.faint)
        for word, count in terms:
            shown, figure = clean(word), f" {count:,}" if count is not None else ""
            if row.cells + columns_of(shown) + len(figure) > width:  # a part of a word says nothing to be typed
                break
            row.add(shown, styles.text).add(figure, styles.muted).add("   ")
        return row

    def _longest(self) -> int:
        """The columns of the longest of the places that hits are at."""
        found, rows, longest = self._measured
        if found is not self.found or rows != len(self.found.rows):
            places = (columns_of(clean(where(row.hit))) for row in self.found.rows[:_MEASURED] if not row.heading)
            longest = max(places, default=0)
            self._measured = (self.found, len(self.found.rows), longest)
        return longest

    def _draw_hit(self, row: Row, item: HitRow, hit: Hit, width: int, styles: Palette) -> Row:
        glyphs, here = look_of(self).glyphs, self.found.rows[self.cursor] is item if self.found.rows else False
        plain = styles.faint if self.is_old else styles.muted
        columns = max(_WHERE, min(self._longest(), width // _WHERE_SHARE))
        row.column(
            where_in(hit, columns, glyphs.cut),
            columns,
            styles.faint if self.is_old else styles.strong if here else styles.text,
        )
        row.add(" ")
        again = f"  {glyphs.same} {item.count:,} times to {item.last}" if item.count > 1 else ""
        room = max(0, width - row.cells - len(again))
        before, words = hit.excerpt[: hit.start], hit.excerpt[hit.start : hit.start + hit.length]
        row.add(cut(clean(before), room // 2, glyphs.cut), plain)
        row.add(clean(words), styles.faint if self.is_old else styles.search_hit)
        row.add(clean(hit.excerpt[hit.start + hit.length :]), plain)
        return row.right(Row(glyphs.cut).add(again, plain), width) if again else row
