"""The themes of the app, and which theme a terminal starts with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.theme import Theme

if TYPE_CHECKING:
    from collections.abc import Mapping

DARK = Theme(
    name="tt-dark",
    primary="#4f9cf5",
    secondary="#8fa3c1",
    warning="#e0af4b",
    error="#ef6679",
    success="#4fc879",
    accent="#d58af0",
    foreground="#c8d0da",
    background="#0e1116",
    surface="#13171e",
    panel="#1b212b",
    dark=True,
)

LIGHT = Theme(
    name="tt-light",
    primary="#1365c8",
    secondary="#4e6488",
    warning="#8a5a00",
    error="#bf203a",
    success="#1e7b3f",
    accent="#8a2cb0",
    foreground="#1f2733",
    background="#ffffff",
    surface="#f6f7f9",
    panel="#e9ecf1",
    dark=False,
)

CONTRAST = Theme(
    name="tt-contrast",
    primary="#6cb8ff",
    secondary="#b8cbe6",
    warning="#ffd24d",
    error="#ff8a94",
    success="#6bf29a",
    accent="#f0a8ff",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#16202e",
    dark=True,
)

COLOUR_BLIND = Theme(
    name="tt-colour-blind",
    primary="#56b4e9",
    secondary="#9fb4c7",
    warning="#f0e442",
    error="#f0803c",
    success="#2fb594",
    accent="#d88fb8",
    foreground="#c8d0da",
    background="#0e1116",
    surface="#13171e",
    panel="#1b212b",
    dark=True,
)
"""Its colours can be told apart without red or without green; they come from the palette of Okabe and Ito (2008)."""

OURS: Final = (
    (DARK, "dark"),
    (LIGHT, "light"),
    (CONTRAST, "the most contrast, on black"),
    (COLOUR_BLIND, "told apart without red or green"),
)
"""Our themes, each with what it is for."""

MANY_COLOURS = ("256", "direct", "kitty", "alacritty", "ghostty", "wezterm", "foot", "iterm")
"""Parts of `TERM` that name a terminal with more than 16 colours."""

NO_LINES_THROUGH_TEXT = ("linux", "dumb", "vt", "ansi", "cons")
"""How the names in `TERM` begin whose terminals draw neither underline nor strike one can rely on."""

LIGHT_BACKGROUNDS = frozenset({"7", "15"})
"""Background colours in `COLORFGBG` (as rxvt and Konsole set it) that are light."""


def choose_theme(setting: str, env: Mapping[str, str]) -> str:
    """Choose the theme to start with.

    Args:
        setting: `"auto"`, or the name of a theme, which is then returned as it is.
        env: the environment; `auto` looks at `COLORTERM`, `TERM` and `COLORFGBG`.

    Returns:
        The name of a theme: one of the app's own, or `ansi-dark` or `ansi-light` where the terminal knows 16 colours
        or fewer.
    """
    if setting != "auto":
        return setting
    shade = "light" if env.get("COLORFGBG", "").rpartition(";")[2] in LIGHT_BACKGROUNDS else "dark"
    many_colours = bool(env.get("COLORTERM")) or any(part in env.get("TERM", "") for part in MANY_COLOURS)
    return f"tt-{shade}" if many_colours else f"ansi-{shade}"


def draws_lines_through_text(env: Mapping[str, str]) -> bool:
    """Tell whether underline and strike can be relied on to say added and removed."""
    term = env.get("TERM", "")
    return bool(term) and not term.startswith(NO_LINES_THROUGH_TEXT)
