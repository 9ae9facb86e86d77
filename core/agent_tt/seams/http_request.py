"""What a request asks, and the digest by which a replay recognises the same question.

The digest covers the method, the place, the query in any order, the few headers that change what is asked, and the body
in its canonical form. Keys, cookies, tracing, retry counts and versions of clients do not count: the same code asks the
same question with another key, on its second try, or through a newer SDK.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit

from agent_tt.history.digest import digest
from agent_tt.recording.calls import KEY
from agent_tt.recording.exchange import Asked
from agent_tt.recording.kept_headers import headers_here
from agent_tt.redaction.marks import MARK
from agent_tt.redaction.names import is_secret_header
from agent_tt.redaction.values import asked, asked_parameters, asked_text, redact_text
from agent_tt.seams.http_body import canonical_body

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agent_tt.codec.wire import Wire

KEPT_HEADERS: Final = frozenset(
    {"accept", "content-type", "anthropic-version", "anthropic-beta", "openai-beta", "mcp-protocol-version"}
)
"""Headers that always count, in lower case; their parameters (`; charset=…`, a multipart boundary) do not."""

IDEMPOTENCY_KEY: Final = "idempotency-key"
"""The header by which a server recognises a request that is sent again (draft-ietf-httpapi-idempotency-key-header)."""

_FRAMING: Final = frozenset({"content-length", "content-encoding", "transfer-encoding"})
"""Headers that say how a body is sent; another body has others."""

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


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


def question_of(request: HttpRequest) -> Asked:
    """The question that a request is.

    Its arguments are exactly what counts (`method`, `url`, `headers`, `body`), so that a difference between two
    questions lies in them; all headers as they were sent, without secrets, are among its facts.
    """
    method = request.method.upper()
    url = urlsplit(request.url)
    place = f"{url.scheme.lower()}://{_host(url)}{asked_text(url.path) or '/'}"
    query = asked_parameters(parse_qsl(url.query, keep_blank_values=True, errors="backslashreplace"))
    kept = KEPT_HEADERS | headers_here()
    sent = joined_headers(request.headers)
    headers: dict[str, Wire] = {
        name: MARK if is_secret_header(name) else ", ".join(part.partition(";")[0].strip() for part in value.split(","))
        for name, value in sent.items()
        if name in kept
    }
    body = asked(canonical_body(sent.get("content-type", ""), request.body))
    pairs: list[Wire] = [list(pair) for pair in sorted(query)]
    signature = digest(["http", f"{method} {place}", pairs, headers, body]).hex()
    shown = place + (f"?{urlencode(query, safe='<>', quote_via=quote)}" if query else "")
    return Asked(
        kind="http",
        name=f"{method} {place}",
        args={"method": method, "url": shown, "headers": headers, "body": body},
        signature=signature,
        facts={"headers": dict[str, "Wire"](_shown(sent)), **_key_of(sent)},
    )


def _key_of(headers: Mapping[str, str]) -> dict[str, Wire]:
    key = headers.get(IDEMPOTENCY_KEY)
    return {KEY: key} if key else {}


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
