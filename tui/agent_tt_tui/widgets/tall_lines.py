"""Rows of a list that take several lines each where one would cut them and others are free."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from agent_tt_tui.lines import LineView
from agent_tt_tui.tall_rows import TallRows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from agent_tt_tui.viewmodel.values.pieces import Piece

    Lines: TypeAlias = list[tuple[Piece, ...]]

NONE_TALL: Final[Mapping[int, Lines]] = {}
"""The lines of each row that takes several, by the number of the row, while none does."""

_SHARE: Final = 3
"""A list that is as high as its rows may be higher for longer ones, up to this part of the terminal."""


def share_lines(
    view: LineView, rows: int, wanted: Iterable[int], lines_of: Callable[[int], Lines], *, first: int | None = None
) -> Mapping[int, Lines]:
    """Give more lines to rows of a list that one would cut, as long as some are free; the cursor stays on its row.

    Args:
        view: the list.
        rows: how many rows there are.
        wanted: those that may have several lines.
        lines_of: breaks what a row says into lines.
        first: the one that has them before all others, half of the height even where none is free.

    Returns:
        The lines of each row that takes several, by the number of the row.
    """
    here, before, height = view.row_number, view.line_count, view.size.height
    if view.styles.is_auto_height:
        height = max(height, view.app.size.height // _SHARE)
    free = height - rows
    wrapped: dict[int, Lines] = {}
    longer: dict[int, Lines] = {}
    if first is not None and len(lines := lines_of(first)) > 1:
        wrapped[first] = _as_far_as(lines, max(free + 1, height // 2, 1))
        free -= len(wrapped[first]) - 1
    for row in wanted:
        if free <= 0:
            break
        if row not in wrapped and len(lines := lines_of(row)) > 1:
            kept = wrapped if len(lines) <= free + 1 else longer
            kept[row] = lines
            free -= len(lines) - 1 if kept is wrapped else 0
    for row, lines in longer.items():
        if free > 0:
            wrapped[row] = _as_far_as(lines, free + 1)
            free -= len(wrapped[row]) - 1
    view.tall = TallRows({row: len(lines) for row, lines in wrapped.items()})
    if view.cursor >= 0:
        view.set_reactive(LineView.cursor, view.tall.line_of(here))
    if view.line_count != before and view.styles.is_auto_height:
        view.refresh(layout=True)
    view.refresh_lines_data()
    return wrapped


def _as_far_as(lines: Lines, most: int) -> Lines:
    """So many lines at most; in the last one stands all that is left, which is cut where it is drawn."""
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], tuple(piece for line in lines[most - 1 :] for piece in line)]
