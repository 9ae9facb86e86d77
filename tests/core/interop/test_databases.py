"""Databases of OpenCode and clearstone, and checkpoints of clearstone, as these programs write them."""

from __future__ import annotations

import base64
import json
import pickle
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.conformance.reading import check_source
from tests.core.interop.support import digest_of_folder
from tests.core.interop.test_opencode import MESSAGES, SESSION, part, user

from agent_tt.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path

TABLES = """
CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, directory text, title text, version text,
    time_created integer, time_updated integer);
CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, time_updated integer, data text);
CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer, data text);
CREATE TABLE session_message (id text PRIMARY KEY, session_id text, type text, seq integer, time_created integer,
    data text);
"""
TITLE = "Which port?"
BEGAN_MS = 1_772_445_600_000


def add_session(rows: sqlite3.Connection, name: str, parent: str | None = None, title: str = TITLE) -> None:
    head = (name, "p1", parent, "/desk", title, "1.18.33", BEGAN_MS, BEGAN_MS)
    rows.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?)", head)


def add_messages(rows: sqlite3.Connection, session: str, messages: list[dict[str, Any]]) -> None:
    for number, message in enumerate(messages):
        info = {key: value for key, value in message["info"].items() if key not in ("id", "sessionID")}
        name = f"{session}_{number:03}"
        at = BEGAN_MS + number
        rows.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", (name, session, at, at, json.dumps(info)))
        for place, each in enumerate(message["parts"]):
            data = {key: value for key, value in each.items() if key not in ("id", "messageID", "sessionID")}
            row = (f"{name}_{place:03}", name, session, at, json.dumps(data))
            rows.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?)", row)


def add_entries(rows: sqlite3.Connection, session: str, entries: list[dict[str, Any]]) -> None:
    for seq, entry in enumerate(entries):
        data = {key: value for key, value in entry.items() if key != "type"}
        at = BEGAN_MS + 1_000 + seq
        row = (f"{session}_e{seq}", session, entry["type"], seq, at, json.dumps(data))
        rows.execute("INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?)", row)


def opencode(path: Path) -> sqlite3.Connection:
    rows = sqlite3.connect(path)
    rows.executescript(TABLES)
    return rows


def asking(child: str) -> dict[str, Any]:
    """An answer that begins a sub-agent."""
    state = {"status": "completed", "input": {"prompt": "Count."}, "output": "Two.", "metadata": {"sessionId": child}}
    asked = part("tool", 1, tool="task", callID="t1", state=state)
    tokens = {"input": 10, "output": 2, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    info = {"role": "assistant", "modelID": "m", "agent": "build", "time": {"created": BEGAN_MS}, "tokens": tokens}
    return {"info": info, "parts": [asked, part("step-finish", 2, reason="tool-calls", tokens=tokens, cost=0.5)]}


def answering(words: str) -> dict[str, Any]:
    tokens = {"input": 7, "output": 1, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    info = {"role": "assistant", "modelID": "m", "agent": "explore", "time": {"created": BEGAN_MS + 5}}
    return {"info": info | {"tokens": tokens}, "parts": [part("text", 3, text=words)]}


def test_sessions_in_a_database_are_those_of_the_older_files(tmp_path: Path) -> None:
    with closing(opencode(tmp_path / "opencode.db")) as rows, rows:
        add_session(rows, SESSION)
        add_messages(rows, SESSION, MESSAGES)
    before = digest_of_folder(tmp_path)
    exported = tmp_path.parent / f"{tmp_path.name}.json"
    exported.write_text(json.dumps({"info": {"id": SESSION, "title": TITLE}, "messages": MESSAGES}))
    with closing(open_source(tmp_path / "opencode.db")) as source, closing(open_source(exported)) as older:
        (run,), (known,) = source.runs(), older.runs()
        assert (run.id, run.facts.title, run.metadata["directory"]) == (SESSION, TITLE, "/desk")
        assert (run.steps, run.tokens_in, run.tokens_out, run.cost_usd) == (
            known.steps, known.tokens_in, known.tokens_out, known.cost_usd,
        )  # fmt: skip
        assert source.state(SESSION, run.steps)["messages"] == older.state(SESSION, run.steps)["messages"]
        check_source(source)
    assert digest_of_folder(tmp_path) == before


def test_a_sub_agents_session_is_a_lane_below_the_call_that_began_it(tmp_path: Path) -> None:
    with closing(opencode(tmp_path / "opencode.db")) as rows, rows:
        add_session(rows, "ses_1")
        add_session(rows, "ses_2", "ses_1", "Count (@explore subagent)")
        add_messages(rows, "ses_1", [user(1, part("text", 1, text="How many?")), asking("ses_2"), answering("Two.")])
        add_messages(rows, "ses_2", [user(1, part("text", 1, text="Count.")), answering("Two of them.")])
    with closing(open_source(tmp_path / "opencode.db")) as source:
        (run,) = source.runs()
        assert [(step.lane, step.parent) for step in source.steps(run.id)] == [
            ("main", None), ("explore", 1), ("main", None),
        ]  # fmt: skip
        assert (run.tokens_in, run.tokens_out) == (24, 4)
        check_source(source)


def test_entries_of_newer_sessions_are_read_with_tools_and_compaction(tmp_path: Path) -> None:
    state = {"status": "completed", "input": {"path": "a"}, "content": [{"type": "text", "text": "8080"}]}
    failed = {"status": "error", "input": {"path": "b"}, "content": [], "error": {"type": "x", "message": "no such"}}
    tokens = {"input": 5, "output": 2, "reasoning": 0, "cache": {"read": 1, "write": 0}}
    called = [
        {"type": "text", "text": "I look."},
        {"type": "tool", "id": "c1", "name": "read", "state": state, "time": {"created": BEGAN_MS}},
        {"type": "tool", "id": "c2", "name": "read", "state": failed, "time": {"created": BEGAN_MS}},
    ]
    model = {"id": "m", "providerID": "p"}
    with closing(opencode(tmp_path / "opencode.db")) as rows, rows:
        add_session(rows, "ses_1")
        add_entries(rows, "ses_1", [
            {"type": "user", "text": "Which port?", "time": {"created": BEGAN_MS}},
            {"type": "assistant", "model": model, "content": called, "tokens": tokens, "cost": 0.25,
             "time": {"created": BEGAN_MS, "completed": BEGAN_MS + 900}},
            {"type": "compaction", "summary": "It is 8080.", "time": {"created": BEGAN_MS + 950}},
            {"type": "agent-switched", "agent": "plan", "time": {"created": BEGAN_MS + 960}},
            {"type": "assistant", "model": model, "content": [], "error": {"type": "aborted", "message": "aborted"},
             "time": {"created": BEGAN_MS + 970}},
        ])  # fmt: skip
    with closing(open_source(tmp_path / "opencode.db")) as source:
        (run,) = source.runs()
        names = [(step.name, step.status) for step in source.steps(run.id)]
        assert names == [("read ×2", "ok"), ("compaction", "ok"), ("answer", "error")]
        model_call, one, other = source.calls(run.id, 1)
        assert (model_call.name, one.result, other.status) == ("m", "8080", "error")
        assert (run.tokens_in, run.cost_usd) == (6, 0.25)
        assert len(source.state(run.id, 2)["messages"]) == 1
        check_source(source)


def test_what_a_session_says_later_on_is_seen_and_damaged_rows_are_named(tmp_path: Path) -> None:
    with closing(opencode(tmp_path / "opencode.db")) as rows:
        with rows:
            add_session(rows, "ses_1")
            add_messages(rows, "ses_1", [user(1, part("text", 1, text="Hi."))])
        with closing(open_source(tmp_path / "opencode.db")) as source:
            before, known = source.version(), source.runs()[0].steps
            with rows:
                rows.execute("INSERT INTO message VALUES ('z', 'ses_1', 9e15, 0, '{\"role\"')")
                rows.execute(
                    "INSERT INTO message VALUES ('y', 'ses_1', ?, 0, ?)", (BEGAN_MS + 9, '{"role": "assistant"}')
                )
                rows.execute(
                    "INSERT INTO part VALUES ('y1', 'y', 'ses_1', 0, '{\"type\": \"text\", \"text\": \"Yes.\"}')"
                )
            assert source.version() != before
            assert (known, source.runs()[0].steps) == (0, 1)
            assert [problem.what[:13] for problem in source.verify()] == ["z is left out"]


# ---------------------------------------------------------------- clearstone

SPANS = """CREATE TABLE spans (span_id TEXT PRIMARY KEY, trace_id TEXT NOT NULL, parent_span_id TEXT, name TEXT,
    kind TEXT, start_time_ns INTEGER, end_time_ns INTEGER, status TEXT, attributes_json TEXT,
    input_snapshot_json TEXT, output_snapshot_json TEXT, error_message TEXT, instrumentation_name TEXT,
    instrumentation_version TEXT)"""


class Bomb:
    """What runs when somebody opens the pickle of it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return pytest.fail, ("a pickle was opened",)


SEALED = base64.b64encode(pickle.dumps(Bomb())).decode()


def snapshot(kind: str, value: Any) -> str:
    data = json.dumps({"__type__": kind, "value": value})
    return json.dumps({"captured": True, "data": data, "size_bytes": len(data)})


def clearstone(path: Path, *spans: tuple[Any, ...]) -> Path:
    with closing(sqlite3.connect(path)) as rows, rows:
        rows.execute(SPANS)
        rows.executemany(f"INSERT INTO spans VALUES ({', '.join('?' * 14)})", spans)
    return path


def span(name: str, number: int, parent: str | None, **more: str | None) -> tuple[Any, ...]:
    began = BEGAN_MS * 1_000_000 + number * 1_000_000_000
    said = {"status": "OK", "attributes": "{}", "input": "null", "output": "null", "error": None} | more
    return (f"s{number}", "t1", parent, name, "INTERNAL", began, began + 500_000_000, said["status"],
            said["attributes"], said["input"], said["output"], said["error"], "demo", "1")  # fmt: skip


def test_a_trace_of_clearstone_has_a_step_for_each_span_and_pickles_stay_sealed(tmp_path: Path) -> None:
    path = clearstone(
        tmp_path / "traces.db",
        span("agent.run", 1, None, attributes='{"q": "hi"}'),
        span("tool.look", 2, "s1", input=snapshot("json", {"path": "a"}), output=snapshot("pickle", SEALED)),
        span("tool.fail", 3, "s1", status="ERROR", error="no such file"),
    )
    with closing(open_source(path)) as source:
        (run,) = source.runs()
        assert (run.id, run.status) == ("t1", "succeeded")
        first, look, failed = source.steps("t1")
        assert (first.name, look.name, failed.status) == ("agent.run", "tool.look", "error")
        (says,) = look.facts.raw_entries
        assert (says["input"], says["output"]["sealed"]) == ({"path": "a"}, "pickle")
        assert [problem.what[:39] for problem in source.verify()] == ["the output of tool.look is sealed: it is"[:39]]
        check_source(source)


def test_a_checkpoint_of_clearstone_shows_what_is_beside_its_sealed_state(tmp_path: Path) -> None:
    names = ("span_id", "trace_id", "parent_span_id", "name", "kind", "start_time_ns", "end_time_ns", "status")
    current, above = (
        dict(zip(names, span(*given), strict=False)) for given in (("tool.look", 2, "s1"), ("agent.run", 1, None))
    )
    about = {"checkpoint_id": "ckpt_1", "trace_id": "t1", "agent_class_path": "desk.Agent", "python_version": "3.11"}
    whole = {"metadata": about, "current_span": current, "upstream_spans": [above], "agent_state_pickle_b64": SEALED}
    path = tmp_path / "t1_ckpt_1.ckpt"
    path.write_text(json.dumps(whole))
    with closing(open_source(path)) as source:
        (run,) = source.runs()
        assert (run.id, run.status, [step.name for step in source.steps(run.id)]) == (
            "ckpt_1", "unknown", ["agent.run", "tool.look"],
        )  # fmt: skip
        assert "desk.Agent) is sealed" in source.verify()[0].what
        check_source(source)


def test_a_row_that_is_too_large_is_named_and_fills_no_memory(tmp_path: Path) -> None:
    with closing(opencode(tmp_path / "opencode.db")) as rows, rows:
        add_session(rows, "ses_1")
        add_messages(rows, "ses_1", [user(1, part("text", 1, text="Hi."))])
        rows.execute("INSERT INTO message VALUES ('z', 'ses_1', 9e15, 0, zeroblob(30000000))")
    with closing(open_source(tmp_path / "opencode.db")) as source:
        assert "Hi." in json.dumps(source.state("ses_1", 0))
        assert [problem.what for problem in source.verify()] == [
            "row 2 of message is left out: it is larger than 24 MB"
        ]
