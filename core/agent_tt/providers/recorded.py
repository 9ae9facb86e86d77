"""Reading a recorded call: its request and its answer as a run keeps them, in place of bytes.

A request is `{"method", "url", "headers", "body"}`, an answer `{"status", "headers", "body"}`, bodies being JSON where
they were, else text or bytes.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, cast

from agent_tt.codec.wire import VALUE, envelope_type
from agent_tt.providers.loose import count, mapping, text
from agent_tt.providers.recognise import answer_of_value, read_answer, recognise
from agent_tt.providers.shapes import ModelAnswer

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.providers.shapes import Json, ModelCall

__all__ = ["recorded_answer", "recorded_call"]


def recorded_call(args: Wire) -> ModelCall | None:
    """The model call in the arguments of a recorded request; None where they are none."""
    request = mapping(args)
    method, url, body = text(request.get("method")), text(request.get("url")), request.get("body")
    return recognise(method, url, {}, body) if method and url else None


def recorded_answer(call: ModelCall, result: Wire) -> ModelAnswer:
    """What was answered, from the result of a recorded request; empty where that holds no answer."""
    answer = mapping(result)
    status, headers = count(answer.get("status")), mapping(answer.get("headers"))
    if status is None:
        return ModelAnswer(model=call.model)
    given = answer.get("body")
    body = _bytes_of(given) if given is not None else b""  # none where the agent left before it came
    if body is None:
        return answer_of_value(call, status, given)
    kind = text(headers.get("content-type"))  # the body is decoded already: no other header counts
    return read_answer(call, status, {"content-type": kind}, body)


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
