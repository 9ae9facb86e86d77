"""The chart of a run's model calls: a bar each, by the tokens that the model read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt_tui import format as fmt
from agent_tt_tui.text import width
from agent_tt_tui.viewmodel.context.facts import beside_history, drop_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.context.shown import CallContext, RunContexts
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.viewmodel.values.pieces import Piece, PieceRole

__all__ = ["Chart", "bar_cell", "call_at", "chart_of"]

_LEFT: Final = 8
_RIGHT: Final = 19
_WIDEST: Final = 6
_TICKS: Final = 4


class Chart:
    """A chart, and which call stands in which column of it.

    Attributes:
        rows: the rows, from the top.
        columns: of each column the call that it shows, from 0; -1 for none.
    """

    def __init__(self, rows: Sequence[tuple[Piece, ...]], columns: Sequence[int]) -> None:
        self.rows = rows
        self.columns = columns


def chart_of(contexts: RunContexts, at: int, columns: int, rows: int, glyphs: Glyphs) -> Chart:
    """Draw the chart.

    Where there are more calls than columns, one bar stands for several: for the fullest of these.

    Args:
        contexts: the calls.
        at: the one that is shown, from 0: its bar stands out, and those after it are muted.
        columns: columns there are.
        rows: rows there are, the one with the numbers included.
        glyphs: the glyphs.
    """
    calls = contexts.calls
    room = max(1, columns - _LEFT - _RIGHT)
    wide = max(1, min(_WIDEST, room // len(calls)))
    firsts, shown_calls = _buckets(calls, at, room // wide)
    most = max(context.tokens for context in calls) or 1
    height = rows - 1
    lines: list[list[Piece]] = []
    for row in range(height):
        label = fmt.short(most) if row == 0 else fmt.short(most // 2) if row == height // 2 and height > 2 else ""
        line: list[Piece] = [(f"{label:>{_LEFT - 2}}  ", "faint")]
        for number in shown_calls:
            role = _role(number, at)
            line.append(
                (bar_cell(calls[number].tokens / most * height - (height - 1 - row), glyphs) * max(1, wide - 1), role)
            )
            if wide > 1:
                line.append((" ", "text"))
        lines.append(line)
    _write_drop(lines, shown_calls, calls, at, wide, glyphs)
    right = beside_history(contexts, calls[at])
    for row, piece in enumerate(right[: max(0, height - 1)]):
        line = lines[row + 1]
        used = sum(width(text) for text, _ in line)
        if used <= columns - _RIGHT + 1:
            line += [(" " * (columns - _RIGHT + 2 - used), "text"), piece]
    lines.append(list(_axis(firsts, at, wide)))
    where = [-1] * _LEFT + [number for number in shown_calls for _ in range(wide)]
    return Chart([tuple(line) for line in lines], where)


def call_at(chart: Chart, column: int) -> int | None:
    """The call that stands in a column of a chart, from 0."""
    found = chart.columns[column] if 0 <= column < len(chart.columns) else -1
    return None if found < 0 else found


def _buckets(calls: Sequence[CallContext], at: int, cells: int) -> tuple[list[int], list[int]]:
    """Of each bar the first call that it stands for, and the one that it shows."""
    if len(calls) <= cells:
        return list(range(len(calls))), list(range(len(calls)))
    firsts, found = [], []
    for cell in range(cells):
        bucket = range(cell * len(calls) // cells, (cell + 1) * len(calls) // cells)
        firsts.append(at if at in bucket else bucket[-1] if cell == cells - 1 else bucket[0])
        found.append(at if at in bucket else max(bucket, key=lambda number: calls[number].tokens))
    return firsts, found


def _role(number: int, at: int) -> PieceRole:
    return "key" if number == at else "model" if number < at else "faint"


def bar_cell(filled: float, glyphs: Glyphs) -> str:
    """One cell of a bar, of which so much is filled."""
    if filled <= 0:
        return " "
    steps = len(glyphs.spark)
    return glyphs.spark[min(steps - 1, max(0, round(filled * steps) - 1))]


def _axis(shown_calls: Sequence[int], at: int, wide: int) -> tuple[Piece, ...]:
    """The numbers below: the first, the last, the one that is shown, and a few between."""
    cells = len(shown_calls)
    here = shown_calls.index(at)
    places = {0, here, cells - 1, *(tick * (cells - 1) // _TICKS for tick in range(1, _TICKS))}
    row: list[Piece] = []
    column = 0
    taken = sorted(places, key=lambda cell: (cell != here, cell != cells - 1, cell))
    kept: list[tuple[int, str, PieceRole]] = []
    for cell in taken:
        text = f"call {shown_calls[cell] + 1}" if cell == 0 else str(shown_calls[cell] + 1)
        start = _LEFT + cell * wide
        if all(start + len(text) < other or start > other + len(words) for other, words, _ in kept):
            kept.append((start, text, "key" if cell == here else "faint"))
    for start, text, role in sorted(kept):
        row += [(" " * (start - column), "text"), (text, role)]
        column = start + len(text)
    return tuple(row)


def _write_drop(
    lines: list[list[Piece]],
    shown_calls: Sequence[int],
    calls: Sequence[CallContext],
    at: int,
    wide: int,
    glyphs: Glyphs,
) -> None:
    """Write what was cut beside the bar of the call that lost it, where the bars that follow leave room."""
    number = at if calls[at].cuts else next((n for n in shown_calls if calls[n].summary is not None), None)
    if number is None or number not in shown_calls:
        return
    words = drop_words(calls[number], glyphs)
    cell = shown_calls.index(number) + 1
    start = cell * wide + 2
    line = lines[0]
    flat = "".join(text for text, _ in line[1:])
    if words and not flat[cell * wide :].strip():
        kept, used = [line[0]], 0
        for text, role in line[1:]:
            if used >= cell * wide:
                break
            kept.append((text, role))
            used += len(text)
        lines[0] = [*kept, (" " * (start - used), "text"), (words, "changed_mark")]
