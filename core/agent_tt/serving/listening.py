"""What every server here does at its door: where it listens, who may name it, and which token is right."""

from __future__ import annotations

import hmac
import ipaddress
from typing import TYPE_CHECKING, Final

from agent_tt.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from socket import socket

__all__ = ["LOOPBACK", "SHORTEST_TOKEN", "hosts_of", "is_loopback", "is_token", "listening", "origins_of"]

LOOPBACK: Final = "127.0.0.1"
"""The address that is listened on where nobody says another."""

SHORTEST_TOKEN: Final = 16
"""Characters of a token that is taken."""

_WAITING: Final = 128
"""Connections that wait to be accepted."""


def listening(port: int, host: str = LOOPBACK) -> socket:
    """A socket that listens.

    Args:
        port: where; 0 takes a free one.
        host: the address of this machine.

    Raises:
        UsageError: the port is taken, or the address is none of this machine.
    """
    import socket as sockets

    family = sockets.AF_INET6 if ":" in host else sockets.AF_INET
    bound = sockets.socket(family, sockets.SOCK_STREAM)
    bound.setsockopt(sockets.SOL_SOCKET, sockets.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        bound.listen(_WAITING)  # who is told the address at once is answered as soon as the server runs
    except OSError as error:
        bound.close()
        raise UsageError(f"{host}:{port} cannot be listened on: {error.strerror}", hint="Name another port.") from error
    return bound


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address; a name other than `localhost` is taken for one that others do."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def hosts_of(port: int, host: str = LOOPBACK, more: Iterable[str] = ()) -> frozenset[str]:
    """What a request may name as its host: the address itself and what was said beside, else it was led here by a name.

    Args:
        port: where it is listened.
        host: the address that is listened on.
        more: names under which a proxy hands requests on, each with its port where that is not the usual one.
    """
    own = {f"[{host}]" if ":" in host else host}
    if is_loopback(host):
        own.add("localhost")
    return frozenset({f"{name}:{port}" for name in own} | {name.lower() for name in more})


def origins_of(port: int, host: str = LOOPBACK, more: Iterable[str] = ()) -> frozenset[str]:
    """The pages of a browser that may ask: those of the server itself, also behind a proxy that speaks TLS."""
    named = {name.lower() for name in more}
    return frozenset({f"http://{name}" for name in hosts_of(port, host)} | {f"https://{name}" for name in named})


def is_token(given: bytes, expected: bytes) -> bool:
    """Whether a token is the right one, compared in a time that says nothing about how much of it is."""
    return hmac.compare_digest(given, expected)
