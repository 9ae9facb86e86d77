"""What a span of OpenTelemetry stands for, in the words of whichever convention it uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from agent_tt.interop.transcripts.otlp_messages import listed, messages_of
from agent_tt.interop.transcripts.otlp_spans import attributes_of, failure_of, outline_of, span_of
from agent_tt.interop.transcripts.spans import AgentWork, ModelWork, ToolWork, first_of, parsed
from agent_tt.interop.transcripts.spans_later import Head, NotInParts
from agent_tt.interop.transcripts.telling import LONGEST_DECISION, decision_of, results_in
from agent_tt.providers.loose import amount, count, items, text
from agent_tt.providers.prices import cost_of
from agent_tt.providers.reading import messages_of_turn
from agent_tt.providers.shapes import ModelAnswer, Tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.interop.transcripts.spans import Span
    from agent_tt.model import ErrorInfo
    from agent_tt.providers.shapes import Json

__all__ = ["head_of", "work_of"]

_KINDS: Final = {
    "chat": "llm",
    "text_completion": "llm",
    "generate_content": "llm",
    "completion": "llm",
    "llm": "llm",
    "execute_tool": "tool",
    "tool": "tool",
    "invoke_agent": "agent",
    "create_agent": "agent",
    "agent": "agent",
    "ai.generatetext.dogenerate": "llm",
    "ai.streamtext.dostream": "llm",
    "ai.generateobject.dogenerate": "llm",
    "ai.streamobject.dostream": "llm",
    "ai.toolcall": "tool",
}
_KIND_KEYS: Final = (
    "gen_ai.operation.name",
    "openinference.span.kind",
    "traceloop.span.kind",
    "llm.request.type",
    "ai.operationId",
)
_ARGUMENTS: Final = (
    "gen_ai.tool.call.arguments",
    "tool_arguments",
    "input.value",
    "traceloop.entity.input",
    "ai.toolCall.args",
)
_RESULTS: Final = (
    "gen_ai.tool.call.result",
    "tool_response",
    "output.value",
    "traceloop.entity.output",
    "ai.toolCall.result",
)
_MODELS: Final = "gen_ai.response.model", "gen_ai.request.model", "llm.model_name"
_READ: Final = (
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt",
    "ai.usage.inputTokens",
)
_WROTE: Final = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
    "ai.usage.outputTokens",
)
_CACHED: Final = (
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.usage.cache_read_input_tokens",
    "llm.token_count.prompt_details.cache_read",
)
_TOOLS: Final = "gen_ai.tool.name", "tool.name", "traceloop.entity.name", "ai.toolCall.name"
_ASKED_AS: Final = "gen_ai.tool.call.id", "tool_call.id", "ai.toolCall.id"
_AGENTS: Final = "gen_ai.agent.name", "agent_name", "traceloop.entity.name", "agent.name"
_COSTS: Final = "operation.cost", "gen_ai.usage.cost", "llm.cost.total"


def work_of(span: Span) -> ModelWork | ToolWork | AgentWork | None:
    """What a span stands for, in the words of whichever convention it uses."""
    says = span.says
    kind = _kind_of(says)
    if kind == "llm":
        model, tokens, cost = _used(says)
        reasons = says.get("gen_ai.response.finish_reasons", says.get("llm.finish_reason"))
        told = ModelAnswer(
            model=model,
            finish_reason=text(items(reasons)[0]) if items(reasons) else text(reasons),
            tokens=tokens,
            cost_usd=cost,
            error=_error_in(span.error),
        )
        return ModelWork(*messages_of(span), told)
    if kind == "tool":
        given, gave = parsed(first_of(says, _ARGUMENTS)), parsed(first_of(says, _RESULTS))
        return ToolWork(_tool_in(says, span.name), given, gave, text(first_of(says, _ASKED_AS)), is_over=_is_over(says))
    return _agent_in(says, span.name) if kind == "agent" else None


def head_of(given: dict[str, Json]) -> Head:
    """What a list of steps shows of a span as it stands in JSON.

    Raises:
        NotInParts: it gives results of tools in what it says.
    """
    says = attributes_of(given)
    kind = _kind_of(says)
    head = Head(*outline_of(given))
    if kind == "tool":
        head.kind, head.name = "tool", _tool_in(says, text(given.get("name")))
        head.asked_as, head.is_over = text(first_of(says, _ASKED_AS)), _is_over(says)
    elif kind == "agent":
        head.agent = _agent_in(says, text(given.get("name")))
    elif kind == "llm":
        head.kind, head.error = "llm", _error_in(failure_of(given, says))
        head.model, tokens, head.cost_usd = _used(says)
        head.tokens = tokens.input, tokens.output
        said = _said_plainly(says.get("gen_ai.output.messages"))
        head.asked, head.decision = _said_in(given) if said is None else said
    return head


def _said_plainly(written: Json) -> tuple[list[tuple[str, str]], str | None] | None:
    """The tools that an answer asks for and what it says in a line, where it is only of these; None of any other."""
    try:
        messages = orjson.loads(written) if isinstance(written, str) else None
    except orjson.JSONDecodeError:
        return None
    message = messages[0] if isinstance(messages, list) and messages else None
    if not isinstance(message, dict) or message.get("role") != "assistant":
        return None
    words: list[str] = []
    asked: list[tuple[str, str]] = []
    parts = message.get("parts")
    for part in parts if isinstance(parts, list) else ():
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "tool_call":
            asked.append((text(part.get("id")), text(part.get("name"))))
        elif kind == "text":
            words.append(text(part.get("content")))
        else:
            return None
    if not words and not asked:
        return None
    said = " ".join("\n".join(filter(None, words))[:LONGEST_DECISION].split())
    return asked, said or ", ".join(name for _, name in asked)[:LONGEST_DECISION] or None


def _said_in(given: dict[str, Json]) -> tuple[list[tuple[str, str]], str | None]:
    """The same of any answer."""
    span = span_of(given)
    said = listed(span.says.get("gen_ai.output.messages")) or messages_of(span)[1]
    turn: dict[str, Json] = said[0] if said else {"role": "assistant", "content": None}
    if results_in(turn):
        raise NotInParts("it matters what was said before")
    messages = messages_of_turn(turn)
    return [(call.id, call.name) for each in messages for call in each.calls], decision_of(messages)


def _kind_of(says: Mapping[str, Json]) -> str:
    for key in _KIND_KEYS:
        word = says.get(key)
        kind = _KINDS.get(word.lower()) if isinstance(word, str) else None
        if kind is not None:
            return kind
    return ""


def _used(says: Mapping[str, Json]) -> tuple[str, Tokens, float | None]:
    """The model, the tokens, and what they cost."""
    model = text(first_of(says, _MODELS))
    model = "" if model == "unknown" else model
    cached = count(first_of(says, _CACHED)) or 0
    tokens = Tokens(input=count(first_of(says, _READ)), output=count(first_of(says, _WROTE)), cached=cached)
    cost = amount(first_of(says, _COSTS))
    return model, tokens, cost_of(model, tokens) if cost is None else cost


def _tool_in(says: Mapping[str, Json], named: str) -> str:
    return text(first_of(says, _TOOLS)) or named


def _is_over(says: Mapping[str, Json]) -> bool:
    return says.get("agent_tt.call.outcome") != "unknown"


def _agent_in(says: Mapping[str, Json], named: str) -> AgentWork:
    return AgentWork(text(first_of(says, _AGENTS)) or named)


def _error_in(error: ErrorInfo | None) -> str:
    return f"{error.class_name}: {error.message}" if error else ""
