"""A store that came from elsewhere is told from one that was made here."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from agent_tt.errors import ReadOnlySource, Untrusted
from agent_tt.model import AgentCode, NewRun, Run
from agent_tt.store import open_store
from agent_tt.store.file import provenance
from agent_tt.store.file.provenance import check_made_here, is_made_here, trust_store

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "runs.db"
    code = AgentCode(entry="agent.py:main", interpreter="/downloads/python", root="/downloads")
    with closing(open_store(path, create=True)) as opened:
        opened.begin_run(NewRun("theirs", code), {}).finish("succeeded")
    return path


def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, number: int | None) -> None:
    """Be on another machine; None: on one without an id."""
    place = tmp_path / "machine-id"
    if number is None:
        place.unlink(missing_ok=True)
    else:
        place.write_text(f"{number:032x}\n")
    monkeypatch.setattr(provenance, "_MACHINE_IDS", (str(place),))


def test_a_store_is_made_here_also_as_a_copy_and_under_another_name(store: Path, tmp_path: Path):
    assert is_made_here(store)
    shutil.copy(store, tmp_path / "copy.db")
    assert is_made_here(tmp_path / "copy.db")


def test_on_another_machine_it_is_not_until_it_is_trusted(store: Path, tmp_path: Path, monkeypatch):
    machine(monkeypatch, tmp_path, 7)
    assert not is_made_here(store)
    with closing(open_store(store)) as opened:
        run = opened.run("latest")
    with pytest.raises(
        Untrusted, match=r"theirs would run agent.py:main with /downloads/python in /downloads"
    ) as caught:
        check_made_here(store, run)
    assert "--trust" in caught.value.hint
    assert caught.value.exit_code == 2
    trust_store(store)
    check_made_here(store, run)
    machine(monkeypatch, tmp_path, 8)
    assert not is_made_here(store)


def test_another_user_of_the_machine_did_not_make_it(store: Path, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert not is_made_here(store)


@pytest.mark.parametrize("value", [None, "", ":", "aa:bb", "aa", 5, b"\xff", "\x00:\x00"])
def test_a_stamp_that_was_made_up_is_none(store: Path, value: object):
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("DELETE FROM meta WHERE key = 'made_at'")
        if value is not None:
            connection.execute("INSERT INTO meta(key, value, proof) VALUES('made_at', ?, x'')", (value,))
        connection.commit()
    assert not is_made_here(store)


def test_a_machine_without_an_id_takes_a_key_of_the_user(store: Path, tmp_path: Path, monkeypatch):
    machine(monkeypatch, tmp_path, None)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert not is_made_here(store), "no key was made by looking"
    assert not (tmp_path / "data").exists()
    with closing(open_store(tmp_path / "other.db", create=True)):
        pass
    assert is_made_here(tmp_path / "other.db")
    (key,) = (tmp_path / "data").rglob("key")
    assert key.stat().st_mode & 0o077 == 0, "nobody else reads it"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "another"))
    assert not is_made_here(tmp_path / "other.db")


def test_where_no_key_can_be_kept_it_is_said(store: Path, tmp_path: Path, monkeypatch):
    machine(monkeypatch, tmp_path, None)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    with pytest.raises(Untrusted, match="takes no key"):
        trust_store(store)
    with closing(open_store(tmp_path / "other.db", create=True)):
        pass
    assert not is_made_here(tmp_path / "other.db")


def test_a_file_that_cannot_be_written_cannot_be_trusted(store: Path, tmp_path: Path, monkeypatch):
    machine(monkeypatch, tmp_path, 7)

    def refused(*_: object, **__: object) -> sqlite3.Connection:
        return sqlite3.connect(f"file:{store}?mode=ro", uri=True)

    monkeypatch.setattr(provenance, "connect", refused)
    with pytest.raises(ReadOnlySource, match="cannot be written"):
        trust_store(store)


def test_a_file_of_another_system_is_not_called_damaged_but_names_no_code(tmp_path: Path):
    path = tmp_path / "checkpoints.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE checkpoints(thread_id)")
    run = Run("trip-1", "trip-1", "succeeded", started_us=0, read_only=True)
    with pytest.raises(ReadOnlySource, match="names no code that could be run"):
        check_made_here(path, run)
