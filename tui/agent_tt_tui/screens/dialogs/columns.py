"""The dialog of the timeline's columns: which are shown, in which order, and what of them has room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from textual.widgets import Static

from agent_tt_tui.dialog import Dialog, DialogTitle
from agent_tt_tui.keymaps import COLUMNS_LIST
from agent_tt_tui.lines import RowList
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row
from agent_tt_tui.viewmodel.debugger.timeline_columns import COLUMNS, NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from textual.app import ComposeResult
    from textual.strip import Strip

    from agent_tt_tui.lines import LineView
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.viewmodel.debugger.timeline import TimelineColumns
    from agent_tt_tui.viewmodel.debugger.timeline_columns import Piece

__all__ = ["Columns", "ColumnsDialog"]

_TITLE: Final = 24
_WIDTH: Final = 7


class Columns(NamedTuple):
    """What was chosen; None for those that suit the room."""

    names: tuple[str, ...] | None


class ColumnRow(NamedTuple):
    """A column in the list.

    Attributes:
        name: Its name.
        is_on: Whether it is chosen.
        width: How wide it is now; 0 where it has no room.
        sample: Its cell of the step that is shown.
    """

    name: str
    is_on: bool
    width: int
    sample: Sequence[Piece]


class ColumnRows(RowList[ColumnRow]):
    """The list of timeline columns, one on each line: the shown ones first, in the order in which they stand."""

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw a column: whether it is shown, how wide, and its cell of the step that is shown."""
        shown = self.rows[index]
        glyphs, column = look_of(self).glyphs, COLUMNS[shown.name]
        sign = glyphs.dot if shown.name == NAME else glyphs.well if shown.is_on else " "
        style = styles.text if shown.is_on else styles.muted
        row = Row(glyphs.cut).add(f" [{sign}] ", style)
        row.column(column.title, _TITLE, styles.strong if styles.on_cursor_row else style)
        said = str(shown.width) if shown.width else "no room" if shown.is_on else str(column.width)
        row.column(said, _WIDTH, styles.changed_mark if said == "no room" else styles.muted, "right").add("   ")
        for text, tone in shown.sample:
            row.upto(text, width, getattr(styles, tone))
        return row.strip(width)


class ColumnsDialog(Dialog[Columns]):
    """Shows all columns, those that are chosen in their order; returns what is chosen."""

    CONTEXT = COLUMNS_LIST
    HELP = "The columns of the timeline: space shows or hides one, J and K move it, enter uses these."

    def __init__(
        self,
        chosen: tuple[str, ...] | None,
        plan: Callable[[tuple[str, ...] | None], TimelineColumns],
        samples: Mapping[str, Sequence[Piece]],
    ) -> None:
        """Show the columns.

        Args:
            chosen: What is chosen now; None for those that suit the room.
            plan: Gives the columns that the timeline would have with a choice.
            samples: The cells of the step that is shown, by column.
        """
        super().__init__()
        self._chosen, self._plan, self._samples = chosen, plan, samples

    def compose_content(self) -> ComposeResult:
        """Yield the title, the list, what the column means and what has no room."""
        yield DialogTitle("Columns", detail="from left to right")
        yield ColumnRows()
        yield Static("", classes="columns-means", markup=False)
        yield Static("", classes="dialog-note", markup=False)

    def on_mount(self) -> None:
        """Show what is chosen."""
        self._show()

    @property
    def _list(self) -> ColumnRows:
        return self.query_one(ColumnRows)

    def _names(self) -> tuple[str, ...]:
        """What is shown, also where nobody has chosen it."""
        if self._chosen is not None:
            return self._chosen
        planned = self._plan(None)
        return tuple(placed.name for placed in planned.placed) + planned.left_out

    def _show(self, at: str | None = None) -> None:
        names, planned = self._names(), self._plan(self._chosen)
        others = [name for name in COLUMNS if name not in names]
        self._list.show_rows(
            [
                ColumnRow(name, name in names, planned.width_of(name), self._samples.get(name, ()))
                for name in (*names, *others)
            ]
        )
        if at is not None:
            self._list.move_to([row.name for row in self._list.rows].index(at))
        self._say(planned)

    def _say(self, planned: TimelineColumns) -> None:
        row = self._list.current
        self.query_one(".columns-means", Static).update("" if row is None else COLUMNS[row.name].means)
        titles = ", ".join(COLUMNS[name].title for name in planned.left_out)
        notes = ["as shipped: those for which there is room"] if self._chosen is None else []
        notes += [f"no room at this width: {titles}"] if titles else []
        self.query_one(".dialog-note", Static).update("; ".join(notes))

    def on_line_view_cursor_moved(self, _message: LineView.CursorMoved) -> None:
        """Say what another column means."""
        self._say(self._plan(self._chosen))

    def on_line_view_chosen(self, _message: LineView.Chosen) -> None:
        """Use these."""
        self.dismiss(Columns(self._chosen))

    def blocked(self, command_id: str) -> str | None:
        """Say why a column cannot be hidden or moved."""
        row = self._list.current if self.query(ColumnRows) else None
        if command_id == "columns.toggle" and row is not None and row.name == NAME:
            return "the name is always shown"
        if command_id in {"columns.down", "columns.up"} and row is not None and not row.is_on:
            return f"it is not shown: {self.key('columns.toggle')} shows it"
        return super().blocked(command_id)

    def action_turn(self) -> None:
        """Show the column under the cursor, or hide it."""
        row = self._list.current
        if row is None:
            return
        names = self._names()
        self._chosen = tuple(name for name in names if name != row.name) if row.is_on else (*names, row.name)
        self._show(row.name)

    def action_shift(self, rows: int) -> None:
        """Move the column under the cursor."""
        row, names = self._list.current, list(self._names())
        if row is None:
            return
        at = names.index(row.name)
        to = max(0, min(at + rows, len(names) - 1))
        names.insert(to, names.pop(at))
        self._chosen = tuple(names)
        self._show(row.name)

    def action_default(self) -> None:
        """Take those that suit the room."""
        self._chosen = None
        self._show()
