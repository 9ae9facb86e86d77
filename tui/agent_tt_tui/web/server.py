"""Serving the app to browsers on this machine: a process of it for each tab, for who has the token.

Textual-serve brings the terminal in the page and speaks with the processes. What stands here is the door: the token,
which becomes a cookie that no script reads; the host and the origin that a request may name; and a page that loads
nothing from elsewhere.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from agent_tt.errors import UsageError
from agent_tt.serving.listening import LOOPBACK, hosts_of, is_token, listening, origins_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from aiohttp import web
    from aiohttp.typedefs import Handler, Middleware

__all__ = ["serve"]

_PAGE: Final = Path(__file__).parent / "page"
_MOST_TABS: Final = 16
"""Processes of the app at once."""

_SAFE: Final = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
    "connect-src 'self' ws://{host}; frame-ancestors 'none'; form-action 'none'; base-uri 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


def serve(words: Sequence[str], port: int, token: str, told: Callable[[str], None]) -> None:
    """Serve the app until Ctrl-C.

    Args:
        words: the arguments of `agent-tt` that open what is to be seen.
        port: where it is listened, on loopback alone; 0 takes a free port.
        token: what the first request of a browser has to bring.
        told: told the address with the token, from when on it is answered.

    Raises:
        UsageError: the extra is not installed, or the port is taken.
    """
    try:
        from aiohttp import web
        from textual_serve.server import Server
    except ImportError as error:
        raise UsageError(
            "the app in a browser needs textual-serve", hint="Install it with: pip install 'agent-tt[web]'"
        ) from error

    class AppServer(Server):
        """Textual's server, behind the door, without its greeting."""

        def __init__(self, port: int) -> None:
            super().__init__(command, LOOPBACK, port, "agent-tt", templates_path=_PAGE)
            self._tabs: set[asyncio.Task[object]] = set()

        async def _make_app(self) -> web.Application:
            app = await super()._make_app()
            app.middlewares.append(_door(self.port, token))
            app.router.add_static("/page", _PAGE)
            return app

        async def on_startup(self, app: web.Application) -> None:
            del app

        async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
            if len(self._tabs) >= _MOST_TABS:
                raise web.HTTPServiceUnavailable(text=f"{_MOST_TABS} tabs are open: close one of them")
            task = asyncio.current_task()
            if task is not None:
                self._tabs.add(task)
                task.add_done_callback(self._tabs.discard)
            return await super().handle_websocket(request)

        async def on_shutdown(self, app: web.Application) -> None:
            """End the app of each tab, which takes leave of its terminal."""
            del app
            for task in self._tabs:
                task.cancel()
            await asyncio.gather(*self._tabs, return_exceptions=True)

    os.environ.setdefault("COLORTERM", "truecolor")  # what the page's terminal draws, whatever this one does
    command = shlex.join([sys.executable, "-m", "agent_tt_tui", *words])
    with closing(listening(port)) as bound:
        number = bound.getsockname()[1]
        server = AppServer(number)
        told(f"http://{LOOPBACK}:{number}/?token={quote(token, safe='')}")
        web.run_app(server._make_app(), sock=bound, print=None, access_log=None, shutdown_timeout=2.0)  # noqa: SLF001


def _door(port: int, token: str) -> Middleware:
    """Let in who names this server and brings its token, once in the address and then in a cookie."""
    from aiohttp import web

    hosts, origins, expected, cookie = hosts_of(port), origins_of(port), token.encode(), f"agent-tt-{port}"

    @web.middleware
    async def door(request: web.Request, handler: Handler) -> web.StreamResponse:
        host, origin = request.headers.get("Host", "").lower(), request.headers.get("Origin")
        if host not in hosts or (origin is not None and origin.lower() not in origins):
            return web.Response(status=403, text="this server answers only to its own address")
        given = request.query.get("token") if request.path == "/" else None
        if given is not None and is_token(given.encode("utf-8", "surrogatepass"), expected):
            found: web.StreamResponse = web.Response(status=303, headers={"Location": "/"})
            found.set_cookie(cookie, token, httponly=True, samesite="Strict", path="/")
        elif is_token(request.cookies.get(cookie, "").encode("utf-8", "surrogatepass"), expected):
            found = await handler(request)
        else:
            return web.Response(status=401, text="open the address that `agent-tt open --web` wrote: it has the token")
        if not found.prepared:
            found.headers.update({name: value.replace("{host}", host) for name, value in _SAFE.items()})
        return found

    return door
