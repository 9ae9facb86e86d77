"""Databases that were made to harm their reader, or are larger than any: nothing runs, and the work stays in bounds."""

from __future__ import annotations

import json
import sqlite3
import struct
from contextlib import closing
from typing import TYPE_CHECKING, Any

import ormsgpack
import pytest
from tests.effort import Effort

from agent_tt.interop.langgraph import connection
from agent_tt.interop.langgraph import sqlite as sqlite_adapter
from agent_tt.interop.langgraph.connection import DatabaseFile
from agent_tt.interop.langgraph.source import LangGraphSource
from agent_tt.interop.langgraph.space import read_space
from agent_tt.interop.langgraph.steps import StepMaker
from agent_tt.querying.search.cache import Cache
from agent_tt.querying.search.finder import Finder
from agent_tt.querying.search.query import parse

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TABLES = """
CREATE TABLE checkpoints (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
    parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB,
    PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id));
CREATE TABLE writes (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
    task_id TEXT NOT NULL, task_path TEXT NOT NULL DEFAULT '', idx INTEGER NOT NULL, channel TEXT NOT NULL, type TEXT,
    value BLOB, PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx))"""
FACTS = json.dumps({"source": "loop", "step": 0, "parents": {}}).encode()
KEY = b"\x81\xaechannel_values\x81\xa1a"


def ident(number: int) -> str:
    return f"1f1e78dd-{number >> 12 & 0xFFFF:04x}-6{number & 0xFFF:03x}-8000-c8e8b6c6d15e"


def checkpoint(values: dict[str, Any]) -> bytes:
    return ormsgpack.packb({"v": 4, "channel_values": values, "channel_versions": {}, "versions_seen": {}})


def database(path: Path, rows: list[tuple[str, bytes, str]]) -> Path:
    """A database with one checkpoint for each thread, blob and type."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(TABLES)
        for number, (thread, blob, kind) in enumerate(rows, 1):
            row = (thread, "", ident(number), None, kind, blob, FACTS)
            connection.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            connection.execute(
                "INSERT INTO writes VALUES (?, '', ?, 'task', '~__pregel_pull, n', 0, 'a', ?, ?)",
                (thread, ident(number), kind, blob),
            )
        connection.commit()
    return path


def read_everything(path: Path) -> list[str]:
    with closing(LangGraphSource(path)) as source:
        for run in source.runs():
            for step in source.steps(run.id):
                source.state(run.id, step.number)
                source.calls(run.id, step.number)
        source.verify()
        return [run.id for run in source.runs()]


def read_space_of(path: Path) -> int:
    with closing(DatabaseFile(path)) as file:
        return len(read_space(file, lambda _done, _total: None).owners)


def lengths() -> list[tuple[str, bytes, str]]:
    """Values that say to be gigabytes long, of each msgpack type with a length of four bytes."""
    return [
        (f"{head.hex()} {size}", KEY + head + struct.pack(">I", size) + b"\0" * 8, "msgpack")
        for head in (b"\xc6", b"\xc9", b"\xdb", b"\xdd", b"\xdf")
        for size in (2**31, 2**32 - 1)
    ]


def deep() -> list[tuple[str, bytes, str]]:
    value: object = 1
    for _ in range(60):
        value = ormsgpack.Ext(0, ormsgpack.packb(["builtins", "set", [value]]))
    return [
        ("lists", KEY + b"\x91" * 200_000 + b"\0", "msgpack"),
        ("json", b'{"channel_values":{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}}", "json"),
        ("typed values", checkpoint({"a": value}), "msgpack"),
    ]


def cut_short() -> list[tuple[str, bytes, str]]:
    whole = checkpoint({"messages": ["hello"], "n": 1})
    return [(f"first {size}", whole[:size], "msgpack") for size in range(1, len(whole))]


@pytest.mark.parametrize("rows", [lengths(), deep(), cut_short()], ids=["lengths", "deep", "cut short"])
def test_what_cannot_be_read_is_said_and_everything_opens(rows: list[tuple[str, bytes, str]], tmp_path: Path) -> None:
    path = database(tmp_path / "hostile.db", rows)
    assert set(read_everything(path)) == {thread for thread, _, _ in rows}
    assert read_space_of(path) == len(rows)


def test_constructors_of_programs_run_nothing(tmp_path: Path) -> None:
    harm = f"touch {tmp_path / 'harmed'}"
    packed = ormsgpack.packb(["os", "system", harm, "system"])
    named = {"lc": 2, "type": "constructor", "id": ["os", "system"], "method": "system", "args": [harm], "kwargs": {}}
    rows = [
        ("msgpack", checkpoint({f"c{code}": ormsgpack.Ext(code, packed) for code in range(8)}), "msgpack"),
        ("json", json.dumps({"channel_values": {"a": named, "b": named | {"lc": 1}}}).encode(), "json"),
        ("pickle", b"cos\nsystem\n(S'" + harm.encode() + b"'\ntR.", "pickle"),
    ]
    read_everything(database(tmp_path / "hostile.db", rows))
    read_space_of(tmp_path / "hostile.db")
    assert not (tmp_path / "harmed").exists()


def lines_for(path: Path, threads: int, channels: int) -> int:
    """How many lines of Python the list of runs, the last state and the sizes of a database take."""
    values = {f"channel {number}": number for number in range(channels)}
    database(path, [(f"thread {number}", checkpoint(values), "msgpack") for number in range(threads)])
    with Effort() as effort:
        with closing(LangGraphSource(path)) as source:
            run = source.runs()[0]
            source.steps(run.id)
            source.state(run.id, run.steps)
        read_space_of(path)
    return effort.lines


def test_the_work_for_threads_and_for_channels_grows_as_they_do(tmp_path: Path) -> None:
    few, many = (lines_for(tmp_path / f"{count} threads.db", count, 1) for count in (200, 800))
    assert many < 5 * few
    assert many < 800 * 2_000
    few, many = (lines_for(tmp_path / f"{count} channels.db", 1, count) for count in (500, 2_000))
    assert many < 5 * few
    assert many < 2_000 * 200


def counted(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> list[str]:
    """The calls of a function from now on: its name each time."""
    calls: list[str] = []
    work: Callable[..., object] = getattr(owner, name)

    def called(*arguments: object, **named: object) -> object:
        calls.append(name)
        return work(*arguments, **named)

    monkeypatch.setattr(owner, name, called)
    return calls


def searched(path: Path, folder: Path, text: str) -> tuple[list[str], list[str]]:
    """The runs in which a text is found, and what could not be looked at."""
    with closing(LangGraphSource(path)) as source, closing(Finder(source, use_index=True, folder=folder)) as finder:
        found = finder.found(parse(text))
        assert found.searched == 1
        return [hit.run for hit in found.hits], [f"{run.id}: {words}" for run, words in finder.unread()]


def test_many_threads_are_indexed_in_few_transactions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blob = checkpoint({"a": "needle"})
    path = database(tmp_path / "many.db", [(f"t{number}", blob, "msgpack") for number in range(60)])
    writing = counted(monkeypatch, Cache, "writing")

    assert len(searched(path, tmp_path / "cache", "needle")[0]) == 60
    assert len(writing) < 10


@pytest.mark.parametrize("use_index", [True, False])
def test_a_search_reads_what_branches_share_once(
    use_index: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    teeth = 40
    path = tmp_path / "comb.db"
    with closing(sqlite3.connect(path)) as made:
        made.executescript(TABLES)
        for number in range(2 * teeth):
            parent = ident(number - 1 - number % 2) if number > 1 else None
            row = ("comb", "", ident(number), parent, "msgpack", checkpoint({"a": number}), FACTS)
            made.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        made.commit()
    with closing(LangGraphSource(path)) as source:
        assert max(run.steps for run in source.runs()) == teeth
        rows = counted(monkeypatch, StepMaker, "step")
        with closing(Finder(source, use_index=use_index, folder=tmp_path / "cache")) as finder:
            assert not finder.found(parse("needle")).hits
            assert not finder.unread()
    assert 2 * teeth - 1 <= len(rows) <= 2 * teeth + 2


def test_a_database_that_nobody_changed_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_AT_REST_NS", 0)
    whole, cut = checkpoint({"a": "needle"}), checkpoint({"a": "lost"})[:-3]
    path = database(tmp_path / "rest.db", [("whole", whole, "msgpack"), ("cut", cut, "msgpack")])
    folder = tmp_path / "cache"
    first = searched(path, folder, "needle")
    assert first[0] == ["whole"]
    assert [words.split(":")[0] for words in first[1]] == ["cut"]

    with monkeypatch.context() as patch:
        read = counted(patch, sqlite_adapter, "fetch_blob")
        with closing(LangGraphSource(path)) as source:
            source.runs()
        for_listing = len(read)
        read.clear()
        assert searched(path, folder, "needle") == first
        assert len(read) == for_listing

    with closing(sqlite3.connect(path)) as changing:
        changing.execute("UPDATE checkpoints SET checkpoint = ? WHERE thread_id = 'cut'", (whole,))
        changing.execute("UPDATE writes SET value = ? WHERE thread_id = 'cut'", (ormsgpack.packb(1),))
        changing.commit()
    assert sorted(searched(path, folder, "needle")[0]) == ["cut", "whole"]
    assert searched(path, folder, "needle")[1] == []


def test_a_database_that_was_changed_a_moment_ago_is_read_again(tmp_path: Path) -> None:
    path = database(tmp_path / "new.db", [("t", checkpoint({"a": "needle"}), "msgpack")])
    with closing(LangGraphSource(path)) as source:
        assert source.fingerprint() is None
