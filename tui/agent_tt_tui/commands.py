"""One declaration per command: from it come the binding, the footer, the help, the palette and the key tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from textual.binding import Binding

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.binding import BindingType

    from agent_tt_tui.glyphs import Glyphs

Scope = Literal["screen", "widget"]


@dataclass(frozen=True, slots=True)
class Command:
    """One thing that a key does."""

    id: str
    """Stable and dotted, `time.next`: what users name to change its keys."""
    action: str
    """The Textual action, `step(1)`: of the feature that names the command, else of the screen, or by `scope` of the
    widget in focus."""
    keys: tuple[str, ...]
    """Textual key names; a printable key is its character. The first is the one that is shown."""
    help: str
    """What it does, as one phrase for help and palette."""
    footer: str = ""
    """The word in the footer; empty keeps the command out of it."""
    rank: int = 50
    """The place in the footer; the highest ranks are the first to be dropped when it is narrow."""
    pair: str = ""
    """The key of a second command, shown in the footer beside this one's: `[ ] path`."""
    pinned: bool = False
    """Whether it stands at the right end of the footer, and is dropped last."""
    scope: Scope = "screen"
    """Whose action it is; those of a widget act only while the widget is in focus."""
    fleeting: bool = False
    """Whether the footer has it only while it can be used: a key that means nothing most of the time takes no room."""
    priority: bool = False
    """Whether it goes before the widget in focus: for keys that a text input would take."""

    def bound_keys(self, keymap: Mapping[str, str]) -> tuple[str, ...]:
        """The keys it has, after the user's changes."""
        changed = keymap.get(self.id)
        return tuple(key.strip() for key in changed.split(",")) if changed else self.keys


@dataclass(frozen=True, slots=True)
class Group:
    """Commands that belong together in help."""

    title: str
    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class Context:
    """All that keys do on one screen."""

    title: str
    groups: tuple[Group, ...]

    @property
    def commands(self) -> tuple[Command, ...]:
        """Every command, in the order of help."""
        return tuple(command for group in self.groups for command in group.commands)

    def command(self, command_id: str) -> Command:
        """Find a command by its id.

        Raises:
            KeyError: There is none.
        """
        for command in self.commands:
            if command.id == command_id:
                return command
        raise KeyError(command_id)

    def screen_bindings(self) -> list[BindingType]:
        """Give the `BINDINGS` of a `CommandScreen`: each key asks the screen, which may refuse and say why."""
        return [
            _binding(command, f"screen.command('{command.id}')")
            for command in self.commands
            if command.scope == "screen"
        ]

    def widget_bindings(self) -> list[BindingType]:
        """The `BINDINGS` of a widget: its own actions, called directly."""
        return [_binding(command, command.action) for command in self.commands if command.scope == "widget"]

    def clashes(self) -> list[tuple[str, str, str]]:
        """Keys that two commands of this context share, as `(key, id, id)`; there should be none."""
        seen: dict[str, str] = {}
        found = []
        for command in self.commands:
            for key in command.keys:
                if key in seen:
                    found.append((key, seen[key], command.id))
                seen.setdefault(key, command.id)
        return found


_NAMED = {
    "escape": "esc",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "delete": "del",
    "home": "Home",
    "end": "End",
    "f1": "F1",
}


def display_key(key: str, glyphs: Glyphs) -> str:
    """Show a key as people know it: `esc`, `^s`, `←`."""
    modifier, separator, name = key.rpartition("+")
    if separator and modifier == "ctrl":
        return f"^{name}"
    if separator and modifier:
        return f"{modifier}+{display_key(name, glyphs)}"
    arrows = {"left": glyphs.arrows[0], "right": glyphs.arrows[1], "up": glyphs.up, "down": glyphs.down}
    return arrows.get(key) or _NAMED.get(key, key)


def display_pair(first: str, second: str, glyphs: Glyphs) -> str:
    """Show two keys of one footer entry; the two arrows stand close."""
    if not second:
        return display_key(first, glyphs)
    space = "" if {first, second} in ({"left", "right"}, {"up", "down"}) else " "
    return display_key(first, glyphs) + space + display_key(second, glyphs)


def _binding(command: Command, action: str) -> Binding:
    # A comma separates keys in a binding, so the key of that character goes by its name.
    keys = ",".join("comma" if key == "," else key for key in command.keys)
    return Binding(keys, action, command.help, show=False, id=command.id, priority=command.priority)
