"""Logs of Inspect as runs: samples, their events, and the archives that they are packed in."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.conformance.reading import check_source
from tests.core.interop.zip_archives import DEFLATED, STORED, ZSTANDARD, write_zip

from agent_tt.errors import NotAStore, StoreUnreadable
from agent_tt.interop.transcripts import archive, inspect_ai, inspect_sample
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.model import Call
    from agent_tt.protocols import RunSource

HEAD = {"version": 2, "status": "success", "eval": {"task": "sums", "model": "mockllm/model", "eval_id": "e"}}
LONG = "You add numbers. " * 20
SYSTEM = {"id": "m0", "role": "system", "content": "attachment://aa"}
ASKED = {"id": "m1", "role": "user", "content": "What is 17 times 3?", "source": "input"}
CALLS = {
    "id": "m2", "role": "assistant", "content": [{"type": "reasoning", "reasoning": "I have a tool."}],
    "tool_calls": [{"id": "c1", "function": "times", "arguments": {"a": 17, "b": 3}, "type": "function"}],
}  # fmt: skip
GIVEN = {"id": "m3", "role": "tool", "tool_call_id": "c1", "function": "times", "content": "51"}
SAID = {"id": "m4", "role": "assistant", "content": "It is 51."}


def at(second: float) -> str:
    return f"2026-03-02T10:00:{second:09.6f}+00:00"


def span(name: str, kind: str, parent: str | None = None) -> dict[str, Any]:
    return {"event": "span_begin", "id": name, "span_id": name, "parent_id": parent, "type": kind, "name": name}


def model(shown: object, said: dict[str, Any], inside: str, began: float, **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 40, "output_tokens": 5, "total_tokens": 55, "input_tokens_cache_read": 10}
    output = {"model": "model-1", "choices": [{"message": said, "stop_reason": "stop"}], "usage": usage}
    how = {"input": shown} if not isinstance(shown, tuple) else {"input": [], "input_refs": [list(shown)]}
    times = {"timestamp": at(began), "completed": at(began + 1)}
    return {"event": "model", "model": "mockllm/model", "span_id": inside, "output": output, **how, **times, **more}


def tool(inside: str, began: float, **more: Any) -> dict[str, Any]:
    asked = {"id": "c1", "function": "times", "arguments": {"a": 17, "b": 3}, "result": "51", "message_id": "m3"}
    times = {"timestamp": at(began), "completed": at(began + 0.5)}
    return {"event": "tool", "span_id": inside, **asked, **times, **more}


EVENTS = [
    span("react", "agent"),
    model((0, 2), CALLS, "react", 1),
    tool("react", 2),
    {"event": "state", "span_id": "react", "timestamp": at(3), "changes": [{"op": "add", "path": "/x", "value": 1}]},
    model((0, 4), SAID, "react", 3),
    {"event": "span_end", "id": "react"},
    span("scorers", "scorers"),
    span("includes", "scorer", "scorers"),
    {"event": "score", "span_id": "includes", "timestamp": at(5), "score": {"value": "C", "answer": "51"}},
]
POOL = [SYSTEM, ASKED, CALLS, GIVEN]


def sample(events: list[dict[str, Any]] = EVENTS, **more: Any) -> dict[str, Any]:
    return {
        "id": "s1", "epoch": 1, "input": "What is 17 times 3?", "target": "51", "events": events,
        "messages": [SYSTEM | {"content": LONG}, ASKED, CALLS, GIVEN, SAID],
        "attachments": {"aa": LONG}, "events_data": {"messages": POOL, "calls": []}, **more,
    }  # fmt: skip


def as_json(folder: Path, *samples: dict[str, Any], **head: Any) -> Path:
    path = folder / "log.json"
    path.write_text(json.dumps(HEAD | head | {"samples": samples or [sample()]}))
    return path


def members(*samples: dict[str, Any]) -> dict[str, bytes]:
    named = {f"samples/{each['id']}_epoch_{each['epoch']}.json": each for each in samples or [sample()]}
    return {name: json.dumps(body).encode() for name, body in {**named, "header.json": HEAD}.items()}


def chunked() -> dict[str, bytes]:
    """The sample in chunks, as the converter to that form writes it."""
    one = sample()
    below = {
        "sample": {"id": "s1", "epoch": 1, "target": "51", "message_refs": [[0, 5]]},
        "messages/0": [each | {"content": "attachment://0"} if each is SYSTEM else each for each in POOL],
        "messages/4": [SAID],
        "events/0": one["events"][:2],
        "events/2": one["events"][2:],
        "events/stats": [],
        "attachments/0": [LONG],
    }
    found = {f"samples/s1_epoch_1/{name}.json": body for name, body in below.items()} | {"header.json": HEAD}
    return {name: json.dumps(body).encode() for name, body in found.items()}


def calls_of(source: RunSource, kind: str) -> list[Call]:
    (run,) = source.runs()
    found = [call for step in source.steps(run.id) for call in source.calls(run.id, step.number)]
    return [call for call in found if call.kind == kind]


@pytest.mark.parametrize("packed", ["json", "stored", "deflated", "zstandard", "chunks", "transcript", "message_pool"])
def test_a_sample_is_a_run_however_it_is_packed(tmp_path: Path, packed: str) -> None:
    path = tmp_path / "log.eval"
    old = sample()
    old["transcript"] = {"events": old.pop("events"), "content": old.pop("attachments")}
    pooled = sample(message_pool=POOL)
    del pooled["events_data"]
    ways = {
        "json": lambda: as_json(tmp_path),
        "stored": lambda: write_zip(path, members(), STORED),
        "deflated": lambda: write_zip(path, members(), DEFLATED),
        "zstandard": lambda: write_zip(path, members(), ZSTANDARD),
        "chunks": lambda: write_zip(path, chunked(), ZSTANDARD),
        "transcript": lambda: write_zip(path, members(old)),
        "message_pool": lambda: write_zip(path, members(pooled)),
    }
    with closing(open_source(ways[packed]())) as source:
        (run,) = source.runs()
        assert (run.id, run.status, run.steps) == ("s1_epoch_1", "succeeded", 3)
        assert [(step.name, step.lane, step.agent, step.decision) for step in source.steps(run.id)] == [
            ("times", "main", "react", "times"), ("answer", "main", "react", "It is 51."),
            ("score", "includes", "includes", "C"),
        ]  # fmt: skip
        assert [(call.name, call.args, call.result, call.started_us) for call in calls_of(source, "tool")] == [
            ("times", {"a": 17, "b": 3}, "51", 1772445602000000)
        ]
        assert (run.tokens_in, run.tokens_out) == (100, 10)
        assert run.metadata["target"] == "51"
        assert [turn["role"] for turn in source.state(run.id, 2)["messages"]] == [
            "system", "user", "assistant", "tool", "assistant",
        ]  # fmt: skip
        first = source.state(run.id, 1)["messages"]
        assert first[0]["content"] == LONG
        assert first[2]["reasoning_content"] == "I have a tool."
        assert first == source.state(run.id, 2)["messages"][:4]
        assert source.state(run.id, 3)["score"]["value"] == "C"
        assert not source.verify()
        check_source(source)


def test_a_tool_that_failed_is_an_error(tmp_path: Path) -> None:
    failed = tool("react", 2, result="", error={"type": "timeout", "message": "too slow"})
    with closing(open_source(as_json(tmp_path, sample([*EVENTS[:2], failed])))) as source:
        (call,) = calls_of(source, "tool")
        assert (call.status, call.error.class_name, call.error.message) == ("error", "tool:timeout", "too slow")


def test_a_tool_that_is_not_over_is_pending(tmp_path: Path) -> None:
    waiting = tool("react", 2, pending=True, completed=None, result="")
    with closing(open_source(as_json(tmp_path, sample([*EVENTS[:2], waiting])))) as source:
        assert [call.status for call in calls_of(source, "tool")] == ["pending"]


@pytest.mark.parametrize(
    "inner",
    [
        [span("times", "tool", "solver"), span("helper", "agent", "times"), model([ASKED], SAID, "helper", 2.1)],
        [span("helper", "subtask", "solver"), model([ASKED], SAID, "helper", 2.1)],
    ],
    ids=["agent", "subtask"],
)
def test_an_agent_inside_a_tool_has_a_lane(tmp_path: Path, inner: list[dict[str, Any]]) -> None:
    events = [span("solver", "solver"), model((0, 2), CALLS, "solver", 1), tool("solver", 2), *inner,
              model((0, 4), SAID, "solver", 4)]  # fmt: skip
    with closing(open_source(as_json(tmp_path, sample(events)))) as source:
        (run,) = source.runs()
        steps = source.steps(run.id)
        assert [(step.lane, step.parent) for step in steps] == [("main", None), ("helper", 1), ("main", None)]
        assert len(source.state(run.id, 2)["messages"]) == 2
        assert len(source.state(run.id, 3)["messages"]) == 5


def test_what_older_versions_kept_inside_a_tool_is_read_there(tmp_path: Path) -> None:
    begins = {"event": "step", "action": "begin", "type": "agent", "name": "helper", "timestamp": at(2)}
    inner = [begins, model([ASKED], SAID, "", 2.1), {"event": "step", "action": "end"}]
    scorer = begins | {"type": "scorer", "name": "match"}
    events = [
        begins | {"type": "solver"}, model(POOL[:2], CALLS, "", 1), tool("", 2, events=inner),
        model(POOL, SAID, "", 3), {"event": "step", "action": "end"}, scorer, {"event": "score", "score": {"value": 1}},
    ]  # fmt: skip
    for each in events:
        each.pop("span_id", None)
    with closing(open_source(as_json(tmp_path, sample(events)))) as source:
        assert [step.lane for step in source.steps("s1_epoch_1")] == ["main", "helper", "main", "match"]


def test_compaction_shows_what_it_dropped(tmp_path: Path) -> None:
    summary = {"id": "m9", "role": "user", "content": "So far: 17 times 3 was asked."}
    compacts = {"event": "compaction", "type": "summary", "span_id": "react", "timestamp": at(3), "tokens_before": 9000}
    events = [*EVENTS[:3], compacts, model([SYSTEM, summary], SAID, "react", 4)]
    with closing(open_source(as_json(tmp_path, sample(events)))) as source:
        (run,) = source.runs()
        step = source.steps(run.id)[1]
        assert step.name == "compaction"
        assert step.extra["raw_entries"][0]["tokens_before"] == 9000
        before, after = (source.state(run.id, number)["messages"] for number in (1, 2))
        assert [turn["id"] for turn in before] == ["m0", "m1", "m2", "m3"]
        assert [turn["id"] for turn in after] == ["m0", "m9"]
        assert len(source.state(run.id, 3)["messages"]) == 3
        check_source(source)


def test_an_answer_from_a_cache_used_nothing(tmp_path: Path) -> None:
    events = [EVENTS[0], model((0, 2), CALLS, "react", 1, cache="read"), model((0, 4), SAID, "react", 2)]
    with closing(open_source(as_json(tmp_path, sample(events)))) as source:
        assert (source.runs()[0].tokens_in, source.runs()[0].tokens_out) == (50, 5)


@pytest.mark.parametrize(
    ("more", "status"),
    [({"error": {"message": "no key", "traceback": "Traceback …"}}, "failed"),
     ({"limit": {"type": "token", "limit": 100}}, "interrupted"), ({}, "succeeded")],
    ids=["error", "limit", "neither"],
)  # fmt: skip
def test_a_run_ends_as_its_sample_did(tmp_path: Path, more: dict[str, Any], status: str) -> None:
    with closing(open_source(as_json(tmp_path, sample(**more)))) as source:
        (run,) = source.runs()
        assert run.status == status
        assert (run.error is not None) == (status == "failed")


def test_a_sample_without_events_is_its_conversation(tmp_path: Path) -> None:
    with closing(open_source(as_json(tmp_path, sample([])))) as source:
        assert [step.name for step in source.steps("s1_epoch_1")] == ["times", "answer"]
        check_source(source)


def test_not_a_number_is_read_as_python_writes_it(tmp_path: Path) -> None:
    with closing(open_source(as_json(tmp_path, sample(metadata={"weight": float("nan")})))) as source:
        assert source.runs()[0].metadata["metadata"] == {"weight": {"$type": "float", "$v": "nan"}}


# ---------------------------------------------------------------- damage


def test_a_sample_that_unpacks_to_more_than_may_be_read_is_left_out_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspect_ai, "MOST_VALUE_BYTES", 100_000)
    bomb = sample(id="s2", store={"x": " " * 1_000_000})
    for method in (STORED, DEFLATED, ZSTANDARD):
        path = write_zip(tmp_path / "bomb.eval", members(bomb, sample()), method, claimed=10)
        with closing(open_source(path)) as source:
            assert {run.id: run.steps for run in source.runs()} == {"s1_epoch_1": 3, "s2_epoch_1": 0}
            assert source.run("s2_epoch_1").status == "unknown"
            (problem,) = source.verify()
            assert (problem.run, "may still be read" in problem.what) == ("s2_epoch_1", True)
            check_source(source)


@pytest.mark.parametrize("method", [STORED, DEFLATED, ZSTANDARD])
def test_a_damaged_sample_is_named_and_the_others_open(tmp_path: Path, method: int) -> None:
    path = write_zip(tmp_path / "log.eval", members(sample(), sample(id="s2")), method)
    body = bytearray(path.read_bytes())
    body[body.index(b"samples/s2") + 60] ^= 0xFF
    path.write_bytes(body)
    with closing(open_source(path)) as source:
        assert {run.id: run.steps for run in source.runs()} == {"s1_epoch_1": 3, "s2_epoch_1": 0}
        (problem,) = source.verify()
        assert problem.what.startswith("the sample s2_epoch_1 is damaged")


def test_a_sample_that_names_its_messages_without_end_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (inspect_ai, inspect_sample):
        monkeypatch.setattr(module, "MOST_SHOWN", 1000)
    again = [EVENTS[0], {**EVENTS[1], "input_refs": [[0, 4]] * 100_000}]
    with closing(open_source(as_json(tmp_path, sample(again)))) as source:
        assert [problem.what for problem in source.verify()] == ["the sample s1_epoch_1 names its messages too often"]


def test_an_archive_that_breaks_off_is_refused_in_words(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "log.eval", members())
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(StoreUnreadable, match="damaged zip archive"):
        open_source(path)


def test_an_archive_with_too_many_members_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "_MOST_DIRECTORY", 60)
    with pytest.raises(StoreUnreadable, match="too many members"):
        open_source(write_zip(tmp_path / "log.eval", members()))


@pytest.mark.parametrize(
    "inside", [{"a.txt": b"hello"}, {"header.json": b"{"}, {"header.json": b"[1]"}, {"samples/a.json": b"{}"}, {}]
)
def test_another_archive_is_none(tmp_path: Path, inside: dict[str, bytes]) -> None:
    with pytest.raises(NotAStore):
        open_source(write_zip(tmp_path / "some.zip", inside))


def test_an_encrypted_or_unknown_member_is_named(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "log.eval", {**members(), "header.json": json.dumps(HEAD).encode()}, flags=1)
    with pytest.raises(NotAStore, match="zip archive"):
        open_source(path)
    path.write_bytes(path.read_bytes().replace(b"\x14\x00\x01\x00\x08", b"\x14\x00\x00\x00\x63"))
    with pytest.raises(NotAStore, match="zip archive"):
        open_source(path)


def test_strange_values_are_no_traceback(tmp_path: Path) -> None:
    odd: list[Any] = [None, 3, "x", [], {}, [[]], {"event": "model"}, {"event": 7}, [None]]
    for value in odd:
        for key in ("events", "messages", "attachments", "events_data", "id", "epoch", "error", "transcript"):
            with closing(open_source(as_json(tmp_path, sample(**{key: value})))) as source:
                check_source(source)
        for event in EVENTS:
            for key in event:
                changed = {**event, key: value}
                with closing(open_source(as_json(tmp_path, sample([*EVENTS, changed])))) as source:
                    assert source.runs()[0].steps >= 3


def test_a_span_inside_itself_ends(tmp_path: Path) -> None:
    loop = [span("a", "agent", "a"), span("b", "agent", "a"), model((0, 2), SAID, "b", 1)]
    with closing(open_source(as_json(tmp_path, sample(loop)))) as source:
        assert source.runs()[0].steps == 1
