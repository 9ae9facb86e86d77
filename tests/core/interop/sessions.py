"""Sessions of Claude Code as files, made line by line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

MODEL = "claude-sonnet-4-5"
SESSION = "0b1c2d3e-0000-4000-8000-000000000001"


class Session:
    """The lines of a session; each method adds one, and gives its `uuid`."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def entry(self, kind: str, message: dict[str, Any] | None, after: str | None, **more: Any) -> str:
        number = len(self.lines) + 1
        uuid = f"{number:08x}-0000-4000-8000-000000000000"
        line = {"type": kind, "uuid": uuid, "parentUuid": after, "sessionId": SESSION, "isSidechain": False}
        line |= {"timestamp": f"2026-03-02T10:{number // 60:02}:{number % 60:02}.000Z", "cwd": "/desk", **more}
        self.lines.append(line | ({} if message is None else {"message": message}))
        return uuid

    def says(self, words: str, after: str | None = None, **more: Any) -> str:
        return self.entry("user", {"role": "user", "content": words}, after, **more)

    def answers(self, answer: str, block: dict[str, Any], after: str | None, *, written: int = 5, **more: Any) -> str:
        message = {
            "id": answer,
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": [block],
        }
        usage = {"input_tokens": 10, "cache_read_input_tokens": 100, "output_tokens": written}
        return self.entry("assistant", message | {"usage": usage}, after, **more)

    def calls(self, answer: str, call: str, name: str, given: dict[str, Any], after: str | None, **more: Any) -> str:
        return self.answers(answer, {"type": "tool_use", "id": call, "name": name, "input": given}, after, **more)

    def gives(self, call: str, words: str, after: str | None, *, failed: bool = False, **more: Any) -> str:
        block = {"type": "tool_result", "tool_use_id": call, "content": words, "is_error": failed}
        return self.entry("user", {"role": "user", "content": [block]}, after, **more)

    def text(self) -> str:
        return "".join(json.dumps(line) + "\n" for line in self.lines)

    def write(self, folder: Path, name: str = f"{SESSION}.jsonl") -> Path:
        path = folder / name
        path.write_text(self.text(), encoding="utf-8")
        return path


def words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def about_a_port(question: str, port: str, session_id: str = SESSION, folder: str = "/desk") -> Session:
    """A session that reads a port out of a file, says it, and is compacted."""
    made = Session()
    first = made.says(question)
    read = made.calls("msg_1", "call_1", "Read", {"file_path": "server.toml"}, first)
    given = made.gives("call_1", f"port = {port}", read)
    said = made.answers("msg_2", words(f"The server listens on port {port}."), given)
    compacted = made.entry(
        "system", None, None, subtype="compact_boundary", logicalParentUuid=said, content="Compacted"
    )
    summary = made.says("The port was read.", compacted, isCompactSummary=True)
    made.answers("msg_3", words("What else?"), summary)
    for line in made.lines:
        line |= {"sessionId": session_id, "cwd": folder}
    return made
