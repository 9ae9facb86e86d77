"""Cassettes of VCR, in YAML or JSON: recorded HTTP exchanges, without a word about the program that made them.

Each exchange is a step of its own, as calls outside of any step are in a recording: a model call with its conversation
as the state where a provider's format is known, else an HTTP call. Requests and answers are shown as our own recordings
show them. What VCR.py, Betamax and the VCRs of Ruby and R write differs little: bodies stand as a text or as bytes,
alone or under `string`, `base64_string` or (pydantic-ai's serializer) `parsed_body`; headers as texts or lists.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import urlsplit

from agent_tt.codec.encode import encode
from agent_tt.codec.wire import VALUE, envelope_type
from agent_tt.interop.transcripts.compressed import is_compressed, unpack
from agent_tt.interop.transcripts.document import MOST_VALUE_BYTES
from agent_tt.interop.transcripts.spans import ModelWork, Span, TraceTelling
from agent_tt.interop.transcripts.telling import micros, wire
from agent_tt.interop.transcripts.transcript import ToldCall
from agent_tt.providers.bodies import decoded, header, pieces_of
from agent_tt.providers.loose import count, dicts, items, mapping, parse, text
from agent_tt.providers.reading import read_answer, recognise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.transcripts.document import Document
    from agent_tt.interop.transcripts.transcript import Transcript
    from agent_tt.providers.shapes import Json, ModelCall

__all__ = ["read_vcr"]

_LISTS: Final = "interactions", "http_interactions"
_ENCODING: Final = "content-encoding"
_KIND: Final = "content-type"
_MOST_DEFLATED: Final = MOST_VALUE_BYTES // 1032
"""Bytes that never unpack to more than may be read: deflate makes of one at most 1,032."""


def read_vcr(document: Document) -> Sequence[Transcript] | None:
    """Read a cassette of VCR as a run; None where the document has another format."""
    cassette = mapping(document.value)
    exchanges = next((dicts(cassette[key]) for key in _LISTS if isinstance(cassette.get(key), list)), [])
    if not exchanges or not all(
        isinstance(each.get("request"), dict) and isinstance(each.get("response"), dict) for each in exchanges
    ):
        return None
    telling = TraceTelling(document.path.stem, {}, "VCR")
    for exchange in exchanges:
        _tell(telling, mapping(exchange["request"]), mapping(exchange["response"]), micros(exchange.get("recorded_at")))
    return [telling.teller.done(model=telling.model or None)]


def _tell(telling: TraceTelling, request: dict[str, Json], response: dict[str, Json], at_us: int | None) -> None:
    method, url = text(request.get("method")).upper(), text(request.get("uri")) or text(request.get("url"))
    sent, came = _body(request), _body(response)
    asked_with, answered_with = _headers(request), _headers(response)
    status = response.get("status")
    code = count(mapping(status).get("code") if isinstance(status, dict) else status) or 0
    sent, came = _plain(sent, asked_with), _plain(came, answered_with)
    args = {"method": method, "url": url, "headers": encode(asked_with), "body": _shown(sent, asked_with)}
    result: Wire = {"status": code, "headers": encode(answered_with), "body": _shown(came, answered_with)}
    call = recognise(method, url, {}, sent)
    name = f"{method} {_place(url)}"
    if call is None:
        step = telling.teller.main.step(name, at_us)
        step.calls.append(ToldCall("http", name, args=args, result=result, ended_us=at_us))
        return
    answer = read_answer(call, code, {_KIND: answered_with.get(_KIND, "")}, came)
    said = [mapping(turn) for turn in answer.turns]
    telling.teller.main.beside = {
        key: wire(value) for key, value in call.conversation.items() if key != call.turns or not _listed(call)
    }
    work = ModelWork(_listed(call), said, answer)
    telling.tell(Span("", "", "", name, None, at_us, {}, does=work), is_of_models=True)
    told = telling.teller.steps[-1].calls[0]
    told.asked, told.args, told.result = None, args, result


def _listed(call: ModelCall) -> list[dict[str, Json]]:
    """The turns that a request shows a model; none where they are no list."""
    return dicts(call.conversation.get(call.turns)) if call.turns else []


def _headers(of: dict[str, Json]) -> dict[str, str]:
    """Headers by names in lower case; values of a repeated one joined with commas."""
    return {
        name.lower(): ", ".join(str(value) for value in (items(values) if isinstance(values, list) else [values]))
        for name, values in mapping(of.get("headers")).items()
    }


def _body(of: dict[str, Json]) -> bytes:
    """A body as it was sent, or as it was stored."""
    body: Json = of.get("body")
    if isinstance(body, dict) and envelope_type(cast("Wire", body)) is None:
        packed = body.get("base64_string")
        if isinstance(packed, str):
            return _unpacked(packed)
        of, body = {**of, **body}, body.get("string")
    if body is None and "parsed_body" in of:
        return json.dumps(of["parsed_body"]).encode()
    if envelope_type(body) == "bytes":
        return _unpacked(text(mapping(body).get(VALUE)))
    return text(body).encode("utf-8", "surrogatepass")


def _unpacked(packed: str) -> bytes:
    try:
        return base64.b64decode(packed)
    except (ValueError, binascii.Error):
        return b""


def _plain(body: bytes, headers: dict[str, str]) -> bytes:
    """A body without its content encodings; as it is where it was stored without them, or holds too much."""
    if is_compressed(body):
        into = io.BytesIO()
        flaw = unpack(io.BufferedReader(io.BytesIO(body)), into, MOST_VALUE_BYTES)
        return body if flaw or into.tell() > MOST_VALUE_BYTES else into.getvalue()
    found = decoded(body, header(headers, _ENCODING)) if len(body) <= _MOST_DEFLATED else None
    return body if found is None else found


def _shown(plain: bytes, headers: dict[str, str]) -> Wire:
    """A body as our recordings show it: JSON, the pieces of a stream, text, or else bytes; None of none."""
    if not plain:
        return None
    kind = header(headers, _KIND)
    if kind.endswith(("event-stream", "eventstream")):
        pieces = pieces_of(plain, kind)
        if pieces.values:
            return wire([*pieces.values])
    found = parse(plain)
    if found is not None:
        return wire(found)
    try:
        return plain.decode()
    except UnicodeDecodeError:
        return encode(plain)


def _place(url: str) -> str:
    """An address without its query, which may be long."""
    try:
        parts = urlsplit(url)
    except ValueError:  # an address that is none
        return url
    return f"{parts.scheme}://{parts.netloc}{parts.path or '/'}" if parts.netloc else url
