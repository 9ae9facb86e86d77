"""Where the debugger's panes lie: in places that are worked out beforehand, as no layout of Textual's has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Container
from textual.geometry import NULL_OFFSET, Region, Size, Spacing
from textual.layout import Layout, WidgetPlacement
from textual.message import Message
from textual.reactive import Reactive

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from textual import events
    from textual.layout import ArrangeResult
    from textual.widget import Widget

    from agent_tt_tui.viewmodel.debugger.debugger_layout import Rect

    Places = Mapping[Widget, Rect]


class _Placing(Layout):
    """Puts each widget where it is told to lie, and leaves out the others."""

    name = "placing"

    def __init__(self) -> None:
        self.places: Callable[[int, int], Places] = lambda _columns, _rows: {}
        """Gives the place of each widget in so many columns and rows."""

    def arrange(
        self,
        parent: Widget,
        children: list[Widget],
        size: Size,
        greedy: bool = True,  # noqa: FBT001, FBT002 - Textual's
    ) -> ArrangeResult:
        del greedy
        parent.pre_layout(self)
        places = self.places(size.width, size.height)
        return [
            WidgetPlacement(Region(*places[child]), NULL_OFFSET, Spacing(), child)
            for child in children
            if child in places
        ]


class PanesBody(Container):
    """Holds the panes; their edges can be dragged."""

    virtual_size = Reactive(Size(0, 0), repaint=False)
    """Textual's, which would lay out the screen again after each change of the size: nothing is scrolled here."""

    @dataclass
    class EdgeDragged(Message):
        """The mouse dragged an edge: so many columns to the right, or so many rows up."""

        columns: int = 0
        rows: int = 0

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._placing = _Placing()
        self.edges: Sequence[Widget] = ()
        """The pane whose left edge can be dragged, and the one whose title row can."""
        self._dragged: tuple[bool, int] | None = None
        """What is dragged (True: the left edge, False: the title row) and where the mouse was last."""
        super().__init__(id="debugger-body")

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Take hold of an edge."""
        if not self.edges:
            return
        beside, below = (widget.region for widget in self.edges)
        x, y = int(event.screen_x), int(event.screen_y)
        # The last column of a pane is always free, and so is the first of a title.
        if x in (beside.x - 1, beside.x) and beside.y <= y < max(beside.bottom, below.bottom):
            self._dragged = (True, x)
        elif y == below.y and below.x < x < below.right:
            self._dragged = (False, y)
        if self._dragged is not None:
            self.capture_mouse()
            event.stop()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Let the edge follow."""
        if self._dragged is None:
            return
        is_column, was = self._dragged
        now = int(event.screen_x if is_column else event.screen_y)
        if now != was:
            self._dragged = (is_column, now)
            self.post_message(self.EdgeDragged(columns=now - was) if is_column else self.EdgeDragged(rows=was - now))

    def on_mouse_up(self) -> None:
        """Let go."""
        if self._dragged is not None:
            self._dragged = None
            self.release_mouse()

    @property
    def layout(self) -> Layout:
        """Where the panes lie."""
        return self._placing

    def place(self, places: Callable[[int, int], Places]) -> None:
        """Put the panes where they are to lie in so many columns and rows."""
        self._placing.places = places
        self._clear_arrangement_cache()
        self.refresh(layout=True)
