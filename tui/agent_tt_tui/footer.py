"""The footer row: the keys of the screen, or for a moment what it has to say; above them, how watched tests stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from textual import events
from textual.keys import _character_to_key
from textual.reactive import reactive

from agent_tt_tui.look import look_of
from agent_tt_tui.row import RowWidget
from agent_tt_tui.text import clean, width
from agent_tt_tui.widgets.drawing import add_pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import App
    from textual.timer import Timer

    from agent_tt_tui.commands import Command, Context
    from agent_tt_tui.look import Look
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.row import Row
    from agent_tt_tui.viewmodel.golden.watched import Watched

MESSAGE_SECONDS = 3.0
"""How long a message stays in the footer."""

WIDE_FROM = 100
"""From how many columns on entries stand three columns apart instead of two."""


class FooterEntry(NamedTuple):
    """One key and its word."""

    command: str
    key: str
    word: str
    pinned: bool = False
    keys: tuple[str, ...] = ()
    """The names of these keys in key events, such as `ctrl+g`."""

    @property
    def cells(self) -> int:
        """The columns it takes."""
        return width(self.key) + 1 + width(self.word)


def press_key(app: App[object], key: str) -> None:
    """Do what a key does, as if it had been pressed."""
    name = _character_to_key(key) if len(key) == 1 else key
    app.post_message(events.Key(name, key if len(key) == 1 else None))


def footer_entries(context: Context, look: Look, usable: Callable[[str], bool] = lambda _: False) -> list[FooterEntry]:
    """List what a context has for the footer, in the order in which it stands there.

    Args:
        context: Whose commands.
        look: How keys are drawn, and which the user has changed.
        usable: Whether a fleeting command, named by its id, can be used now: the others are left out.
    """
    commands: dict[str, Command | None] = {"": None, **{command.id: command for command in context.commands}}
    shown = sorted((c for c in context.commands if c.footer and (not c.fleeting or usable(c.id))), key=lambda c: c.rank)
    return [
        FooterEntry(
            command.id,
            look.key(command, commands[command.pair]),
            command.footer,
            command.pinned,
            tuple(each.bound_keys(look.keymap)[0] for each in (command, commands[command.pair]) if each is not None),
        )
        for command in shown
    ]


def plan_footer(
    entries: Sequence[FooterEntry], columns: int
) -> tuple[list[tuple[int, FooterEntry]], list[tuple[int, FooterEntry]]]:
    """Decide which entries are shown, and in which column each begins.

    Entries are dropped whole, from the right end; pinned ones last, and the last of them never. Column 0 and the
    last one stay free.

    Returns:
        The entries on the left and the pinned ones on the right, each with its first column.
    """
    gap = 3 if columns >= WIDE_FROM else 2
    pinned: list[tuple[int, FooterEntry]] = []
    edge = columns - 1
    for entry in reversed([entry for entry in entries if entry.pinned]):
        if pinned and edge - entry.cells < 1:
            break
        edge = max(1, edge - entry.cells)
        pinned.insert(0, (edge, entry))
        edge -= gap
    left: list[tuple[int, FooterEntry]] = []
    column = 1
    for entry in entries:
        if entry.pinned:
            continue
        if column + entry.cells > edge:
            break
        left.append((column, entry))
        column += entry.cells + gap
    return left, pinned


class FooterRow(RowWidget):
    """The last row of every screen and dialog; rows above it say how watched tests stand, and explain signs."""

    HELP = "The keys of this screen; a key that is muted says why when it is pressed. Above, tests that are watched."

    message: reactive[str] = reactive("")
    """What is said in place of the keys; empty shows the keys."""

    explanation: reactive[str] = reactive("")
    """What is explained above the keys, which a person needs meanwhile; empty for nothing."""

    def __init__(self, context: Context, blocked: Callable[[str], str | None]) -> None:
        """Show the keys of a context.

        Args:
            context: Whose keys.
            blocked: Says why a command, named by its id, cannot be used now; `None` if it can.
        """
        super().__init__()
        self._shown = context
        self._blocked = blocked
        self._timer: Timer | None = None
        self._explains: Timer | None = None
        self._watched: Watched | None = None

    def on_mount(self) -> None:
        """Follow how the tests stand that the app watches; a bare Textual app watches none."""
        if hasattr(self.app, "watched"):
            self.watch(self.app, "watched", self._show_watched)

    def _show_watched(self, watched: Watched | None) -> None:
        self._watched = watched
        self._fit()

    def watch_explanation(self) -> None:
        """Take a row for it."""
        self._fit()

    def _fit(self) -> None:
        self.styles.height = 1 + (self._watched is not None) + bool(self.explanation)
        self.refresh()

    def explain(self, words: str, seconds: float) -> None:
        """Say something above the keys for a while."""
        if self._explains is not None:
            self._explains.stop()
        self.explanation = words
        self._explains = self.set_timer(seconds, self._explain_no_more)

    def _explain_no_more(self) -> None:
        self.explanation = ""

    def say(self, message: str, seconds: float | None = MESSAGE_SECONDS) -> None:
        """Say something in place of the keys.

        Args:
            message: One line.
            seconds: For how long; `None` until the next message, and an empty message ends it.
        """
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        self.message = message
        if message and seconds is not None:
            self._timer = self.set_timer(seconds, self._quieten)

    @property
    def shown(self) -> Context:
        """The context whose keys it shows."""
        return self._shown

    def show_context(self, context: Context) -> None:
        """Show the keys of another context."""
        self._shown = context
        self.refresh()

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw the message, or the keys that fit; above them, how watched tests stand and what is explained."""
        look = look_of(self)
        row = self.new_row()
        if self._watched is not None and y == 0:
            said = add_pieces(self.new_row(), self._watched.pieces(look.glyphs), styles)
            return row.add(" ").upto_row(said, columns - 2)
        if self.explanation and y == self.size.height - 2:
            return row.add(" ").upto(clean(self.explanation), columns - 1, styles.text)
        if self.message:
            return row.add(" ").upto(clean(self.message), columns - 1, styles.text)
        left, pinned = plan_footer(footer_entries(self._shown, look, self._usable), columns)
        for column, entry in (*left, *pinned):
            usable = self._usable(entry.command)
            row.pad_to(column).add(entry.key, styles.key if usable else styles.faint)
            row.add(" ").add(entry.word, styles.muted if usable else styles.faint)
        return row

    def on_click(self, event: events.Click) -> None:
        """Press the key under the mouse; of two that stand together the one that it is on, on their word the second."""
        if self.message or event.y != self.size.height - 1:
            return
        left, pinned = plan_footer(footer_entries(self._shown, look_of(self), self._usable), self.size.width)
        for column, entry in (*left, *pinned):
            if column <= event.x < column + entry.cells:
                is_second = event.x - column >= width(entry.key) // 2 + width(entry.key) % 2
                press_key(self.app, entry.keys[-1 if is_second else 0])

    def _usable(self, command_id: str) -> bool:
        return self._blocked(command_id) is None

    def _quieten(self) -> None:
        self.message = ""
