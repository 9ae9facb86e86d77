"""MCP servers that run as a process: what goes through the streams of `stdio_client`, frame by frame.

A request of the client is a call, in the lane of whoever makes it; `tools/call` is called after its tool. Whatever the
server says unasked (notifications, requests of its own) are the pieces of the call that connects. On replay no process
starts: a request gets the recorded reply to the same method and parameters, under the id that it has now, and what the
server said unasked comes at its turn. MCP over HTTP needs none of this: it goes through httpx.
"""

from __future__ import annotations

import functools
import json
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, cast

from agent_tt.codec.encode import encode
from agent_tt.errors import UsageError
from agent_tt.history.digest import digest
from agent_tt.recording.calls.arguments import edited_value
from agent_tt.recording.calls.exchange import Asked, begin_exchange, is_watched
from agent_tt.recording.calls.recorded_call import RecordedCall
from agent_tt.recording.lanes.guard_bypass import passing
from agent_tt.recording.modules.rebinding import Rebinding
from agent_tt.recording.scope import nowhere
from agent_tt.redaction.values import asked as asked_value
from agent_tt.seams.mcp.mcp_streams import RecordedTalk, ServedTalk

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from types import ModuleType

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Effect
    from agent_tt.recording.calls.answers import Served
    from agent_tt.seams.mcp.mcp_streams import Frame

_CALLS_A_TOOL: Final = "tools/call"
_READS: Effect = "read"


def patches(module: ModuleType) -> list[Rebinding]:
    """What is replaced in `mcp.client.stdio`.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    return [Rebinding(module.stdio_client, _recorded(module))]


def _recorded(module: ModuleType) -> Any:
    original, frames = module.stdio_client, _Frames(module)

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
        ask = functools.partial(_ask, command)
        if served is not None:
            served_talk = ServedTalk(call, served, frames, ask)
            try:
                yield await served_talk.streams()
            finally:
                served_talk.close()
            return
        talk = RecordedTalk(cast("RecordedCall", call), frames, ask)
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


def _ask(command: list[str], frame: Frame) -> RecordedCall | Served | None:
    """Make a call of a request. Its `_meta` (progress tokens, traces) is not asked."""
    method, params = str(frame["method"]), frame.get("params")
    asked = {key: value for key, value in params.items() if key != "_meta"} if isinstance(params, dict) else params
    name, effect = method, _READS
    if method == _CALLS_A_TOOL and isinstance(asked, dict):
        name, effect = str(asked.get("name")), "write"  # what its server says of it is a hint, not a promise
    named: dict[str, Wire] = {
        "server": asked_value(encode(command)),
        "method": method,
        "params": asked_value(encode(asked)),
    }
    signature = digest(["mcp", named]).hex()
    given = _EditableFrame(frame) if method == _CALLS_A_TOOL else None
    return begin_exchange(Asked("tool", name, named, signature, effect=effect, given=given), can_wait=True)


class _EditableFrame:
    """A request of which a person who is asked may change the parameters; see `recording.calls.arguments.Given`."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def editable(self, _named: Mapping[str, Wire]) -> tuple[str, ...]:
        """What is asked of the server, not which one."""
        return ("params",)

    def edited(self, named: Mapping[str, Wire], changed: Mapping[str, Wire], decode: Callable[[Wire], object]) -> Frame:
        """The request that goes out."""
        params = self._frame.get("params")
        meta = {"_meta": params["_meta"]} if isinstance(params, dict) and "_meta" in params else {}
        asked = {key: value for key, value in (params or {}).items() if key != "_meta"}
        wanted = edited_value(asked, named.get("params"), changed["params"], decode, "params")
        if not isinstance(wanted, dict) or wanted.get("name") != asked.get("name"):
            raise UsageError("params must name the same tool", hint='change its "arguments"')
        return {**self._frame, "params": {**wanted, **meta}}


class _Frames:
    """Frames as JSON, from and to the messages of the installed version."""

    def __init__(self, module: ModuleType) -> None:
        self._types = module.types
        self._message = module.SessionMessage

    def read(self, item: Any) -> Frame:
        """The frame that a message is; what is not a message (a line that was no JSON) as text."""
        message = getattr(item, "message", None)
        if message is None:
            return {"unreadable": str(item)}
        frame: Frame = json.loads(message.model_dump_json(by_alias=True, exclude_unset=True))
        return frame

    def message(self, frame: Frame) -> Any:
        """The message that a frame is."""
        if "unreadable" in frame:
            return ValueError(str(frame["unreadable"]))
        text = json.dumps(frame)
        adapter = getattr(self._types, "jsonrpc_message_adapter", None)
        if adapter is None:  # mcp 1
            return self._message(self._types.JSONRPCMessage.model_validate_json(text))
        return self._message(adapter.validate_json(text, by_name=False))
