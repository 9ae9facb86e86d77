"""What the user has configured of the app's look and keys, checked: a name that means nothing is said, not ignored."""

from __future__ import annotations

import difflib
import unicodedata
from typing import TYPE_CHECKING, Final

from textual.keys import Keys
from textual.theme import BUILTIN_THEMES

from agent_tt.errors import UsageError
from agent_tt_tui.look import Look
from agent_tt_tui.theme import OURS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agent_tt.config import Config
    from agent_tt_tui.commands import Context

__all__ = ["chosen_look"]

_MODIFIERS: Final = frozenset({"ctrl", "shift", "alt", "super", "hyper", "meta"})
_NAMED_KEYS: Final = frozenset(key.value for key in Keys) | {"comma", "plus", "minus"}


def chosen_look(settings: Config) -> Look:
    """Choose the look that the user has configured.

    Args:
        settings: what is configured.

    Raises:
        UsageError: there is no such theme, command, key or column, or two commands of one screen have the same key.
    """
    theme = settings.theme or "auto"
    themes = {"auto", *(each.name for each, _ in OURS), *BUILTIN_THEMES}
    if theme not in themes:
        raise UsageError(f"there is no theme {theme!r}", hint=_near(theme, themes))
    _check_keys(settings.keys)
    _check_commands(settings)
    _check_columns(settings.columns)
    glyphs = settings.glyphs or "auto"
    return Look.choose(
        theme=theme,
        glyphs=glyphs,
        keymap=settings.keys,
        commands=settings.commands,
        columns=settings.columns,
        seen=None if settings.hints is False else frozenset(settings.seen),
    )


def _check_columns(names: Sequence[str] | None) -> None:
    if not names:
        return
    from agent_tt_tui.viewmodel.debugger.timeline_columns import COLUMNS

    for name in names:
        if name not in COLUMNS:
            raise UsageError(f"columns: there is no column {name!r}", hint=_near(name, COLUMNS))


def _check_commands(settings: Config) -> None:
    """Refuse a command of the user's own whose key is none, or is taken on some screen."""
    if not settings.commands:
        return
    from agent_tt_tui.viewmodel.own_commands import read_line

    taken: dict[str, str] = {}
    for context in _all_contexts():
        for command in context.commands:
            for key in command.bound_keys(settings.keys):
                taken.setdefault(key, command.id)
    for name, own in settings.commands.items():
        read_line(own.line, name)
        if not own.key:
            continue
        if not _is_key(own.key):
            hint = _near(own.key, _NAMED_KEYS)
            raise UsageError(f"commands.{name} cannot have the key {own.key!r}: there is none", hint=hint)
        other = taken.setdefault(own.key, f"commands.{name}")
        if other != f"commands.{name}":
            raise UsageError(f"commands.{name}: {own.key!r} is the key of {other}", hint="Give it another key.")


def _check_keys(keymap: Mapping[str, str]) -> None:
    if not keymap:
        return
    known = {command.id for context in _all_contexts() for command in context.commands}
    for command_id, keys in keymap.items():
        if command_id not in known:
            raise UsageError(f"keys: there is no command {command_id!r}", hint=_near(command_id, known))
        for key in keys.split(","):
            if not _is_key(key.strip()):
                near = _near(key.strip(), _NAMED_KEYS)
                raise UsageError(f"keys: {command_id} cannot have the key {key.strip()!r}: there is none", hint=near)
    for context in _all_contexts():
        _check_clashes(context, keymap)


def _all_contexts() -> Sequence[Context]:
    from agent_tt_tui.keymaps import CONTEXTS, LIST, TIMELINE, TREE

    return (*CONTEXTS, LIST, TIMELINE, TREE)


def _check_clashes(context: Context, keymap: Mapping[str, str]) -> None:
    """Refuse a key that the user gave to one command of a screen, and that another has."""
    taken: dict[str, str] = {}
    for command in context.commands:
        for key in command.bound_keys(keymap):
            other = taken.setdefault(key, command.id)
            if other != command.id and {other, command.id} & set(keymap):
                raise UsageError(
                    f"keys: {key!r} is the key of both {other} and {command.id} ({context.title})",
                    hint="Give one of them another key.",
                )


def _is_key(key: str) -> bool:
    *modifiers, name = key.split("+") if len(key) > 1 and not key.endswith("+") else [key]
    if not _MODIFIERS.issuperset(modifiers):
        return False
    if key in _NAMED_KEYS or name in _NAMED_KEYS or len(name) == 1:
        return True
    try:
        unicodedata.lookup(name.replace("_", " "))
    except KeyError:
        return False
    return True


def _near(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, sorted(known), n=3, cutoff=0.4)
    return f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(sorted(known)[:20])}."
