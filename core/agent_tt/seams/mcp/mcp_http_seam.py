"""MCP servers that are reached over HTTP: what goes through the streams of the clients' transports.

A call of a tool is a call, as it is with a server that runs as a process; the requests by which it is sent are not.
All else that the two say to each other is recorded as the HTTP that it is: a session that goes on, resumed or forked,
goes on with the server that it was begun with. What a server says to the request that calls a tool, before its result,
are the pieces of that call.
"""

from __future__ import annotations

import functools
from contextlib import ExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from agent_tt.recording.calls.exchange import is_watched, requests_for
from agent_tt.recording.modules.rebinding import Rebinding
from agent_tt.seams.mcp.mcp_http_streams import HttpTalk
from agent_tt.seams.mcp.mcp_requests import Asking, Messages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from types import ModuleType

_CLIENTS: Final = ("streamable_http_client", "streamablehttp_client", "sse_client")
"""What connects; in versions that have both of the first two, the second calls the first."""


def patches(module: ModuleType) -> list[Rebinding]:
    """List what is replaced in `mcp.client.streamable_http` or `mcp.client.sse`.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    found = next((name for name in _CLIENTS if hasattr(module, name)), _CLIENTS[0])
    original = getattr(module, found)
    return [Rebinding(original, _recorded(original))]


def _recorded(original: Any) -> Any:
    frames = Messages()

    @asynccontextmanager
    @functools.wraps(original)
    async def client(url: str, *args: object, **options: object) -> AsyncIterator[Any]:
        if not is_watched():
            async with original(url, *args, **options) as streams:
                yield streams
            return
        with ExitStack() as leaving:
            async with original(url, *args, **options) as (read, write, *more):
                talk = HttpTalk(frames, Asking(_place_of(url)))
                try:
                    yield (*talk.streams(read, write), *more)
                finally:
                    talk.close()
                    leaving.enter_context(requests_for("reading"))  # to end a session changes nothing but that

    return client


def _place_of(url: str) -> str:
    """The address of a server without what may be a secret: who logs in there, and the query."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
