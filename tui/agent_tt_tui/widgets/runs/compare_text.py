"""Texts beside the states of two runs: why they parted, and what models saw and said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt_tui.look import look_of
from agent_tt_tui.viewmodel.values.blocks import as_far_as_free
from agent_tt_tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.viewmodel.values.blocks import Block
    from agent_tt_tui.viewmodel.values.pieces import TextLine


class CompareText(TextView):
    """Rows that some function lays out, in full as far as rows are free; no cursor while it is only looked at."""

    HELP = "What is known of both runs, or of the calls at this pair."

    QUIET = True

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._blocks: Callable[[int, Glyphs], Iterable[Block]] = lambda _columns, _glyphs: ()

    def show(self, blocks: Callable[[int, Glyphs], Iterable[Block]]) -> None:
        """Show what a function lays out for so many columns."""
        self._blocks = blocks
        self.lay_out_again()

    def lay_out(self, columns: int) -> Sequence[TextLine]:
        """Lay out the rows for so many columns."""
        glyphs = look_of(self).glyphs
        return list(as_far_as_free(list(self._blocks(columns, glyphs)), self.size.height, glyphs.cut))
