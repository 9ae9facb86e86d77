"""Choosing a theme: each is tried on the screen below while the cursor stands on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt_tui.screens.dialogs.pick import Choice, PickDialog
from agent_tt_tui.theme import OURS

if TYPE_CHECKING:
    from textual.app import App


def theme_dialog(app: App[None]) -> PickDialog:
    """Make a dialog of the themes that an app has, ours first; it returns the name of the one that was chosen."""
    themes = app.available_themes
    ours = {theme.name: words for theme, words in OURS}
    others = {name: "dark" if themes[name].dark else "light" for name in sorted(themes.keys() - ours.keys())}
    choices = [Choice(name, name, words) for name, words in (ours | others).items()]

    def wear(name: str) -> None:
        app.theme = name

    return PickDialog("Theme", choices, detail="tried as the cursor comes to it", current=app.theme, trying=wear)
