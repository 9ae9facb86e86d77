"""The growth of the context over a run: a bar for each step that asked models, by the tokens that it sent them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt_tui import format as fmt
from agent_tt_tui.viewmodel.context.history import bar_cell
from agent_tt_tui.viewmodel.values.pieces import append

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.viewmodel.values.pieces import Piece, PieceRole

__all__ = ["growth_rows"]

_LEFT: Final = 9
_WIDEST: Final = 5


def growth_rows(
    sent: Sequence[tuple[int, int]], at: int, columns: int, rows: int, glyphs: Glyphs
) -> list[tuple[Piece, ...]]:
    """Draw the bars, and below them the numbers of the steps.

    Where there are more steps than columns, one bar stands for several: for that of the step that is shown, else for
    the highest.

    Args:
        sent: Steps in their order, each with the tokens that it sent.
        at: The step that is shown: its bar stands out.
        columns: Columns there are.
        rows: Rows there are, that of the numbers included.
        glyphs: The glyphs.
    """
    height, room = rows - 1, columns - _LEFT - 1
    if not sent or height < 1 or room < 1:
        return []
    cells = min(len(sent), room)
    wide = max(1, min(_WIDEST, room // cells))
    buckets = [sent[cell * len(sent) // cells : (cell + 1) * len(sent) // cells] for cell in range(cells)]
    bars = [max(bucket, key=lambda each: (each[0] == at, each[1])) for bucket in buckets]
    most = max(tokens for _, tokens in sent) or 1
    drawn: list[tuple[Piece, ...]] = []
    for row in range(height):
        label = fmt.short(most) if row == 0 else fmt.short(most // 2) if row == height // 2 and height > 2 else ""
        line: list[Piece] = [(f"{label:>{_LEFT - 2}}  ", "faint")]
        for step, tokens in bars:
            filled = bar_cell(tokens / most * height - (height - 1 - row), glyphs)
            append(line, filled * max(1, wide - 1), "key" if step == at else "model")
            append(line, " " * (wide > 1), "text")
        drawn.append(tuple(line))
    return [*drawn, _numbers([step for step, _ in bars], at, wide, columns)]


def _numbers(steps: Sequence[int], at: int, wide: int, columns: int) -> tuple[Piece, ...]:
    """Numbers of steps under their bars: the one that is shown first, then as many as have room."""
    kept: dict[int, tuple[str, PieceRole]] = {}
    for step in sorted(steps, key=lambda step: (step != at, step != steps[-1], step)):
        text = str(step)
        start = min(_LEFT + steps.index(step) * wide, columns - len(text))
        if all(start + len(text) < other or start > other + len(said) for other, (said, _) in kept.items()):
            kept[start] = (text, "key" if step == at else "faint")
    row: list[Piece] = []
    column = 0
    for start, (text, role) in sorted(kept.items()):
        row += [(" " * (start - column), "text"), (text, role)]
        column = start + len(text)
    return tuple(row)
