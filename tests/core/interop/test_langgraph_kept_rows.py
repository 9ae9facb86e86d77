"""Large files of LangGraph: their rows are kept for the next time, and believed only of the very same file."""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver
from tests.core.conformance.reading import check_source
from tests.core.interop import graphs

from agent_tt.cache_files import cache_folder
from agent_tt.interop.langgraph import connection, kept_rows, sqlite
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.model import Run


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have rows of small files kept too, of files that were written just now, in a folder of the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(kept_rows, "LEAST_BYTES", 1)
    monkeypatch.setattr(connection, "_AT_REST_NS", 0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that SqliteSaver made."""
    (tmp_path / "threads").mkdir()
    made = tmp_path / "threads" / "checkpoints.db"
    add(made, "t")
    return made


def add(path: Path, thread: str, **metadata: Any) -> None:
    with closing(sqlite3.connect(path, check_same_thread=False)) as opened:
        graph = graphs.chain("one", "two").compile(checkpointer=SqliteSaver(opened))
        config = {**graphs.thread(thread), "metadata": metadata}
        graph.invoke({"log": ["in"], "topic": "x"}, config)
    with closing(sqlite3.connect(path)) as opened:
        opened.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def listed(path: Path) -> list[Run]:
    with closing(open_source(path)) as opened:
        return opened.runs()


def unread(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """The list of a file whose checkpoints nobody may go through."""

    def query(*_: object) -> str:
        raise AssertionError("they were read")

    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "_checkpoints_query", query)
        return listed(path)


def test_the_second_time_a_file_is_listed_without_going_through_its_checkpoints(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = hashlib.sha256(path.read_bytes()).digest(), sorted(path.parent.iterdir())
    first = listed(path)
    assert unread(path, monkeypatch) == first
    with closing(open_source(path)) as opened:
        check_source(opened)
        assert len(opened.steps(first[0].id)) == first[0].steps
    assert (hashlib.sha256(path.read_bytes()).digest(), sorted(path.parent.iterdir())) == before
    (place,) = cache_folder("lists").glob("*.rows")
    assert (place.stat().st_mode & 0o777, place.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_file_that_changed_is_read_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [run.id for run in listed(path)] == ["t"]
    add(path, "u")
    with pytest.raises(AssertionError, match="they were read"):
        unread(path, monkeypatch)
    first = listed(path)
    assert {run.id for run in first} == {"t", "u"}
    assert unread(path, monkeypatch) == first


@pytest.mark.parametrize("harm", ["flip", "cut", "empty", "other"])
def test_rows_that_were_kept_and_are_damaged_are_not_believed(path: Path, harm: str) -> None:
    first = listed(path)
    (place,) = cache_folder("lists").glob("*.rows")
    body = place.read_bytes()
    bodies = {"flip": body[:-40] + bytes([body[-40] ^ 1]) + body[-39:], "cut": body[:-3], "empty": b""}
    other = b'{"of":1,"rows":[[1]]}'
    bodies["other"] = hashlib.blake2b(other, digest_size=16).hexdigest().encode() + b"\n" + other
    place.write_bytes(bodies[harm])
    assert listed(path) == first
    assert place.read_bytes() == body


def test_rows_that_hold_a_secret_are_not_kept(path: Path) -> None:
    add(path, "u", note="sk-proj-" + "aB3dE5gH7jK9mN1p" * 3)
    assert len(listed(path)) == 2
    assert not list(cache_folder("lists").glob("*.rows"))


def test_of_a_small_file_nothing_is_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_rows, "LEAST_BYTES", 1 << 30)
    assert listed(path)
    assert not cache_folder("lists").exists()
