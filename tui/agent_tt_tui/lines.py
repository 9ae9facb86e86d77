"""A list of lines that draws only what is visible, with a row cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from rich.segment import Segment
from textual.cache import LRUCache
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip

from agent_tt._dataclass import dataclass
from agent_tt_tui.drawn import DrawnLines
from agent_tt_tui.keymaps import LIST
from agent_tt_tui.look import look_of
from agent_tt_tui.tall_rows import TallRows

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from textual import events
    from textual.binding import BindingType

    from agent_tt_tui.commands import Context
    from agent_tt_tui.palette import Palette

_CACHED_LINES = 512

_FREE = Segment(" ")

Item = TypeVar("Item")


class LineView(ScrollView, can_focus=True, inherit_bindings=False):
    """Base of every list: a subclass says how many lines there are and draws the one it is asked for.

    Column 0 belongs to the cursor bar and the last column stays free, so a line has two columns less than the widget.
    Lines are cached until `refresh_lines_data` says that what they show has changed.
    """

    BINDINGS: ClassVar[list[BindingType]] = LIST.widget_bindings()
    HELP = "A list: j and k move the cursor, g and G go to the ends, enter chooses."

    KEYS: ClassVar[Context | None] = None
    """What keys do while it is in focus, where that is its own: footer, help and palette have these first."""

    QUIET: ClassVar[bool] = False
    """Whether it has no cursor while it is not in focus: it is read more often than walked through."""

    in_focus = False
    """Whether it has the focus."""

    tall = TallRows()
    """Which rows take several lines; the cursor is on the first line of its row, and covers all."""

    cursor: var[int] = var(0, init=False)
    """The line that the cursor is on, from 0; -1 while the list is empty."""

    @dataclass
    class CursorMoved(Message):
        """The cursor came to stand on another line; a flood of these is delivered as its last."""

        view: LineView
        index: int

        @property
        def control(self) -> LineView:
            """The list whose cursor moved."""
            return self.view

        def can_replace(self, message: Message) -> bool:
            """Let a newer move of the same list stand for an older one."""
            return isinstance(message, LineView.CursorMoved) and message.view is self.view

    @dataclass
    class Chosen(Message):
        """The line under the cursor was chosen, with enter or a second click."""

        view: LineView
        index: int

        @property
        def control(self) -> LineView:
            """The list in which a line was chosen."""
            return self.view

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        self.canvas = DrawnLines(self)
        """Its visible lines, as they were drawn."""
        super().__init__(id=id, classes=classes)
        self._cache: LRUCache[tuple[int, int, bool, bool], Strip] = LRUCache(_CACHED_LINES)

    # What a subclass says.

    @property
    def line_count(self) -> int:
        """How many lines there are."""
        raise NotImplementedError

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw one line.

        Args:
            index: Which line, from 0.
            width: The columns there are, without the cursor bar's and without the free one at the right edge.
            styles: The roles to draw with; on the cursor row of the focused pane nothing in it is muted.

        Returns:
            The line; one that is too long or too short is cropped or filled.
        """
        raise NotImplementedError

    @property
    def allow_vertical_scroll(self) -> bool:
        """Whether keys and the wheel scroll it; Textual asks whether it has a scrollbar, which no list has."""
        return not self._check_disabled()

    def is_here(self, index: int) -> bool:
        """Whether a line is drawn as the cursor's: all lines of its row."""
        return self.cursor >= 0 and self.tall.row_of(index)[0] == self.row_number

    def can_point_at(self, index: int) -> bool:
        """Whether one can go to a line as a place of its own: not to the second line of a row, nor to a rule."""
        return not self.tall.row_of(index)[1]

    @property
    def row_number(self) -> int:
        """Which row the cursor is on, from 0, however many lines the rows take; -1 where it is on none."""
        return self.tall.row_of(self.cursor)[0]

    def move_to_row(self, row: int) -> None:
        """Put the cursor on the first line of a row."""
        self.move_to(self.tall.line_of(max(0, row)))

    # What a parent calls.

    def point_at(self, index: int) -> None:
        """Go to a line that somebody pointed at."""
        self.move_to(index)

    def refresh_lines_data(self) -> None:
        """Draw everything anew because the data, or how many lines there are, has changed."""
        self._cache.clear()
        size = Size(self.size.width, self.line_count)
        if size != self.virtual_size:
            # Without a layout: a list has no scrollbars, and where its height is its lines', it says so by itself.
            self.set_reactive(LineView.virtual_size, size)
            self._scroll_update(size)
        self.cursor = self.validate_cursor(self.cursor)
        self.refresh()

    def refresh_items(self, indices: Iterable[int]) -> None:
        """Draw some lines anew, because what they show has changed; how many there are has not."""
        changed = set(indices)
        for key in [key for key in list(self._cache.keys()) if key[0] in changed]:
            self._cache.discard(key)
        for index in changed.intersection(range(self.scroll_offset.y, self.scroll_offset.y + self.size.height)):
            self.refresh_line(index)

    def move_to(self, index: int) -> None:
        """Put the cursor on a line, or on the nearest there is, and make the line visible."""
        self.cursor = index
        self.reveal(self.cursor)

    def reveal(self, index: int) -> None:
        """Scroll at once, no further than needed, to the row of a line; of one that is too tall to its first lines."""
        if self.size.height and index >= 0:
            row = self.tall.row_of(index)[0]
            first, lines = self.tall.line_of(row), min(self.tall.height(row), self.size.height)
            # Forced: that a list which was just filled is longer than its pane is not known before the next layout.
            self.scroll_to_region(Region(0, first, 1, lines), animate=False, immediate=True, force=True, x_axis=False)

    # The cursor.

    def validate_cursor(self, cursor: int) -> int:
        """Keep the cursor on a line that exists."""
        if self.QUIET and not self.in_focus:
            return -1
        return max(min(cursor, self.line_count - 1), 0 if self.line_count else -1)

    def watch_cursor(self, old: int, new: int) -> None:
        """Repaint the lines of both rows, and tell the parent."""
        if self.tall.more:
            self.refresh()
        else:
            self.refresh_line(old)
            self.refresh_line(new)
        if new >= 0:
            self.post_message(self.CursorMoved(self, new))

    def action_move(self, rows: int) -> None:
        """Move the cursor by so many rows, whatever lines they take."""
        self.move_to_row(self.row_number + rows)

    def action_page(self, pages: int) -> None:
        """Move the cursor by so many screens of lines."""
        self.move_to(self.cursor + pages * max(1, self.size.height - 1))

    def action_first(self) -> None:
        """Move the cursor to the first line."""
        self.move_to(0)

    def action_last(self) -> None:
        """Move the cursor to the last line."""
        self.move_to(self.line_count - 1)

    def action_choose(self) -> None:
        """Choose the line under the cursor."""
        if self.cursor >= 0:
            self.post_message(self.Chosen(self, self.cursor))

    # Events.

    def on_mount(self) -> None:
        """Learn the first size, and listen for another theme."""
        self.app.theme_changed_signal.subscribe(self, self._show_theme)
        self.refresh_lines_data()

    def on_resize(self) -> None:
        """Fit the lines to the new width and keep the cursor in view."""
        self.refresh_lines_data()
        self.reveal(self.cursor)

    def on_focus(self) -> None:
        """Repaint the cursor row, which looks different now; a quiet view shows it, on its first row."""
        self.in_focus = True
        if self.QUIET:
            self.refresh_lines_data()
            self.move_to(0)
        self.refresh_line(self.cursor)

    def on_blur(self) -> None:
        """Repaint the cursor row, which looks different now; a quiet view is at its top again, without a cursor."""
        self.in_focus = False
        if self.QUIET:
            self.refresh_lines_data()
            self.reveal(0)
        self.refresh_line(self.cursor)

    def on_click(self, event: events.Click) -> None:
        """Put the cursor where the mouse is; choose a line that is clicked twice."""
        index = event.y + self.scroll_offset.y
        if 0 <= index < self.line_count:
            self.point_at(index)
            if event.chain == 2:
                self.action_choose()

    # Drawing.

    def render_line(self, y: int) -> Strip:
        """Draw one visible line: cursor bar, the subclass's cells, one free column."""
        index = y + self.scroll_offset.y
        width = self.size.width
        if index >= self.line_count:
            return Strip.blank(width, self.canvas.ground)
        on_cursor = self.is_here(index)
        bright = on_cursor and self.has_focus
        key = (index, width, on_cursor, bright)
        line = self._cache.get(key)
        if line is None:
            line = self._cache[key] = self._whole_line(index, width, on_cursor=on_cursor, bright=bright)
        return line

    def _whole_line(self, index: int, width: int, *, on_cursor: bool, bright: bool) -> Strip:
        styles, columns = self.canvas.palette, max(0, width - 2)
        cells = self.line(index, columns, styles.cursor_row() if bright else styles).adjust_cell_length(columns)
        ground, bar = self.canvas.ground, _FREE
        if on_cursor:
            ground += styles.cursor_focused if bright else styles.cursor_blurred
            bar = Segment(look_of(self).glyphs.bar, styles.bar_focused if bright else styles.bar_blurred)
        # A strip costs as much as a line of cells: one is made, not one for each step on the way.
        return Strip(Segment.apply_style([bar, *cells, _FREE], ground), columns + 2)

    def _show_theme(self, _theme: object) -> None:
        self._forget_styles()
        self.refresh()

    def _forget_styles(self) -> None:
        self.canvas.forget_styles()
        self._cache.clear()

    # What Textual asks for: see `DrawnLines`.

    def render_lines(self, crop: Region) -> list[Strip]:
        """Give lines that were drawn."""
        return self.canvas.lines(crop) if self.canvas.fills_widget else super().render_lines(crop)

    def _set_dirty(self, *regions: Region) -> None:
        self.canvas.forget(regions)
        super()._set_dirty(*regions)

    def _exchange_repaint_regions(self) -> Collection[Region]:
        regions = super()._exchange_repaint_regions()
        return self.canvas.changed(regions) if self.canvas.fills_widget else regions

    def notify_style_update(self) -> None:
        """Resolve the roles anew when the stylesheet gives this widget another ground."""
        super().notify_style_update()
        self._forget_styles()


class RowList(LineView, Generic[Item]):
    """A list with one line for each of its rows; where its height is left to it, it is as high as it has rows."""

    def __init__(self, rows: Sequence[Item] = (), *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.rows = rows
        """What is shown, in order."""

    @property
    def line_count(self) -> int:
        """One line a row."""
        return len(self.rows)

    @property
    def current(self) -> Item | None:
        """The row under the cursor."""
        return self.rows[self.row_number] if 0 <= self.row_number < len(self.rows) else None

    def get_content_height(self, *_sizes: object) -> int:
        """As many lines as there are."""
        return max(1, self.line_count)

    def show_rows(self, rows: Sequence[Item]) -> None:
        """Show other rows."""
        self.rows = rows
        self.refresh(layout=True)
        self.refresh_lines_data()
