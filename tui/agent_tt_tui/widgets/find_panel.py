"""The find panel: a line to type text or a question into, how much was found, and the hits."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input

from agent_tt_tui.contexts import FIND
from agent_tt_tui.lines import LineView
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row
from agent_tt_tui.row_widget import RowWidget
from agent_tt_tui.status import kind_glyph
from agent_tt_tui.text import clean, cut
from agent_tt_tui.text import width as columns_of
from agent_tt_tui.viewmodel.finding import HitRows, StepHit, where

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.strip import Strip

    from agent_tt.querying.find import Hit
    from agent_tt_tui.palette import Palette

_STEP = 9
_WHERE = 22


class FindInput(Input):
    """The line that is typed into; its other keys are those of the panel."""

    BINDINGS: ClassVar[list[BindingType]] = FIND.widget_bindings()
    HELP = "Text to find, or ? and a question: up and down go through the hits, enter stays, esc goes back."

    def action_hit(self, rows: int) -> None:
        """Ask for another hit."""
        self.post_message(FindPanel.HitMoved(rows))

    def action_accept(self) -> None:
        """Ask to stay at the hit."""
        self.post_message(FindPanel.Closed(stay=True))

    def action_close(self) -> None:
        """Ask to go back."""
        self.post_message(FindPanel.Closed(stay=False))


class _Slash(RowWidget):
    """The sign before the line."""

    def draw(self, _y: int, _columns: int, styles: Palette) -> Row:
        return self.new_row().add(" / ", styles.key)


class _Count(RowWidget):
    """How much was found, and whether the search goes on; or what is wrong with a question, below the place of it."""

    found = HitRows()
    searching = False
    empty = True
    """Whether nothing was typed yet."""
    why = ""
    caret: int | None = None
    """The column of what is wrong."""

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        found, glyphs = self.found, look_of(self).glyphs
        row = self.new_row()
        if self.why:
            return self._draw_why(row, columns, styles)
        if self.empty:
            row.add(" words, or ? and a question: ", styles.muted).add("?tokens > 2000", styles.text)
            row.add(f" {glyphs.dot} ", styles.faint).add('?tool == "charge"', styles.text)
            return row
        hits, steps = found.hits, len(found.steps)
        row.add(f" {hits:,} hit{'' if hits == 1 else 's'}", styles.strong)
        row.add(f" in {steps:,} step{'' if steps == 1 else 's'}", styles.muted)
        if self.searching:
            row.add(f"  {glyphs.still} searching {glyphs.cut}", styles.note)
        if found.repeated:
            row.right(self.new_row().add(f"{found.repeated:,} shown once: same words", styles.faint), columns - 1)
        return row

    def _draw_why(self, row: Row, columns: int, styles: Palette) -> Row:
        why, caret = clean(self.why), self.caret
        if caret is None:
            return row.add(f" {look_of(self).glyphs.failed} ", styles.failed).add(why, styles.text)
        caret = max(0, min(caret, columns - 2))
        if caret + 2 + columns_of(why) < columns or caret < columns // 2:
            return row.pad_to(caret).add("^ ", styles.failed).add(why, styles.text)
        said = cut(why, caret - 2, look_of(self).glyphs.cut)
        return row.pad_to(caret - 1 - columns_of(said)).add(said, styles.text).add(" ^", styles.failed)


class HitList(LineView, can_focus=False):
    """The hits; repeats of the same words take one row."""

    def __init__(self, kind_of: Callable[[int], str | None]) -> None:
        """Show hits.

        Args:
            kind_of: Tells the kind of a step.
        """
        super().__init__()
        self.found = HitRows()
        """What is shown."""
        self._kind_of = kind_of

    @property
    def line_count(self) -> int:
        """A row for each new hit and for each group of repeats."""
        return len(self.found.rows)

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw a hit with the words that were found, or a group of repeats."""
        glyphs, item = look_of(self).glyphs, self.found.rows[index]
        hit, here = item.hit, index == self.cursor
        steps = str(hit.step) if item.last == hit.step else f"{hit.step}-{item.last}"
        row = Row(glyphs.cut).column(steps, _STEP - 3, styles.strong if here else styles.muted, "right").add(" ")
        kind = self._kind_of(hit.step) if hit.step else "human"
        row.add(kind_glyph(kind, glyphs), styles.text).add(" ")
        if item.like is not None:
            times = f"{item.count:,} more, like step {item.like}"
            return row.add(times, styles.text).add(f"  {glyphs.same}", styles.muted).strip(width)
        if isinstance(hit, StepHit):
            return row.add(clean(hit.name), styles.strong if here else styles.text).strip(width)
        row.column(clean(where(hit)), _WHERE, styles.strong if here else styles.text).add(" ")
        before, words = hit.excerpt[: hit.start], hit.excerpt[hit.start : hit.start + hit.length]
        room = max(0, width - row.cells)
        row.add(cut(clean(before), room // 2, glyphs.cut), styles.muted).add(clean(words), styles.search_hit)
        return row.add(clean(hit.excerpt[hit.start + hit.length :]), styles.muted).strip(width)


class FindPanel(Vertical):
    """Typing asks for a search; the parent runs it and brings the hits."""

    @dataclass
    class TextChanged(Message):
        """Another text is to be searched for; the search before is to end."""

        text: str

    @dataclass
    class HitMoved(Message):
        """The hit so many rows away was asked for."""

        rows: int

    @dataclass
    class Closed(Message):
        """The panel is to be closed."""

        stay: bool

    def __init__(self, kind_of: Callable[[int], str | None]) -> None:
        """Make an empty panel.

        Args:
            kind_of: Tells the kind of a step.
        """
        super().__init__(id="find")
        self._count = _Count()
        self.hits = HitList(kind_of)

    def compose(self) -> ComposeResult:
        """Yield the line, the count and the hits."""
        yield Horizontal(_Slash(), FindInput(compact=True), id="find-prompt")
        yield self._count
        yield self.hits

    def open(self) -> None:
        """Take the focus, with what was typed before selected."""
        line = self.query_one(FindInput)
        line.focus()
        line.action_select_all()

    def begin(self, *, searching: bool) -> None:
        """Forget all hits, as a new search begins."""
        self.hits.found = self._count.found = HitRows()
        self._count.searching, self._count.empty, self._count.why = searching, not self.query_one(FindInput).value, ""
        self._count.refresh()
        self.hits.refresh_lines_data()

    def refuse(self, why: str, position: int | None) -> None:
        """Say what is wrong with a question.

        Args:
            why: What is wrong.
            position: Index into what was typed of what is wrong; None where it is nothing in it.
        """
        line, count = self.query_one(FindInput), self._count
        count.searching, count.why, count.caret = False, why, None
        if position is not None:
            count.caret = line.region.x - self.region.x + columns_of(line.value[:position]) - int(line.scroll_offset.x)
        count.refresh()

    def add(self, hits: Iterable[Hit | StepHit], *, searching: bool) -> None:
        """Show further hits."""
        for hit in hits:
            self.hits.found.add(hit)
        self._count.searching = searching
        self._count.refresh()
        self.hits.refresh_lines_data()

    def move(self, rows: int) -> Hit | StepHit | None:
        """Move to another hit and give it; at the ends, stay."""
        found = self.hits.found.rows
        if not found:
            return None
        self.hits.move_to(self.hits.cursor + rows)
        return found[self.hits.cursor].hit

    def move_from(self, step: int, direction: int) -> Hit | StepHit | None:
        """Move to the next (1) or previous (-1) hit, as seen from the step that is shown; at the ends, stay."""
        rows = self.hits.found.rows
        if not rows or rows[self.hits.cursor].hit.step == step:
            return self.move(direction)
        if direction > 0:
            beyond = bisect_right(rows, step, key=lambda row: row.hit.step)
        else:
            beyond = bisect_left(rows, step, key=lambda row: row.hit.step) - 1
        self.hits.move_to(beyond)
        return rows[self.hits.cursor].hit

    def on_input_changed(self, event: Input.Changed) -> None:
        """Ask for a search of what is typed now."""
        event.stop()
        self.post_message(self.TextChanged(event.value))
