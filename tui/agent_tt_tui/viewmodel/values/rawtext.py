"""A state as JSON text, in rows that are found by number."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from agent_tt.codec.text import pretty

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire


class RawText(NamedTuple):
    """Rows of text.

    Attributes:
        lines: The lines of the JSON text.
        columns: How many characters of a line a row has; 0 for all.
        starts: The first row of each line, where lines are broken.
    """

    lines: Sequence[str]
    columns: int = 0
    starts: Sequence[int] = ()
    rows: int = 0

    @classmethod
    def of(cls, state: Wire, columns: int = 0) -> RawText:
        """Lay out a state; slow for large ones.

        Args:
            state: The state.
            columns: Break lines after so many columns; 0 leaves them whole.
        """
        return cls.broken(pretty(state).split("\n"), columns)

    @classmethod
    def broken(cls, lines: Sequence[str], columns: int) -> RawText:
        """Break lines after so many columns; 0 leaves them whole."""
        if not columns:
            return cls(lines, rows=len(lines))
        ends = list(accumulate(max(1, -(-len(line) // _characters(line, columns))) for line in lines))
        return cls(lines, columns, [0, *ends[:-1]], ends[-1] if ends else 0)

    def row(self, index: int) -> tuple[str, int]:
        """A row's line, and the character of the line that the row begins with."""
        if not self.columns:
            return self.lines[index], 0
        number = bisect_right(self.starts, index) - 1
        line = self.lines[number]
        return line, (index - self.starts[number]) * _characters(line, self.columns)

    def characters(self, line: str) -> int:
        """How many characters of a line a row has."""
        return _characters(line, self.columns) if self.columns else len(line)


def _characters(line: str, columns: int) -> int:
    """How many characters surely fit: half as many where some may be two columns wide."""
    return max(1, columns if line.isascii() else columns // 2)
