"""Sessions of pi, the coding agent of pi-mono: a line for each entry, as its session manager writes them.

| entry | is |
|---|---|
| `session` | the head: id, folder, provider, model |
| `message` | a turn: `user`, `assistant` (usage, cost and why it stopped beside it) or `toolResult` |
| `compaction` | a summary that takes the place of the conversation so far |
| anything else | shown with the step that it stands in |

Turns are shown in Anthropic's form, which pi's are close to: the call of a tool is `toolCall` with `arguments` there,
and the result of one a message. Whatever else stands in a turn stays in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.interop.transcripts.telling import Teller, micros, wire
from agent_tt.providers.loose import amount, count, items, mapping, text
from agent_tt.providers.shapes import ModelAnswer, Tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.transcript import Transcript
    from agent_tt.providers.shapes import Json

__all__ = ["read_pi"]

_FAILED: Final = "error", "aborted"
_HEAD: Final = "cwd", "provider", "version", "parentSession", "branchedFrom"


def read_pi(document: Document) -> Sequence[Transcript] | None:
    """See `agent_tt.interop.transcripts.source.Format`."""
    if not document.lines:
        return None
    head = document.lines[0].value
    if head.get("type") != "session" or not text(head.get("id")) or "cwd" not in head:
        return None
    teller = Teller(text(head["id"]), "pi")
    lane, model = teller.main, text(head.get("modelId")) or None
    flaws = iter(document.flaws)
    flaw = next(flaws, None)
    for line in document.lines[1:]:
        while flaw is not None and flaw.line < line.number:
            teller.flaw(str(flaw))
            flaw = next(flaws, None)
        entry = line.value
        at_us = micros(entry.get("timestamp"))
        message = mapping(entry.get("message"))
        if entry.get("type") == "message" and message.get("role") == "assistant":
            lane.turn(_turn(message), at_us, answer=_answer(message))
        elif entry.get("type") == "message":
            lane.turn(_turn(message), at_us)
        elif entry.get("type") == "compaction" and text(entry.get("summary")):
            lane.begin_anew("compaction", [wire({"role": "user", "content": text(entry["summary"])})], at_us)
            lane.note(entry)
        else:
            model = text(entry.get("modelId")) or model
            lane.note(entry)
    if flaw is not None:
        teller.flaw(str(flaw))
    metadata = {key: wire(head[key]) for key in _HEAD if key in head}
    return [teller.done(model=model, metadata=metadata)]


def _turn(message: dict[str, Json]) -> dict[str, Json]:
    """A turn in Anthropic's form."""
    if message.get("role") == "toolResult":
        rest = {key: value for key, value in message.items() if key not in ("role", "content", "toolCallId", "isError")}
        block: dict[str, Json] = {
            "type": "tool_result",
            "tool_use_id": message.get("toolCallId"),
            "content": message.get("content"),
            "is_error": message.get("isError") is True,
        }
        return {"role": "user", "content": [block], **rest}
    content = message.get("content")
    return {**message, "content": [_block(each) for each in items(content)] if isinstance(content, list) else content}


def _block(block: Json) -> Json:
    if not isinstance(block, dict) or block.get("type") != "toolCall":
        return block
    rest = {key: value for key, value in block.items() if key not in ("type", "arguments")}
    return {"type": "tool_use", **rest, "input": block.get("arguments")}


def _answer(message: dict[str, Json]) -> ModelAnswer:
    """What pi says of an answer; it counts what was cached apart from `input`."""
    usage = mapping(message.get("usage"))
    fresh, cached, written = (count(usage.get(key)) for key in ("input", "cacheRead", "cacheWrite"))
    reason = text(message.get("stopReason"))
    return ModelAnswer(
        model=text(message.get("model")),
        finish_reason=reason,
        tokens=Tokens(
            input=None if fresh is None else fresh + (cached or 0) + (written or 0),
            output=count(usage.get("output")),
            cached=cached or 0,
            written=written or 0,
        ),
        cost_usd=amount(mapping(usage.get("cost")).get("total")),
        error=(text(message.get("errorMessage")) or reason) if reason in _FAILED else "",
    )
