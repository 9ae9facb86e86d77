"""Sessions of OpenCode as runs: what it exports, and the files of its storage."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.conformance.reading import check_source

from agent_tt.interop.transcripts import beside
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.protocols import RunSource

SESSION = "ses_5b1e0a2c7ffe"
AT = 1_770_000_000_000
HEAD = {"id": SESSION, "slug": "calm-otter", "projectID": "global", "directory": "/desk", "version": "1.1.2",
        "title": "Green tests", "time": {"created": AT, "updated": AT + 9_000}}  # fmt: skip
USAGE = {"input": 10, "output": 20, "reasoning": 5, "cache": {"read": 100, "write": 7}}


def part(kind: str, number: int, **more: Any) -> dict[str, Any]:
    return {"id": f"prt_{number:03}", "sessionID": SESSION, "type": kind, **more}


def tool(number: int, call: str, status: str, **state: Any) -> dict[str, Any]:
    times = {"start": AT + 2_000, "end": AT + 3_000}
    return part("tool", number, callID=call, tool="bash",
                state={"status": status, "input": {"command": "pytest"}, "time": times, **state})  # fmt: skip


def finish(number: int, cost: float = 0.25, **usage: Any) -> dict[str, Any]:
    return part("step-finish", number, reason="stop", cost=cost, tokens={**USAGE, **usage})


def user(number: int, *parts: dict[str, Any]) -> dict[str, Any]:
    info = {"id": f"msg_{number:03}", "sessionID": SESSION, "role": "user", "time": {"created": AT + number}}
    return {"info": info, "parts": [*parts]}


def model(number: int, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    info = {"id": f"msg_{number:03}", "sessionID": SESSION, "role": "assistant", "modelID": "claude-sonnet-4-5",
            "providerID": "anthropic", "time": {"created": AT + 1_000, "completed": AT + 4_000}, "cost": 9,
            "tokens": {**USAGE, "input": 77}}  # fmt: skip
    return {"info": info | more, "parts": [*parts]}


MESSAGES = [
    user(1, part("text", 1, text="Are the tests green?"), part("agent", 2, name="build")),
    model(2, part("step-start", 3), part("reasoning", 4, text="I look."), part("text", 5, text="I will look."),
          tool(6, "c1", "error", error="3 failed"), tool(7, "c2", "completed", output="x = 1", title="t"),
          finish(8), part("patch", 9, hash="h", files=["a.py"]),
          part("step-start", 10), part("text", 11, text="No."), finish(12, 0.5, total=142)),
    user(3, part("text", 13, text="Fix them.", synthetic=False)),
    model(4, tool(14, "c3", "running"), error={"name": "APIError", "data": {"message": "overloaded"}}),
]  # fmt: skip


def exported(folder: Path, messages: list[Any]) -> RunSource:
    path = folder / "export.json"
    path.write_text(json.dumps({"info": HEAD, "messages": messages}))
    return open_source(path)


def stored(folder: Path) -> Path:
    """The same session in a storage; gives the file to open."""
    path = folder / "storage" / "session" / "global" / f"{SESSION}.json"
    files: dict[Path, Any] = {path: HEAD}
    for message in MESSAGES:
        name = message["info"]["id"]
        files[folder / "storage" / "message" / SESSION / f"{name}.json"] = message["info"]
        for each in message["parts"]:
            files[folder / "storage" / "part" / name / f"{each['id']}.json"] = each
    for each, value in files.items():
        each.parent.mkdir(parents=True, exist_ok=True)
        each.write_text(json.dumps(value))
    return path


@pytest.mark.parametrize("keeps", ["export", "storage"])
def test_a_session_of_opencode_is_a_run_from_its_export_and_from_its_storage(tmp_path: Path, keeps: str) -> None:
    with closing(exported(tmp_path, MESSAGES) if keeps == "export" else open_source(stored(tmp_path))) as source:
        (run,) = source.runs()
        assert (run.id, run.facts.title, run.model.model) == (SESSION, "Green tests", "claude-sonnet-4-5")
        first, second, said, third = source.steps(SESSION)
        assert (first.name, first.tokens_in, first.tokens_out, first.cost_usd) == ("bash ×2", 117, 20, 0.25)
        assert (second.decision, second.tokens_in, second.tokens_out, second.cost_usd) == ("No.", 117, 25, 0.5)
        assert (said.kind, said.decision) == ("human", "Fix them.")
        assert (third.status, third.error.message, third.tokens_in, third.cost_usd) == ("error", "overloaded", 184, 9)
        _, failed, fine = source.calls(SESSION, 1)
        assert (failed.args, failed.status, failed.error.message) == ({"command": "pytest"}, "error", "3 failed")
        assert (fine.status, fine.result, fine.duration_us) == ("ok", "x = 1", 1_000_000)
        assert [call.status for call in source.calls(SESSION, 4)] == ["error", "pending"]
        kinds = ["step-start", "tool", "tool", "step-finish", "patch"]
        assert [entry["type"] for entry in first.facts.raw_entries] == kinds
        assert second.facts.raw_entries[-1]["providerID"] == "anthropic"
        assert [turn["role"] for turn in source.state(SESSION, 2)["messages"]] == [
            "user", "assistant", "user", "user", "assistant",
        ]  # fmt: skip
        assert source.verify() == []
        check_source(source)


def test_a_summary_takes_the_place_of_the_conversation(tmp_path: Path) -> None:
    summary = model(5, part("text", 20, text="Three fail."), summary=True)
    with closing(exported(tmp_path, [*MESSAGES[:2], user(4, part("compaction", 19, auto=True)), summary])) as source:
        assert [step.name for step in source.steps(SESSION)][2:] == ["answer", "compaction"]
        (kept,) = source.state(SESSION, 4)["messages"]
        assert kept == {"role": "assistant", "content": [{"type": "text", "text": "Three fail."}]}


def test_files_of_a_storage_that_cannot_be_read_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = stored(tmp_path)
    outside = tmp_path / "secret.json"
    outside.write_text(json.dumps(part("text", 99, text="outside")))
    parts = tmp_path / "storage" / "part" / "msg_001"
    (parts / "prt_099.json").symlink_to(outside)
    (parts / "prt_098.json").write_text("{")
    with closing(open_source(path)) as source:
        assert [problem.what[:27] for problem in source.verify()] == [
            "msg_001/prt_098.json is lef", "msg_001/prt_099.json is lef",
        ]  # fmt: skip
        assert "outside" not in json.dumps(source.state(SESSION, 0))
    monkeypatch.setattr(beside, "_MOST_FILES", 3)
    with closing(open_source(path)) as source:
        assert f"{SESSION}/msg_004.json" in str(source.verify())
        assert source.runs()[0].steps == 0


def test_a_session_names_no_other_folder(tmp_path: Path) -> None:
    path = stored(tmp_path)
    path.write_text(json.dumps(HEAD | {"id": "../../../x"}))
    with pytest.raises(Exception, match="not a store of runs"):
        open_source(path)


@pytest.mark.parametrize("value", [None, 7, [None, {}], {"type": "tool", "state": 3}, "x", {"cache": 1, "data": 2}])
@pytest.mark.parametrize("place", ["time", "role", "tokens", "error", "summary", "state", "callID", "type", "text"])
def test_messages_of_opencode_of_any_shape_open(tmp_path: Path, place: str, value: object) -> None:
    odd = model(2, *({**each, place: value} for each in MESSAGES[1]["parts"]), **{place: value})
    with closing(exported(tmp_path, [MESSAGES[0], odd, MESSAGES[1]])) as source:
        check_source(source)


def test_a_message_that_is_added_to_a_storage_is_seen(tmp_path: Path) -> None:
    path = stored(tmp_path)
    with closing(open_source(path)) as source:
        before, (run,) = source.version(), source.runs()
        said = model(9, part("text", 90, text="Yes."))
        info = {**said["info"], "id": "msg_009"}
        (tmp_path / "storage" / "message" / SESSION / "msg_009.json").write_text(json.dumps(info))
        parts = tmp_path / "storage" / "part" / "msg_009"
        parts.mkdir()
        (parts / "prt_090.json").write_text(json.dumps(said["parts"][0]))
        assert source.version() != before
        assert source.runs()[0].steps == run.steps + 1
