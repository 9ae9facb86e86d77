"""The colour roles of the interface, resolved for lines that widgets draw themselves.

Widgets name a role (`styles.muted`, `styles.failed`), never a colour. A palette belongs to one theme and one ground,
because the theme's muted shades are transparent and are mixed with what lies under them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rich.style import Style
from textual.color import Color

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.widget import Widget


class Palette(NamedTuple):
    """The roles, each a style to draw text with; a role without a ground of its own leaves the ground alone."""

    text: Style
    strong: Style
    """Bold text: "here", or "this is the value"."""
    muted: Style
    faint: Style
    note: Style
    """Italic and muted: said by the program, not by the data."""
    title: Style
    title_blurred: Style
    key: Style
    """Keys, focus, and what is running."""
    running: Style
    model: Style
    """The model's glyph, the played strip, bars."""
    added_mark: Style
    removed_mark: Style
    changed_mark: Style
    added_text: Style
    """A whole value that is new."""
    added_word: Style
    removed_word: Style
    yours: Style
    """What the user did: edits, forks, marks; and where runs part."""
    chip: Style
    """`yours` reversed: pending edits in the header, the primary action of a dialog."""
    failed: Style
    failed_text: Style
    well: Style
    search_hit: Style
    time_cursor: Style
    """The cursor on the scrubber; the active tab is `active_tab`."""
    active_tab: Style
    bar_focused: Style
    bar_blurred: Style
    cursor_focused: Style
    """The ground of the cursor row in the focused pane."""
    cursor_blurred: Style
    """The ground of the cursor row in another pane."""
    shares: Mapping[str, Style]
    """The grounds of the parts of a stacked bar, by kind of origin; empty where there are no shades to blend."""
    bracket_changes: bool
    """Whether added and removed words need `{+…+}` and `[-…-]`, for lack of underline and strike."""
    on_cursor_row: bool = False
    """Whether what is drawn now is the cursor row of the focused pane: names on it are bold."""

    def cursor_row(self) -> Palette:
        """The palette for the focused cursor row, where nothing is muted."""
        return self._replace(muted=self.text, faint=self.text, note=Style(italic=True) + self.text, on_cursor_row=True)

    def standing_back(self) -> Palette:
        """The palette for a row that is there for another one: what is drawn as text is faint."""
        return self._replace(text=self.faint, strong=self.faint, muted=self.faint, model=self.faint)

    def added(self, words: str) -> tuple[str, Style]:
        """Words that were added, marked so that it can be seen without colour."""
        return (f"{{+{words}+}}" if self.bracket_changes else words), self.added_word

    def removed(self, words: str) -> tuple[str, Style]:
        """Words that were removed, marked so that it can be seen without colour."""
        return (f"[-{words}-]" if self.bracket_changes else words), self.removed_word


def palette_of(widget: Widget, *, bracket_changes: bool = False) -> Palette:
    """Resolve the roles for the theme that is active and the ground that a widget stands on.

    Args:
        widget: A mounted widget.
        bracket_changes: See `Palette`; the app knows it from the terminal.
    """
    _, ground = widget.background_colors
    variables = widget.app.theme_variables
    return _resolve(tuple((name, variables[name]) for name in _VARIABLES if name in variables), ground, bracket_changes)


_VARIABLES = (
    "foreground", "foreground-muted", "foreground-disabled", "background", "panel",
    "primary", "secondary", "success", "warning", "error", "accent",
    "primary-muted", "success-muted", "error-muted", "warning-muted",
)  # fmt: skip


@lru_cache(maxsize=64)
def _resolve(variables: tuple[tuple[str, str], ...], ground: Color, bracket_changes: bool) -> Palette:  # noqa: FBT001
    """Build a palette; the arguments are hashable, as the cache needs."""
    known = dict(variables)

    def ink(name: str) -> Style:
        return Style.from_color(_mix(known, name, ground).rich_color)

    def paint(name: str) -> Style:
        colour = _mix(known, name, ground)
        # Without a colour of its own a shade falls together with the ground, as in the ANSI themes.
        return Style() if colour.a == 0 else Style.from_color(bgcolor=colour.rich_color)

    bold, reverse = Style(bold=True), Style(bold=True, reverse=True)
    text, muted, faint = ink("foreground"), ink("foreground-muted"), ink("foreground-disabled")
    return Palette(
        text=text,
        strong=text + bold,
        muted=muted,
        faint=faint,
        note=muted + Style(italic=True),
        title=text + bold,
        title_blurred=muted + bold,
        key=ink("primary") + bold,
        running=ink("primary") + bold,
        model=ink("secondary"),
        added_mark=ink("success") + bold,
        removed_mark=ink("error") + bold,
        changed_mark=ink("warning") + bold,
        added_text=ink("success"),
        added_word=text + bold + Style(underline=True) + paint("success-muted"),
        removed_word=text + Style(strike=True) + paint("error-muted"),
        yours=ink("accent") + bold,
        chip=ink("accent") + reverse,
        failed=ink("error") + bold,
        failed_text=ink("error"),
        well=ink("success"),
        search_hit=text + bold + Style(underline=True) + paint("warning-muted"),
        time_cursor=ink("primary") + reverse,
        active_tab=text + reverse,
        bar_focused=ink("primary"),
        bar_blurred=faint,
        cursor_focused=paint("primary-muted"),
        cursor_blurred=paint("panel"),
        shares={} if bracket_changes else _blends(known, ground),
        bracket_changes=bracket_changes,
    )


_BLENDED = (
    ("system", "secondary", 0.28), ("tools", "primary", 0.38), ("summary", "accent", 0.42), ("file", "success", 0.36),
    ("command", "warning", 0.42), ("result", "success", 0.22), ("user", "primary", 0.75), ("model", "secondary", 0.50),
    ("several", "foreground", 0.22), ("unknown", "foreground", 0.12),
)  # fmt: skip
"""For each kind of origin: its colour, and the share of that colour when it is blended with the pane, 0 to 1."""


def _blends(variables: Mapping[str, str], ground: Color) -> dict[str, Style]:
    found = {}
    for kind, name, share in _BLENDED:
        colour = Color.parse(variables.get(name, variables["foreground"]).partition(" ")[0])
        if colour.ansi is not None or ground.ansi is not None:
            return {}
        found[kind] = Style.from_color(bgcolor=ground.blend(colour, share).rich_color)
    return found


def _mix(variables: Mapping[str, str], name: str, ground: Color) -> Color:
    """Turn a theme variable into an opaque colour on a ground; ANSI colours are left to the terminal."""
    # The ANSI themes define no disabled shade: there, it falls together with the text.
    value, _, percent = (variables.get(name) or variables["foreground"]).partition(" ")
    colour = Color.parse(value)
    if percent and colour.ansi is None:
        colour = colour.multiply_alpha(float(percent.rstrip("%")) / 100)
    if colour.ansi is not None or colour.a == 0 or ground.ansi is not None:
        return colour
    return ground + colour
