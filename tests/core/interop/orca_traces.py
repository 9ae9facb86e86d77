"""Traces of OrcaReplay as files, in the two shapes that it writes: with what was sent and came, and without."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ASKED", "event", "events", "events_without_bytes", "write"]

ASKED: dict[str, Any] = {"role": "user", "content": "Which port?"}
CALLED: dict[str, Any] = {
    "role": "assistant", "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a.toml"}'}}],
}  # fmt: skip


def event(seq: int, kind: str, turn: int, attrs: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    stamp = {"ts": f"2026-09-02T02:52:{seq:02}.500Z", "mono_us": seq * 1_000_000}
    return {"seq": seq, **stamp, "turn": turn, "type": kind, "actor": "orca", "attrs": attrs or {}, **more}


def asked(*turns: dict[str, Any]) -> str:
    return json.dumps({"model": "gpt-5-mini", "messages": [*turns]})


def answered(turn: dict[str, Any], read: int, wrote: int) -> str:
    return json.dumps({
        "id": "r", "object": "chat.completion", "model": "gpt-5-mini-2026-03-17",
        "choices": [{"index": 0, "message": turn, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": read, "completion_tokens": wrote},
    })  # fmt: skip


def events() -> list[dict[str, Any]]:
    """A run that asks a model twice, with a tool in between, and ends well."""
    sent = {"model": "gpt-5-mini", "dialect": "openai", "path": "/v1/chat/completions"}
    told = {"role": "tool", "tool_call_id": "c1", "content": "port = 8080"}
    done = {"role": "assistant", "content": "8080."}
    return [
        event(0, "run.start", 0, {"adapter": "node"}),
        event(1, "fs.snapshot", 0, {"tree": "8013b713", "initial": True}),
        event(2, "model.request", 1, sent, payload=asked(ASKED)),
        event(3, "model.response", 1, {"status": 200, "input_tokens": 40, "output_tokens": 6},
              payload=answered(CALLED, 40, 6)),
        event(4, "tool.call", 1, {"tool_use_id": "c1", "name": "read", "input": {"path": "a.toml"}}, causes=[3]),
        event(5, "tool.result", 2, {"tool_use_id": "c1", "name": "read", "is_error": False}, payload="port = 8080",
              causes=[4]),
        event(6, "model.request", 2, sent, payload=asked(ASKED, CALLED, told), causes=[5]),
        event(7, "fs.snapshot", 2, {"tree": "48a7bdaf"}),
        event(8, "model.response", 2, {"status": 200}, payload=answered(done, 60, 2)),
        event(9, "run.end", 2, {"exit_code": 0}),
    ]  # fmt: skip


def events_without_bytes() -> list[dict[str, Any]]:
    """A run of which only is kept what was counted; its tests fail."""
    return [
        event(0, "run.start", 0),
        event(1, "model.request", 1, {"model": "claude-opus-5", "messages": 9}),
        event(2, "model.response", 1, {"stop_reason": "tool_use", "input_tokens": 6120, "output_tokens": 188},
              causes=[1]),
        event(3, "tool.call", 1, {"name": "edit_file", "path": "src/auth.ts"}, causes=[2]),
        event(4, "shell.exec", 1, {"argv": ["npm", "test"]}, causes=[3]),
        event(5, "shell.result", 1, {"exit_code": 1}, payload="1 failed", causes=[4]),
        event(6, "error", 1, {"kind": "test_failure", "failed": 1}, causes=[5]),
        event(7, "gateway.invented", 1, {"a": 1}),
        event(8, "run.end", 1, {"exit_code": 1}),
    ]  # fmt: skip


def write(folder: Path, told: list[dict[str, Any]], *, spilled: int = 1 << 30, end: str = "\n") -> Path:
    """The folder of a run; payloads above `spilled` characters are blobs."""
    folder.mkdir(parents=True)
    lines = []
    for each in told:
        payload = each.get("payload")
        if isinstance(payload, str) and len(payload) > spilled:
            digest = hashlib.sha256(payload.encode()).hexdigest()
            place = folder / "blobs" / digest[:2] / digest
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(payload)
            each = {**each, "payload": {"$blob": f"sha256:{digest}", "bytes": len(payload)}}
        lines.append(json.dumps(each))
    body = "\n".join(lines) + end
    (folder / "events.jsonl").write_text(body)
    integrity = {"events_sha256": hashlib.sha256(body.encode()).hexdigest()}
    manifest = {"schema_version": "0.1.0", "run_id": "run_35bb6b7dc8a0", "cwd": "/desk", "integrity": integrity}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder
