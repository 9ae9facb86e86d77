"""The items of a request as a list, and the one under its cursor in full."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.message import Message

from agent_tt._dataclass import dataclass
from agent_tt_tui.keymaps import CONTEXT
from agent_tt_tui.lines import LineView
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row
from agent_tt_tui.viewmodel.context.chosen import chosen_lines
from agent_tt_tui.viewmodel.context.folds import rows_of
from agent_tt_tui.viewmodel.context.listing import row_pieces
from agent_tt_tui.widgets.debugger.context_asked import ContextAsked
from agent_tt_tui.widgets.drawing import add_pieces
from agent_tt_tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.binding import BindingType
    from textual.strip import Strip

    from agent_tt.context.parts import Part
    from agent_tt.context.shown import Item, Place
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.viewmodel.context.folds import ContextRow
    from agent_tt_tui.viewmodel.values.pieces import TextLine
    from agent_tt_tui.widgets.debugger.context_zones import ContextShown


class ContextList(LineView):
    """The items from top to bottom, with what was cut between them."""

    BINDINGS: ClassVar[list[BindingType]] = CONTEXT.widget_bindings()
    KEYS = CONTEXT
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
        another = shown is None or self._shown is None or _compared(shown) != _compared(self._shown)
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

    def action_against(self) -> None:
        """Ask for another call to compare with."""
        self.post_message(ContextAsked("against"))

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


def _compared(shown: ContextShown) -> tuple[Place, Place | None]:
    """Give the place of the model call that is shown, and of the one it is compared with; None without one."""
    return shown.context.place, shown.context.before


class ContextItem(TextView):
    """The item under the cursor, in full."""

    HELP = "One part of the request in full: esc goes back to the list."

    def __init__(self) -> None:
        super().__init__(id="context-item")
        self._shown: ContextShown | None = None
        self._item: Item | None = None

    def show(self, shown: ContextShown | None, item: Item | None) -> None:
        """Show an item: another one from its beginning, the same one, which was read again, where it was read."""
        if (shown, item) == (self._shown, self._item):
            return
        is_same = _which(shown, item) == _which(self._shown, self._item)
        self._shown, self._item = shown, item
        self.lay_out_again()
        if is_same and self.cursor >= 0:
            return
        self.cursor = 0 if self.line_count else -1
        self.reveal(0)

    def lay_out(self, columns: int) -> Sequence[TextLine]:
        """Lay out its text, below what is known of it."""
        if self._shown is None or self._item is None:
            return []
        shown, glyphs = self._shown, look_of(self).glyphs
        return chosen_lines(shown.contexts, shown.context, self._item, shown.standing, columns, glyphs)


def _which(shown: ContextShown | None, item: Item | None) -> tuple[Place, int, Part] | None:
    """What tells an item from others, however often the run is read."""
    return None if shown is None or item is None else (shown.context.place, item.number, item.part)
