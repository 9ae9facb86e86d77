"""Take the pictures of a screen: all sizes, in both themes, in one run of the app."""

from __future__ import annotations

import re
import shutil
from contextlib import closing
from itertools import takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest
from tests.tui.snapshots.drawn_svg import screen_of, svg_of_themes, text_rows
from tests.tui.snapshots.recorded_runs import NOW, record_all
from tests.tui.snapshots.screen_table import World
from tests.tui.snapshots.still_world import standing_still
from tests.tui.waiting import until, workers_ended

from agent_tt.store import open_store
from agent_tt_tui.app import AgentTT
from agent_tt_tui.lines import LineView
from agent_tt_tui.look import Look

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.tui.snapshots.drawn_svg import Screen
    from tests.tui.snapshots.screen_table import Shown
    from textual.geometry import Region
    from textual.pilot import Pilot

SIZES: Final = ((120, 40), (80, 24), (200, 50))
"""Of every screen; it opens at the first."""

DARK, LIGHT = "tt-dark", "tt-light"
_OTHER: Final = {DARK: LIGHT, LIGHT: DARK, "ansi-dark": "ansi-light", "ansi-light": "ansi-dark"}

_FREE_ROWS: Final = 2
_TITLE_ROWS: Final = 2

_CUT: Final = re.compile(r"…$|… [\d,]+ more|(?:^|  )…[\w.]")
"""What is cut at its end, or at its beginning."""

_SOON_S: Final = 1.0
"""What a widget does once after less than this is waited for."""


class Taken(NamedTuple):
    """A picture, and what is seen on its screen while the app runs.

    Attributes:
        svg: the picture.
        cut: the lists that cut a row although two rows or more are free there, or in the list above or below.
    """

    svg: str
    cut: frozenset[str]


class Studio:
    """A folder in which the world is the same for each screen."""

    def __init__(self, folder: Path) -> None:
        self._home, self._made = folder / "home", folder / "made"
        with standing_still(self._home) as clock:
            record_all(clock)
        self._home.rename(self._made)

    async def take(self, shown: Shown) -> dict[tuple[int, int], Taken]:
        """Take the pictures of a screen: by size."""
        shutil.rmtree(self._home, ignore_errors=True)
        shutil.copytree(self._made, self._home)
        with standing_still(self._home) as clock, pytest.MonkeyPatch.context() as patch:
            clock.go_to(0, NOW)
            for name, value in shown.env.items():
                patch.setenv(name, value)
            with closing(open_store(self._home / "agents" / "runs.db")) as store:
                taken = await _take(shown, World(store, clock))
        for picture in taken.values():
            assert str(self._home.parent) not in picture.svg, "the picture names the place where it was taken"
        return taken


async def _take(shown: Shown, world: World) -> dict[tuple[int, int], Taken]:
    taken = {}
    app = AgentTT(lambda: shown.opens(world), look=Look(**{"theme": DARK, **shown.look}))  # type: ignore[arg-type]
    async with app.run_test(size=SIZES[0]) as pilot:
        await _rested(pilot)
        for key in shown.keys:
            await pilot.press(key)
            if len(key) > 1 or key == shown.keys[-1]:
                await _rested(pilot)
            elif len(key) == 1:
                await pilot.pause()
        if shown.over is not None:
            app.push_screen(shown.over(world))
            await _rested(pilot)
        await _says(pilot, shown.says)
        for size in (*SIZES, *shown.sizes):
            if size != SIZES[0]:
                await pilot.resize_terminal(*size)
                await _rested(pilot)
            first = await _seen(pilot)
            app.theme = _OTHER[app.theme]
            await pilot.pause()
            second = await _seen(pilot)
            svg = svg_of_themes(*((first, second) if app.current_theme.dark is False else (second, first)))
            taken[size] = Taken(svg, frozenset(_cut_beside_free(app, text_rows(first))))
    return taken


def _cut_beside_free(app: AgentTT, rows: list[str]) -> Iterator[str]:
    """Name the lists that cut or leave out a row although rows are free, there or in the list right above or below."""
    views = [view for view in app.screen.query(LineView) if view.display and view.region]
    shown = {view: _rows_of(view, rows) for view in views}
    free = {view: sum(1 for _ in takewhile(lambda row: not row, reversed(shown[view]))) for view in views}
    for view in views:
        beside = [view, *(other for other in views if _share_rows(view.region, other.region))]
        if any(_CUT.search(row) for row in shown[view]) and max(free[each] for each in beside) >= _FREE_ROWS:
            yield type(view).__name__


def _rows_of(view: LineView, rows: list[str]) -> list[str]:
    region = view.region
    return [row[region.x : region.right].strip(" ▌│") for row in rows[region.y : region.bottom]]


def _share_rows(one: Region, other: Region) -> bool:
    """Whether one stands below the other, with a title between them at most: what one leaves the other could have."""
    above, below = sorted((one, other), key=lambda each: each.y)
    return above.x < below.right and below.x < above.right and 0 <= below.y - above.bottom <= _TITLE_ROWS


async def _seen(pilot: Pilot[None]) -> Screen:
    await _rested(pilot)
    return screen_of(pilot.app)


async def _says(pilot: Pilot[None], words: str) -> None:
    def text() -> str:
        return "\n".join(text_rows(screen_of(pilot.app)))

    try:
        await until(pilot, lambda: words in text())
    except TimeoutError:
        raise AssertionError(f"{words!r} never came on the screen\n{text()}") from None


async def _rested(pilot: Pilot[None]) -> None:
    """Wait until what was asked for is on the screen, also what is only begun a moment after the last key."""
    for _ in range(2):  # what was read may have asked for more
        await pilot.pause()
        while _is_due(pilot):
            await pilot.pause(0.01)
        await workers_ended(pilot.app)
    await pilot.pause()


def _is_due(pilot: Pilot[None]) -> bool:
    app = pilot.app
    widgets = [app, *(each for screen in app.screen_stack for each in (screen, *screen.walk_children()))]
    timers = [timer for widget in widgets for timer in widget._timers]
    return any(
        timer._repeat is not None and timer._task is not None and not timer._task.done() and timer._interval < _SOON_S
        for timer in timers
    )
