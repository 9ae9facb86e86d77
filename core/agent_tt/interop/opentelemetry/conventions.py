"""Calls and agents in the names of OpenTelemetry's semantic conventions for generative AI (1.41).

Source of the names: <https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/>. What was asked and
answered, and what tools were given and gave back, is content: it is said only where that is asked for, as the
conventions want it. What is not known is left out.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import orjson

from agent_tt._dataclass import dataclass
from agent_tt.providers.loose import count, mapping, text
from agent_tt.providers.model_talk import ModelTalks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, ErrorInfo
    from agent_tt.providers.shapes import Json, Message, ModelCall

__all__ = ["Attribute", "Told", "error_type", "told_agent", "told_call"]

Attribute = str | bool | int | float | list[str]
"""What an attribute of a span may be."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a span says of one thing.

    Attributes:
        name: the span's name.
        leaves: whether another system was asked: the span's kind is CLIENT, else INTERNAL.
        attributes: by name.
        failed: why it failed in words, "" where it did not.
    """

    name: str
    leaves: bool
    attributes: dict[str, Attribute] = field(default_factory=dict)
    failed: str = ""


_OPERATIONS: Final = {"gemini": "generate_content", "openai-completions": "text_completion"}
_PROVIDERS: Final = {
    "anthropic": "anthropic",
    "bedrock": "aws.bedrock",
    "cohere": "cohere",
    "gemini": "gcp.gemini",
    "openai-chat": "openai",
    "openai-completions": "openai",
    "openai-realtime": "openai",
    "openai-responses": "openai",
}
"""The provider whose form a request has, where its host says nothing else."""

_HOSTS: Final = {
    "aiplatform.googleapis.com": "gcp.vertex_ai",
    "amazonaws.com": "aws.bedrock",
    "api.deepseek.com": "deepseek",
    "api.groq.com": "groq",
    "api.mistral.ai": "mistral_ai",
    "api.perplexity.ai": "perplexity",
    "api.x.ai": "x_ai",
    "inference.ai.azure.com": "azure.ai.inference",
    "openai.azure.com": "azure.ai.openai",
}
"""By the end of the host's name."""

_PARAMETERS: Final[dict[str, tuple[str, ...]]] = {
    "gen_ai.request.choice.count": ("n", "candidateCount"),
    "gen_ai.request.frequency_penalty": ("frequency_penalty", "frequencyPenalty"),
    "gen_ai.request.max_tokens": (
        "max_tokens",
        "max_completion_tokens",
        "max_output_tokens",
        "maxOutputTokens",
        "maxTokens",
    ),
    "gen_ai.request.presence_penalty": ("presence_penalty", "presencePenalty"),
    "gen_ai.request.seed": ("seed",),
    "gen_ai.request.temperature": ("temperature",),
    "gen_ai.request.top_k": ("top_k", "topK", "k"),
    "gen_ai.request.top_p": ("top_p", "topP", "p"),
}
"""By attribute the names that providers have for it."""

_STOPS: Final = ("stop", "stop_sequences", "stopSequences")
_GROUPS: Final = ("generationConfig", "inferenceConfig", "config")
"""Where providers keep parameters together."""

_BAD: Final = 400
_OTHER: Final = "_OTHER"
"""OpenTelemetry's word for what is none of the values that a convention lists."""

_UNSAID: Final = "unknown"


def told_agent(name: str, conversation: str) -> Told:
    """Say that an agent was invoked.

    Args:
        name: the agent's.
        conversation: what tells this conversation from others.
    """
    return Told(
        f"invoke_agent {name}" if name else "invoke_agent",
        leaves=False,
        attributes={
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.conversation.id": conversation,
            **({"gen_ai.agent.name": name} if name else {}),
        },
    )


def told_call(call: Call, *, content: bool) -> Told | None:
    """Say what was called; None of what no span is for: clocks, random numbers, ids, variables.

    Args:
        call: a call that is over, or not.
        content: whether to say what was asked and answered.
    """
    if call.kind == "llm":
        return _model(call, content=content)
    if call.kind == "tool":
        return _tool(call, content=content)
    if call.kind == "http":
        return _request(call)
    if call.kind in ("human", "subprocess", "socket"):
        return _with_error(Told(f"{call.kind} {call.name}", leaves=call.kind != "human"), call)
    return None


def error_type(error: ErrorInfo) -> str:
    """The `error.type` of an exception: its class, in full where it is no builtin."""
    module, _, name = error.class_name.rpartition(":")
    return name if module in ("", "builtins") else f"{module}.{name}"


# ---------------------------------------------------------------- models


def _model(call: Call, *, content: bool) -> Told:
    talk = ModelTalks().of(call)
    asked, answer, facts = talk.request, talk.answer, call.facts
    operation = _OPERATIONS.get(asked.api, "chat")
    model = asked.model or facts.model or ""
    attributes: dict[str, Attribute | None] = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": _provider(asked.api, text(mapping(call.args).get("url"))) or _OTHER,
        "gen_ai.request.model": model or None,
        "gen_ai.request.stream": True if asked.streamed else None,
        **_parameters(asked.parameters),
        "gen_ai.response.model": answer.model or facts.model if call.status == "ok" else None,
        "gen_ai.response.id": answer.id or None,
        "gen_ai.response.finish_reasons": [facts.finish_reason] if facts.finish_reason else None,
        "gen_ai.usage.input_tokens": facts.tokens_in,
        "gen_ai.usage.output_tokens": facts.tokens_out,
        "gen_ai.usage.cache_read.input_tokens": facts.tokens_cached,
        "gen_ai.usage.cache_creation.input_tokens": answer.tokens.written + answer.tokens.written_1h or None,
        "gen_ai.usage.reasoning.output_tokens": facts.tokens_reasoning,
        **_server(text(mapping(call.args).get("url"))),
    }
    if content:
        shown = () if talk.unread else talk.shown  # a conversation with gaps would be another one
        attributes |= {
            "gen_ai.input.messages": _as_messages(shown) if shown else None,
            "gen_ai.output.messages": _as_messages(talk.said, facts.finish_reason or _UNSAID) if talk.said else None,
            "gen_ai.tool.definitions": _as_tools(asked),
        }
    failed = facts.answer_error or ""
    told = Told(f"{operation} {model}".rstrip(), True, _known(attributes), failed)  # noqa: FBT003  its second field
    if failed and call.error is None:
        told.attributes["error.type"] = str(count(mapping(call.result).get("status")) or _OTHER)
    return _with_error(told, call)


def _provider(api: str, url: str) -> str | None:
    host = _host(url)
    by_host = next((name for end, name in _HOSTS.items() if host == end or host.endswith(f".{end}")), None)
    return by_host or _PROVIDERS.get(api)


def _parameters(given: Mapping[str, Json]) -> dict[str, Attribute | None]:
    places: list[Mapping[str, Json]] = [given, *(mapping(given.get(group)) for group in _GROUPS)]
    found: dict[str, Attribute | None] = {}
    for attribute, names in _PARAMETERS.items():
        value = next((place[name] for place in places for name in names if place.get(name) is not None), None)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            found[attribute] = value
    stops = next((place[name] for place in places for name in _STOPS if place.get(name)), None)
    texts = [stops] if isinstance(stops, str) else stops if isinstance(stops, list) else []
    found["gen_ai.request.stop_sequences"] = [each for each in texts if isinstance(each, str)] or None
    return found


def _as_messages(messages: Iterable[Message], finish_reason: str = "") -> str:
    """As JSON in the conventions' form: a role, and parts."""
    said: list[Json] = []
    for message in messages:
        parts: list[Json] = []
        if message.reasoning:
            parts.append({"type": "reasoning", "content": message.reasoning})
        if message.answers:
            parts.append({"type": "tool_call_response", "id": message.answers, "response": message.text})
        elif message.text:
            parts.append({"type": "text", "content": message.text})
        parts += [
            {"type": "tool_call", "id": asked.id or None, "name": asked.name, "arguments": asked.arguments}
            for asked in message.calls
        ]
        ended: dict[str, Json] = {"finish_reason": finish_reason} if finish_reason else {}
        said.append({"role": message.role, "parts": parts, **ended})
    return _json(said)


def _as_tools(asked: ModelCall) -> str | None:
    tools: list[Json] = [
        {"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in asked.tools
    ]
    return _json(tools) if tools else None


# ---------------------------------------------------------------- tools and requests


def _tool(call: Call, *, content: bool) -> Told:
    attributes: dict[str, Attribute | None] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.name,
        "gen_ai.tool.call.id": call.facts.answers,
        "gen_ai.tool.type": "function",
    }
    if content:
        attributes["gen_ai.tool.call.arguments"] = _json(call.args)
        if call.status == "ok":
            attributes["gen_ai.tool.call.result"] = _json(call.result)
    return _with_error(Told(f"execute_tool {call.name}", False, _known(attributes)), call)  # noqa: FBT003  its second field


def _request(call: Call) -> Told:
    request = mapping(call.args)
    method, url = text(request.get("method")), text(request.get("url"))
    status = count(mapping(call.result).get("status"))
    told = Told(
        method or call.name,
        leaves=True,
        attributes=_known(
            {
                "http.request.method": method or None,
                "url.full": url or None,
                "http.response.status_code": status,
                **_server(url),
            }
        ),
        failed=f"HTTP {status}" if status is not None and status >= _BAD else "",
    )
    if told.failed:
        told.attributes["error.type"] = str(status)
    return _with_error(told, call)


def _server(url: str) -> dict[str, Attribute | None]:
    host = _host(url)
    try:
        port = urlsplit(url).port or {"http": 80, "https": 443, "ws": 80, "wss": 443}.get(urlsplit(url).scheme)
    except ValueError:
        port = None
    return {"server.address": host, "server.port": port} if host else {}


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _with_error(told: Told, call: Call) -> Told:
    if call.error is None:
        return told
    told.attributes["error.type"] = error_type(call.error)
    return Told(told.name, told.leaves, told.attributes, told.failed or call.error.short)


def _known(attributes: Mapping[str, Attribute | None]) -> dict[str, Attribute]:
    return {name: value for name, value in attributes.items() if value is not None}


def _json(value: Wire) -> str:
    return orjson.dumps(value).decode()
