"""The request of a recorded call: whole and free of marks, or why it cannot be sent."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from agent_tt._dataclass import dataclass
from agent_tt.codec.decode import decode
from agent_tt.codec.paths import format_path
from agent_tt.codec.texts import texts
from agent_tt.codec.wire import TYPE
from agent_tt.errors import Damaged, NotRebuildable, UsageError
from agent_tt.forking.checks import envelopes
from agent_tt.forking.editing.edits import apply_edits
from agent_tt.providers.loose import mapping, text
from agent_tt.providers.reading import MESSAGE, provider_of, recorded_call
from agent_tt.redaction.keyed import keyed_marks_in
from agent_tt.redaction.marks import MARK, canonical
from agent_tt.redaction.names import is_secret_header

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, Edit
    from agent_tt.protocols import RunSource
    from agent_tt.providers.shapes import ModelCall

__all__ = ["RecordedRequest", "find_request", "recorded_request"]

_SIGNED: Final = ("bedrock",)
"""Forms whose requests are signed, so that nobody but an SDK with the user's account can send them."""
_SIGNED_AT: Final = ".amazonaws.com"
_LOST: Final = frozenset({"opaque", "damaged", "made"})
_KEY_IN_QUERY: Final = "key"
_SHOWN: Final = 3
_KEY_HEADERS: Final = ("authorization", "x-api-key", "x-goog-api-key", "api-key")


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request to a model as it was recorded, or edited.

    Attributes:
        call: the call.
        asked: what it asks, read.
        url: its address, without a key.
        headers: those that say what is asked; none that carries a secret.
        body: its body, a wire value.
        carried: the header that carried a key; "" where none did, None where that was not recorded.
    """

    call: Call
    asked: ModelCall
    url: str
    headers: tuple[tuple[str, str], ...]
    body: Wire
    carried: str | None

    def edited(self, edits: Sequence[Edit], model: str | None = None) -> RecordedRequest:
        """The same request, edited.

        Args:
            edits: changes of its body.
            model: another model; None for the same.

        Raises:
            InvalidEdit, InvalidPath: an edit does not fit.
            UsageError: what comes of it is no request to a model any more.
        """
        body, url = apply_edits(self.body, edits), self.url
        if model:
            url, body = provider_of(self.asked).with_model(url, mapping(body), model)
        asked = recorded_call({"method": "POST", "url": url, "body": body})
        if asked is None or asked.api != self.asked.api:
            raise UsageError(
                "what is left is no request to a model any more", hint="undo the edit of what it must have"
            )
        return replace(self, asked=asked, url=url, body=body)

    def to_bytes(self) -> bytes:
        """The body as it goes out.

        Raises:
            UsageError: a part of it was redacted, or is not as it was sent.
        """
        marked = [format_path(path) or "the body" for path, each in texts(self.body) if _is_marked(each)]
        if marked:
            places = [*dict.fromkeys(marked)]
            more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
            raise UsageError(
                f"{', '.join(places[:_SHOWN])}{more} was redacted, so the mark would be sent in its place",
                hint=f"write what is to be sent there (--set '{places[0]}=…'), or leave it out (--delete)",
            )
        lost = next((path for path, node in envelopes(self.body) if node.get(TYPE) in _LOST), None)
        try:
            if lost is None:
                return json.dumps(decode(self.body), ensure_ascii=False).encode("utf-8", "surrogatepass")
        except (NotRebuildable, TypeError, ValueError):
            pass
        where = "it" if lost is None else format_path(lost) or "it"
        raise UsageError(f"the request was not recorded whole: {where} is known only by its text", hint="ask another")


def find_request(source: RunSource, run_id: str, step: int, number: int | None) -> Call:
    """Find a recorded call of a model that is a request.

    Args:
        source: where its run is.
        run_id: the run.
        step: the step.
        number: the number of the call in the step; None for the one request to a model in there.

    Raises:
        UsageError: the step has none, or several, or that call is none.
        StepNotFound: there is no such step.
    """
    calls = source.calls(run_id, step) if step else []
    if number is not None:
        found = next((call for call in calls if call.number == number), None)
        if found is None:
            raise UsageError(f"step {step} has no call {number}", hint=f"it has {len(calls)}: `agent-tt show`")
        return found
    requests = [call for call in calls if call.kind == "llm" and recorded_call(call.args) is not None]
    if len(requests) == 1:
        return requests[0]
    if requests:
        named = ", ".join(f"{step}.{call.number}" for call in requests)
        raise UsageError(f"step {step} asked models {len(requests)} times", hint=f"say which: {named}")
    models = [call for call in calls if call.kind == "llm"]
    if models:
        return models[0]  # `recorded_request` says what is missing of it
    raise UsageError(f"step {step} asked no model", hint="name a step that did: `agent-tt show RUN` lists them")


def recorded_request(call: Call) -> RecordedRequest:
    """Read the request of a recorded call.

    Raises:
        Damaged: the call is damaged.
        UsageError: it is no request to a model that is known, or cannot be sent from here.
    """
    if call.damaged is not None:
        raise Damaged(f"call {call.number} of step {call.step} is damaged: {call.damaged}", hint="ask another")
    where = f"call {call.number} of step {call.step}, {call.name},"
    args = mapping(call.args)
    method, url = text(args.get("method")), text(args.get("url"))
    if call.kind != "llm" and not (method and url):
        raise UsageError(f"{where} asks no model", hint="choose a call of a model")
    if not method or not url:
        raise UsageError(
            f"{where} cannot be sent again: no request was recorded,"
            " only a function's call or what another program kept",
            hint="fork its step to ask once more; `agent-tt record -- python …` records requests",
        )
    asked = recorded_call(call.args)
    if asked is None:
        raise UsageError(
            f"{where} is no request that a known provider reads, or its body was not kept whole",
            hint="`agent-tt plugins` lists the providers; one of your own is a class",
        )
    if method.upper() == MESSAGE:
        raise UsageError(f"{where} went over a WebSocket, as a part of a conversation", hint="fork its step instead")
    if asked.api in _SIGNED or (urlsplit(url).hostname or "").endswith(_SIGNED_AT):
        raise UsageError(f"{where} was signed by the SDK of its cloud, which no key does", hint="fork its step instead")
    plain, had_key = _without_key(url)
    if _is_marked(unquote(plain)):
        raise UsageError(f"a part of the address of {where} was redacted", hint="fork its step instead")
    headers = tuple(
        (name, value)
        for name, value in ((name, text(value)) for name, value in mapping(args.get("headers")).items())
        if value and not is_secret_header(name) and not _is_marked(value) and value.isprintable() and value.isascii()
    )
    return RecordedRequest(call, asked, plain, headers, args.get("body"), _carried(call, had_key=had_key))


def _carried(call: Call, *, had_key: bool) -> str | None:
    sent = call.facts.headers
    if had_key:
        return "x-goog-api-key"
    if not sent:
        return None
    names = {name.lower() for name in sent}
    return next((name for name in _KEY_HEADERS if name in names), "")


def _without_key(url: str) -> tuple[str, bool]:
    """An address without the key in its query, and whether one was there: Gemini's may stand there."""
    parts = urlsplit(url)
    query = parse_qsl(parts.query, keep_blank_values=True)
    kept = [(name, value) for name, value in query if name != _KEY_IN_QUERY]
    if len(kept) == len(query):
        return url, False
    return urlunsplit(parts._replace(query=urlencode(kept))), True


def _is_marked(said: str) -> bool:
    return MARK in canonical(said) or bool(keyed_marks_in(said))
