"""Databases of older LangGraphs and of LangGraph.js: rows as those releases wrote them, written here by hand."""

from __future__ import annotations

import json
import sqlite3
import uuid
from contextlib import closing
from typing import TYPE_CHECKING, Any

import ormsgpack
import pytest
from tests.core.interop.support import database_of, outline

from agent_tt.interop.langgraph.source import LangGraphSource
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.interop.langgraph.source import LangGraphSource as Source

OLDEST = """
CREATE TABLE checkpoints (
    thread_id TEXT NOT NULL, thread_ts TEXT NOT NULL, parent_ts TEXT, checkpoint BLOB, metadata BLOB,
    PRIMARY KEY (thread_id, thread_ts)
)"""
WITHOUT_PATHS = """
CREATE TABLE checkpoints (
    thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
    parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB,
    PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id)
);
CREATE TABLE writes (
    thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
    task_id TEXT NOT NULL, idx INTEGER NOT NULL, channel TEXT NOT NULL, type TEXT, value BLOB,
    PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
)"""
IDS = [f"1f1e78dd-f0{number:02x}-6d75-8000-c8e8b6c6d15e" for number in range(9)]


def message(kind: str, content: str, **more: Any) -> dict[str, Any]:
    names = ["langchain", "schema", "messages", kind]
    return {"lc": 1, "type": "constructor", "id": names, "kwargs": {"content": content, **more}}


HUMAN = message("HumanMessage", "hi", id="h")
ASKING = message("AIMessage", "", id="a1", tool_calls=[{"name": "charge", "args": {"cents": 5}, "id": "c1"}])
CHARGED = message("ToolMessage", "ok", id="m1", tool_call_id="c1", name="charge")


def checkpoint(number: int, values: dict[str, Any], seen: dict[str, Any], number_of_format: int = 1) -> dict[str, Any]:
    """A checkpoint whose channels all have the version that is its number."""
    versions = dict.fromkeys(values, at(number))
    return {
        "v": number_of_format,
        "ts": "2026-11-23T22:33:14+00:00",
        "id": IDS[number],
        "channel_values": values,
        "channel_versions": versions,
        "versions_seen": seen,
        "pending_sends": [],
    }


def at(number: int) -> str:
    return f"{number:032}.0"


CHECKPOINTS = [
    checkpoint(0, {"messages": [], "__start__": {"messages": [HUMAN]}}, {}),
    checkpoint(1, {"messages": [HUMAN], "start:agent": "__start__"}, {"__start__": {"__start__": at(0)}, "tools": {}}),
    checkpoint(
        2,
        {"messages": [HUMAN, ASKING], "agent": "agent", "branch:agent:decide:tools": "agent"},
        {"__start__": {"__start__": at(0)}, "agent": {"start:agent": at(1)}},
    ),
    checkpoint(
        3,
        {"messages": [HUMAN, ASKING, CHARGED], "tools": "tools", "mode": "mode"},
        {
            "__start__": {"__start__": at(0)},
            "agent": {"start:agent": at(1)},
            "tools": {"branch:agent:decide:tools": at(2)},
        },
    ),
]
METADATA: list[dict[str, Any]] = [
    {"source": "input", "step": -1, "writes": {"messages": [HUMAN]}},
    {"source": "loop", "step": 0, "writes": None},
    {"source": "loop", "step": 1, "writes": {"agent": {"messages": [ASKING]}}},
    {"source": "loop", "step": 2, "writes": {"tools": {"messages": [CHARGED]}}},
]


def oldest(path: Path, *, metadata: bool = True) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(OLDEST if metadata else OLDEST.replace(" metadata BLOB,", ""))
        for number, document in enumerate(CHECKPOINTS):
            row = ["t", IDS[number], IDS[number - 1] if number else None, json.dumps(document).encode()]
            row += [json.dumps(METADATA[number]).encode()] if metadata else []
            connection.execute(f"INSERT INTO checkpoints VALUES ({', '.join('?' * len(row))})", row)
        connection.commit()
    return path


def without_paths(path: Path, rows: list[dict[str, Any]], writes: list[tuple[Any, ...]], kind: str = "json") -> Path:
    pack = json.dumps if kind == "json" else ormsgpack.packb
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(WITHOUT_PATHS)
        for document in rows:
            parent, source, step = document.pop("made")
            facts = json.dumps({"source": source, "step": step, "parents": {}})
            row = ("t", "", document["id"], parent, kind, pack(document), facts)
            connection.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        for at_checkpoint, task, index, channel, value in writes:
            row = ("t", "", at_checkpoint, task, index, channel, kind, pack(value))
            connection.execute("INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        connection.commit()
    return path


def nexts(source: Source) -> list[object]:
    return [step.extra["next"] for step in source.steps("t")]


def test_the_oldest_layout_opens_and_is_unchanged(tmp_path: Path) -> None:
    path = oldest(tmp_path / "oldest.db")
    before = path.read_bytes()
    with closing(open_source(path)) as source:
        assert [step.name for step in source.steps("t")] == ["input", "__start__", "agent", "tools"]
        assert [step.extra["parent_checkpoint_id"] for step in source.steps("t")] == [None, *IDS[:3]]
        assert [step.extra["langgraph_step"] for step in source.steps("t")] == [-1, 0, 1, 2]
        assert source.verify() == []
    assert [file.name for file in tmp_path.iterdir()] == ["oldest.db"]
    assert path.read_bytes() == before


def test_the_oldest_layout_has_its_calls_from_what_its_checkpoints_say_was_written(tmp_path: Path) -> None:
    with closing(LangGraphSource(oldest(tmp_path / "oldest.db"))) as source:
        (asked,) = source.calls("t", 3)
        (charged,) = source.calls("t", 4)
        assert (asked.kind, charged.kind, charged.name, charged.args) == ("llm", "tool", "charge", {"cents": 5})


def test_the_oldest_layout_without_metadata_opens(tmp_path: Path) -> None:
    with closing(LangGraphSource(oldest(tmp_path / "oldest.db", metadata=False))) as source:
        assert [step.name for step in source.steps("t")] == ["loop", "__start__", "agent", "tools"]
        assert source.verify() == []


def test_a_pickle_of_the_oldest_layout_stays_closed(tmp_path: Path) -> None:
    path = oldest(tmp_path / "oldest.db")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE checkpoints SET checkpoint = ? WHERE thread_ts = ?", (b"\x80\x04N.", IDS[3]))
        connection.commit()
    with closing(LangGraphSource(path)) as source:
        state = source.state("t", 4)
        assert isinstance(state, dict)
        assert (state["$type"], state["class"]) == ("opaque", "langgraph:pickle")
        assert source.run("t").status == "unknown"


def test_what_is_no_part_of_the_state_is_hidden_and_a_value_like_its_own_name_is_not(tmp_path: Path) -> None:
    with closing(LangGraphSource(oldest(tmp_path / "oldest.db"))) as source:
        assert [list(source.state("t", number)) for number in range(1, 5)] == [  # type: ignore[arg-type]  # an object
            ["messages"],
            ["messages"],
            ["messages"],
            ["messages", "mode"],
        ]


def test_what_comes_next_is_what_triggers_say_or_unknown(tmp_path: Path) -> None:
    with closing(LangGraphSource(oldest(tmp_path / "oldest.db"))) as source:
        assert nexts(source) == [["__start__"], ["agent"], ["tools"], None]
        assert source.run("t").status == "unknown"


@pytest.mark.parametrize("kind", ["json", "msgpack"])
def test_tasks_without_paths_have_their_names_and_calls(tmp_path: Path, kind: str) -> None:
    rows = [
        dict(document, made=(IDS[number - 1] if number else None, METADATA[number]["source"], number - 1))
        for number, document in enumerate(CHECKPOINTS)
    ]
    writes = [
        (IDS[1], "task-1", 0, "agent", "agent"),
        (IDS[1], "task-1", 1, "messages", [ASKING["kwargs"] | {"type": "ai"}]),
        (IDS[2], "task-2", 0, "tools", "tools"),
        (IDS[2], "task-2", 1, "messages", [CHARGED["kwargs"] | {"type": "tool"}]),
        (IDS[2], str(uuid.uuid5(uuid.UUID(IDS[2]), "__interrupt__")), 0, "messages", [HUMAN["kwargs"]]),
        (IDS[3], "task-3", -1, "__error__", "ValueError('no')"),
    ]
    with closing(LangGraphSource(without_paths(tmp_path / "old.db", rows, writes, kind))) as source:
        assert outline(source, "t") == ["input", "__start__", "agent", "tools", "task [error]"]
        assert [call.kind for number in range(1, 5) for call in source.calls("t", number)] == ["human", "llm", "tool"]
        assert source.run("t").status == "failed"


def js_task(checkpoint_id: str, step: int, node: str, kind: str, why: object) -> str:
    parts = json.dumps([node, str(step), node, kind, why], separators=(",", ":"))
    return str(uuid.uuid5(uuid.UUID(checkpoint_id), parts))


def test_tasks_of_langgraph_js_are_named_by_their_ids(tmp_path: Path) -> None:
    first, second = IDS[0].replace("-8000-", "-ffff-"), IDS[1]
    sends = [[{"node": "worker", "args": {"i": 0}}], [{"node": "worker", "args": {"i": 0}}]]
    rows: list[dict[str, Any]] = [
        checkpoint(0, {"branch:to:left": None, "branch:to:right": None, "__pregel_tasks": sends}, {}, 4),
        checkpoint(1, {"extra": {"lc": 2, "type": "constructor", "id": ["Map"], "args": [[["k", 1]]]}}, {}, 4),
    ]
    rows[0] |= {"id": first, "made": (None, "loop", 0)}
    rows[1] |= {"made": (first, "loop", 1)}
    tasks = {
        node: js_task(first, 1, node, kind, why)
        for node, kind, why in (
            ("left", "__pregel_pull", ["branch:to:left"]),
            ("right", "__pregel_pull", ["branch:to:right"]),
            ("worker", "__pregel_push", "0"),
        )
    }
    writes = [(first, task, 0, "log", [node]) for node, task in tasks.items()]
    with closing(LangGraphSource(without_paths(tmp_path / "js.db", rows, writes))) as source:
        made, ran = source.steps("t")
        assert sorted(ran.name.split(", ")) == ["left", "right", "worker"]
        assert made.ended_us is not None, "its id is a time, though not of the standard's variant"
        assert source.state("t", 2) == {"extra": {"$type": "dict", "$v": [["k", 1]]}}
        assert (source.run("t").origin["checkpoint"], source.run("t").status) == (second, "succeeded")


def test_a_task_that_could_be_of_several_nodes_has_no_name(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        checkpoint(0, {"branch:to:left": None, "branch:to:right": None}, {}, 4) | {"made": (None, "loop", 0)}
    ]
    writes = [(IDS[0], "some-task", -1, "__error__", "ValueError('no')")]
    with closing(LangGraphSource(without_paths(tmp_path / "js.db", rows, writes))) as source:
        assert outline(source, "t") == ["loop", "task [error]"]


def test_what_an_input_to_a_thread_writes_is_no_task(tmp_path: Path) -> None:
    path = database_of("react", tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        ((last,),) = connection.execute("SELECT max(checkpoint_id) FROM checkpoints")
        for task in (str(uuid.uuid5(uuid.UUID(last), "__input__")), "00000003-0000-0000-0000-000000000001"):
            row = ("t", "", last, task, "", 0, "messages", "msgpack", ormsgpack.packb([]))
            connection.execute("INSERT INTO writes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        connection.commit()
    with closing(LangGraphSource(path)) as source:
        assert outline(source, "t") == ["input", "__start__", "agent", "tools", "agent"]
        assert source.run("t").status == "succeeded"
