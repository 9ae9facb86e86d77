"""Which provider's format a request has, and what it and its answer say.

Told by the end of the path and the shape of the body, by the first provider that reads it: ours in the order of
`_OURS`, then those of other packages. What is installed is looked at when a request is met that none of ours reads,
never before. Nothing here raises, whatever a body or a provider of another package does.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar, cast
from urllib.parse import parse_qsl, unquote, urlsplit

from agent_tt.codec.wire import VALUE, envelope_type
from agent_tt.plugins import PluginFailed, Plugins
from agent_tt.providers.bodies import Pieces, decoded, header, pieces_of
from agent_tt.providers.chat_form import message_of
from agent_tt.providers.loose import count, first_line, mapping, parse, text
from agent_tt.providers.provider import Provider, Request
from agent_tt.providers.shapes import ModelAnswer, ModelCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.providers.shapes import Json, Message

    Headers = Mapping[str, str] | Iterable[tuple[str, str]]

__all__ = [
    "MESSAGE", "PROVIDERS", "answered_ids", "asked", "asked_ids", "ends_answer", "gathers", "kept_answer",
    "messages_of_turn", "only_measures", "provider_of", "read_answer", "recognise", "recorded_answer", "recorded_call",
    "results_only", "talks", "without_nulls",
]  # fmt: skip

_OURS: Final = {
    "gemini": "agent_tt.providers.gemini:Gemini",
    "openai-responses": "agent_tt.providers.openai_responses:OpenAIResponses",
    "openai-realtime": "agent_tt.providers.openai_realtime:OpenAIRealtime",
    "anthropic": "agent_tt.providers.anthropic:Anthropic",
    "bedrock": "agent_tt.providers.bedrock:Bedrock",
    "cohere": "agent_tt.providers.cohere:Cohere",
    "openai-chat": "agent_tt.providers.openai_chat:OpenAIChat",
    "openai-completions": "agent_tt.providers.openai_completions:OpenAICompletions",
}
"""Ours, those whose form is the most particular first."""

MESSAGE: Final = "SEND"
"""In the place of a method: a message over a WebSocket."""

_TELLING: Final = frozenset({"parts", "type"})
"""Keys by which ours tell a turn of a form of their own, besides a list of parts as its content."""

_SAID: Final = frozenset({"content", "tool_calls"})
"""Keys of which a turn of the form that chat APIs share has one."""

_FIRST_ERROR: Final = 400
P = ParamSpec("P")
R = TypeVar("R")


def _accepted(found: object) -> Provider:
    if not isinstance(found, type) or not issubclass(found, Provider):
        what = f"the class {found.__name__}" if isinstance(found, type) else f"a {type(found).__name__}"
        raise PluginFailed(f"is {what}, not a class derived from agent_tt.providers.Provider")
    provider = found()
    paths = getattr(provider, "PATHS", None)
    if not isinstance(paths, tuple) or not all(isinstance(path, str) for path in paths):
        raise PluginFailed("has no PATHS, a tuple of what the paths of its requests end in")
    return provider


PROVIDERS: Final = Plugins("agent_tt.providers", _OURS, _accepted)
"""The entry point group of providers."""


def provider_of(call: ModelCall) -> Provider:
    """Find the provider that read a request with `recognise`."""
    return PROVIDERS.named(call.api)


def asked(question: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R | None:
    """Call a method of a provider, which may be of another package; None where it raises, which is logged once."""
    try:
        return question(*args, **kwargs)
    except RecursionError:  # JSON that is nested very deeply
        return None
    except Exception as error:
        where = question.__qualname__
        if where not in _TOLD:
            _TOLD.add(where)
            import logging

            text = "%s raised %s: it is passed over"
            logging.getLogger(__name__).warning(text, where, type(error).__name__, exc_info=True)
        return None


_TOLD: Final = set[str]()


# ---------------------------------------------------------------- requests


def recognise(method: str, url: str, headers: Headers, body: bytes | str | Json) -> ModelCall | None:
    """Read the model call that a request makes; None where it asks no model. Never raises, whatever the body is.

    Args:
        method: the request's method; `MESSAGE` of a message over a WebSocket.
        url: its whole address, or just the path.
        headers: its headers.
        body: its body as sent, or as parsed JSON.
    """
    if method.upper() not in ("POST", MESSAGE):
        return None
    path = _path_of(url)
    request: Request | None = None
    for name, provider in PROVIDERS.all() if path.endswith(_ends_of_ours()[0]) else PROVIDERS.others():
        if not path.endswith(provider.PATHS):
            continue
        if request is None:
            parsed = _parsed_body(body, headers)
            if not isinstance(parsed, dict):
                return None
            request = Request(path, parsed, dict(parse_qsl(urlsplit(url).query)))
        call = asked(provider.read_message if method.upper() == MESSAGE else provider.read_request, request)
        if isinstance(call, ModelCall):
            return replace(call, api=name, model=call.model or request.hosted_model)
    return None


def talks(url: str, event: Mapping[str, Json]) -> bool:
    """Whether a message over a WebSocket changes nothing but the conversation with a model. Never raises."""
    return any(text(event.get("type")) in provider.TALKS for provider in _providers_at(url))


def gathers(url: str, event: Mapping[str, Json]) -> bool:
    """Whether a message over a WebSocket belongs to the next one that asks a model. Never raises."""
    return any(text(event.get("type")) in provider.GATHERED for provider in _providers_at(url))


def _providers_at(url: str) -> list[Provider]:
    path = _path_of(url)
    is_ours = path.endswith(_ends_of_ours()[0])
    found = PROVIDERS.all() if is_ours else PROVIDERS.others()
    return [provider for _, provider in found if path.endswith(provider.PATHS)]


def ends_answer(call: ModelCall, event: Mapping[str, Json]) -> bool:
    """Whether a model's answer over a WebSocket is over with this event."""
    return text(event.get("type")) in provider_of(call).ENDS


def only_measures(method: str, url: str, headers: Headers, body: bytes | str | Json) -> bool:
    """Whether a request only has a provider compute something: vectors, counts, checks, rankings.

    They are no model calls in words, but a fork that may ask models may ask these. Told by the end of the path *and*
    the shape of the body: somebody's own `/embeddings` that takes something else counts as writing. Args as of
    `recognise`. Never raises, whatever the body is.
    """
    if method.upper() != "POST":
        return False
    path = _path_of(url)
    for _, provider in PROVIDERS.all() if path.endswith(_ends_of_ours()[1]) else PROVIDERS.others():
        if path.endswith(tuple(provider.MEASURES)):
            parsed = _parsed_body(body, headers)
            if isinstance(parsed, dict) and asked(provider.measures, Request(path, parsed)):
                return True
    return False


@lru_cache(maxsize=1)
def _ends_of_ours() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What the paths end in that ours look at: those of requests to models, and of those that measure."""
    ours = [provider for _, provider in PROVIDERS.ours()]
    return tuple({end for each in ours for end in each.PATHS}), tuple({end for each in ours for end in each.MEASURES})


def _path_of(url: str) -> str:
    """The path of an address, unquoted; "" of one that is none."""
    try:
        return unquote(urlsplit(url).path).rstrip("/")
    except ValueError:  # an address that is none
        return ""


def _parsed_body(body: bytes | str | Json, headers: Headers) -> Json:
    """A request's body as JSON, whatever it was encoded with; None where it is none."""
    if isinstance(body, bytes):
        plain = decoded(body, header(headers, "content-encoding"))
        return None if plain is None else parse(plain)
    return parse(body) if isinstance(body, str) else body


# ---------------------------------------------------------------- answers


def read_answer(call: ModelCall, status: int, headers: Headers, body: bytes) -> ModelAnswer:
    """Read what a model answered, with tokens and cost as far as they are known. Never raises, whatever the body is.

    Args:
        call: what `recognise` said of the request.
        status: the answer's HTTP status.
        headers: its headers.
        body: its body as received, before any decoding; of a stream that ended early what came until then.
    """
    plain = decoded(body, header(headers, "content-encoding"))
    if plain is None:
        return ModelAnswer()
    return _answer_of(call, status, pieces_of(plain, header(headers, "content-type")), plain)


def _answer_of(call: ModelCall, status: int, pieces: Pieces, plain: bytes = b"") -> ModelAnswer:
    if status >= _FIRST_ERROR:
        return ModelAnswer(model=call.model, error=f"{status} {_complaint(pieces, plain)}".strip())
    answer = asked(provider_of(call).read_answer, pieces)
    if not isinstance(answer, ModelAnswer):
        answer = ModelAnswer()
    model, cost = answer.model or call.model, answer.cost_usd
    if cost is None:
        from agent_tt.providers.prices import cost_of  # the table is long

        cost = cost_of(model, answer.tokens, tier=answer.tier)
    return replace(answer, model=model, cost_usd=cost, error=answer.error or _stream_error(pieces))


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


# ---------------------------------------------------------------- calls as a run keeps them


def recorded_call(args: Wire) -> ModelCall | None:
    """Read the model call from the arguments of a recorded request; None where it asks no model.

    Args:
        args: `{"method", "url", "headers", "body"}`; the body is JSON where it was, else text or bytes.
    """
    request = mapping(args)
    method, url, body = text(request.get("method")), text(request.get("url")), request.get("body")
    return recognise(method, url, {}, body) if method and url else None


def recorded_answer(call: ModelCall, result: Wire) -> ModelAnswer:
    """Read what was answered from the result of a recorded request; empty where that holds no answer.

    Args:
        call: what `recorded_call` said of the request.
        result: `{"status", "headers", "body"}`; the body is JSON where it was (a list is that of a stream's pieces),
            else text or bytes. Over a WebSocket it is `{"body"}`, the events.
    """
    answer = mapping(result)
    status, headers, given = count(answer.get("status")), mapping(answer.get("headers")), answer.get("body")
    if status is None and not isinstance(given, list):
        return ModelAnswer(model=call.model)
    status = status or 0
    body = _bytes_of(given) if given is not None else b""  # none where the agent left before it came
    if body is None:
        pieces = Pieces(tuple(given), streamed=True) if isinstance(given, list) else Pieces((given,))
        return _answer_of(call, status, pieces)
    kind = text(headers.get("content-type"))  # the body is decoded already: no other header counts
    return read_answer(call, status, {"content-type": kind}, body)


def kept_answer(api: str, answer: Json) -> ModelAnswer:
    """Read an answer that somebody kept as a provider gave it, in one piece; empty where it is none.

    Args:
        api: the name of the provider.
        answer: the answer.
    """
    return _answer_of(ModelCall(api=api), 200, Pieces((answer,))) if api in dict(PROVIDERS.ours()) else ModelAnswer()


def _bytes_of(body: Json) -> bytes | None:
    """The bytes of a body that is kept as text or as bytes; None for one that is kept as JSON."""
    if isinstance(body, str):
        return body.encode("utf-8", "surrogatepass")
    if envelope_type(cast("Wire", body)) == "bytes":
        try:
            return base64.b64decode(text(mapping(body).get(VALUE)))
        except (binascii.Error, ValueError):
            return b""
    return None


# ---------------------------------------------------------------- turns of a conversation


def messages_of_turn(turn: Json) -> tuple[Message, ...]:
    """Read one turn, told by its shape; empty where it is none. Never raises.

    A turn that carries results of tools beside other things is several messages. Providers of other packages are asked
    about what has a `role` or a `type`.
    """
    if not isinstance(turn, dict):
        return ()
    if _TELLING.isdisjoint(turn) and not isinstance(turn.get("content"), list):
        # What ours would find, of which none is loaded for that.
        if "role" not in turn:
            return ()
        if not _SAID.isdisjoint(turn):
            said = asked(message_of, turn)
            return () if said is None else (said,)
    for _, provider in PROVIDERS.all() if "role" in turn or "type" in turn else PROVIDERS.ours():
        found = asked(provider.read_turn, turn)
        if found is not None:
            return tuple(found)
    return ()


def asked_ids(turns: Iterable[Json]) -> set[str]:
    """Collect the ids of the tool calls that turns ask for."""
    return {call.id for turn in turns for message in messages_of_turn(turn) for call in message.calls if call.id}


def answered_ids(turns: Iterable[Json]) -> set[str]:
    """Collect the ids of the tool calls whose results turns give, beside other things or not."""
    return {message.answers for turn in turns for message in messages_of_turn(turn) if message.answers}


def results_only(turn: Json) -> set[str]:
    """Collect the ids of the tool calls whose results a turn gives, if it gives nothing else."""
    found = [message.answers for message in messages_of_turn(turn)]
    return set(found) if all(found) else set()


def without_nulls(turn: Json) -> Json:
    """Leave out what is null in a turn: some clients send that, others do not."""
    if isinstance(turn, dict):
        return {key: without_nulls(value) for key, value in turn.items() if value is not None}
    return [without_nulls(item) for item in turn] if isinstance(turn, list) else turn
