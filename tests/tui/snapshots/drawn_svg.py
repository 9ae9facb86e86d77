"""A screen as a small SVG in both themes: one line of the file for each row of the screen.

What stands in a row is drawn in classes, which a style at the top gives their colours: those of the dark theme, and in
a viewer that asks for light ones those of the light theme. A class is named after its colours, so that a new colour on
one row changes no other line.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from html import escape, unescape
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple
from zlib import crc32

from textual._context import visible_screen_stack

from agent_tt_tui.text import width

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.style import Style
    from rich.terminal_theme import TerminalTheme
    from textual.app import App

_FONT_SIZE: Final = 1.661
"""At which a character of DejaVu Sans Mono, which is 0.602 em wide, is a column wide: the unit of the picture.

A row is two units high.
"""

_BASELINE: Final = 1.5

_GAP: Final = 12
"""So many blanks at most may stand in a stretch of text; a longer gap would be as long in the file as a new stretch."""

_BLEND: Final = 0.5
"""How much of its ground a dim text takes."""

_NONE: Final = (0, 0, 0)


class Paint(NamedTuple):
    """How a text looks in one theme: what a style says of it, and the colour behind it."""

    text: str
    ground: str


_NO_PAINT: Final = Paint("fill:#000000", "#000000")

Screen = list[list[tuple[str, Paint]]]
"""Stretches of text that look alike, row by row."""

_Both = tuple[str, Paint, Paint]
"""A stretch of text, and how it looks in the dark and in the light theme."""

_Looks = tuple[str, str]
"""What a style says in the dark and in the light theme."""


class ThemesDiffer(AssertionError):
    """A theme changed what is written on a screen, which it may not."""


def screen_of(app: App[object]) -> Screen:
    """Read what an app shows now."""
    visible_screen_stack.set(app._background_screens)  # for dialogs, which draw what is below them
    strips, theme = app.screen._compositor.render_strips(), app.ansi_theme
    return [[(segment.text, _paint(segment.style, theme)) for segment in strip if segment.text] for strip in strips]


def text_rows(screen: Screen) -> list[str]:
    """Give the rows as a person reads them, without trailing blanks."""
    return ["".join(text for text, _ in row).rstrip() for row in screen]


def svg_of_themes(dark: Screen, light: Screen) -> str:
    """Draw a screen in both themes.

    Raises:
        ThemesDiffer: their texts do.
    """
    if (a := text_rows(dark)) != (b := text_rows(light)):
        raise ThemesDiffer("\n".join(f"dark  {x}\nlight {y}" for x, y in zip(a, b, strict=True) if x != y))
    drawn = [list(_both(*rows)) for rows in zip(dark, light, strict=True)]
    covered: Counter[_Looks] = Counter()
    for row in drawn:
        for text, x, y in row:
            covered[x.ground, y.ground] += len(text)
    base = max(sorted(covered), key=covered.__getitem__)
    columns, rows, classes = sum(width(text) for text, _ in dark[0]), len(drawn), _Classes()
    lines = [f'<path class="{classes.fill(base)}" d="M0 0h{columns}v{2 * rows}H0z"/>']
    lines += [_row(number, row, base, classes) for number, row in enumerate(drawn)]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{columns * 10}" height="{rows * 20}"'
        f' viewBox="0 0 {columns} {2 * rows}" font-family="DejaVu Sans Mono,monospace" font-size="{_FONT_SIZE}">'
        "<style>text{white-space:pre}"
    )
    return "\n".join([head, *classes.style(), "</style>", *lines, "</svg>", ""])


def _both(dark: list[tuple[str, Paint]], light: list[tuple[str, Paint]]) -> Iterator[_Both]:
    """Cut a row where its look changes in either theme; the text is the same."""
    left, right, a, b = iter(dark), iter(light), "", ""
    x = y = _NO_PAINT
    while True:
        if not a:
            a, x = next(left, ("", x))
        if not b:
            b, y = next(right, ("", y))
        if not a:
            return
        length = min(len(a), len(b))
        yield a[:length], x, y
        a, b = a[length:], b[length:]


class _Classes:
    """The classes of one picture: name to the declarations in each theme."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, str]] = {}

    def fill(self, colours: tuple[str, str]) -> str:
        return self.name(f"fill:{colours[0]}", f"fill:{colours[1]}")

    def name(self, dark: str, light: str) -> str:
        words = f"{dark}/{light}"
        digest = crc32(words.encode())
        name = "abcdefghijklmnopqrstuvwxyz"[digest % 26] + f"{digest >> 24:x}"
        while self._known.setdefault(name, (dark, light)) != (dark, light):
            name += "_"
        return name

    def style(self) -> Iterator[str]:
        for name, (dark, _) in sorted(self._known.items()):
            yield f".{name}{{{dark}}}"
        yield "@media(prefers-color-scheme:light){"
        for name, (_, light) in sorted(self._known.items()):
            yield f".{name}{{{light}}}"
        yield "}"


def _row(number: int, row: list[_Both], base: _Looks, classes: _Classes) -> str:
    top, parts, at = 2 * number, [], 0
    for ground, run in groupby(row, lambda cell: (cell[1].ground, cell[2].ground)):
        columns = sum(width(text) for text, _, _ in run)
        if ground != base:
            parts.append(f'<path class="{classes.fill(ground)}" d="M{at} {top}h{columns}v2h-{columns}z"/>')
        at += columns
    spans = [
        f'<tspan x="{column}" class="{classes.name(*looks)}">{escape(text, quote=False)}</tspan>'
        for column, text, looks in _stretches(row)
    ]
    if spans:
        parts.append(f'<text y="{top + _BASELINE}">{"".join(spans)}</text>')
    return "".join(parts) or "<g/>"


def _stretches(row: list[_Both]) -> Iterator[tuple[int, str, _Looks]]:
    """Join what looks alike, also over blanks: those have no look, except where a line is drawn through them."""
    at, begun, joined, last = 0, 0, "", ("", "")
    for text, dark, light in row:
        looks = dark.text, light.text
        shown = text if "line" in dark.text else text.strip()
        column, at = at + width(text[: text.index(shown)]), at + width(text)
        if not shown:
            continue
        gap = column - begun - width(joined)
        if joined and looks == last and gap <= (0 if "line" in dark.text else _GAP):
            joined += " " * gap + shown
            continue
        if joined:
            yield begun, joined, last
        begun, joined, last = column, shown, looks
    if joined:
        yield begun, joined, last


@lru_cache(maxsize=4096)
def _paint(style: Style | None, theme: TerminalTheme) -> Paint:
    if style is None:
        return _NO_PAINT
    text = _NONE if style.color is None else tuple(style.color.get_truecolor(theme))
    ground = _NONE if style.bgcolor is None else tuple(style.bgcolor.get_truecolor(theme, foreground=False))
    if style.reverse:
        text, ground = ground, text
    if style.dim:
        text = tuple(round(a + (b - a) * _BLEND) for a, b in zip(text, ground, strict=True))
    marks = (";font-weight:bold" if style.bold else "") + (";font-style:italic" if style.italic else "")
    lines = [name for name, on in (("underline", style.underline), ("line-through", style.strike)) if on]
    marks += f";text-decoration:{' '.join(lines)}" if lines else ""
    return Paint(f"fill:{_hex(text)}{marks}", _hex(ground))


def _hex(colour: tuple[int, ...]) -> str:
    return "#" + "".join(f"{part:02x}" for part in colour)


# Reading one again.

_SPAN: Final = re.compile(r'<tspan x="(\d+)"[^>]*>([^<]*)</tspan>')
_RULE: Final = re.compile(r"^\.(\w+)\{(.*)\}$")
_CLASS: Final = re.compile(r'class="(\w+)"')


def rows_in(svg: str) -> list[str]:
    """Read the rows of text from a picture."""
    rows = []
    for line in _drawn_lines(svg):
        row = ""
        for x, text in _SPAN.findall(line):
            row += " " * (int(x) - width(row)) + unescape(text)
        rows.append(row.rstrip())
    return rows


def in_theme(svg: str, theme: str) -> str:
    """Give a picture that has one theme's colours only."""
    head, _, rest = svg.partition("@media")
    light, _, drawn = rest.partition("\n}\n</style>")
    rules = light.partition("\n")[2] + "\n" if theme == "light" else head.partition("white-space:pre}\n")[2]
    return f"{head.partition('white-space:pre}')[0]}white-space:pre}}\n{rules}</style>{drawn}"


def painted_rows(svg: str, theme: str) -> list[str]:
    """Give what is drawn of each row, with a theme's colours in place of classes: so it is alike if it looks alike."""
    rules = {rule[1]: rule[2] for line in in_theme(svg, theme).splitlines() if (rule := _RULE.match(line))}
    return [_CLASS.sub(lambda found: f'style="{rules[found[1]]}"', line) for line in _drawn_lines(svg)]


def _drawn_lines(svg: str) -> list[str]:
    """The lines of the file that each draw a row of the screen."""
    return svg.partition("</style>\n")[2].splitlines()[1:-1]
