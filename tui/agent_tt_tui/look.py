"""What decides how everything is drawn: chosen once per app, and asked for by widgets."""

from __future__ import annotations

import os
from dataclasses import field
from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt_tui.commands import display_key, display_pair
from agent_tt_tui.glyphs import UNICODE, Glyphs, GlyphSetting, choose
from agent_tt_tui.palette import Palette, palette_of
from agent_tt_tui.theme import choose_theme, draws_lines_through_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.widget import Widget

    from agent_tt.config import OwnCommand
    from agent_tt_tui.commands import Command


@dataclass(frozen=True, slots=True)
class Look:
    """The look of a running app."""

    theme: str = "tt-dark"
    glyphs: Glyphs = UNICODE
    bracket_changes: bool = False
    """Whether added and removed words are put in brackets, for lack of underline and strike."""
    keymap: Mapping[str, str] = field(default_factory=dict)
    """Keys the user has changed: command id to keys, joined by commas."""

    commands: Mapping[str, OwnCommand] = field(default_factory=dict)
    """Commands of the user's own, by name."""

    columns: tuple[str, ...] | None = None
    """The columns of the timeline, by name in their order; None for those that suit the room."""

    seen: frozenset[str] | None = None
    """What was explained to this person; None where nothing is explained unasked."""

    @classmethod
    def choose(
        cls,
        *,
        theme: str = "auto",
        glyphs: GlyphSetting = "auto",
        keymap: Mapping[str, str] | None = None,
        commands: Mapping[str, OwnCommand] | None = None,
        columns: tuple[str, ...] | None = None,
        seen: frozenset[str] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Look:
        """Choose a look for the terminal that the environment describes.

        Args:
            theme: `"auto"` or the name of any Textual theme.
            glyphs: Which set of glyphs.
            keymap: Command id to keys, joined by commas.
            commands: Commands of the user's own, by name.
            columns: The columns of the timeline, by name; None for those that suit the room.
            seen: What was explained to this person; None where nothing is to be explained unasked.
            env: The environment; the process's own by default.
        """
        env = os.environ if env is None else env
        return cls(
            theme=choose_theme(theme, env),
            glyphs=choose(glyphs, env),
            bracket_changes=not draws_lines_through_text(env),
            keymap=dict(keymap or {}),
            commands=dict(commands or {}),
            columns=columns,
            seen=seen,
        )

    def key(self, command: Command, other: Command | None = None) -> str:
        """Give the key of a command, or of two that belong together, as the screen shows it: `f`, `[ ]`, `←→`.

        All that names a key on the screen asks here, because the user may have changed the keys.
        """
        second = other.bound_keys(self.keymap)[0] if other is not None else ""
        return display_pair(command.bound_keys(self.keymap)[0], second, self.glyphs)

    def keys(self, command: Command) -> list[str]:
        """Give all keys of a command as the screen shows them; the first is the one that sentences name."""
        return [display_key(key, self.glyphs) for key in command.bound_keys(self.keymap)]

    def palette(self, widget: Widget) -> Palette:
        """Resolve the colour roles for the ground that a mounted widget stands on."""
        return palette_of(widget, bracket_changes=self.bracket_changes)


_DEFAULT = Look()


def look_of(widget: Widget) -> Look:
    """Get the look of the app that a widget is in; a bare Textual app, as in a test of one widget, has the default."""
    look = getattr(widget.app, "look", None)
    return look if isinstance(look, Look) else _DEFAULT
