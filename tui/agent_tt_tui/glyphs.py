"""The one table of glyphs, in Unicode and in ASCII.

One glyph means one thing on every screen. No other module of the terminal app writes a glyph literal: they ask the
`Glyphs` that was chosen when the app started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

GlyphSetting = Literal["auto", "unicode", "ascii"]
"""What a user may ask for: a set by name, or whatever suits the terminal."""

ASCII_TERMINALS = frozenset({"linux", "dumb"})
"""Values of `TERM` whose font or driver cannot be trusted with more than ASCII."""

WIDE_AMBIGUOUS_LANGUAGES = ("zh", "ja", "ko")
"""Languages whose terminals often draw characters of ambiguous width (◆●■≠≡─) two columns wide."""


class Glyphs(NamedTuple):
    """A complete set of glyphs; each is one column wide, except `arrows`, which is two."""

    model: str
    reads: str
    writes: str
    http: str
    code: str
    person: str
    ambient: str
    """Clock, random numbers, ids, environment; also: waiting."""
    well: str
    failed: str
    unknown: str
    crashed: str
    """Also: a warning."""
    interrupted: str
    added: str
    changed: str
    removed: str
    edited: str
    """Edited by the user, not recorded."""
    differs: str
    same: str
    only_a: str
    only_b: str
    fork: str
    bar: str
    """The cursor bar, and the mark of the focused pane."""
    role_bar: str
    """The thin bar before the text of a message."""
    folded: str
    unfolded: str
    running: tuple[str, ...]
    """The frames of what is running; the last is the one that stands still."""
    alike: str
    """Stands before a row that folds several that are alike."""
    cut: str
    path: str
    to: str
    """Between an old value and a new one."""
    dot: str
    """Between facts."""
    busy: str
    line: str
    fed_by: str
    """A step that fed the selected one, as the recording says."""
    feeds: str
    """A step that the selected one fed, as the recording says."""
    fed_perhaps: str
    """The first of these where only equal texts suggest it."""
    feeds_perhaps: str
    """The second of these where only equal texts suggest it."""
    rail: str
    branch: str
    branch_last: str
    branch_end: str
    """The corner that ends a fan-out to the right."""
    gather_end: str
    """The corner that ends a gathering to the right."""
    fan_out: str
    gather: str
    hit: str
    """A search hit on the scrubber's second row."""
    about: str
    """Before a figure that is only expected."""
    times: str
    """After a count of repeats."""
    picked: str
    """In the brackets of the one that is chosen among several: `(•)`."""
    tick: str
    """A tick of the clock; two of them: time in which nothing ran is left out."""
    span: str
    """Between the first and the last of a range; also what is not known in a table."""
    spark: tuple[str, ...]
    """The heights of a sparkline, the lowest first."""
    arrows: str
    up: str
    down: str

    @property
    def still(self) -> str:
        """The running glyph where nothing may move."""
        return self.running[-1]


UNICODE = Glyphs(
    model="◆", reads="●", writes="■", http="□", code="◇", person="▲", ambient="·",
    well="✓", failed="✗", unknown="?", crashed="!", interrupted="–",
    added="+", changed="~", removed="−", edited="±", differs="≠", same="≡", only_a="<", only_b=">",
    fork="┬", bar="▌", role_bar="▎", folded="▸", unfolded="▾", running=("░", "▒", "▓", "▒"), alike="┊", cut="…",
    path="›", to="→", dot="·", busy="━", line="─",
    fed_by="←", feeds="→", fed_perhaps="⇠", feeds_perhaps="⇢", rail="│", branch="├", branch_last="╰", branch_end="╮",
    gather_end="╯", fan_out="┬", gather="┴", hit="▄", about="≈", times="×", picked="•", tick="╎", span="–",
    spark=("▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"), arrows="←→", up="↑", down="↓",
)  # fmt: skip

ASCII = Glyphs(
    model="*", reads="o", writes="#", http="@", code="&", person="^", ambient=".",
    well="v", failed="x", unknown="?", crashed="!", interrupted="-",
    added="+", changed="~", removed="-", edited="%", differs="/", same="=", only_a="<", only_b=">",
    fork="Y", bar="|", role_bar="|", folded=">", unfolded="v", running=(":",), alike=":", cut=">", path=">",
    to=">", dot=".", busy="=", line="-", rail="|", branch="|", branch_last="`", branch_end=".", gather_end="'",
    fan_out="+", gather="+", hit="_", about="~", times="x", picked="*", tick=":", span="-", arrows="<>",
    up="^", down="v", fed_by="<", feeds=">", fed_perhaps="(", feeds_perhaps=")",
    spark=(".", ":", "-", "=", "+", "*", "#", "@"),
)  # fmt: skip


def choose(setting: GlyphSetting, env: Mapping[str, str]) -> Glyphs:
    """Choose the set of glyphs.

    Args:
        setting: What the user asked for.
        env: The environment; `auto` looks at `TERM` and at the locale.

    Returns:
        `ASCII` where it was asked for, or where `auto` finds a locale that is not UTF-8, a terminal that draws only
        ASCII, or a locale whose terminals draw ambiguous characters two columns wide; `UNICODE` otherwise.
    """
    if setting == "unicode":
        return UNICODE
    if setting == "ascii" or env.get("TERM", "") in ASCII_TERMINALS:
        return ASCII
    # The first of these that is set and not empty decides, as POSIX has it.
    locale = (env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or "").lower()
    if "utf-8" not in locale and "utf8" not in locale:
        return ASCII
    return ASCII if locale.startswith(WIDE_AMBIGUOUS_LANGUAGES) else UNICODE
