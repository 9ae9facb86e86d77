"""Help, made from the key table of the screen that is open."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from textual.widgets import Input

from agent_tt_tui.dialog import Dialog, DialogTitle
from agent_tt_tui.keymaps import KEYS
from agent_tt_tui.legend import column_legend, legend
from agent_tt_tui.lines import LineView
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from textual.app import ComposeResult
    from textual.strip import Strip

    from agent_tt_tui.commands import Context
    from agent_tt_tui.palette import Palette

_KEYS_WIDTH = 18
_LEAST_WORDS = 12
_CHOOSES_COLUMNS = "columns.open"
_SHARED = frozenset({"Everywhere", "Panes"})
"""Groups of keys that are the same on every screen."""


class HelpLines(LineView):
    """The keys of a context and the signs on the screens, in groups; each entry on as many rows as its words take."""

    def __init__(self, context: Context) -> None:
        """List a context."""
        super().__init__()
        self._listed = context
        self._rows: list[tuple[str, str]] = []
        self.wanted = ""
        """What entries must hold, in any case; all of its words."""

    def on_resize(self) -> None:
        """Break the words for the new width."""
        self.lay_out()

    def lay_out(self) -> None:
        """List what is wanted, in the width there is."""
        room = max(_LEAST_WORDS, self.size.width - 2 - _KEYS_WIDTH)
        rows: list[tuple[str, str]] = []
        for title, entries in self._groups():
            found = [entry for entry in entries if self._is_wanted(title, *entry)]
            if found:
                rows += [*([("", "")] if rows else []), (title.upper(), "")]
            for mark, words in found:
                lines = textwrap.wrap(words, room)
                rows += zip((mark, *[""] * (len(lines) - 1)), lines, strict=True)
        self._rows = rows or [(f"NOTHING HAS {self.wanted}", "")]
        self.refresh_lines_data()

    def _groups(self) -> Iterator[tuple[str, Iterable[tuple[str, str]]]]:
        """What acts on this screen first, then what is the same on all of them, then the signs."""
        look, groups = look_of(self), self._listed.groups
        for group in sorted(groups, key=lambda group: group.title in _SHARED):
            yield (
                group.title,
                [("  ".join(look.keys(command)), command.help) for command in group.commands],
            )
        yield from legend(look.glyphs)
        if any(command.id == _CHOOSES_COLUMNS for command in self._listed.commands):
            yield column_legend()

    def _is_wanted(self, title: str, mark: str, words: str) -> bool:
        """Whether a key or sign is the one that was typed, or title and words hold each typed word."""
        text = f"{title} {words}".casefold()
        return self.wanted in mark.split() or all(word in text for word in self.wanted.casefold().split())

    @property
    def line_count(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw a group's title, a command, or the rest of its words."""
        keys, words = self._rows[index]
        row = Row(look_of(self).glyphs.cut)
        if not words:
            return row.upto(keys, width, styles.title_blurred).strip(width)
        return row.column(keys, _KEYS_WIDTH, styles.key).upto(words, width, styles.text).strip(width)


class HelpScreen(Dialog[None]):
    """The keys of the screen below, and what the signs on it mean."""

    CONTEXT = KEYS
    HELP = "The keys of the screen below, and what its signs mean; / finds one, esc closes."

    def __init__(self, context: Context) -> None:
        """Show a context."""
        super().__init__(classes="tall")
        self._explained = context

    def compose_content(self) -> ComposeResult:
        """Yield the title, the list of keys and signs, and what narrows it."""
        yield DialogTitle("Keys and signs", detail=self._explained.title)
        yield HelpLines(self._explained)
        yield Input(placeholder="a key, a sign, or words", id="help-filter", compact=True)

    def action_find(self) -> None:
        """Type what is looked for."""
        field = self.query_one(Input)
        field.display = True
        field.focus()

    def on_input_changed(self, message: Input.Changed) -> None:
        """List what holds the words so far."""
        lines = self.query_one(HelpLines)
        lines.wanted = message.value.strip()
        lines.lay_out()
        lines.move_to(0)

    def on_input_submitted(self) -> None:
        """Go back to the list, as it is narrowed."""
        self.query_one(HelpLines).focus()

    def action_escape(self) -> None:
        """List everything again; where that is so, close."""
        field = self.query_one(Input)
        if not field.display:
            super().action_escape()
            return
        field.value = ""
        field.display = False
        self.query_one(HelpLines).focus()
