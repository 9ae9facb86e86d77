"""The help screen and the command palette, both made from the key table of the screen that is open."""

from __future__ import annotations

import textwrap
from functools import partial
from typing import TYPE_CHECKING

from textual.command import DiscoveryHit, Hit, Hits, Provider

from agent_tt_tui.commands import display_key
from agent_tt_tui.dialog import Dialog, DialogTitle
from agent_tt_tui.keymaps import READING
from agent_tt_tui.lines import LineView
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row
from agent_tt_tui.screen import CommandScreen

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.strip import Strip

    from agent_tt_tui.commands import Command, Context
    from agent_tt_tui.palette import Palette

_KEYS_WIDTH = 18
_LEAST_WORDS = 12


class HelpLines(LineView):
    """The keys of a context: a title for each group, then each command, on as many rows as its words take."""

    def __init__(self, context: Context) -> None:
        """List a context."""
        super().__init__()
        self._listed = context
        self._rows: list[tuple[str, str]] = []

    def on_resize(self) -> None:
        """Break the words for the new width."""
        look, room = look_of(self), max(_LEAST_WORDS, self.size.width - 2 - _KEYS_WIDTH)
        rows: list[tuple[str, str]] = []
        for group in self._listed.groups:
            rows += [*([("", "")] if rows else []), (group.title.upper(), "")]
            for command in group.commands:
                keys = "  ".join(display_key(key, look.glyphs) for key in command.bound_keys(look.keymap))
                words = textwrap.wrap(command.help, room)
                rows += zip((keys, *[""] * (len(words) - 1)), words, strict=True)
        self._rows = rows
        self.refresh_lines_data()

    @property
    def line_count(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw a group's title, a command, or the rest of its words."""
        keys, words = self._rows[index]
        row = Row(look_of(self).glyphs.cut)
        if not words:
            return row.add(keys, styles.title_blurred).strip(width)
        return row.column(keys, _KEYS_WIDTH, styles.key).upto(words, width, styles.text).strip(width)


class HelpScreen(Dialog[None]):
    """The keys of the screen below."""

    CONTEXT = READING
    HELP = "The keys of the screen below; esc closes."

    def __init__(self, context: Context) -> None:
        """Show a context."""
        super().__init__(classes="tall")
        self._explained = context

    def compose_content(self) -> ComposeResult:
        """Yield the title and the list of keys."""
        yield DialogTitle("Keys", detail=self._explained.title)
        yield HelpLines(self._explained)


class CommandProvider(Provider):
    """Offers the commands of the open screen in the palette."""

    async def discover(self) -> Hits:
        """Offer everything before anything is typed."""
        for command, label in self._commands():
            yield DiscoveryHit(label, partial(self._run, command), help=self._keys(command))

    async def search(self, query: str) -> Hits:
        """Offer what matches."""
        matcher = self.matcher(query)
        for command, label in self._commands():
            # People type the word that they see in the footer, or the id that they configure.
            score = max(map(matcher.match, (label, command.footer, command.id)))
            if score > 0:
                yield Hit(score, matcher.highlight(label), partial(self._run, command), help=self._keys(command))

    def _keys(self, command: Command) -> str:
        """The keys of a command, and the id by which they are changed."""
        look = look_of(self.screen)
        keys = "  ".join(display_key(key, look.glyphs) for key in command.bound_keys(look.keymap))
        return f"{keys}   {command.id}"

    def _commands(self) -> list[tuple[Command, str]]:
        if not isinstance(self.screen, CommandScreen):
            return []
        return [(command, command.help) for command in self.screen.CONTEXT.commands if command.id != "app.palette"]

    async def _run(self, command: Command) -> None:
        if isinstance(self.screen, CommandScreen):
            await self.screen.action_command(command.id)
