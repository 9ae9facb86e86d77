"""The pictures of docs/files.md: one of each format, small, and there."""

from __future__ import annotations

import re
from pathlib import Path

from tests.tui.format_pictures import PICTURES, SHOWN, section, written

from agent_tt.interop.transcripts.formats import FORMATS
from agent_tt.sources import open_source

PAGE = Path(__file__).parents[2] / "docs" / "files.md"
MOST_BYTES = 2_000_000


def test_each_format_has_a_picture_in_the_docs() -> None:
    names = {each.name for each in SHOWN}
    assert {name for name, _ in FORMATS.ours()} == names
    assert section() in PAGE.read_text(encoding="utf-8")
    assert {path.stem for path in PICTURES.glob("*")} == names
    assert sum(path.stat().st_size for path in PICTURES.glob("*")) < MOST_BYTES


def test_what_the_pictures_are_of_opens(tmp_path: Path) -> None:
    for each in SHOWN:
        folder = tmp_path / each.name
        folder.mkdir()
        source = open_source(written(each, folder))
        assert source.runs()
        source.close()


def test_no_picture_names_the_place_where_it_was_made() -> None:
    for path in PICTURES.glob("*.svg"):
        assert not re.search(r"/(?:tmp|home|root|work|dev)/", path.read_text(encoding="utf-8")), path.name
