"""Rows that belong together, shown in full as far as rows are free."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt_tui.viewmodel.values.pieces import TextLine


class Block(NamedTuple):
    """Some rows of a text.

    Attributes:
        full: All of them.
        least: How many of them are shown where rows are scarce; None for all.
    """

    full: Sequence[TextLine]
    least: int | None = None


def as_far_as_free(blocks: Sequence[Block], rows: int, more: str) -> Iterator[TextLine]:
    """Give the least of each block, and more of them from the top as long as rows are free.

    Args:
        blocks: What is shown, in order.
        rows: How many rows there are.
        more: The glyph that says something is missing.
    """
    least = [len(block.full) if block.least is None else min(block.least, len(block.full)) for block in blocks]
    free = rows - sum(least)
    for block, count in zip(blocks, least, strict=True):
        shown = min(len(block.full), count + max(0, free))
        free -= shown - count
        yield from block.full[:shown][: max(0, shown - 1)] if shown < len(block.full) else block.full
        if 0 < shown < len(block.full):
            last = block.full[shown - 1]
            yield last._replace(pieces=(*last.pieces, (f" {more}", "muted")))
