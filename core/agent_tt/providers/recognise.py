"""Which requests ask a model, and in which language: told by the end of the path and the shape of the body.

Hosts say nothing: the same languages are spoken by proxies, routers and models at home.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from agent_tt.providers.anthropic import anthropic_answer, anthropic_call
from agent_tt.providers.bedrock import bedrock_answer, bedrock_call
from agent_tt.providers.bodies import Pieces, decoded, header, pieces_of
from agent_tt.providers.cohere import cohere_answer, cohere_call
from agent_tt.providers.gemini import gemini_answer, gemini_call
from agent_tt.providers.loose import dicts, first_line, mapping, parse, text
from agent_tt.providers.openai_chat import chat_answer, chat_call, completions_answer, completions_call
from agent_tt.providers.openai_responses import responses_answer, responses_call
from agent_tt.providers.prices import cost_of
from agent_tt.providers.shapes import ModelAnswer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_tt.providers.shapes import Json, ModelCall

    Headers = Mapping[str, str] | Iterable[tuple[str, str]]

__all__ = ["answer_of_value", "parsed_body", "path_of", "read_answer", "recognise"]

_FIRST_ERROR: Final = 400

_ENDS: Final = frozenset({"completions", "responses", "messages", "chat", "generate", "invocations"})
"""What the paths end in that are looked at, besides those that name the model in the path."""

_COUNTING: Final = "count-tokens"
"""In the place of a model on Vertex: a question for a number of tokens, which no model answers."""

_HOSTED: Final = re.compile(r"/(?:serving-endpoints|endpoints|deployments)/([^/]+)/")
"""Where a path names the model: Databricks, SageMaker, Azure."""

_GEMINI: Final = re.compile(r"/models/([^/:]+):(stream)?[gG]enerateContent$")
_VERTEX: Final = re.compile(r"/models/([^/:]+):(?:streamR|r)awPredict$")
_BEDROCK: Final = re.compile(r"/model/([^/]+)/(converse|converse-stream|invoke|invoke-with-response-stream)$")


def recognise(method: str, url: str, headers: Headers, body: bytes | str | Json) -> ModelCall | None:
    """The model call that a request makes; None where it asks no model. Never raises, whatever the body is.

    Args:
        method: the request's method.
        url: its whole address, or just the path.
        headers: its headers.
        body: its body as sent, or as parsed JSON.
    """
    if method.upper() != "POST":
        return None
    path = path_of(url)
    if not _may_be(path):
        return None
    parsed = parsed_body(body, headers)
    if not isinstance(parsed, dict):
        return None
    try:
        return _read_call(path, parsed)
    except RecursionError:
        return None


def read_answer(call: ModelCall, status: int, headers: Headers, body: bytes) -> ModelAnswer:
    """What a model answered, with tokens and cost as far as they are known. Never raises, whatever the body is.

    Args:
        call: what `recognise` said of the request.
        status: the answer's HTTP status.
        headers: its headers.
        body: its body as received, before any decoding; of a stream that ended early what came until then.
    """
    try:
        return _read_answer(call, status, headers, body)
    except RecursionError:
        return ModelAnswer()


def _read_answer(call: ModelCall, status: int, headers: Headers, body: bytes) -> ModelAnswer:
    plain = decoded(body, header(headers, "content-encoding"))
    if plain is None:
        return ModelAnswer()
    return _answer_of(call, status, pieces_of(plain, header(headers, "content-type")), plain)


def answer_of_value(call: ModelCall, status: int, value: Json) -> ModelAnswer:
    """As `read_answer`, for an answer whose body is one JSON value that is parsed already. Never raises.

    Args:
        call: what `recognise` said of the request.
        status: the answer's HTTP status.
        value: its body; a list is that of a stream's pieces.
    """
    pieces = Pieces(tuple(value), streamed=True) if isinstance(value, list) else Pieces((value,))
    try:
        return _answer_of(call, status, pieces, b"")
    except RecursionError:
        return ModelAnswer()


def _answer_of(call: ModelCall, status: int, pieces: Pieces, plain: bytes) -> ModelAnswer:
    if status >= _FIRST_ERROR:
        return ModelAnswer(model=call.model, error=f"{status} {_complaint(pieces, plain)}".strip())
    answer = _answer_in(call, pieces)
    if not answer.error:
        answer = replace(answer, error=_stream_error(pieces))
    model = answer.model or call.model
    cost = answer.cost_usd
    if cost is None:
        cost = cost_of(model, answer.tokens, tier=_tier(pieces))
    return replace(answer, model=model, cost_usd=cost)


def path_of(url: str) -> str:
    """The path of an address, unquoted; "" of one that is none."""
    try:
        return unquote(urlsplit(url).path).rstrip("/")
    except ValueError:  # an address that is none
        return ""


def _may_be(path: str) -> bool:
    """Whether a path is worth parsing a body for."""
    last = path.rpartition("/")[2]
    return last in _ENDS or last.endswith(("enerateContent", "awPredict")) or _BEDROCK.search(path) is not None


def _read_call(path: str, body: dict[str, Json]) -> ModelCall | None:
    last = path.rpartition("/")[2]
    gemini, vertex, bedrock = _GEMINI.search(path), _VERTEX.search(path), _BEDROCK.search(path)
    if gemini is not None:
        return gemini_call(body, model=gemini[1], streamed=gemini[2] is not None) if "contents" in body else None
    if bedrock is not None and bedrock[2].startswith("converse"):
        return bedrock_call(body, model=bedrock[1], streamed=bedrock[2] == "converse-stream")
    cloud = vertex or bedrock
    if cloud is not None:
        streamed = "stream" in cloud[0].rpartition("/")[2]
        call = None if cloud[1] == _COUNTING else _by_body(body)
        return None if call is None else replace(call, model=cloud[1], streamed=streamed)
    call = _by_last(path, last, body)
    hosted = _HOSTED.search(path)
    if call is not None and not call.model and hosted is not None:
        call = replace(call, model=hosted[1])
    return call


def _by_body(body: dict[str, Json]) -> ModelCall | None:
    """A call whose address names the model and not the language, as clouds have it: the body's shape tells."""
    messages = dicts(body.get("messages"))
    if messages and "anthropic_version" in body:
        return anthropic_call(body)
    if messages and ("inferenceConfig" in body or "schemaVersion" in body or _has_untyped_parts(messages)):
        return bedrock_call(body, model="", streamed=False)
    if messages:
        return chat_call(body)
    return completions_call(body) if isinstance(body.get("prompt"), str) else None


def _has_untyped_parts(messages: list[dict[str, Json]]) -> bool:
    """Whether messages hold parts as Amazon writes them: `{"text": …}` without a type."""
    parts = [part for message in messages for part in dicts(message.get("content"))]
    return bool(parts) and not any("type" in part for part in parts)


def _by_last(path: str, last: str, body: dict[str, Json]) -> ModelCall | None:
    has_messages = bool(dicts(body.get("messages")))
    if last == "messages":
        return anthropic_call(body) if has_messages and "model" in body and "max_tokens" in body else None
    if last == "responses":
        asks = "input" in body or "prompt" in body or "previous_response_id" in body
        return responses_call(body) if asks and ("model" in body or "prompt" in body) else None
    if last == "completions" and has_messages and path.endswith(("/chat/completions", "/agents/completions")):
        agent = text(body.get("agent_id"))  # Mistral's
        return chat_call(body) if not agent else replace(chat_call(body), model=agent)
    if last == "completions":
        return completions_call(body) if "prompt" in body and ("model" in body or _HOSTED.search(path)) else None
    if last == "chat" and has_messages:
        return _chat(path, body)
    if last == "generate" and path.endswith("/api/generate") and "prompt" in body and "model" in body:
        return replace(completions_call(body), streamed=body.get("stream") is not False)
    if last == "invocations" and has_messages and _HOSTED.search(path):
        return chat_call(body)
    return None


def _chat(path: str, body: dict[str, Json]) -> ModelCall | None:
    """A call whose path ends in `/chat`: Cohere's second version, Ollama, or watsonx."""
    if "model" in body and path.endswith("/v2/chat"):
        return cohere_call(body)
    if "model" in body:  # Ollama streams unless it is told not to
        return replace(chat_call(body), streamed=body.get("stream") is not False)
    model = text(body.get("model_id"))
    return replace(chat_call(body), model=model) if model else None


def _answer_in(call: ModelCall, pieces: Pieces) -> ModelAnswer:
    values, streamed = pieces.values, pieces.streamed
    match call.api:
        case "openai-chat":
            return chat_answer(values, streamed=streamed)
        case "openai-responses":
            return responses_answer(values, streamed=streamed)
        case "openai-completions":
            return completions_answer(values)
        case "anthropic":
            return anthropic_answer(values, streamed=streamed)
        case "gemini":
            return gemini_answer(values)
        case "bedrock":
            return bedrock_answer(values, streamed=streamed)
        case "cohere":
            return cohere_answer(values, streamed=streamed)


def parsed_body(body: bytes | str | Json, headers: Headers) -> Json:
    """A request's body as JSON, whatever it was encoded with; None where it is none."""
    if isinstance(body, bytes):
        plain = decoded(body, header(headers, "content-encoding"))
        return None if plain is None else parse(plain)
    return parse(body) if isinstance(body, str) else body


def _complaint(pieces: Pieces, body: bytes) -> str:
    """What an answer with an error status says, in one line."""
    for value in pieces.values:
        found = _error_text(mapping(value))
        if found:
            return first_line(found)
    return first_line(body[:2000].decode("utf-8", "replace"))


def _stream_error(pieces: Pieces) -> str:
    """What a stream says went wrong after it began well."""
    for value in pieces.values:
        piece = mapping(value)
        if isinstance(piece.get("error"), dict):
            return first_line(_error_text(piece))
    return ""


def _error_text(piece: dict[str, Json]) -> str:
    error = piece.get("error")
    if isinstance(error, str):
        return error
    inner = mapping(error)
    return text(inner.get("message")) or text(piece.get("message")) or text(inner.get("type"))


def _tier(pieces: Pieces) -> str | None:
    """The service tier that the provider says it used, wherever its language says so; or a speed that costs more."""
    found: str | None = None
    for value in pieces.values:
        piece = mapping(value)
        for holder in (piece, mapping(piece.get("response")), mapping(piece.get("message"))):
            usage = mapping(holder.get("usage"))
            found = text(holder.get("service_tier")) or text(usage.get("service_tier")) or found
            if text(usage.get("speed")) == "fast":  # Anthropic's, at a price of its own
                return "fast"
    return found
