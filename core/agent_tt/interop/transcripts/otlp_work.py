"""What a span of OpenTelemetry stands for, in the words of whichever convention it uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.interop.transcripts.otlp_messages import listed, messages_of
from agent_tt.interop.transcripts.spans import AgentWork, ModelWork, ToolWork, parsed
from agent_tt.providers.loose import amount, count, items, text
from agent_tt.providers.prices import cost_of
from agent_tt.providers.shapes import ModelAnswer, Tokens

if TYPE_CHECKING:
    from agent_tt.interop.transcripts.spans import Span
    from agent_tt.providers.shapes import Json

__all__ = ["work_of"]

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


def work_of(span: Span, *, is_outline: bool = False) -> ModelWork | ToolWork | AgentWork | None:
    """What a span stands for, in the words of whichever convention it uses.

    Args:
        span: the span.
        is_outline: leave out what a model was shown, and what a tool was given and gave.
    """
    words = (text(span.says[key]).lower() for key in _KIND_KEYS if key in span.says)
    kind = next((_KINDS[word] for word in words if word in _KINDS), "")
    if kind == "llm":
        return _model_work(span, is_outline=is_outline)
    if kind == "tool":
        name = text(span.first(_TOOLS)) or span.name
        asked_as = text(span.first(_ASKED_AS))
        is_over = span.says.get("agent_tt.call.outcome") != "unknown"
        if is_outline:
            return ToolWork(name, None, None, asked_as, is_over=is_over)
        return ToolWork(name, parsed(span.first(_ARGUMENTS)), parsed(span.first(_RESULTS)), asked_as, is_over=is_over)
    if kind == "agent":
        return AgentWork(text(span.first(_AGENTS)) or span.name)
    return None


def _model_work(span: Span, *, is_outline: bool) -> ModelWork:
    shown: list[dict[str, Json]] = []
    said = listed(span.says.get("gen_ai.output.messages")) if is_outline else []
    if not said:
        shown, said = messages_of(span)
        shown = [] if is_outline else shown
    model = text(span.first(_MODELS))
    model = "" if model == "unknown" else model
    tokens = Tokens(
        input=count(span.first(_READ)), output=count(span.first(_WROTE)), cached=count(span.first(_CACHED)) or 0
    )
    cost = amount(span.first(_COSTS))
    reasons = span.says.get("gen_ai.response.finish_reasons", span.says.get("llm.finish_reason"))
    told = ModelAnswer(
        model=model,
        finish_reason=text(items(reasons)[0]) if items(reasons) else text(reasons),
        tokens=tokens,
        cost_usd=cost_of(model, tokens) if cost is None else cost,
        error=f"{span.error.class_name}: {span.error.message}" if span.error else "",
    )
    return ModelWork(shown, said, told)
