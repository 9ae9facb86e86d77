"""Output for people: colour where it is wanted, tables that fit, nothing in it that a terminal would obey."""

from __future__ import annotations

import os
import shutil
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import click

from agent_tt._dataclass import dataclass
from agent_tt_tui.glyphs import Glyphs, choose
from agent_tt_tui.text import Align, clean, fit, show, width

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TextIO

Role: TypeAlias = Literal["text", "strong", "muted", "well", "failed", "changed", "yours", "running", "key"]

_SGR: Final[dict[Role, str]] = {
    "text": "",
    "strong": "1",
    "muted": "2",
    "well": "32",
    "failed": "1;31",
    "changed": "33",
    "yours": "1;35",
    "running": "1;36",
    "key": "36",
}
"""Roles as "select graphic rendition" parameters of the 8 basic colours, which every theme of a terminal defines."""

_LEAST_COLUMNS = 40
_LEAST_FLEXIBLE = 12
_GAP = "  "
_ROWS_AT_ONCE = 500
"""Rows of a long table that are measured and written together."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A piece of text and the role that colours it."""

    text: str
    role: Role = "text"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        title: What stands above it.
        align: Where its text stands.
        flexible: Whether it is cut where the table is too wide.
    """

    title: str
    align: Align = "left"
    flexible: bool = False


@dataclass(frozen=True, slots=True)
class Terminal:
    """Where output for people goes."""

    columns: int
    colour: bool
    glyphs: Glyphs

    @classmethod
    def of(cls, stream: TextIO) -> Terminal:
        """Describe a stream: colours only on a terminal that has them and where `NO_COLOR` does not forbid them."""
        plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        return cls(
            columns=max(_LEAST_COLUMNS, shutil.get_terminal_size((80, 24)).columns),
            colour=stream.isatty() and not plain,
            glyphs=choose("auto", {"LC_ALL": "C"} if not _encodes(stream) else os.environ),
        )

    def paint(self, text: str, role: Role) -> str:
        """Colour text that is safe."""
        code = _SGR[role]
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and code and text else text

    def safe(self, text: str) -> str:
        """Make text of an agent safe to write on one line."""
        return clean(text)

    def short(self, text: str, columns: int) -> str:
        """The same, cut to a number of columns."""
        return show(text, columns, self.glyphs.cut)

    def line(self, *cells: Cell | str) -> None:
        """Write one line of safe text, uncut."""
        click.echo(self.painted(*cells))

    def painted(self, *cells: Cell | str) -> str:
        """One line of safe text with its colours."""
        return "".join(self.paint(cell.text, cell.role) if isinstance(cell, Cell) else cell for cell in cells)

    def table(
        self,
        columns: Sequence[Column],
        rows: Sequence[Sequence[Cell]],
        below: Sequence[Sequence[Sequence[Cell | str]]] = (),
    ) -> None:
        """Write a table; the texts in it may come from an agent.

        Args:
            columns: The columns; titles are left out when all are empty.
            rows: One cell a column; missing ones at the end are empty.
            below: For each row the lines that stand below it, of safe text; empty where there are none at all.
        """
        grid = [[Cell(show(cell.text, self.columns, self.glyphs.cut), cell.role) for cell in row] for row in rows]
        widths = self._widths(columns, grid)
        if any(column.title for column in columns):
            self._row(columns, widths, [Cell(column.title, "muted") for column in columns])
        for index, row in enumerate(grid):
            self._row(columns, widths, row)
            for line in below[index] if below else ():
                self.line(*line)

    def long_table(self, columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> None:
        """Write a table of any length as its rows come, some hundred at a time; the texts in it may come from an agent.

        Columns that are not flexible are never cut: they grow where later rows need it.

        Args:
            columns: The columns.
            rows: One cell a column.
        """
        needed = [width(column.title) for column in columns]
        title = [Cell(column.title, "muted") for column in columns]
        coming = ([Cell(show(cell.text, self.columns, self.glyphs.cut), cell.role) for cell in row] for row in rows)
        while chunk := list(islice(coming, _ROWS_AT_ONCE)):
            needed = [max(before, now) for before, now in zip(needed, _needed(columns, chunk), strict=True)]
            widths = self._fitted(columns, needed)
            lines = [self._row_text(columns, widths, row) for row in (*([title] if title else ()), *chunk)]
            click.echo("\n".join(lines))
            title = []

    def _widths(self, columns: Sequence[Column], grid: Sequence[Sequence[Cell]]) -> list[int]:
        return self._fitted(columns, _needed(columns, grid))

    def _fitted(self, columns: Sequence[Column], needed: Sequence[int]) -> list[int]:
        """Widths of columns of which the flexible ones give way where there is not enough room."""
        widths = list(needed)
        excess = sum(widths) + len(_GAP) * (len(widths) - 1) - self.columns
        flexible = [index for index, column in enumerate(columns) if column.flexible]
        while excess > 0 and any(widths[index] > _LEAST_FLEXIBLE for index in flexible):
            widest = max(flexible, key=lambda index: widths[index])
            widths[widest] -= 1
            excess -= 1
        return widths

    def _row(self, columns: Sequence[Column], widths: Sequence[int], row: Sequence[Cell]) -> None:
        click.echo(self._row_text(columns, widths, row))

    def _row_text(self, columns: Sequence[Column], widths: Sequence[int], row: Sequence[Cell]) -> str:
        cells: list[Cell | str] = []
        filled = max((index for index, cell in enumerate(row) if cell.text), default=-1)
        for index, (column, cell) in enumerate(zip_longest(columns, row[: filled + 1], fillvalue=None)):
            if column is None or cell is None:
                break
            text = fit(cell.text, widths[index], self.glyphs.cut, column.align)
            last = index == filled and column.align == "left"
            cells += [_GAP if index else "", Cell(text.rstrip() if last else text, cell.role)]
        return self.painted(*cells)


def _needed(columns: Sequence[Column], grid: Sequence[Sequence[Cell]]) -> list[int]:
    """How wide each column is where all of it is shown."""
    return [
        max([width(column.title), *(width(row[index].text) for row in grid if index < len(row))])
        for index, column in enumerate(columns)
    ]


def facts(parts: Iterable[str | None], dot: str) -> str:
    """Join the facts that are known."""
    return f" {dot} ".join(part for part in parts if part)


def _encodes(stream: TextIO) -> bool:
    """Whether a stream can write the glyphs."""
    try:
        "◆≠│✓".encode(stream.encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True
