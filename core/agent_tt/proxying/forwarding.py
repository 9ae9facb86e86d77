"""One request of the program on its way: to the provider, and the answer back, byte for byte and as it comes.

It leaves through `http.client`, where a recording catches it: each piece of the answer is committed before the program
has it, and a replay gives the recorded ones.
"""

from __future__ import annotations

import http.client
import ssl
from contextlib import closing
from dataclasses import field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from http.client import HTTPResponse

__all__ = ["Answer", "Proxy", "answered", "end_to_end"]

_PIECE: Final = 1 << 16
_OF_THE_CONNECTION: Final = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer"),
        *("transfer-encoding", "upgrade", "expect"),
    }
)
"""Headers of one connection (RFC 9110, section 7.6.1): they are not passed on."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """What stands between here and the server that is asked, and only passes bytes on.

    Attributes:
        host, port: where it is.
        variable: the variable that names it.
        authorization: what it asks of who uses it; empty where it asks nothing.
    """

    host: str
    port: int
    variable: str
    authorization: str = field(default="", repr=False)


class Answer:
    """An answer while it comes.

    Attributes:
        status: its status.
        reason: the words behind that.
        headers: what is passed on of its headers.
    """

    def __init__(self, response: HTTPResponse) -> None:
        self.status = response.status
        self.reason = response.reason
        self.headers = end_to_end(response.getheaders())
        self._response = response

    def pieces(self) -> Iterator[bytes]:
        """The bytes of its body as they come."""
        while piece := self._response.read1(_PIECE):
            yield piece
        if self._response.length:  # the connection broke off before its end
            raise http.client.IncompleteRead(b"", self._response.length)


def answered(
    method: str,
    address: str,
    headers: Iterable[tuple[str, str]],
    body: bytes,
    *,
    seconds: float | None = None,
    proxy: Proxy | None = None,
) -> Iterator[Answer]:
    """Ask an address, and give the answer once; the connection is closed behind it. No redirect is followed.

    Args:
        method: the method.
        address: the whole address.
        headers: what is sent of headers, but for those of the connection.
        body: the body.
        seconds: how long each piece of the answer is waited for; None for as long as it takes.
        proxy: what an encrypted request goes by; it is told the server, and no more.

    Raises:
        OSError, http.client.HTTPException: it could not be asked.
    """
    parts = urlsplit(address)
    host = parts.hostname or ""
    make: type[http.client.HTTPConnection] = http.client.HTTPConnection
    options: dict[str, ssl.SSLContext | float] = {} if seconds is None else {"timeout": seconds}
    if parts.scheme == "https":
        make, options["context"] = http.client.HTTPSConnection, ssl.create_default_context()
    near, port = (host, parts.port) if proxy is None else (proxy.host, proxy.port)
    with closing(make(near, port, **options)) as connection:  # type: ignore[arg-type]
        if proxy is not None:
            told = {"Proxy-Authorization": proxy.authorization} if proxy.authorization else None
            connection.set_tunnel(host, parts.port or http.client.HTTPS_PORT, told)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.putrequest(method, target or "/", skip_accept_encoding=True)
        for name, value in end_to_end(headers):
            if name.lower() not in ("host", "content-length"):
                connection.putheader(name, value)
        if body or method in ("POST", "PUT", "PATCH"):
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body or None)
        with closing(connection.getresponse()) as response:
            yield Answer(response)


def end_to_end(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The headers that are for the other end, and not for the connection alone."""
    pairs = list(headers)
    named = {each.strip().lower() for name, value in pairs if name.lower() == "connection" for each in value.split(",")}
    return [(name, value) for name, value in pairs if name.lower() not in _OF_THE_CONNECTION | named]
