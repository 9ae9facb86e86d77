"""The state after a step as a tree, drawn by visible line."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.geometry import Region
from textual.message import Message

from agent_tt._dataclass import dataclass
from agent_tt.providers.chat import message_of
from agent_tt_tui.keymaps import TREE
from agent_tt_tui.keymaps.shared import CHOOSE
from agent_tt_tui.lines import LineView
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row
from agent_tt_tui.tall_rows import TallRows
from agent_tt_tui.text import width as columns_of
from agent_tt_tui.viewmodel.values.arrival import unfold_changes, unfold_rest
from agent_tt_tui.viewmodel.values.pieces import wrap_text
from agent_tt_tui.viewmodel.values.tree import Changes, Folds, Tree
from agent_tt_tui.viewmodel.values.values import key_text, type_text, value_pieces, value_rows
from agent_tt_tui.widgets.drawing import add_pieces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style
    from textual.binding import BindingType
    from textual.strip import Strip

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.comparing.values.states import Change
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.viewmodel.values.pieces import Piece
    from agent_tt_tui.viewmodel.values.tree import TreeRow

TYPES_FROM = 60
"""From how many columns on there is a column of types, and the key column has one width."""

_KEY_COLUMNS_WIDE = 22
_KEY_COLUMNS = (10, 16)
_TYPE_COLUMNS = 9
_MOST_NOTE = 500
_FOLD_COLUMN = 2
_EDGES = 2
"""The column of the cursor's bar, and the free one at the right edge."""
_MOST_READ = 2_000
"""Lines of a value that is read whole."""


class StateTree(LineView):
    """A state; what is selected and unfolded stays so while other states are shown."""

    BINDINGS: ClassVar[list[BindingType]] = TREE.widget_bindings()
    HELP = "The state after the step: h and l fold and unfold, e edits the selected value, [ and ] go to its writes."

    @dataclass
    class Selected(Message):
        """Another value was selected; its path is in wire coordinates."""

        tree: StateTree
        path: Path

        @property
        def control(self) -> StateTree:
            """The tree in which it was selected."""
            return self.tree

    def __init__(self) -> None:
        super().__init__(id="state-tree")
        self.selected: Path | None = None
        """The selected path, which this state may not have; None while there is nothing to select."""
        self.chosen = False
        """Whether somebody chose it; else it is only where the cursor stands from the start."""
        self.note = ""
        """Stands in place of the rows: why there are none."""
        self.shows_old = True
        """Whether changed values say what they were; else another pane does."""
        self._note_rows: Sequence[Sequence[Piece]] = ()
        self._folds = Folds()
        self._state: Wire = None
        self._shown_changes: list[Change] = []
        self._changes = Changes()
        self._edited = False
        self._tree: Tree | None = None
        self.tall = TallRows()
        self._wrapped: dict[int, list[tuple[Piece, ...]]] = {}
        """The rows of text of values that take several lines, by their row in the tree."""
        self._read: Path | None = None
        """The value that is read from its beginning to its end, however long."""
        self._key_columns = _KEY_COLUMNS[0]

    def show(self, state: Wire, changes: Sequence[Change], *, edited: bool = False, note: str = "") -> None:
        """Show a state.

        Args:
            state: The state.
            changes: What is marked as changed.
            edited: Whether a person made these changes.
            note: Stands in place of the rows: why there are none.
        """
        if list(changes) != self._shown_changes:
            self._folds.closed.clear()  # they were folded in another state
            self._read = None
        self._shown_changes = list(changes)
        self._state, self._changes, self._edited, self.note = state, Changes(changes), edited, note
        self._unfold_for_arrival()
        self._lay_out()

    def show_old(self, *, shows_old: bool) -> None:
        """Say of changed values what they were, or leave that to another pane."""
        if shows_old != self.shows_old:
            self.shows_old = shows_old
            self.refresh_lines_data()

    def select(self, path: Path) -> None:
        """Select a value as a person does, unfolding what it is in."""
        for depth in range(1, len(path)):
            self._folds.unfold(path[:depth])
        self.chosen = True
        if path != self.selected:
            self.selected = path
            self.post_message(self.Selected(self, path))
        self._lay_out()

    @property
    def row(self) -> TreeRow | None:
        """The row under the cursor."""
        if self._tree is None or self.cursor < 0:
            return None
        index = self.row_number
        return self._tree.row(index) if index < len(self._tree) else None

    @property
    def value_columns(self) -> int:
        """How wide values are drawn, which is as wide as one is edited in its row."""
        return max(1, self.size.width - _EDGES - self._value_at)

    @property
    def value_region(self) -> Region | None:
        """Where the value under the cursor begins on the screen, one row high; None while it is not drawn."""
        y = self.cursor - self.scroll_offset.y
        if self.row is None or not self.display or not 0 <= y < self.size.height:
            return None
        return Region(self.region.x + 1 + self._value_at, self.region.y + y, self.value_columns, 1)

    def beside(self, direction: int) -> Sequence[Path]:
        """The paths of the rows beside the cursor's: of the next two in a direction, 1 or -1, and of the one behind."""
        if self._tree is None or self.cursor < 0:
            return ()
        at = self.row_number
        rows = (at + direction, at + 2 * direction, at - direction)
        return [self._tree.row(row).path for row in rows if 0 <= row < len(self._tree)]

    def _unfold_for_arrival(self) -> None:
        """Unfold what changed in a state that comes on screen, and then what there is room for."""
        rows = self.size.height
        self._folds.arrival = set()
        if self.note or not rows:
            return
        unfold_changes(self._state, self._changes, self._folds, rows)
        self._flatten()
        unfold_rest(self._state, self._changes, self._folds, rows - self.tall.more)

    def _flatten(self) -> None:
        """Make the rows of the state, and the lines of those that are read in place."""
        self._tree = Tree(
            self._state, self._changes, self._folds, fold_from=self.size.height or None, keep=self.selected
        )
        self._key_columns = self._wanted_key_columns()
        self._measure()

    def _measure(self) -> None:
        """Give lines to values that one row would cut: to the selected one first, then to those that changed."""
        self._wrapped, self.tall = {}, TallRows()
        tree, height = self._tree, self.size.height
        if tree is None or not height:
            return
        free = max(0, height - len(tree))
        columns = self.size.width - _EDGES - self._value_at
        at, is_there = tree.find(self.selected) if self.selected is not None else (-1, False)
        look = look_of(self)
        wide = self.size.width >= TYPES_FROM
        broken = partial(value_rows, columns=columns, glyphs=look.glyphs, key=look.key(CHOOSE), typed=wide)
        if is_there:
            most = _MOST_READ if self._read == self.selected else max(free + 1, height // 2)
            rows = broken(tree.row(at), most=most, folded=True)
            if len(rows) > 1:
                self._wrapped[at] = rows
                free -= len(rows) - 1
        rest = [index for index in range(len(tree)) if index != at] if free > 0 else []
        changed = [index for index in rest if tree.row(index).mark]
        for folded, indices in ((False, changed), (False, rest), (True, rest)):
            for index in indices:
                if free > 0 and index not in self._wrapped:
                    rows = broken(tree.row(index), most=free + 2, folded=folded)
                    if 1 < len(rows) <= free + 1:
                        self._wrapped[index] = rows
                        free -= len(rows) - 1
        self.tall = TallRows({index: len(rows) for index, rows in self._wrapped.items()})

    @property
    def _value_at(self) -> int:
        """The column that values begin at."""
        return _FOLD_COLUMN + self._key_columns + 1 + (_TYPE_COLUMNS if self.size.width >= TYPES_FROM else 0)

    def _lay_out(self) -> None:
        """Flatten the state anew and put the cursor on the selected path, or on the nearest value above it."""
        if self.note:
            rows = wrap_text(self.note, self.size.width - 4, "note", look_of(self).glyphs.cut, limit=_MOST_NOTE)
            self._note_rows = list(rows)
            self._tree, self.tall, self._wrapped = None, TallRows(), {}
        else:
            self._flatten()
        at = -1 if self._tree is None or self.selected is None else self._tree.find(self.selected)[0]
        self.refresh_lines_data()
        if self.selected is None:
            self._select_row()  # so that what is marked and can be edited is what the cursor is on, from the start
            self._measure()
            self.refresh_lines_data()
        elif at >= 0:
            self.cursor = self.tall.line_of(at)
            self.reveal(self.cursor)

    def _wanted_key_columns(self) -> int:
        if self.size.width >= TYPES_FROM or self._tree is None:
            return _KEY_COLUMNS_WIDE
        least, most = _KEY_COLUMNS
        glyphs, longest = look_of(self).glyphs, 0
        # A screen more on both sides, so that values mostly stay in their column when somebody goes there.
        height, rows = self.size.height, len(self._tree)
        first = min(self.scroll_offset.y, max(0, rows - height))
        for index in range(max(0, first - height), min(rows, first + 2 * height)):
            row = self._tree.row(index)
            longest = max(longest, row.depth + 2 + columns_of(key_text(row, glyphs)[: most + 1]))
        return max(least, min(most, longest))

    # What a person does.

    def move_to(self, index: int) -> None:
        """Put the cursor on the value that a line belongs to, and select it: it is then read in place."""
        if self._tree is None or not len(self._tree):
            super().move_to(index)
            return
        self.chosen = True
        row = self.tall.row_of(max(0, min(index, self.line_count - 1)))[0]
        self.cursor = self.tall.line_of(row)
        self._select_row()
        self._measure()
        self.refresh_lines_data()
        self.cursor = self.tall.line_of(row)
        self.reveal(self.cursor)
        if self._wanted_key_columns() > self._key_columns:  # there are longer keys where somebody went
            self._lay_out()

    def _select_row(self) -> None:
        row = self.row
        if row is not None and row.path != self.selected:
            self.selected = row.path
            self._read = None
            self.post_message(self.Selected(self, row.path))

    def action_choose(self) -> None:
        """Fold or unfold the row; read the whole of a value that has no parts, or no longer."""
        row = self.row
        if row is not None and row.kind == "value" and not row.unfolds:
            self._read = None if self._read == row.path else row.path
            self._lay_out()
        elif row is not None and row.open:
            self._folds.fold(row.path)
            self._lay_out()
        else:
            self._unfold(row)

    def action_fold(self) -> None:
        """Fold the row; go to its parent where there is nothing to fold."""
        row = self.row
        if row is None:
            return
        if row.open:
            self._folds.fold(row.path)
            self._lay_out()
        else:
            self._go_to_parent(row)

    def action_unfold(self) -> None:
        """Unfold the row; go to its first part where it is unfolded."""
        row = self.row
        if row is not None and row.open:
            self.action_move(1)
        else:
            self._unfold(row)

    def _unfold(self, row: TreeRow | None) -> None:
        if row is None:
            return
        if row.kind == "unchanged":
            index = self.cursor
            self._folds.unchanged.add(row.path)
            self._lay_out()
            self.move_to(index)
        elif row.unfolds:
            self._folds.unfold(row.path)
            self._lay_out()

    def _go_to_parent(self, row: TreeRow) -> None:
        if self._tree is not None and row.depth:
            above = row.path if row.kind != "value" else row.path[:-1]
            index = self._tree.find(above)[0]
            while index >= 0 and self._tree.row(index).depth >= row.depth:
                above = above[:-1]
                index = self._tree.find(above)[0]
            if index >= 0:
                self.move_to(self.tall.line_of(index))

    # Drawing.

    def on_resize(self) -> None:
        """Flatten anew: how much is folded depends on the height."""
        self._unfold_for_arrival()
        self._lay_out()
        super().on_resize()

    @property
    def line_count(self) -> int:
        """How many rows the tree has, or one for the note."""
        if self.note:
            return len(self._note_rows)
        return len(self._tree) + self.tall.more if self._tree is not None else 0

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw a row: mark, fold, key, type from 60 columns on, value."""
        glyphs = look_of(self).glyphs
        drawn = Row(glyphs.cut)
        if self._tree is None or self.note:
            return add_pieces(drawn.add(" "), self._note_rows[index], styles).strip(width)
        number, below = self.tall.row_of(index)
        if below:
            return add_pieces(drawn.pad_to(self._value_at), self._wrapped[number][below], styles).strip(width)
        row = self._tree.row(number)
        wide = self.size.width >= TYPES_FROM
        drawn.add(*self._mark(row, glyphs, styles)).pad_to(_FOLD_COLUMN + row.depth * (2 if wide else 1))
        fold = (glyphs.unfolded if row.open else glyphs.folded) if row.unfolds or row.kind == "unchanged" else " "
        drawn.add(f"{fold} ", styles.muted)
        value_at = _FOLD_COLUMN + self._key_columns + 1
        strong = row.open or styles.on_cursor_row
        drawn.upto(key_text(row, glyphs), value_at - 1, styles.strong if strong else styles.text).pad_to(value_at)
        if wide:
            shown_type = type_text(row.value) if row.kind == "value" and not _says_itself(row) else ""
            drawn.column(shown_type, _TYPE_COLUMNS - 1, styles.faint).add(" ")
        rows = self._wrapped.get(number)
        if rows is None:
            columns = max(1, width - drawn.cells)
            told = value_pieces(row, columns, glyphs, edited=self._edited, shows_old=self.shows_old, typed=wide)
            rows = [tuple(told)]
        return add_pieces(drawn, rows[0], styles).strip(width)

    def _mark(self, row: TreeRow, glyphs: Glyphs, styles: Palette) -> tuple[str, Style]:
        if row.mark and self._edited:
            return glyphs.edited, styles.yours
        marks = {
            "+": (glyphs.added, styles.added_mark),
            "~": (glyphs.changed, styles.changed_mark),
            "-": (glyphs.removed, styles.removed_mark),
        }
        return marks.get(row.mark, (" ", styles.text))


def _says_itself(row: TreeRow) -> bool:
    """Whether a row is a folded message, which needs no type."""
    return not row.open and row.unfolds and message_of(row.value) is not None
