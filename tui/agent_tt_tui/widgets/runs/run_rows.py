"""Runs, each on one line: what the run browser's list and the table of many runs share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

from agent_tt_tui.chrome import Motion
from agent_tt_tui.lines import LineView
from agent_tt_tui.look import look_of
from agent_tt_tui.status import run_glyph, run_style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.model import Run
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.row import Row

Item = TypeVar("Item")

GLYPH: Final = 2
"""Columns of a status's glyph."""


def add_status(
    row: Row, run: Run, columns: int, styles: Palette, glyphs: Glyphs, *, moving: str = "", waits: bool = False
) -> None:
    """Add a run's glyph and its status in words.

    Args:
        row: The row.
        run: The run.
        columns: The columns of both together.
        styles: The roles to draw with.
        glyphs: The glyphs to draw with.
        moving: The glyph of a run that goes on; "" for the one that stands still.
        waits: Whether a call of it waits for a decision.
    """
    tone = styles.yours if waits else run_style(run.status, styles)
    glyph = glyphs.person if waits else moving if moving and run.status == "running" else run_glyph(run.status, glyphs)
    if run.damaged is not None and not waits:  # how it ended is not known
        glyph = glyphs.unknown
    row.column(f"{glyph} ", GLYPH, tone)
    word = styles.muted if run.status == "succeeded" and not waits else tone
    row.column("waits" if waits else run.status, columns - GLYPH, word)


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
        self._motion = Motion(self, self._tick)

    @property
    def line_count(self) -> int:
        """One line a run; where there is none, one that says so."""
        return len(self.rows) or bool(self.empty)

    @property
    def current(self) -> Item | None:
        """The row under the cursor, None while there is none."""
        return self.rows[self.row_number] if 0 <= self.row_number < len(self.rows) else None

    def goes_on(self, row: Item) -> bool:
        """Whether what a row shows still runs."""
        raise NotImplementedError

    def is_same(self, row: Item, other: Item) -> bool:
        """Whether two rows are of the same run."""
        raise NotImplementedError

    def show_rows(self, rows: Sequence[Item]) -> None:
        """Show other rows; the cursor stays on the run that it is on."""
        current, self.rows = self.current, rows
        self._move_glyphs()
        self.refresh_lines_data()
        if current is not None:
            index = self.index_of(current)
            if index is not None and index != self.row_number:
                self.move_to_row(index)

    def index_of(self, current: Item) -> int | None:
        """Where the run of a row stands; None where it does not."""
        return next((index for index, row in enumerate(self.rows) if self.is_same(row, current)), None)

    @property
    def something_goes_on(self) -> bool:
        """Whether anything that is shown still runs."""
        return any(map(self.goes_on, self.rows))

    @property
    def moving(self) -> str:
        """The glyph of what goes on, as it is now; "" while it stands still."""
        glyphs = look_of(self).glyphs
        return glyphs.running[self._frame % len(glyphs.running)] if self._frame >= 0 else ""

    def show_waiting(self, runs: frozenset[str]) -> None:
        """Say of these runs, by id, that a call of theirs waits for a decision."""
        self._waiting = runs
        self.refresh_lines_data()

    def on_mount(self) -> None:
        """Begin to move."""
        self._move_glyphs()

    def _move_glyphs(self) -> None:
        """Move the glyph of what runs as long as something does, and nothing else ever."""
        self._motion.follow(runs=self.something_goes_on)

    def _tick(self) -> None:
        self._frame += 1
        self.refresh_lines_data()
