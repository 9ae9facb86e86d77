"""The debugger over the Model Context Protocol, by its own SDK: on standard input and output, or HTTP on loopback.

Over HTTP every request has to bring the token that the server was started with, and to name the server as its host: a
page in a browser, or a name that leads here (DNS rebinding), is refused.
"""

from __future__ import annotations

import logging
import threading
from contextlib import asynccontextmanager, closing
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from agent_tt._version import __version__
from agent_tt.errors import UsageError
from agent_tt.serving.listening import LOOPBACK, hosts_of, is_token, listening, origins_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from mcp.server.auth.provider import AccessToken
    from mcp.server.lowlevel import Server
    from starlette.applications import Starlette

    from agent_tt.serving.debugger import Debugger

__all__ = ["serve_http", "serve_stdio"]

PATH: Final = "/mcp"
_NAME: Final = "agent-tt"
_MOST_BODY: Final = 1 << 20
_MOST_SESSIONS: Final = 64
_AT_ONCE: Final = 4
"""Calls that are answered side by side; others wait."""

_MISSING: Final = "the server for coding agents needs the SDK of the Model Context Protocol, which is not installed"
_OLDEST: Final = 2
"""The major version of the SDK that is spoken here."""

_HINT: Final = "pip install 'agent-tt[mcp]'"


def protocol_server(debugger: Debugger, ended: Callable[[], None] = lambda: None) -> Server[Any]:
    """The server of the SDK, which lists and calls the tools of a debugger.

    Args:
        debugger: what answers.
        ended: called when the server ends.

    Raises:
        UsageError: the SDK is not installed.
    """
    try:
        import anyio
        import anyio.to_thread
        from mcp import types
        from mcp.server.lowlevel import Server

        found = version("mcp")
    except ImportError as error:
        raise UsageError(_MISSING, hint=_HINT) from error
    if int(found.partition(".")[0]) < _OLDEST:
        raise UsageError(f"mcp {found} is installed here, which is too old", hint=_HINT)
    listed = [
        types.Tool(
            name=tool.name,
            description=tool.help,
            input_schema=tool.schema(),
            annotations=types.ToolAnnotations(
                read_only_hint=not tool.starts, destructive_hint=tool.starts, open_world_hint=tool.starts
            ),
        )
        for tool in debugger.tools.values()
    ]
    limiter: list[anyio.CapacityLimiter] = []

    async def list_tools(_context: object, _params: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(_context: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        if not limiter:
            limiter.append(anyio.CapacityLimiter(_AT_ONCE))
        left = threading.Event()
        try:
            reply = await anyio.to_thread.run_sync(
                partial(debugger.answer, params.name, params.arguments or {}, cancelled=left.is_set),
                abandon_on_cancel=True,
                limiter=limiter[0],
            )
        finally:
            left.set()  # nobody waits any more: a search ends, and an agent that runs is stopped
        return types.CallToolResult(content=[types.TextContent(text=reply.text)], is_error=reply.is_error)

    @asynccontextmanager
    async def lifespan(_server: object) -> AsyncIterator[dict[str, Any]]:
        try:
            yield {}
        finally:
            ended()

    return Server(
        _NAME,
        version=__version__,
        title="agent-tt: a debugger of recorded agent runs",
        instructions=debugger.instructions,
        lifespan=lifespan,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def serve_stdio(debugger: Debugger, ended: Callable[[], None] = lambda: None) -> None:
    """Serve one client on standard input and output, until it closes them.

    Raises:
        UsageError: the SDK is not installed.
    """
    server = protocol_server(debugger, ended)
    import anyio
    from mcp.server.stdio import stdio_server

    async def serve() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(serve)


def _http_app(server: Server[Any], port: int, token: str) -> Starlette:
    """The application for HTTP: only with the token, and only for who names this very address."""
    from mcp.server.auth.provider import AccessToken
    from mcp.server.auth.settings import AuthSettings
    from mcp.server.transport_security import TransportSecuritySettings
    from pydantic import AnyHttpUrl

    class OneToken:
        """Knows the one token that there is."""

        async def verify_token(self, token: str) -> AccessToken | None:
            if not is_token(token.encode(), expected):
                return None
            return AccessToken(token=token, client_id="local", scopes=[])

    expected = token.encode()
    return server.streamable_http_app(
        streamable_http_path=PATH,
        host=LOOPBACK,
        max_request_body_size=_MOST_BODY,
        max_sessions=_MOST_SESSIONS,
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=sorted(hosts_of(port)),
            allowed_origins=sorted(origins_of(port)),
        ),
        auth=AuthSettings(issuer_url=AnyHttpUrl(f"http://{LOOPBACK}:{port}"), resource_server_url=None),
        token_verifier=OneToken(),
    )


def serve_http(
    debugger: Debugger,
    port: int,
    token: str,
    told: Callable[[str], None],
    ended: Callable[[], None] = lambda: None,
) -> None:
    """Serve clients over HTTP until Ctrl-C.

    Args:
        debugger: what answers.
        port: where it is listened, on loopback alone; 0 takes a free port.
        token: what every request has to bring.
        told: told the address, from when on it is answered.
        ended: called when the server ends.

    Raises:
        UsageError: the SDK is not installed, or the port is taken.
    """
    server = protocol_server(debugger, ended)
    try:
        import uvicorn
    except ImportError as error:
        raise UsageError(_MISSING, hint=_HINT) from error
    with closing(listening(port)) as bound:
        number = bound.getsockname()[1]
        logging.getLogger("mcp").setLevel(logging.ERROR)
        app = _http_app(server, number, token)
        config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=2)
        told(f"http://{LOOPBACK}:{number}{PATH}")
        uvicorn.Server(config).run(sockets=[bound])
