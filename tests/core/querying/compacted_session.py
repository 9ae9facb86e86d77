"""A session of Claude Code that was compacted between the results and the answer; every word of it is made up."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

RULE = "Only supervisors may refund orders above 500 euros."


def write_session(path: Path, *, reads_again: bool = True) -> Path:
    """Write the session; one that does not read the policy again after the compaction answers otherwise."""
    lines: list[Any] = []

    def add(**entry: Any) -> None:
        before = lines[-1]["uuid"] if lines else None
        number = len(lines)
        lines.append({
            "parentUuid": before, "isSidechain": False, "cwd": "/home/u/shop", "version": "2.0.1", "uuid": f"u{number}",
            "sessionId": path.stem, "timestamp": f"2026-11-01T10:{number // 60:02}:{number % 60:02}Z", **entry,
        })  # fmt: skip

    def answered(content: list[Any]) -> None:
        message = {"id": f"msg_{len(lines)}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
                   "content": content, "usage": {"input_tokens": 100, "output_tokens": 5}}  # fmt: skip
        add(type="assistant", requestId=f"req_{len(lines)}", message=message)

    def called(name: str, arguments: Any, result: str) -> None:
        call = f"toolu_{len(lines)}"
        answered([{"type": "tool_use", "id": call, "name": name, "input": arguments}])
        content = [{"type": "tool_result", "tool_use_id": call, "content": result}]
        add(type="user", message={"role": "user", "content": content})

    add(type="user", message={"role": "user", "content": "Which port does the shop use, and who may refund?"})
    called("Read", {"file_path": "config.toml"}, 'port = 8081\nhost = "shop.internal"')
    called("Grep", {"pattern": "refund"}, f"policy.md:12: {RULE}\nREADME.md:3: Refunds: {RULE}")
    called("Bash", {"command": "cat policy.md"}, f"Policy\n{RULE}\nAll others up to 50 euros.")
    compact = {"trigger": "auto", "preTokens": 155_000}
    add(type="system", subtype="compact_boundary", content="Conversation compacted", compactMetadata=compact)
    lines[-1] |= {"logicalParentUuid": lines[-1]["parentUuid"], "parentUuid": None}
    summary = "This session is being continued.\nThe user asked for the port and refunds. The port is 8081."
    add(type="user", isCompactSummary=True, message={"role": "user", "content": summary})
    if reads_again:
        called("Read", {"file_path": "policy.md"}, RULE)
    answered([{"type": "text", "text": f"The shop uses port 8081. {RULE if reads_again else 'Anyone may refund.'}"}])
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return path
