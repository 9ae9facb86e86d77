"""The help screen and the command palette, both made from the key table of the screen that is open."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.command import DiscoveryHit, Hit, Hits, Provider

from agent_tt_tui.commands import display_key
from agent_tt_tui.contexts import READING
from agent_tt_tui.dialog import Dialog, DialogTitle
from agent_tt_tui.lines import LineView
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row
from agent_tt_tui.screen import CommandScreen

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.strip import Strip

    from agent_tt_tui.commands import Command, Context
    from agent_tt_tui.palette import Palette

_KEYS_WIDTH = 18


class HelpLines(LineView):
    """The keys of a context: a title for each group, then a row for each command."""

    def __init__(self, context: Context) -> None:
        """List a context."""
        super().__init__()
        self._rows: list[str | Command] = []
        for group in context.groups:
            self._rows += [*([""] if self._rows else []), group.title, *group.commands]

    @property
    def line_count(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw a group's title or a command."""
        look, entry = look_of(self), self._rows[index]
        row = Row(look.glyphs.cut)
        if isinstance(entry, str):
            return row.add(entry.upper(), styles.title_blurred).strip(width)
        keys = "  ".join(display_key(key, look.glyphs) for key in entry.bound_keys(look.keymap))
        return row.column(keys, _KEYS_WIDTH, styles.key).upto(entry.help, width, styles.text).strip(width)


class HelpScreen(Dialog[None]):
    """The keys of the screen below."""

    CONTEXT = READING
    BINDINGS: ClassVar[list[BindingType]] = READING.screen_bindings()
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
            score = matcher.match(label)
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
