"""The debugger's pane that says who wrote a value, and leads back to what caused it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

from agent_tt._dataclass import dataclass
from agent_tt_tui.chrome import Pane, PaneTitle
from agent_tt_tui.keymaps import BLAME
from agent_tt_tui.lines import LineView
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row
from agent_tt_tui.text import clean, cut
from agent_tt_tui.widgets.drawing import add_pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.strip import Strip

    from agent_tt.querying.provenance.blaming import Blame
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.viewmodel.past.blame import BlameRow, Place

_FREE = 2
"""Columns of a list that are not its lines': the cursor bar's and the one at the right edge."""


class BlameList(LineView):
    """The places on the way back, then the writes; the cursor is on both rows of a place."""

    KEYS = BLAME
    HELP = "Who wrote the value: up and down walk along the way back, enter stays at the place, esc goes back."

    @dataclass
    class PlaceMoved(Message):
        """The cursor came to another place; a flood of these is delivered as its last."""

        place: Place

        def can_replace(self, message: Message) -> bool:
            """Let a newer move stand for an older one."""
            return isinstance(message, BlameList.PlaceMoved)

    def __init__(self, kind_of: Callable[[int], str | None]) -> None:
        """Make an empty list.

        Args:
            kind_of: Tells the kind of a step.
        """
        super().__init__(id="blame-list")
        self.place = 0
        """Which place the cursor is on."""
        self.places: Sequence[Place] = ()
        """Everything that can be gone to."""
        self._kind_of = kind_of
        self._blame: Blame | None = None
        self._rows: Sequence[BlameRow] = ()
        self._is_short = False
        """Whether only the reasons of the place under the cursor are told to their end."""

    def show(self, blame: Blame | None, place: int) -> None:
        """Show who wrote a value, with the cursor on a place."""
        from agent_tt_tui.viewmodel.past.blame import places

        self._blame = blame
        self.places = () if blame is None else places(blame)
        self.place = place
        self._lay_out()

    def rows_at(self, columns: int) -> int:
        """How many rows it takes at a width."""
        if self._blame is None or not columns:
            return 0
        from agent_tt_tui.viewmodel.past.blame import blame_rows

        return len(blame_rows(self._blame, max(1, columns - _FREE), look_of(self).glyphs, self._kind_of))

    @property
    def line_count(self) -> int:
        """Two rows a link or more, one for the end of the way, the heading, and a row a write."""
        return len(self._rows)

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw a row."""
        return add_pieces(Row(look_of(self).glyphs.cut), self._rows[index].pieces, styles).strip(width)

    def is_here(self, index: int) -> bool:
        """Whether a row belongs to the place under the cursor."""
        return self.cursor >= 0 and self._rows[index].place == self.place

    def move_to(self, index: int) -> None:
        """Put the cursor on the place of a row, or on the next one below a heading."""
        below = (row.place for row in self._rows[max(0, index) :] if row.place is not None)
        self._go(next(below, len(self.places) - 1))

    def action_move(self, rows: int) -> None:
        """Go so many places on."""
        self._go(self.place + rows)

    def action_last(self) -> None:
        """Go to the last place."""
        self._go(len(self.places) - 1)

    def on_resize(self) -> None:
        """Lay out for another width."""
        self._lay_out()

    def watch_cursor(self, old: int, new: int) -> None:
        """Repaint all rows of the places concerned."""
        self.refresh()
        super().watch_cursor(old, new)

    def on_focus(self) -> None:
        """Repaint all rows of the place."""
        self.refresh()

    def on_blur(self) -> None:
        """Repaint all rows of the place."""
        self.refresh()

    def _go(self, place: int) -> None:
        place = max(0, min(place, len(self.places) - 1))
        if not self.places or place == self.place:
            return
        self.place = place
        if self._is_short:
            self._lay_out()
        else:
            self._put_cursor()
        self.post_message(self.PlaceMoved(self.places[place]))

    def _put_cursor(self) -> None:
        lines = [index for index, row in enumerate(self._rows) if row.place == self.place]
        if lines:
            self.cursor = lines[0]
            self.reveal(lines[-1])
            self.reveal(lines[0])

    def _lay_out(self) -> None:
        from agent_tt_tui.viewmodel.past.blame import blame_rows, told_in

        columns, glyphs = max(1, self.size.width - _FREE), look_of(self).glyphs
        self._rows = ()
        if self._blame is not None:
            rows = blame_rows(self._blame, columns, glyphs, self._kind_of)
            self._is_short = len(rows) > self.size.height
            if self._is_short:  # all reasons would push the places themselves out of sight
                least = blame_rows(self._blame, columns, glyphs, self._kind_of, told=())
                told = told_in(rows, least, self.place, self.size.height)
                rows = blame_rows(self._blame, columns, glyphs, self._kind_of, told=told)
            self._rows = rows
        self.refresh_lines_data()
        self._put_cursor()


class BlameTitle(PaneTitle):
    """`WHO WROTE  messages[6].content at 3`, and at the right how far along the way one is."""

    path = ""
    step = 0
    why = ""
    """What stands in the way of an answer."""

    def draw_left(self, row: Row, styles: Palette) -> None:
        """Add what is asked, or that the answer is looked for."""
        glyphs = look_of(self).glyphs
        row.add("WHO WROTE  ", styles.title if self.active else styles.title_blurred)
        if self.why:
            row.add(f"{glyphs.failed} {clean(self.why)}", styles.failed)
            return
        at = f" at {self.step}"
        room = self.size.width - row.cells - len(at) - len(self.hint) - 4
        row.add(cut(clean(self.path), max(8, room), glyphs.cut), styles.strong).add(at, styles.muted)
        if self.busy:
            row.add(f"  {glyphs.still} looking {glyphs.cut}", styles.note)


class BlamePane(Pane):
    """Who wrote a value; it stands in the place of the diff while it is open."""

    def __init__(self, kind_of: Callable[[int], str | None]) -> None:
        """Make a closed pane.

        Args:
            kind_of: Tells the kind of a step.
        """
        self.blame_title = BlameTitle("Who wrote")
        self.list = BlameList(kind_of)
        super().__init__(self.blame_title, self.list, id="blame")
        self.is_open = False
        """Whether it is shown."""

    def needed(self, columns: int) -> int:
        """How many rows all of it takes at a width, title included."""
        return 1 + self.list.rows_at(columns)

    def ask(self, path: str, step: int) -> None:
        """Say what is asked, while the answer is looked for."""
        self.is_open = True
        title = self.blame_title
        title.path, title.step, title.why, title.busy, title.hint = path, step, "", "looking", ""
        self.list.show(None, 0)
        title.refresh()

    def show(self, blame: Blame, place: int) -> None:
        """Show the answer."""
        self.is_open = True
        title = self.blame_title
        title.path, title.step, title.why, title.busy = blame.path or "everything", blame.step, "", ""
        self.list.show(blame, place)
        self.show_place()
        title.refresh()

    def refuse(self, why: str) -> None:
        """Say why there is no answer."""
        self.blame_title.why, self.blame_title.busy = why, ""
        self.blame_title.refresh()

    def show_place(self) -> None:
        """Say how far along the way one is."""
        total = len(self.list.places)
        self.blame_title.hint = f"{self.list.place + 1}/{total}" if total else ""
