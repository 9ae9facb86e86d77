"""What connections of `http.client` and of urllib3 have in common while they are recorded or served."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit

from agent_tt.seams.http.wire_files import RecordedSocket

if TYPE_CHECKING:
    from agent_tt.seams.http.http_exchange import WireExchange

Function = Callable[..., Any]
"""A method of a connection, as a patch gets and gives it."""

EXCHANGE: Final = "_agent_tt_exchange"
"""The attribute in which a connection keeps its current exchange, if urllib3 began that."""


def get_response(original: Function, connection: Any, exchange: WireExchange) -> object:
    """Call `original`, the connection's `getresponse`, and record what its answer is read from."""
    exchange.sent()
    make: Function = connection.response_class
    had_its_own = "response_class" in vars(connection)
    connection.response_class = lambda sock, *args, **options: make(RecordedSocket(sock, exchange), *args, **options)
    try:
        response = original(connection)
    except BaseException as error:
        exchange.failed(error)
        raise
    finally:
        if had_its_own:
            connection.response_class = make
        else:
            del connection.response_class
    if exchange.answer is not None:
        connection.sock = None  # so that a pool takes it for a closed one: the next request has another answer
    return response


def target_of(place: str, url: str) -> str:
    """What a request names as its target: all of the address where it did so before (to a proxy), else the path."""
    if not url.startswith("/"):
        return place
    parts = urlsplit(place)
    return urlunsplit(("", "", parts.path or "/", parts.query, ""))


def bracketed(host: str) -> str:
    """Write a host as it stands in an address: one of IPv6 in brackets."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def payload_of(body: Any) -> bytes | None:
    """The bytes of a body that can be sent as it is; None for one that must be read first, and then is used up."""
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode("utf-8", "surrogatepass")
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(body)
    return None


def read_body(body: Any, position: int | None, encoding: str = "utf-8") -> bytes:
    """All of a file (from `position`, where one is given) or of an iterable."""
    if not hasattr(body, "read"):
        return b"".join(part.encode(encoding) if isinstance(part, str) else bytes(part) for part in body)
    if position is not None:
        body.seek(position)
    content = body.read()
    return content.encode(encoding) if isinstance(content, str) else bytes(content)
