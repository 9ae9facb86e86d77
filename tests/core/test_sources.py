"""`open_source` chooses by what is in a file, and says what a file looks like that it cannot open."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.core.interop.support import database_of
from tests.patience import PATIENCE_SECONDS

from agent_tt import sources
from agent_tt.errors import NotAStore, StoreNotFound
from agent_tt.interop.langgraph.source import LangGraphSource
from agent_tt.protocols import RunSource
from agent_tt.sources import open_source, register
from agent_tt.store import open_store


def test_a_langgraph_database_opens_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    shutil.move(database_of("react", tmp_path), path)
    source = open_source(str(path))
    assert isinstance(source.reader, LangGraphSource)
    assert source.path == path
    source.close()


def test_a_store_of_agent_tt_opens_as_one(tmp_path: Path) -> None:
    path = tmp_path / "checkpoints.db"
    open_store(path, create=True).close()
    for read_only in (False, True):
        source = open_source(path, read_only=read_only)
        assert isinstance(source, RunSource)
        assert not isinstance(source, LangGraphSource)
        assert source.read_only is read_only
        source.close()


FILES = {
    "a text file": b"hello, this is text",
    "a JSON file": b'  {"a": 1}',
    "a gzip archive": b"\x1f\x8b\x08\x00",
    "a binary file": b"\x00\x01\x02",
    "an empty file": b"",
}


@pytest.mark.parametrize("words", FILES)
def test_other_files_are_named_for_what_they_look_like(words: str, tmp_path: Path) -> None:
    path = tmp_path / "file.db"
    path.write_bytes(FILES[words])
    with pytest.raises(NotAStore) as refused:
        open_source(path)
    assert words in refused.value.message
    assert refused.value.hint
    assert "\n" not in refused.value.message


def test_another_programs_database_is_named_by_its_tables(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE songs (title TEXT)")
    connection.execute("CREATE VIEW checkpoints AS SELECT title AS thread_id FROM songs")
    connection.close()
    with pytest.raises(NotAStore, match="the tables songs"):
        open_source(path)


def test_a_langgraph_database_of_the_oldest_layout_opens(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE checkpoints (thread_id, thread_ts, parent_ts, checkpoint, metadata)")
    connection.close()
    with closing(open_source(path)) as source:
        assert source.runs() == []


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(StoreNotFound):
        open_source(tmp_path / "missing.db")
    with pytest.raises(NotAStore, match="is a folder") as refused:
        open_source(tmp_path)
    assert "Name the file" in refused.value.hint
    (tmp_path / "runs.db").touch()
    with pytest.raises(NotAStore) as refused:
        open_source(tmp_path)
    assert str(tmp_path / "runs.db") in refused.value.hint


def test_what_a_header_only_pretends_to_be_is_no_store(tmp_path: Path) -> None:
    path = tmp_path / "broken.db"
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4000)
    with pytest.raises(Exception, match="broken") as refused:
        open_source(path)
    assert type(refused.value).__module__ == "agent_tt.errors"


def test_a_registered_detector_opens_its_kind_of_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources.SOURCES, "_added", {})
    path = tmp_path / "runs.special"
    path.write_bytes(b"SPECIAL")
    database = database_of("react", tmp_path)

    def detector(path: Path, head: bytes) -> RunSource | None:
        return LangGraphSource(database) if head == b"SPECIAL" else None

    register(detector)
    register(detector)
    source = open_source(path)
    assert isinstance(source.reader, LangGraphSource)
    source.close()


def test_reading_a_langgraph_database_loads_nothing_of_langgraph(tmp_path: Path) -> None:
    path = database_of("react", tmp_path)
    script = (
        "import sys; from agent_tt.sources import open_source\n"
        f"source = open_source({str(path)!r}); run = source.run('t')\n"
        "[source.calls('t', step.number) for step in source.steps('t')]; source.verify(); source.close()\n"
        "print(*[name for name in sys.modules if name.partition('.')[0] in "
        "{'langgraph', 'langchain_core', 'numpy', 'pydantic', 'textual', 'rich', 'click', 'sqlite_utils'}])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_SECONDS,
        cwd=Path(__file__).parents[2] / "core",
    )
    assert done.stdout.strip() == ""
