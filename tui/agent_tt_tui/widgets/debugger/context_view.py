"""What a model was shown: the facts of a call, all calls as a chart, what it is made of, its items, one in full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual import on
from textual.containers import Container, Vertical

from agent_tt_tui.lines import LineView
from agent_tt_tui.widgets.debugger.context_list import ContextItem, ContextList
from agent_tt_tui.widgets.debugger.context_zones import (
    ContextFacts,
    ContextHeading,
    ContextHistory,
    ContextItemTitle,
    ContextMadeOf,
)

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from agent_tt_tui.widgets.debugger.context_zones import ContextShown

__all__ = ["ContextView"]

_WIDE: Final = 160
_HISTORY_ROWS: Final = 7
_HISTORY_FROM: Final = 27
"""Rows of the view from which on it has the chart; a screen of 30 rows leaves so many."""

_LEAST_COLUMNS: Final = 60
"""Columns that the chart takes at least: beside what stands at its right."""


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
        self.item_title.is_chosen = self.shown is not None and self.shown.context.is_chosen
        self.item_title.refresh()
        self.item.show(self.shown, item)
