"""Every screen in its main states looks as in the pictures that are kept, at all sizes and in both themes.

`python -m tests.tui.snapshots [NAME ...]` takes them anew.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.tui.snapshots.drawn_svg import rows_in
from tests.tui.snapshots.kept_pictures import FOLDER, difference, path_of
from tests.tui.snapshots.screen_table import SCREENS
from tests.tui.snapshots.taking import SIZES, Studio

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.snapshots.screen_table import Shown

MOST_BYTES = 4_000_000

PANES = ("TIMELINE", "CALL", "DIFF", "ASKED", "CAME BACK", "PREVIEW", "OUTCOME", "WHO WROTE", "PENDING EDITS")
"""Headings of panes: each is on a screen once."""

SAID_ONCE = re.compile(r"not run yet|nothing has run yet|nothing was sent yet")
"""How something stands that has not begun: the pictures have one such thing each."""

TABS = re.compile(r"1 ?State.*5 ?Raw")
"""The tabs of the debugger, beside which the title of the timeline stands."""

NOTHING_KNOWN = re.compile(r"\b(None|nan|NaN|undefined)\b")
"""How a program would say that something is not known; a person is shown `–`."""


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Studio:
    return Studio(tmp_path_factory.mktemp("studio"))


@pytest.fixture(scope="session")
def new_pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures are written that differ from the kept ones; it stays, as no test is asked to remove it."""
    return tmp_path_factory.mktemp("pictures")


@pytest.mark.parametrize("shown", SCREENS, ids=lambda shown: shown.name)
async def test_screen_looks_as_it_did(shown: Shown, studio: Studio, new_pictures: Path) -> None:
    taken = await studio.take(shown)
    cut = frozenset().union(*(each.cut for each in taken.values()))
    differing = [difference(shown.name, size, each.svg, new_pictures) for size, each in taken.items()]
    told = "\n\n".join(filter(None, differing))
    if told:
        pytest.fail(f"{told}\n\nif it should: python -m tests.tui.snapshots {shown.name}", pytrace=False)
    assert cut == frozenset(), "lists that cut a row although rows below are free"


@pytest.mark.parametrize("shown", SCREENS, ids=lambda shown: shown.name)
def test_no_key_is_cut_no_heading_stands_twice_and_what_is_not_known_is_a_dash(shown: Shown) -> None:
    for size in (*SIZES, *shown.sizes):
        rows = rows_in(path_of(shown.name, size).read_text(encoding="utf-8"))
        footer = " ".join(rows[-1].split())
        assert "…" not in footer
        assert [row for row in rows if NOTHING_KNOWN.search(row)] == []
        titles = [title for title in PANES if sum(f" {title} " in f" {row} " for row in rows) > 1]
        assert titles == []
        assert len(SAID_ONCE.findall("\n".join(rows))) <= 1


@pytest.mark.parametrize("shown", SCREENS, ids=lambda shown: shown.name)
def test_the_titles_of_the_debuggers_panes_are_whole(shown: Shown) -> None:
    for size in (*SIZES, *shown.sizes):
        rows = rows_in(path_of(shown.name, size).read_text(encoding="utf-8"))
        assert [row for row in rows if TABS.search(row) and "…" in row] == []


def test_each_screen_has_its_pictures_and_no_picture_is_of_none() -> None:
    names = [shown.name for shown in SCREENS]
    assert len(names) == len(set(names))
    expected = {path_of(shown.name, size) for shown in SCREENS for size in (*SIZES, *shown.sizes)}
    assert set(FOLDER.glob("*")) == expected


def test_the_pictures_stay_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.glob("*")) < MOST_BYTES
