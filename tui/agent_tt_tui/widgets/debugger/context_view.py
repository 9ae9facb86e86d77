"""What a model was shown: the facts of a call, all calls as a chart, what it is made of, its items, one in full."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from textual import on
from textual.containers import Container, Vertical
from textual.message import Message

from agent_tt_tui.commands import display_key
from agent_tt_tui.keymaps import CONTEXT
from agent_tt_tui.lines import LineView
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row, RowWidget
from agent_tt_tui.viewmodel.context.chosen import chosen_lines, chosen_title
from agent_tt_tui.viewmodel.context.facts import facts_of, which_call
from agent_tt_tui.viewmodel.context.history import call_at, chart_of
from agent_tt_tui.viewmodel.context.listing import heading, row_pieces, rows_of
from agent_tt_tui.viewmodel.context.made_of import segments_of
from agent_tt_tui.widgets.debugger.context_asked import ContextAsked
from agent_tt_tui.widgets.drawing import add_pieces
from agent_tt_tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.strip import Strip

    from agent_tt.context.shown import CallContext, Item, RunContexts
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.viewmodel.context.history import Chart
    from agent_tt_tui.viewmodel.context.listing import ContextRow
    from agent_tt_tui.viewmodel.context.made_of import Segment
    from agent_tt_tui.viewmodel.context.standing import Standing
    from agent_tt_tui.viewmodel.values.pieces import Piece, TextLine

_WIDE: Final = 160
_HISTORY_ROWS: Final = 7
_HISTORY_FROM: Final = 27
"""Rows of the view from which on it has the chart; a screen of 30 rows leaves so many."""

_LEAST_COLUMNS: Final = 60
"""Columns that the chart takes at least: beside what stands at its right."""


@dataclass(frozen=True, slots=True)
class ContextShown:
    """What is known, and the call that is shown.

    Attributes:
        contexts: the calls of the run.
        number: the call that is shown, from 0.
        standing: where items stand; None while that is not known.
    """

    contexts: RunContexts
    number: int
    standing: Standing | None = None

    @property
    def context(self) -> CallContext:
        """The call that is shown."""
        return self.contexts.calls[self.number]

    @property
    def which(self) -> tuple[Piece, ...]:
        """Which of the run's calls it is."""
        return which_call(self.contexts, self.context)


class ContextFacts(RowWidget):
    """The model, its tokens, what came and went since the last call."""

    HELP = "What this model call read: tokens, what is new and gone since the last call, what came from the cache."

    shown: ContextShown | None = None
    said = ""
    """What stands in place of the facts: that they are being read, or why there are none."""

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        """Draw the row."""
        if self.shown is None:
            return self.new_row().add(f" {self.said}", styles.note)
        pieces = facts_of(self.shown.contexts, self.shown.context, columns, look_of(self).glyphs)
        return self.new_row().upto_row(add_pieces(self.new_row(), pieces, styles), columns)


class ContextHistory(RowWidget):
    """All model calls of the run, a bar each; a click goes to one."""

    HELP = "All model calls of the run by their tokens; the one that is shown stands out."

    shown: ContextShown | None = None
    _chart: Chart | None = None

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw a row of the chart."""
        if self.shown is None:
            return self.new_row()
        if y == 0 or self._chart is None:
            glyphs = look_of(self).glyphs
            self._chart = chart_of(self.shown.contexts, self.shown.number, columns, self.size.height, glyphs)
        rows = self._chart.rows
        return add_pieces(self.new_row(), rows[y] if y < len(rows) else (), styles)

    def on_click(self, event: events.Click) -> None:
        """Go to the call that was clicked."""
        number = None if self._chart is None else call_at(self._chart, event.x)
        if number is not None:
            self.post_message(ContextAsked("number", number))


class ContextMadeOf(RowWidget):
    """The stacked bar: the kinds of origins by their tokens, named inside."""

    HELP = "Of what the request is made: system text, tools, files read, results, your words, earlier answers."

    shown: ContextShown | None = None

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw labels, then names and tokens, then shares."""
        row = self.new_row()
        if self.shown is None:
            return row
        segments = segments_of(self.shown.context, columns - 2)
        if y == 0:
            return self._labels(row.add(" WHAT IT IS MADE OF", styles.title_blurred), segments, columns, styles)
        row.add(" ")
        for segment in segments:
            text = segment.name if y == 1 else segment.share
            ground = styles.shares.get(segment.kind)
            if ground is None:  # no colours to blend: walls tell the parts from one another
                row.add("[" if y == 1 else " ", styles.faint).column(text.strip(), segment.columns - 2)
                row.add("]" if y == 1 else " ", styles.faint)
            else:
                row.column(text, segment.columns - 1, styles.text + ground).add(" ")
        return row

    def _labels(self, row: Row, segments: Sequence[Segment], columns: int, styles: Palette) -> Row:
        """Name what is too narrow to hold its name: above it, or all in a line where these would not fit."""
        above: list[tuple[int, str]] = []
        start, free = 1, row.cells + 2
        for segment in segments:
            if segment.label:
                place = min(start, columns - 1 - len(segment.label))
                if place < free:
                    unnamed = ", ".join(segment.label for segment in segments if segment.label)
                    return row.add("  ").upto(f"the narrow ones: {unnamed}", columns - 1, styles.muted)
                above.append((place, segment.label))
                free = place + len(segment.label) + 2
            start += segment.columns
        for place, label in above:
            row.pad_to(place).add(label, styles.muted)
        return row


class ContextHeading(RowWidget):
    """The titles of the columns."""

    HELP = "The parts of the request: who speaks, what it says, where it came from, its tokens and share."

    shown: ContextShown | None = None
    by_size = False

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        """Draw the row."""
        if self.shown is None:
            return self.new_row()
        pieces = heading(self.shown.context, columns - 2, by_size=self.by_size)
        return add_pieces(self.new_row(), pieces, styles)


class ContextList(LineView):
    """The items from top to bottom, with what was cut between them."""

    BINDINGS: ClassVar[list[BindingType]] = CONTEXT.widget_bindings()
    HELP = "The parts of the request: enter reads one in full, b goes to where it came from, f forks without it."

    @dataclass
    class OrderChanged(Message):
        """The items stand in another order."""

    def __init__(self) -> None:
        super().__init__(id="context-list")
        self.by_size = False
        """Whether the largest stands first."""
        self._rows: Sequence[ContextRow] = ()
        self._shown: ContextShown | None = None
        self._unfolded: set[str] = set()

    def show(self, shown: ContextShown | None) -> None:
        """Show a call, the cursor at the same item if it has that, else at the first that is new."""
        before = self.current
        another = shown is None or self._shown is None or shown.context.place != self._shown.context.place
        self._shown = shown
        if another:
            self._unfolded.clear()
        self.lay_out()
        if another:
            self.move_to(self._first_row(before))

    def lay_out(self) -> None:
        """Lay out the rows for the room there is."""
        chosen = self.current
        self._rows = ()
        if self._shown is not None:
            room = self.size.height or len(self._shown.context.items)
            self._rows = rows_of(self._shown.context, room, self._unfolded, by_size=self.by_size)
        self.refresh_lines_data()
        if chosen is not None:
            place = next((at for at, row in enumerate(self._rows) if chosen in row.items), None)
            if place is not None:
                self.move_to(place)

    def _first_row(self, before: Item | None) -> int:
        """The item that the cursor was on; else a summary, else what is new, else the last."""
        keys = [{item.part.key for item in row.items} for row in self._rows]
        context = self._shown.context if self._shown is not None else None
        if context is not None and context.summary is not None:
            return next((at for at, row in enumerate(self._rows) if context.summary in row.items), 0)
        if before is not None and before.mark == "same":
            found = next((at for at, key in enumerate(keys) if before.part.key in key), None)
            if found is not None:
                return found
        new = (at for at, row in enumerate(self._rows) if row.item is not None and row.item.mark != "same")
        return next(new, len(self._rows) - 1)

    @property
    def needed(self) -> int:
        """Rows that all of it takes."""
        if self._shown is None:
            return 0
        return len(rows_of(self._shown.context, sys.maxsize, self._unfolded, by_size=self.by_size))

    @property
    def row(self) -> ContextRow | None:
        """The row under the cursor."""
        return self._rows[self.cursor] if 0 <= self.cursor < len(self._rows) else None

    @property
    def current(self) -> Item | None:
        """The item under the cursor; the first of a fold."""
        row = self.row
        return row.items[0] if row is not None and row.items else None

    @property
    def line_count(self) -> int:
        """A row each."""
        return len(self._rows)

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw a row."""
        glyphs = look_of(self).glyphs
        if self._shown is None:
            return Row(glyphs.cut).strip(width)
        pieces = row_pieces(self._rows[index], self._shown.context, width, glyphs)
        return Row(glyphs.cut).upto_row(add_pieces(Row(glyphs.cut), pieces, styles), width).strip(width)

    def on_resize(self) -> None:
        """What folds depends on the room there is."""
        self.lay_out()
        super().on_resize()

    def action_choose(self) -> None:
        """Open a fold; read an item in full."""
        row = self.row
        if row is not None and row.folded:
            self._unfolded.add(row.name)
            self.lay_out()
        else:
            super().action_choose()

    def action_unfold(self) -> None:
        """Open a fold."""
        if self.row is not None and self.row.folded:
            self.action_choose()

    def action_fold(self) -> None:
        """Close all folds."""
        self._unfolded.clear()
        self.lay_out()

    def action_by_size(self) -> None:
        """Put the largest first, or all in their order again."""
        self.by_size = not self.by_size
        self.lay_out()
        self.post_message(self.OrderChanged())

    def action_model_call(self, direction: int) -> None:
        """Ask for the next or previous model call."""
        self.post_message(ContextAsked("call", direction))

    def action_origin(self) -> None:
        """Ask to see where the item came from; open what is folded first."""
        self._ask("origin")

    def action_fork_without(self) -> None:
        """Ask to fork without the item; open what is folded first."""
        self._ask("fork")

    def _ask(self, what: Literal["origin", "fork"]) -> None:
        if self.row is not None and self.row.folded:
            self.action_choose()
        elif self.current is not None:
            self.post_message(ContextAsked(what, item=self.current))


class ContextItemTitle(RowWidget):
    """The role and size of the item in full."""

    HELP = "The item under the cursor of the list."

    item: Item | None = None
    is_cut = False
    in_full = False

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        """Draw the row."""
        if self.item is None:
            return self.new_row()
        row = add_pieces(self.new_row(), chosen_title(self.item, is_cut=self.is_cut), styles)
        keys, look = self.new_row(), look_of(self)
        listed = (("list.choose", " in full  "), ("context.origin", " where it came from"))
        for command, words in (("app.escape", " back to the list"),) if self.in_full else listed:
            key = display_key(CONTEXT.command(command).bound_keys(look.keymap)[0], look.glyphs)
            keys.add(key, styles.key).add(words, styles.muted)
        return row.right(keys, columns - 1) if row.cells + keys.cells + 3 <= columns else row


class ContextItem(TextView):
    """The item under the cursor, in full."""

    HELP = "One part of the request in full: esc goes back to the list."

    def __init__(self) -> None:
        super().__init__(id="context-item")
        self._shown: ContextShown | None = None
        self._item: Item | None = None

    def show(self, shown: ContextShown | None, item: Item | None) -> None:
        """Show an item, from its beginning."""
        if (shown, item) == (self._shown, self._item):
            return
        self._shown, self._item = shown, item
        self.lay_out_again()
        self.cursor = 0 if self.line_count else -1
        self.reveal(0)

    def lay_out(self, columns: int) -> Sequence[TextLine]:
        """Lay out its text, below what is known of it."""
        if self._shown is None or self._item is None:
            return []
        shown, glyphs = self._shown, look_of(self).glyphs
        return chosen_lines(shown.contexts, shown.context, self._item, shown.standing, columns, glyphs)


class ContextView(Vertical):
    """One model call of the run: what it was shown."""

    def __init__(self) -> None:
        self.facts, self.history, self.made_of = ContextFacts(), ContextHistory(), ContextMadeOf()
        self.heading, self.list = ContextHeading(), ContextList()
        """The items."""
        self.item_title, self.item = ContextItemTitle(), ContextItem()
        self._upper = Vertical(self.heading, self.list, id="context-upper")
        self._lower = Vertical(self.item_title, self.item, id="context-lower")
        super().__init__(id="context-view")
        self.shown: ContextShown | None = None
        """What is shown."""
        self._wants_focus = False
        self.in_full = False
        """Whether the item has the room of all others."""

    def compose(self) -> ComposeResult:
        """Lay out the zones."""
        yield self.facts
        yield self.history
        yield self.made_of
        yield Container(self._upper, self._lower, id="context-body")

    def say(self, words: str) -> None:
        """Show words in place of a context: it is being read, there is none, it cannot be read."""
        self._tell(None)
        self.facts.said = words
        self.facts.refresh()

    def show(self, shown: ContextShown) -> None:
        """Show a call."""
        if self.shown is not None and shown.context.place != self.shown.context.place:
            self.in_full = self.item_title.in_full = False
        self._tell(shown)

    def _tell(self, shown: ContextShown | None) -> None:
        self.shown = shown
        for zone in (self.facts, self.history, self.made_of, self.heading):
            zone.shown = shown
            zone.refresh()
        self.list.show(shown)
        self._show_item()
        self.share()

    def take_focus(self) -> None:
        """Put the focus on the items, as soon as they are there."""
        self._wants_focus = not self.is_mounted
        (self.item if self.in_full else self.list).focus()

    def show_in_full(self, *, in_full: bool) -> None:
        """Give the item the room of all other zones, or take it back."""
        self.in_full = self.item_title.in_full = in_full
        self.item_title.refresh()
        self.share()
        self.take_focus()

    def share(self) -> None:
        """Share the rows: the list has as many as it needs up to six of ten, the item has the rest."""
        columns, rows = self.size.width, self.size.height
        has_calls = self.shown is not None
        has_items = has_calls and bool(self.shown and self.shown.context.items)
        full = self.in_full and has_items
        self.history.display = has_calls and not full and rows >= _HISTORY_FROM and columns >= _LEAST_COLUMNS
        self.made_of.display = has_items and not full
        self._upper.display, self._lower.display = not full, has_items
        wide = columns >= _WIDE and not full
        body = rows - 1 - (_HISTORY_ROWS if self.history.display else 0) - (3 if self.made_of.display else 0)
        grid = self.query_one("#context-body").styles
        grid.grid_size_columns = 2 if wide else 1
        grid.grid_columns = "11fr 9fr" if wide else "1fr"
        least = min(self.list.needed + 1, max(4, body * 6 // 10))
        grid.grid_rows = "1fr" if wide or full or not has_items else f"{least} 1fr"

    def on_mount(self) -> None:
        """Take the focus that was given before there was anything to take it."""
        if self._wants_focus:
            self.take_focus()
            self.list.refresh()

    def on_resize(self) -> None:
        """Share anew."""
        self.share()

    def on_descendant_focus(self) -> None:
        """Draw the keys that fit."""
        self.item_title.refresh()

    @on(LineView.CursorMoved)
    def _on_cursor_moved(self, message: LineView.CursorMoved) -> None:
        if message.view is self.list:
            self._show_item()

    @on(LineView.Chosen)
    def _on_chosen(self, message: LineView.Chosen) -> None:
        if message.view is self.list and self.list.current is not None:
            self.show_in_full(in_full=True)

    @on(ContextList.OrderChanged)
    def _on_order_changed(self) -> None:
        self.heading.by_size = self.list.by_size
        self.heading.refresh()

    def _show_item(self) -> None:
        row, item = self.list.row, self.list.current
        self.item_title.item, self.item_title.is_cut = item, row is not None and row.is_cut
        self.item_title.refresh()
        self.item.show(self.shown, item)
