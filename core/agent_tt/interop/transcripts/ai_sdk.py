"""Results of Vercel's AI SDK, as a program writes them down: what `generateText` gives, as JSON.

An object with `steps`, each an answer of a model with `toolCalls` and `toolResults` (since version 5 also as parts of
its `content`), its `usage`, and when it came in `response`. `messages` beside them are what was asked.

Source of the format: `GenerateTextResult` and `StepResult` of github.com/vercel/ai.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.interop.transcripts.telling import Teller, micros, wire
from agent_tt.model import Usage
from agent_tt.providers.loose import count, dicts, mapping, text
from agent_tt.providers.prices import cost_of
from agent_tt.providers.shapes import ModelAnswer, Tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.transcript import Transcript
    from agent_tt.providers.shapes import Json

__all__ = ["read_ai_sdk"]

_SAYS: Final = "toolCalls", "toolResults", "finishReason", "response"


def read_ai_sdk(document: Document) -> Sequence[Transcript] | None:
    """Read a result of Vercel's AI SDK as a run; None where the document has another format."""
    whole = mapping(document.value)
    steps = dicts(whole.get("steps"))
    if not steps or not all(sum(key in step for key in _SAYS) >= 2 for step in steps):
        return None
    teller = Teller(document.path.stem, "AI SDK")
    for turn in dicts(whole.get("messages")):
        teller.main.turn(turn)
    for step in steps:
        _tell(teller, step)
    model = text(mapping(steps[-1].get("response")).get("modelId")) or None
    tokens = _tokens(mapping(whole.get("totalUsage")))
    known = any(step.usage.tokens_in for step in teller.steps)
    return [teller.done(model=model, usage=None if known else Usage(tokens.input, tokens.output))]


def _tell(teller: Teller, step: dict[str, Json]) -> None:
    lane, about = teller.main, mapping(step.get("response"))
    parts, at_us = dicts(step.get("content")), micros(about.get("timestamp"))
    called = dicts(step.get("toolCalls")) or [part for part in parts if part.get("type") == "tool-call"]
    came = dicts(step.get("toolResults")) or [part for part in parts if part.get("type") == "tool-result"]
    failed = [part for part in parts if part.get("type") == "tool-error"]
    words = text(step.get("text")) or "\n".join(text(part.get("text")) for part in parts if part.get("type") == "text")
    if words or called or not came:  # older versions have a step for what tools gave
        tokens, model = _tokens(mapping(step.get("usage"))), text(about.get("modelId"))
        asked: list[Json] = [
            {"id": each.get("toolCallId"), "type": "function",
             "function": {"name": each.get("toolName"), "arguments": each.get("input", each.get("args"))}}
            for each in called
        ]  # fmt: skip
        turn: dict[str, Json] = {"role": "assistant", "content": words or None}
        if asked:
            turn["tool_calls"] = asked
        reason = step.get("finishReason")
        known = ModelAnswer(
            model=model,
            finish_reason=text(mapping(reason).get("unified")) or text(reason),
            tokens=tokens,
            cost_usd=cost_of(model, tokens),
        )
        lane.turn(turn, at_us, answer=known)
    for each in (*came, *failed):
        asked_as, is_error = text(each.get("toolCallId")), each.get("type") == "tool-error"
        content = each.get("error") if is_error else each.get("output", each.get("result"))
        lane.result(asked_as, wire(content), at_us, failed=is_error, name=text(each.get("toolName")))
        lane.add({"role": "tool", "tool_call_id": asked_as, "content": content}, at_us)
    rest: dict[str, Json] = {
        key: value for key, value in step.items() if key in ("warnings", "providerMetadata", "sources") and value
    }
    if rest:
        lane.note(rest)


def _tokens(usage: dict[str, Json]) -> Tokens:
    read, wrote = ([count(usage.get(key)) for key in keys] for keys in
                   (("inputTokens", "promptTokens"), ("outputTokens", "completionTokens")))  # fmt: skip
    return Tokens(
        input=next((each for each in read if each is not None), None),
        output=next((each for each in wrote if each is not None), None),
        cached=count(usage.get("cachedInputTokens")) or 0,
        reasoning=count(usage.get("reasoningTokens")) or 0,
    )
