"""The find panel: a line to type text or a question into, how much was found, and the hits."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input

from agent_tt._dataclass import dataclass
from agent_tt_tui.keymaps import FIND
from agent_tt_tui.look import look_of
from agent_tt_tui.row import RowWidget
from agent_tt_tui.text import clean, cut
from agent_tt_tui.text import width as columns_of
from agent_tt_tui.viewmodel.past.finding import FIELDS, HitRows, Wish
from agent_tt_tui.widgets.debugger.hit_list import HitList

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from agent_tt.querying.search.hits import Hits
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.row import Row
    from agent_tt_tui.viewmodel.past.filtering import TermsRow
    from agent_tt_tui.viewmodel.past.finding import HitRow

_HOW = 66
_LEAST_LINE = 24
"""Columns of the line that is typed into which what is searched may not take."""


class FindInput(Input):
    """The line that is typed into; its other keys are those of the panel."""

    BINDINGS: ClassVar[list[BindingType]] = FIND.widget_bindings()
    HELP = "Words, kind:model and its like, or ? and a question: up and down go through the hits, enter keeps them."

    def action_hit(self, rows: int) -> None:
        """Ask for another hit."""
        self.post_message(FindPanel.HitMoved(rows))

    def action_accept(self) -> None:
        """Ask to stay at the hit."""
        self.post_message(FindPanel.Closed(stay=True))

    def action_close(self) -> None:
        """Ask to go back."""
        self.post_message(FindPanel.Closed(stay=False))

    def action_field(self, direction: int) -> None:
        """Ask to search something else."""
        self.post_message(FindPanel.Turned(field=direction))

    def action_regex(self) -> None:
        """Ask to search for a pattern, or for words again."""
        self.post_message(FindPanel.Turned(regex=True))

    def action_context(self, steps: int) -> None:
        """Ask for more steps beside each hit, or fewer."""
        self.post_message(FindPanel.ContextTurned(steps))

    def action_order(self) -> None:
        """Ask for the other order."""
        self.post_message(FindPanel.Turned(order=True))


class _Slash(RowWidget):
    """The sign before the line."""

    def draw(self, _y: int, _columns: int, styles: Palette) -> Row:
        return self.new_row().add(" / ", styles.key)


class _How(RowWidget):
    """What is searched, and how."""

    wish = Wish()

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        wish, shown = self.wish, self.new_row()
        modes = [("regex", wish.regex), ("by step" if wish.by == "step" else "best first", wish.by == "step")]
        words = list(FIELDS)
        if _needed(words, modes) > columns:  # then only what is not as usual
            modes = [mode for mode in modes if mode[1]]
        if _needed(words, modes) > columns:
            words = [wish.field]
        for word in words:
            shown.add(f" {word} ", styles.time_cursor if word == wish.field else styles.muted)
        for word, is_on in modes:
            shown.add(f"  {word}", styles.yours if is_on else styles.faint)
        return self.new_row().right(shown, columns - 1)


def _needed(words: Sequence[str], modes: Sequence[tuple[str, bool]]) -> int:
    return sum(len(word) + 2 for word in words) + sum(len(word) + 2 for word, _ in modes) + 1


class _Count(RowWidget):
    """How much was found, and whether the search goes on; or what is wrong with a question, below the place of it."""

    found = HitRows()
    searched: float | None = None
    """The share that could be searched yet, while that is not all; None when it is."""
    searching = False
    empty = True
    """Whether nothing was typed yet."""
    steps = 0
    """How many steps there are."""
    example = " words"
    """What can be typed."""
    why = ""
    caret: int | None = None
    """The column of what is wrong."""

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        found, glyphs = self.found, look_of(self).glyphs
        row = self.new_row()
        if self.why:
            return self._draw_why(row, columns, styles)
        if self.empty:
            return row.add(self.example, styles.muted)
        hits, steps, more = found.hits, len(found.steps), "" if found.is_complete else "+"
        if found.are_steps:
            row.add(f" {steps:,}{more} of {self.steps:,} steps", styles.strong)
            return row.add(f"  {glyphs.still} searching {glyphs.cut}" if self.searching else "", styles.note)
        row.add(f" {hits:,}{more} hit{'' if hits == 1 and not more else 's'}", styles.strong)
        if found.runs is not None:
            row.add(f" in {found.runs:,}{more} run{'' if found.runs == 1 and not more else 's'}", styles.muted)
        else:
            row.add(f" in {steps:,}{more} step{'' if steps == 1 and not more else 's'}", styles.muted)
        if found.newest is not None:
            row.add(f", looked at the newest {found.newest[0]:,} of {found.newest[1]:,}", styles.muted)
        if self.searched is not None:
            row.add(f"  {glyphs.still} searching {self.searched:.0%}", styles.note)
        elif self.searching:
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


class FindPanel(Vertical):
    """Typing asks for a search; the parent runs it and brings the hits."""

    @dataclass
    class Asked(Message):
        """Something else is to be searched for; the search before is to end."""

        wish: Wish

    @dataclass
    class Turned(Message):
        """It is to be searched in another way: another field, a pattern or not, in the other order."""

        field: int = 0
        regex: bool = False
        order: bool = False

    @dataclass
    class ContextTurned(Message):
        """More steps beside each hit are to be shown, or fewer."""

        steps: int

    @dataclass
    class HitMoved(Message):
        """The hit so many rows away was asked for."""

        rows: int

    @dataclass
    class Closed(Message):
        """The panel is to be closed."""

        stay: bool

    def __init__(self, kind_of: Callable[[int], str | None] | None) -> None:
        """Make an empty panel.

        Args:
            kind_of: Tells the kind of a step; None where that is not known.
        """
        super().__init__(id="find")
        self.wish = Wish()
        """What is searched for."""
        self._count = _Count()
        self._how = _How()
        self._is_new = True
        self._is_chosen = False
        self.hits = HitList(kind_of)

    def compose(self) -> ComposeResult:
        """Yield the line with what is searched, the count and the hits."""
        yield Horizontal(_Slash(), FindInput(compact=True), self._how, id="find-prompt")
        yield self._count
        yield self.hits

    def on_resize(self) -> None:
        """Leave the line that is typed into enough room."""
        self._how.styles.width = min(_HOW, max(0, self.size.width - _LEAST_LINE))

    def open(self, terms: Sequence[TermsRow] = (), steps: int = 0) -> None:
        """Take the focus, and select the text that was typed the last time.

        Args:
            terms: What can be typed.
            steps: How many steps there are.
        """
        if terms:
            self._count.example = " words, or any of these; all that are typed are to hold"
            self.hits.show_terms(terms)
        self._count.steps = steps
        line = self.query_one(FindInput)
        line.focus()
        line.action_select_all()

    def type(self, text: str) -> None:
        """Search for a text as if it had been typed."""
        line = self.query_one(FindInput)
        line.value = text
        line.cursor_position = len(text)

    def begin(self, *, searching: bool) -> None:
        """Take note that a new search begins: hits stay, muted, until the first new ones are there."""
        count = self._count
        count.searching, count.empty, count.why, count.searched = searching, not self.wish.text, "", None
        self._is_new, self._is_chosen = True, False
        if searching:
            self.hits.is_old = True
        else:
            self._show(HitRows())
        count.refresh()
        self.hits.refresh_lines_data()

    def wait(self) -> None:
        """Take note that nothing is searched yet, as what was typed asks for nothing so far."""
        self._show(HitRows())
        self._count.searching, self._count.empty = False, True
        self._count.refresh()
        self.hits.refresh_lines_data()

    def forget(self) -> None:
        """Forget all hits."""
        self.wish = replace(self.wish, text="")
        self.begin(searching=False)

    def refuse(self, why: str, position: int | None) -> None:
        """Say what is wrong with a question.

        Args:
            why: What is wrong.
            position: Index into what was typed of what is wrong; None where it is nothing in it.
        """
        self._show(HitRows())
        self.hits.refresh_lines_data()
        line, count = self.query_one(FindInput), self._count
        count.searching, count.searched, count.why, count.caret = False, None, why, None
        if position is not None:
            count.caret = line.region.x - self.region.x + columns_of(line.value[:position]) - int(line.scroll_offset.x)
        count.refresh()

    def show(self, found: Hits, names: Mapping[str, str] | None = None) -> bool:
        """Show what a search found, in place of what it had found before.

        The chosen hit stays chosen; until somebody chooses one, the best is, as long as the search goes on.

        Args:
            found: What it found.
            names: Of several runs their names by id.

        Returns:
            Whether another hit than before is chosen because of it: one is to go there.
        """
        rows = HitRows.of(found, self.wish.by, names)
        is_first = self._is_new and bool(rows.rows)
        place = None if self.row is None else rows.place_of(self.row)
        is_better = place != 0 and bool(rows.rows) and not self._is_chosen and self._count.searched is not None
        if is_first or is_better or self.row is None:
            place = 0
        if found.searched >= 1 or rows.rows:
            self._show(rows)
        self._is_new = self._is_new and not rows.rows
        self._count.searching, self._count.why = False, ""
        self._count.searched = found.searched if found.searched < 1 else None
        self._count.refresh()
        self.hits.refresh_lines_data()
        if place is not None:
            self.hits.move_to(place)
        return is_first or is_better

    def add(self, steps: Sequence[int], *, searching: bool, is_complete: bool = True) -> None:
        """Take note of further steps that were found."""
        if self.hits.is_old:
            self._show(HitRows())
        found = self.hits.found
        found.add_steps(steps)
        found.is_complete = is_complete
        self._count.searching, self._count.empty, self._count.why = searching, False, ""
        self._count.refresh()
        self.hits.refresh_lines_data()

    @property
    def row(self) -> HitRow | None:
        """The row that is chosen; None where nothing was found."""
        rows = self.hits.found.rows
        return rows[self.hits.cursor] if 0 <= self.hits.cursor < len(rows) else None

    def move(self, rows: int) -> HitRow | None:
        """Choose another hit and give it; at the ends, stay."""
        self._is_chosen = True
        if self.hits.found.rows:
            self.hits.move_to(self.hits.cursor + rows)
        return self.row

    def move_from(self, step: int, direction: int) -> int | None:
        """Give the next (1) or previous (-1) step with a hit, as seen from the one that is shown, and choose its hit.

        At the ends it is the last one in that direction.
        """
        self._is_chosen = True
        steps, rows = self.hits.found.steps, self.hits.found.rows
        if not steps:
            return None
        beyond = bisect_right(steps, step) if direction > 0 else bisect_left(steps, step) - 1
        there = steps[max(0, min(beyond, len(steps) - 1))]
        place = next((at for at, row in enumerate(rows) if row.hit.step <= there <= row.last), None)
        if place is not None:
            self.hits.move_to(place)
        return there

    def on_input_changed(self, event: Input.Changed) -> None:
        """Ask for a search of what is typed now."""
        event.stop()
        self._ask(replace(self.wish, text=event.value))

    def on_find_panel_turned(self, message: Turned) -> None:
        """Ask for a search in another way."""
        message.stop()
        wish, words = self.wish, list(FIELDS)
        if message.field:
            wish = replace(wish, field=words[(words.index(wish.field) + message.field) % len(words)])
        if message.regex:
            wish = replace(wish, regex=not wish.regex)
        if message.order:
            wish = replace(wish, by="rank" if wish.by == "step" else "step")
        self._ask(wish)

    def _ask(self, wish: Wish) -> None:
        self.wish = self._how.wish = wish
        self._how.refresh()
        self.post_message(self.Asked(wish))

    def _show(self, found: HitRows) -> None:
        self.hits.found = self._count.found = found
        self.hits.is_old = False
