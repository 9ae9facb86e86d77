"""The two rows above what the inspector shows: its tabs, and the path of the selected value."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from agent_tt_tui.chrome import PaneTitle
from agent_tt_tui.footer import press_key
from agent_tt_tui.keymaps import DEBUGGER
from agent_tt_tui.look import look_of
from agent_tt_tui.row import RowWidget
from agent_tt_tui.text import clean
from agent_tt_tui.widgets.drawing import add_pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from textual import events

    from agent_tt_tui.palette import Palette
    from agent_tt_tui.row import Row
    from agent_tt_tui.viewmodel.values.pieces import Piece

TABS: Final = ("State", "Call", "Context", "Messages", "Raw")
_SHORT: Final = {"Messages": "Msgs", "Context": "Ctx"}


class TabsTitle(PaneTitle):
    """`1 State  2 Call  3 Context  4 Messages  5 Raw`, and at the right what is shown."""

    tab = 1
    """The tab that is shown, from 1."""
    has_call = True
    """Whether the calls have a tab; not where they have a column of their own."""
    about: Sequence[Piece] = ()
    """Stands at the right edge: `after 3 search_docs`; left out first where there is no room."""
    about_short: Sequence[Piece] = ()
    """Stands there where the longer one has no room."""
    about_shortest: Sequence[Piece] = ()
    """Stands there where that one has none either."""

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        """Draw the row: blanks go before what is at the right, then numbers, then that; then names are shortened."""
        for numbered, close, about in (
            *((True, False, about) for about in (self.about, self.about_short, self.about_shortest)),
            *((True, True, about) for about in (self.about_short, self.about_shortest)),
            *((False, False, about) for about in (self.about_short, self.about_shortest)),
            *((True, False, ()), (True, True, ()), (False, False, ())),
        ):
            row = self._tabs(styles, shortened=False, numbered=numbered, close=close)
            right = add_pieces(self.new_row(), about, styles)
            if row.cells + (right.cells + 2 if about else 0) <= columns:
                return row.right(right, max(0, columns - 1)) if about else row
        row = self._tabs(styles, shortened=True, numbered=True)
        return row if row.cells <= columns else self._tabs(styles, shortened=True, numbered=False)

    def on_click(self, event: events.Click) -> None:
        """Show the tab under the mouse."""
        for begin, end, go in self.tabs_shown():
            if begin <= event.x < end:
                go()

    def tabs_shown(self) -> Iterator[tuple[int, int, Callable[[], object]]]:
        """The columns in which each tab begins, its number included, and ends, and what shows it."""
        drawn, end = self.render_line(0).text, 0
        for name in TABS:
            at = max(drawn.find(name, end), drawn.find(_SHORT.get(name, name), end))
            if at >= 0:
                key = DEBUGGER.command(f"tab.{name.lower()}").bound_keys(look_of(self).keymap)[0]
                end = at + len(name)
                before = drawn[:at].rstrip()
                begin = len(before) - 1 if before[-1:].isdigit() else at
                yield begin, end, partial(press_key, self.app, key)

    def _tabs(self, styles: Palette, *, shortened: bool, numbered: bool, close: bool = False) -> Row:
        if close:
            return self._close_tabs(styles)
        glyphs = look_of(self).glyphs
        row = self.new_row().add(glyphs.bar if self.active else " ", styles.bar_focused)
        for number, name in enumerate(TABS, 1):
            if name == "Call" and not self.has_call:
                continue
            word = _SHORT.get(name, name) if shortened else name
            if number == self.tab:
                row.add(f" {number} {word} " if numbered else f" {word} ", styles.active_tab)
            else:
                row.add(f" {number}" if numbered else "", styles.faint).add(f" {word} ", styles.muted)
        return row

    def _close_tabs(self, styles: Palette) -> Row:
        """The names in full, each directly behind its number."""
        row = self.new_row().add(look_of(self).glyphs.bar if self.active else " ", styles.bar_focused)
        for number, name in enumerate(TABS, 1):
            if name != "Call" or self.has_call:
                shown = number == self.tab
                row.add(" ").add(str(number), styles.key).add(name, styles.active_tab if shown else styles.muted)
        return row


class PathRow(RowWidget):
    """`messages > 6 > content`, and at the right which step wrote it."""

    HELP = "Where the selected value is, and which step wrote it."

    path: Sequence[str] = ()
    """The names and positions on the way to the selected value, any text; empty while none is selected."""
    absent = False
    """Whether the state that is shown has no such value."""
    about: Sequence[Piece] = ()
    """Stands at the right edge."""

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        """Draw the row; a path that is too long loses its beginning."""
        right = add_pieces(self.new_row(), self.about, styles)
        room = columns - 1 - (right.cells + 2 if right.cells else 0)
        steps = [clean(step) for step in self.path]
        left_out = False
        while len(steps) > 1 and self._way(steps, styles, left_out=left_out).cells > room:
            steps, left_out = steps[1:], True
        row = self.new_row()
        if not steps:
            row.add(" the whole state", styles.faint)
        else:
            row.upto_row(self._way(steps, styles, left_out=left_out), room)
        return row.right(right, max(0, columns - 1)) if right.cells else row

    def _way(self, steps: Sequence[str], styles: Palette, *, left_out: bool) -> Row:
        glyphs = look_of(self).glyphs
        row = self.new_row().add(" ")
        if left_out:
            row.add(f"{glyphs.cut} {glyphs.path} ", styles.faint)
        for step in steps[:-1]:
            row.add(step, styles.muted).add(f" {glyphs.path} ", styles.faint)
        return row.add(steps[-1], styles.muted if self.absent else styles.strong)
