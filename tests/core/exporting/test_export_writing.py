"""Files are written whole or not at all, and the format is found by an option or the file's name."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.core.memory_store import Did, MemorySource

from agent_tt.errors import UsageError
from agent_tt.exporting import writing
from agent_tt.exporting.export import Export, Exported
from agent_tt.exporting.formats import EXPORTS, format_for, named_format
from agent_tt.exporting.redacted import exported

if TYPE_CHECKING:
    from typing import ClassVar


class Lines(Export):
    SUFFIXES: ClassVar = (".lines",)
    HELP: ClassVar = "A line a run."

    def write(self, exported: Exported, path: Path) -> None:
        path.write_text("".join(f"{run.name}\n" for run in exported.runs))


class Failing(Lines):
    def write(self, exported: Exported, path: Path) -> None:
        path.write_text("half")
        raise UsageError("cannot be said in lines")


@pytest.fixture
def what() -> Exported:
    source = MemorySource()
    source.add("desk", [Did("a")])
    return exported(source, [(source.run("desk"), None)])


def test_a_file_is_replaced_only_when_asked(what: Exported, tmp_path: Path) -> None:
    path = tmp_path / "out.lines"
    path.write_text("mine")
    with pytest.raises(UsageError, match="is there already"):
        writing.export_file(Lines(), what, path)
    assert path.read_text() == "mine"
    writing.export_file(Lines(), what, path, replaces=True)
    assert path.read_text() == "desk\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_appears_meanwhile_is_kept(what: Exported, tmp_path: Path) -> None:
    path = tmp_path / "out.lines"

    class Slow(Lines):
        def write(self, exported: Exported, made: Path) -> None:
            super().write(exported, made)
            path.write_text("theirs")

    with pytest.raises(UsageError, match="is there already"):
        writing.export_file(Slow(), what, path)
    assert path.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_system_without_hard_links_will_do(
    what: Exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refused)
    writing.export_file(Lines(), what, tmp_path / "out.lines")
    assert (tmp_path / "out.lines").read_text() == "desk\n"


@pytest.mark.parametrize("replaces", [False, True])
def test_nothing_is_left_of_an_export_that_fails(what: Exported, tmp_path: Path, *, replaces: bool) -> None:
    with pytest.raises(UsageError, match="cannot be said"):
        writing.export_file(Failing(), what, tmp_path / "out.lines", replaces=replaces)
    assert list(tmp_path.iterdir()) == []
    stream = io.BytesIO()
    with pytest.raises(UsageError, match="cannot be said"):
        writing.export_stream(Failing(), what, stream)
    assert stream.getvalue() == b""


def test_a_folder_and_a_place_that_is_not_there_are_refused_with_a_reason(what: Exported, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        writing.export_file(Lines(), what, tmp_path)
    with pytest.raises(UsageError, match="No such file or directory"):
        writing.export_file(Lines(), what, tmp_path / "none" / "out.lines")


def test_a_format_is_found_by_name_and_by_the_end_of_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, nothing in (("_added", {}), ("_others", ()), ("_looked_in", [])):
        monkeypatch.setattr(EXPORTS, name, nothing)
    lines = Lines()
    EXPORTS.add("lines", lines)
    assert format_for(Path("a.LINES")) is lines
    assert named_format("lines") is lines
    assert format_for(Path("a.md")) is named_format("markdown")
    with pytest.raises(UsageError, match=r"nothing says in which format a\.txt"):
        format_for(Path("a.txt"))
    with pytest.raises(UsageError, match="no format 'xml'"):
        named_format("xml")
