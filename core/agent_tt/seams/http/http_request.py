"""What a request asks, and the digest by which a replay recognises the same question.

The digest covers the method, the place, the query in any order, the few headers that change what is asked, and the body
in its canonical form. Keys, cookies, tracing, retry counts and versions of clients do not count: the same code asks the
same question with another key, on its second try, or through a newer SDK.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

from agent_tt._dataclass import dataclass
from agent_tt.errors import UsageError
from agent_tt.history.digest import digest
from agent_tt.model.facts import CallFacts
from agent_tt.recording.calls.arguments import edited_value
from agent_tt.recording.calls.exchange import Asked
from agent_tt.recording.scope import here
from agent_tt.recording.session import SESSION
from agent_tt.redaction.marks import MARK, canonical
from agent_tt.redaction.names import is_secret_header
from agent_tt.redaction.texts import asked_parameters, asked_text, redact_text
from agent_tt.redaction.values import asked
from agent_tt.seams.http.http_body import canonical_body, parsed_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from agent_tt.codec.wire import Wire

KEPT_HEADERS: Final = frozenset(
    {"accept", "content-type", "anthropic-version", "anthropic-beta", "openai-beta", "mcp-protocol-version"}
)
"""Headers that always count, in lower case; their parameters (`; charset=…`, a multipart boundary) do not."""

IDEMPOTENCY_KEY: Final = "idempotency-key"
"""The header by which a server recognises a request that is sent again (draft-ietf-httpapi-idempotency-key-header)."""

_FRAMING: Final = frozenset({"content-length", "content-encoding", "transfer-encoding"})
"""Headers that say how a body is sent; another body has others."""

_DEFAULT_PORTS: Final = {"http": 80, "https": 443, "ws": 80, "wss": 443}


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as it reaches the network.

    Attributes:
        method: in any case.
        url: absolute.
        headers: names and values as they are sent, in order.
        body: all of it, without transfer coding.
    """

    method: str
    url: str
    headers: Sequence[tuple[str, str]]
    body: bytes

    def with_body(self, url: str, body: bytes) -> HttpRequest:
        """The same request to another address, with another body: plain, and as long as its headers say."""
        kept = [(name, value) for name, value in self.headers if name.lower() not in _FRAMING]
        return HttpRequest(self.method, url, [*kept, ("content-length", str(len(body)))], body)


class EditableRequest:
    """A request of which a person who is asked may change path, query and body; see `recording.calls.arguments.Given`.

    Its method and headers go out as they are, and so does whatever else was left as it was shown, secrets and all.
    """

    def __init__(self, request: HttpRequest) -> None:
        self._request = request

    def editable(self, named: Mapping[str, Wire]) -> tuple[str, ...]:
        """The address, and a body that is shown as it is written: JSON, a form or text."""
        has_body = parsed_json(self._request.body) is not None or isinstance(named.get("body"), str | None)
        return ("url", "body") if has_body or self._is_form else ("url",)

    def edited(
        self, named: Mapping[str, Wire], changed: Mapping[str, Wire], decode: Callable[[Wire], object]
    ) -> HttpRequest:
        """The request that goes out.

        Raises:
            UsageError: the address is not text, or a mark in place of a secret would go out.
        """
        request = self._request
        url = changed.get("url", request.url)
        if not isinstance(url, str) or MARK in canonical(unquote(url)):
            raise UsageError("url is not an address to send to", hint="write all of it, without marks of secrets")
        if urlsplit(url)[:2] != urlsplit(request.url)[:2]:  # the connection may be open already
            raise UsageError("url is at another host", hint="change its path or query, or deny the request")
        if "body" not in changed:
            return replace(request, url=url)
        return request.with_body(url, self._body(named.get("body"), changed["body"], decode))

    @property
    def _is_form(self) -> bool:
        return (
            joined_headers(self._request.headers)
            .get("content-type", "")
            .startswith("application/x-www-form-urlencoded")
        )

    def _body(self, shown: Wire, wanted: Wire, decode: Callable[[Wire], object]) -> bytes:
        found = parsed_json(self._request.body)
        if found is None and self._is_form:
            live = sorted(parse_qsl(self._request.body.decode("latin-1"), keep_blank_values=True))
            pairs = edited_value([list(pair) for pair in live], shown, wanted, decode, "body")
            try:
                return urlencode([(str(name), str(value)) for name, value in pairs]).encode()  # type: ignore[attr-defined]
            except (TypeError, ValueError):
                raise UsageError("body is not a form", hint='write it as pairs: [["amount", "5"]]') from None
        is_text = isinstance(wanted, str) and found is None
        live_value = self._request.body.decode("utf-8", "replace") if found is None else json.loads(self._request.body)
        value = edited_value(live_value, shown, wanted, decode, "body")
        if value is None:
            return b""
        text = value if is_text and isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return text.encode("utf-8", "surrogatepass")


def question_of(request: HttpRequest) -> Asked:
    """The question that a request is.

    Its arguments are exactly what counts (`method`, `url`, `headers`, `body`), so that a difference between two
    questions lies in them; all headers as they were sent, without secrets, are among its facts.
    """
    method = request.method.upper()
    url = urlsplit(request.url)
    place = f"{url.scheme.lower()}://{_host(url)}{asked_text(url.path) or '/'}"
    query = asked_parameters(parse_qsl(url.query, keep_blank_values=True, errors="backslashreplace"))
    kept = KEPT_HEADERS | _kept_headers()
    sent = joined_headers(request.headers)
    headers: dict[str, Wire] = {
        name: MARK if is_secret_header(name) else ", ".join(part.partition(";")[0].strip() for part in value.split(","))
        for name, value in sent.items()
        if name in kept
    }
    body = asked(canonical_body(sent.get("content-type", ""), request.body))
    name, args, signature = _said(method, place, query, headers, body)
    return Asked(
        kind="http",
        name=name,
        args=args,
        signature=signature,
        facts={**CallFacts.headers.entry(_shown(sent)), **_key_of(sent)},
        given=EditableRequest(request),
    )


def _said(
    method: str, place: str, query: Sequence[tuple[str, str]], headers: Mapping[str, Wire], body: Wire
) -> tuple[str, dict[str, Wire], str]:
    """Name, arguments and digest of a question."""
    pairs: list[Wire] = [list(pair) for pair in sorted(query)]
    signature = digest(["http", f"{method} {place}", pairs, dict(headers), body]).hex()
    shown = place + (f"?{urlencode(query, safe='<>', quote_via=quote)}" if query else "")
    return f"{method} {place}", {"method": method, "url": shown, "headers": dict(headers), "body": body}, signature


def question_again(args: Mapping[str, Wire], *, is_redacted: bool) -> tuple[str, dict[str, Wire], str]:
    """A recorded question once more: its name, arguments and digest.

    Args:
        args: the arguments that `question_of` gave.
        is_redacted: whether what the rules that hold now find in it is taken out.
    """
    place, _, rest = str(args["url"]).partition("?")
    query = parse_qsl(rest, keep_blank_values=True)
    body = args.get("body")
    headers = args.get("headers")
    if is_redacted:
        start = place.find("/", place.find("://") + 3)
        place = place if start < 0 else place[:start] + asked_text(place[start:])
        query, body = asked_parameters(query), asked(body)
    return _said(str(args["method"]), place, query, headers if isinstance(headers, dict) else {}, body)


def _kept_headers() -> frozenset[str]:
    """Name the further headers that count: those of the run that is replayed, else those that `record` was given."""
    for kept in SESSION.chain.kept_headers:
        names = kept()
        if names is not None:
            return names
    scope = here()
    return frozenset() if scope is None else scope.recording.kept_headers


def _key_of(headers: Mapping[str, str]) -> dict[str, Wire]:
    key = headers.get(IDEMPOTENCY_KEY)
    return CallFacts.idempotency_key.entry(key) if key else {}


def joined_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers by name in lower case; values of a repeated one joined with commas."""
    joined: dict[str, str] = {}
    for key, value in headers:
        name = key.lower()
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined


def shown_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers as they are shown: joined, without secrets."""
    return _shown(joined_headers(headers))


def _shown(headers: Mapping[str, str]) -> dict[str, str]:
    return {
        name: MARK if is_secret_header(name) else redact_text(value.encode("utf-8", "backslashreplace").decode())
        for name, value in headers.items()
    }


def _host(url: SplitResult) -> str:
    """Host and port without who logs in there; a port that goes without saying is not said."""
    host = url.hostname or ""
    if ":" in host:
        host = f"[{host}]"
    return host if url.port in (None, _DEFAULT_PORTS.get(url.scheme.lower())) else f"{host}:{url.port}"
