"""Makers of large files of other programs: a session of Claude Code, and traces of OpenTelemetry."""

from __future__ import annotations

import json
import random
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["session_lines", "trace_lines", "write_lines"]

_WORDS: Final = re.findall(
    r"\w+",
    "refund policy order customer shipping delay agent tool search result document answer question invoice account "
    "def return import class self test assert path error value string number file line module build deploy branch",
)
_KINDS: Final = ("Bash", "Read", "Grep", "Edit")


def write_lines(path: Path, lines: Iterator[dict[str, Any]]) -> Path:
    """Write values as a file, one on each line."""
    with path.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(json.dumps(line) + "\n")
    return path


def session_lines(lines: int, result_bytes: int = 4_000) -> Iterator[dict[str, Any]]:
    """The lines of a session of Claude Code.

    One in 40 turns is a person's; the others are an answer in two lines, that says something and calls a tool, and the
    tool's result, which is written twice, as the program does.

    Args:
        lines: how many.
        result_bytes: length of a result of a tool, on average.
    """
    drawn = random.Random(1)
    before: str | None = None
    for number in range(lines):
        turn, part = divmod(number, 3)
        call, more = f"toolu_{turn:08}", dict[str, Any]()
        if part == 2:
            words = _text(drawn, drawn.randint(0, 2 * result_bytes))
            block = {"type": "tool_result", "tool_use_id": call, "content": words}
            message: dict[str, Any] = {"role": "user", "content": [block]}
            more = {"toolUseResult": {"stdout": words, "stderr": "", "interrupted": False}}
        elif turn % 40 == 0 and part == 0:
            message = {"role": "user", "content": _text(drawn, 200)}
        else:
            asked = {"command": _text(drawn, 80), "description": _text(drawn, 30)}
            said = {"type": "tool_use", "id": call, "name": _KINDS[turn % len(_KINDS)], "input": asked}
            usage = {"input_tokens": 5, "cache_read_input_tokens": 20_000 + 100 * turn, "output_tokens": 80}
            message = {
                "id": f"msg_{turn:08}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
                "content": [{"type": "text", "text": _text(drawn, 150)} if part == 0 else said], "usage": usage,
            }  # fmt: skip
        uuid = f"{number:08x}-0000-4000-8000-000000000000"
        yield {
            "parentUuid": before, "isSidechain": False, "userType": "external", "cwd": "/desk/project",
            "sessionId": "0b1c2d3e-0000-4000-8000-000000000001", "version": "2.0.14", "gitBranch": "main",
            "type": message["role"], "message": message, "uuid": uuid,
            "timestamp": f"2026-03-{2 + turn // 2880:02}T{turn // 120 % 24:02}:{turn // 2 % 60:02}:{part * 10:02}.000Z",
            **more,
        }  # fmt: skip
        before = uuid


def trace_lines(spans: int, traces: int, spans_a_line: int = 200) -> Iterator[dict[str, Any]]:
    """Requests of OTLP/JSON with spans of agents, model calls and tools, with what was said.

    Args:
        spans: how many in all.
        traces: how many they belong to, one after another.
        spans_a_line: how many are in a request.
    """
    drawn = random.Random(1)
    waiting: list[dict[str, Any]] = []
    of_one = -(-spans // traces)
    for number in range(spans):
        trace, own = divmod(number, of_one)
        waiting.append(_span(drawn, trace, own))
        if len(waiting) == spans_a_line or number == spans - 1:
            resource = {"attributes": [_attribute("service.name", "desk")]}
            yield {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": waiting}]}]}
            waiting = []


def _span(drawn: random.Random, trace: int, own: int) -> dict[str, Any]:
    at = 1_770_000_000_000_000_000 + (trace * 10**6 + own) * 10**9
    call = f"call_{own // 2}"
    says: dict[str, Any] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk"}
    if own % 2:
        shown = [{"role": "user", "parts": [{"type": "text", "content": _text(drawn, 150)}]}]
        part = {"type": "tool_call", "id": call, "name": "search", "arguments": {"query": _text(drawn, 30)}}
        said = [{"role": "assistant", "parts": [part], "finish_reason": "tool_call"}]
        says = {
            "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5-mini", "gen_ai.usage.input_tokens": 900,
            "gen_ai.usage.output_tokens": 40, "gen_ai.input.messages": json.dumps(shown),
            "gen_ai.output.messages": json.dumps(said),
        }  # fmt: skip
    elif own:
        says = {
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search",
            "gen_ai.tool.call.id": f"call_{(own - 1) // 2}",
            "gen_ai.tool.call.arguments": json.dumps({"query": _text(drawn, 30)}),
            "gen_ai.tool.call.result": _text(drawn, 300),
        }  # fmt: skip
    return {
        "traceId": f"{trace + 1:032x}", "spanId": f"{own + 1:016x}", "parentSpanId": f"{1:016x}" if own else "",
        "name": f"{says['gen_ai.operation.name']} desk", "kind": 1, "startTimeUnixNano": str(at),
        "endTimeUnixNano": str(at + 9 * 10**8), "attributes": [_attribute(key, value) for key, value in says.items()],
    }  # fmt: skip


def _attribute(key: str, value: str | int) -> dict[str, Any]:
    return {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}


def _text(drawn: random.Random, characters: int) -> str:
    return " ".join(drawn.choices(_WORDS, k=max(1, characters // 7)))
