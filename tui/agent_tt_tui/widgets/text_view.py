"""The base of the views that are read: rows laid out for the width, with folds that a person toggles."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from agent_tt_tui.keymaps import TREE
from agent_tt_tui.lines import LineView
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row
from agent_tt_tui.widgets.drawing import add_pieces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.binding import BindingType
    from textual.geometry import Size
    from textual.strip import Strip

    from agent_tt_tui.palette import Palette
    from agent_tt_tui.viewmodel.values.pieces import TextLine


class TextView(LineView):
    """Shows what `lay_out` gives; toggled folds stay so while other steps are shown."""

    BINDINGS: ClassVar[list[BindingType]] = TREE.widget_bindings()

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._lines: Sequence[TextLine] = ()
        self.toggled: set[str] = set()
        """Names of the folds that are not as they are by themselves."""

    def lay_out(self, columns: int) -> Sequence[TextLine]:
        """Lay out the rows for so many columns."""
        raise NotImplementedError

    def lay_out_again(self) -> None:
        """Lay out anew what has changed."""
        self._lines = self.lay_out(max(1, self.size.width - 2))
        self.refresh_lines_data()

    def get_content_height(self, _container: Size, _viewport: Size, width: int) -> int:
        """As many rows as it takes, where the height is left to the text."""
        return len(self.lay_out(max(1, width - 2)))

    def on_resize(self) -> None:
        """Lay out for the new width."""
        self._lines = self.lay_out(max(1, self.size.width - 2))

    def action_choose(self) -> None:
        """Fold or unfold the row."""
        fold = self._lines[self.cursor].fold if 0 <= self.cursor < len(self._lines) else None
        if fold is not None:
            self.toggled ^= {fold}
            self.lay_out_again()

    def action_fold(self) -> None:
        """Fold or unfold the row: these folds have no parents to go to."""
        self.action_choose()

    def action_unfold(self) -> None:
        """Fold or unfold the row."""
        self.action_choose()

    @property
    def line_count(self) -> int:
        """How many rows there are."""
        return len(self._lines)

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw a row: lead, text, right edge."""
        shown = self._lines[index]
        more = look_of(self).glyphs.cut
        right = add_pieces(Row(more), shown.right, styles)
        room = width - right.cells - 2 if right.cells else width
        drawn = Row(more).upto_row(add_pieces(Row(more), (*shown.lead, *shown.pieces), styles), room)
        if right.cells:
            drawn.right(right, width)
        strip = drawn.strip(width)
        return strip.apply_style(styles.cursor_blurred) if shown.here else strip
