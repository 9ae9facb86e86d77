"""The lines of a widget that draws them itself: one is painted where it looks different from what the terminal has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.geometry import Region

from agent_tt_tui.look import look_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from rich.style import Style
    from textual.color import Color
    from textual.strip import Strip
    from textual.widget import Widget

    from agent_tt_tui.palette import Palette


class DrawnLines:
    """What a widget has drawn, whose `render_line` gives lines that are as wide as it is.

    Textual paints all of a widget that asks for it. Here, what is asked for is drawn, and painted where that differs
    from what the terminal has. A line is known to be there from when it is handed over to be painted until a line that
    differs is drawn, for whatever reason: what is painted by a layout is never taken for something else.
    """

    def __init__(self, widget: Widget) -> None:
        """Know of nothing that was drawn."""
        self._widget = widget
        self._drawn: dict[int, Strip] = {}
        self._on_screen: dict[int, Strip] = {}
        self._palette: Palette | None = None
        self._ground: Style | None = None
        self._background: Color | None = None

    # What is drawn with.

    @property
    def palette(self) -> Palette:
        """The roles, as they are on the ground that the widget stands on."""
        if self._palette is None:
            self._palette = look_of(self._widget).palette(self._widget)
        return self._palette

    @property
    def ground(self) -> Style:
        """The style under all that is drawn."""
        if self._ground is None:
            self._ground = self._widget.rich_style
        return self._ground

    def forget_styles(self) -> None:
        """Resolve roles and ground anew: another theme, or other rules of the stylesheet."""
        self._palette = self._ground = self._background = None
        self._drawn.clear()

    # What Textual asks a widget for.

    @property
    def fills_widget(self) -> bool:
        """Whether the stylesheet gives the widget nothing around its lines."""
        return not any(self._widget.styles.gutter)

    def lines(self, crop: Region) -> list[Strip]:
        """The lines of a part of the widget."""
        lines = [self._line(y) for y in crop.line_range]
        first, last = crop.column_span
        return (
            lines if (first, last) == (0, self._widget.outer_size.width) else [line.crop(first, last) for line in lines]
        )

    def forget(self, regions: Collection[Region]) -> None:
        """Draw lines anew; none named stands for all."""
        if not regions:
            self._drawn.clear()
        for region in regions:
            for y in region.line_range:
                self._drawn.pop(y, None)

    def changed(self, regions: Iterable[Region]) -> Collection[Region]:
        """Of regions that are to be painted now, the lines that look different from what the terminal has."""
        width, height = self._widget.outer_size
        found = []
        for y in sorted({y for region in regions for y in region.line_range if 0 <= y < height}):
            line = self._line(y)
            if self._on_screen.get(y) is not line:
                self._on_screen[y] = line
                found.append(Region(0, y, width, 1))
        return found

    def _line(self, y: int) -> Strip:
        """Draw a line, unless that was done since it changed; one that looks as before is the same object as before."""
        line = self._drawn.get(y)
        if line is None:
            line = self._widget.render_line(y)
            if self._background is None:
                self._background = self._widget.background_colors[1]
            for each in self._widget.get_line_filters():
                line = line.apply_filter(each, self._background)
            there = self._on_screen.get(y)
            if there is not None:
                if there == line:
                    line = there
                else:
                    del self._on_screen[y]
            self._drawn[y] = line
        return line
