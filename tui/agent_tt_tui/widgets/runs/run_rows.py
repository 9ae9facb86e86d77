"""Runs, each on one line: what the run browser's list and the table of many runs share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from agent_tt_tui.chrome import FRAMES_PER_SECOND
from agent_tt_tui.lines import LineView

if TYPE_CHECKING:
    from collections.abc import Sequence

Item = TypeVar("Item")


class RunRows(LineView, Generic[Item]):
    """Rows of runs, some of which go on: their glyph moves, and the cursor stays on its run when rows change."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.rows: Sequence[Item] = ()
        """What is shown, in order."""
        self.empty = ""
        """What is said where there is no row."""
        self._waiting: frozenset[str] = frozenset()
        self._frame = -1

    @property
    def line_count(self) -> int:
        """One line a run; where there is none, one that says so."""
        return len(self.rows) or bool(self.empty)

    @property
    def current_row(self) -> Item | None:
        """The row under the cursor, None while there is none."""
        return self.rows[self.cursor] if 0 <= self.cursor < len(self.rows) else None

    def goes_on(self, row: Item) -> bool:
        """Whether what a row shows still runs."""
        raise NotImplementedError

    def is_same(self, row: Item, other: Item) -> bool:
        """Whether two rows are of the same run."""
        raise NotImplementedError

    def show_rows(self, rows: Sequence[Item]) -> None:
        """Show other rows; the cursor stays on the run that it is on."""
        current, self.rows = self.current_row, rows
        self.refresh_lines_data()
        if current is not None:
            index = next((index for index, row in enumerate(rows) if self.is_same(row, current)), None)
            if index is not None and index != self.cursor:
                self.move_to(index)

    def show_waiting(self, runs: frozenset[str]) -> None:
        """Say of these runs, by id, that a call of theirs waits for a decision."""
        self._waiting = runs
        self.refresh_lines_data()

    def on_mount(self) -> None:
        """Move the glyph of what runs."""
        self.set_interval(1 / FRAMES_PER_SECOND, self._tick)

    def _tick(self) -> None:
        if self.app.animation_level != "none" and any(map(self.goes_on, self.rows)):
            self._frame += 1
            self.refresh_lines_data()
