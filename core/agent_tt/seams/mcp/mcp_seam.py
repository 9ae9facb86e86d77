"""MCP servers that run as a process: what goes through the streams of `stdio_client`, frame by frame.

A request of the client is a call, in the lane of whoever makes it; `tools/call` is called after its tool. Whatever the
server says unasked (notifications, requests of its own) are the pieces of the call that connects. On replay no process
starts: a request gets the recorded reply to the same method and parameters, under the id that it has now, and what the
server said unasked comes at its turn.
"""

from __future__ import annotations

import functools
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from agent_tt.codec.encode import encode
from agent_tt.history.digest import digest
from agent_tt.recording.calls.exchange import Asked, begin_exchange, is_watched
from agent_tt.recording.calls.recorded_call import RecordedCall
from agent_tt.recording.lanes.guard_bypass import passing
from agent_tt.recording.modules.rebinding import Rebinding
from agent_tt.recording.scope import nowhere
from agent_tt.redaction.values import asked as asked_value
from agent_tt.seams.mcp.mcp_requests import Asking, Messages
from agent_tt.seams.mcp.mcp_served_streams import ServedTalk
from agent_tt.seams.mcp.mcp_streams import RecordedTalk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from types import ModuleType

    from agent_tt.codec.wire import Wire


def patches(module: ModuleType) -> list[Rebinding]:
    """List what is replaced in `mcp.client.stdio`.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    return [Rebinding(module.stdio_client, _recorded(module))]


def _recorded(module: ModuleType) -> Any:
    original, frames = module.stdio_client, Messages()

    @asynccontextmanager
    @functools.wraps(original)
    async def stdio_client(server: Any, *args: object, **options: object) -> AsyncIterator[Any]:
        command = [str(server.command), *map(str, server.args)]
        begun = begin_exchange(_connecting(command)) if is_watched() else None
        if begun is None:
            async with AsyncExitStack() as stack:
                with passing():
                    streams = await stack.enter_async_context(original(server, *args, **options))
                yield streams
            return
        call, served = (begun, begun.served) if isinstance(begun, RecordedCall) else (None, begun)
        session = Asking(command)
        if served is not None:
            served_talk = ServedTalk(call, served, frames, session)
            try:
                yield await served_talk.streams()
            finally:
                served_talk.close()
            return
        talk = RecordedTalk(cast("RecordedCall", call), frames, session)
        try:
            async with AsyncExitStack() as stack:
                # The process and the tasks around it are part of this call, not calls of the agent's.
                with nowhere(), passing():
                    read, write = await stack.enter_async_context(original(server, *args, **options))
                talk.has_begun = True
                yield talk.streams(read, write)
        except BaseException as error:
            talk.failed(error)
            raise
        finally:
            talk.close()

    return stdio_client


def _connecting(command: list[str]) -> Asked:
    named: dict[str, Wire] = {"command": asked_value(encode(command))}
    return Asked("tool", "mcp server", named, digest(["mcp server", named["command"]]).hex(), effect="read")
