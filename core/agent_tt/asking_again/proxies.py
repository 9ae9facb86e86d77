"""The proxy that a request goes by, as the user's environment says it: `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`.

Only what is encrypted goes by one: it sees the name of the server, and neither key nor words. What is asked of this
machine is asked directly.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # typeshed leaves it out

from agent_tt.errors import UsageError
from agent_tt.proxying.forwarding import Proxy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.asking_again.hosts import Destination

__all__ = ["proxy_of"]

_VARIABLES: Final = ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
_PORT: Final = 80


def proxy_of(destination: Destination, environment: Mapping[str, str]) -> Proxy | None:
    """Find the proxy that a request goes by; None where it goes directly.

    Args:
        destination: where it goes.
        environment: the user's variables; those in small letters come first, as for curl and Python's own clients.

    Raises:
        UsageError: what a variable says cannot be used.
    """
    parts = urlsplit(destination.url)
    variable = next((each for each in _VARIABLES if environment.get(each, "").strip()), None)
    if parts.scheme != "https" or destination.is_here or variable is None:
        return None
    without = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    if proxy_bypass_environment(parts.netloc.rpartition("@")[2], {"no": without}):
        return None
    said = environment[variable].strip()
    try:
        named = urlsplit(said if "://" in said else f"http://{said}")
        host, port = named.hostname, named.port or _PORT
    except ValueError:
        host, port, named = None, _PORT, urlsplit("")
    if named.scheme != "http" or not host:
        raise UsageError(
            f"{variable} names no proxy that can be used here",
            hint="it is http://HOST:PORT; NO_PROXY names the servers that are asked directly",
        )
    if named.username is None:
        return Proxy(host, port, variable)
    pair = f"{unquote(named.username)}:{unquote(named.password or '')}".encode()
    return Proxy(host, port, variable, f"Basic {base64.b64encode(pair).decode('ascii')}")
