"""Logs of agentrr, 1.0: a header, then a line for each event (`agentrr_core.schema.events` of version 0.1.0a3).

| event | is |
|---|---|
| `llm_call` | a step, in the form of OpenAI's chats |
| `tool_call` | a call of the step whose model asked for a tool of that name, else a step of its own |
| `run_end` | whether the run succeeded |
| anything else | shown with the step that it stands in |

An event says when it was written down, not when it began. Its hashes are not checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.interop.transcripts.spans import ModelWork, Remark, Span, ToolWork, TraceTelling
from agent_tt.interop.transcripts.telling import micros, wire
from agent_tt.model import ErrorInfo
from agent_tt.providers.loose import dicts, items, mapping, text
from agent_tt.providers.shapes import ModelAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.transcript import Transcript
    from agent_tt.model import RunStatus
    from agent_tt.providers.shapes import Json

__all__ = ["read_agentrr"]

_HEAD: Final[tuple[str, ...]] = ("entrypoint", "sdk_version", "agent_code_fingerprint", "initial_input")
_OUTCOMES: Final[dict[str, RunStatus]] = {"ok": "succeeded", "error": "failed"}


def read_agentrr(document: Document) -> Sequence[Transcript] | None:
    """Read a log of agentrr as its run; None where the document has another format."""
    head = document.lines[0].value if document.lines else {}
    if head.get("kind") != "header" or "log_format_version" not in head or not text(head.get("run_id")):
        return None
    telling = TraceTelling(text(head["run_id"]), {}, "agentrr")
    status: RunStatus = "unknown"
    flaws = [*document.flaws]
    for line in document.lines[1:]:
        while flaws and flaws[0].line < line.number:
            telling.teller.flaw(str(flaws.pop(0)))
        event = line.value
        if event.get("type") == "run_end":
            status = _OUTCOMES.get(text(mapping(event.get("request")).get("status")), "unknown")
        telling.tell(_span(event), is_of_models=True)
    for flaw in flaws:
        telling.teller.flaw(str(flaw))
    facts = {key: wire(head[key]) for key in _HEAD if head.get(key) is not None}
    return [telling.teller.done(status=status, model=telling.model or None, metadata=facts)]


def _span(event: dict[str, Json]) -> Span:
    asked, came, failed = (mapping(event.get(key)) for key in ("request", "response", "error"))
    error = ErrorInfo(text(failed.get("type")) or "Error", text(failed.get("message"))) if failed else None
    span = Span("", "", "", text(event.get("type")), None, micros(event.get("ts_wall")), {}, error)
    if event.get("type") == "llm_call":
        said: dict[str, Json] = {"role": "assistant", "content": came.get("content")}
        calls = items(came.get("tool_calls"))
        answer = ModelAnswer(
            model=text(asked.get("model")),
            finish_reason=text(came.get("finish_reason")),
            error=error.short if error is not None else "",
        )
        turns = [said | ({"tool_calls": calls} if calls else {})] if came else []
        span.does = ModelWork(dicts(asked.get("messages")), turns, answer)
    elif event.get("type") == "tool_call":
        given = mapping(asked.get("arguments"))
        named = (
            given.get("kwargs") if given.keys() == {"args", "kwargs"} and not given["args"] else asked.get("arguments")
        )
        span.does = ToolWork(text(asked.get("name")) or "tool", named, came.get("value"))
    else:
        span.does = Remark(event)
    return span
