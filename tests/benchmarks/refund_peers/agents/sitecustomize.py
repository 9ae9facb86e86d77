"""Python imports this at its start: an agent of this benchmark, and the tool below it, reaches this machine only."""

import ipaddress
import sys


def _loopback(host: object) -> bool:
    if host in (None, "", "localhost", b"localhost"):
        return True
    try:
        return ipaddress.ip_address(host.decode() if isinstance(host, bytes) else str(host)).is_loopback
    except ValueError:
        return False


def _only_loopback(event: str, arguments: tuple[object, ...]) -> None:
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event in ("socket.connect", "socket.sendto") and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    else:
        return
    if not _loopback(host):
        raise OSError(f"this benchmark speaks to this machine only, not to {host!r}")


sys.addaudithook(_only_loopback)
