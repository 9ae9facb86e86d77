"""What a request to an MCP server asks, its messages as JSON, and what the server says of its tools."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Final

from agent_tt.codec.encode import encode
from agent_tt.errors import UsageError
from agent_tt.history.digest import digest
from agent_tt.recording.calls.arguments import edited_value
from agent_tt.recording.calls.exchange import Asked, begin_exchange
from agent_tt.redaction.values import asked as asked_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Effect
    from agent_tt.recording.calls.answers import Served
    from agent_tt.recording.calls.recorded_call import RecordedCall
    from agent_tt.seams.mcp.mcp_streams import Frame

_CALLS_A_TOOL: Final = "tools/call"
_LISTS_TOOLS: Final = "tools/list"
_READS: Effect = "read"


def calls_a_tool(frame: Frame) -> bool:
    """Whether a message asks the server to call a tool."""
    return frame.get("method") == _CALLS_A_TOOL and "id" in frame and isinstance(frame.get("params"), dict)


class Asking:
    """The requests of one session, and what its server has said of its tools by now.

    A tool writes unless the server has listed it with `readOnlyHint`.
    """

    def __init__(self, server: list[str] | str) -> None:
        self._server = server
        self._listings: set[object] = set()
        self._effects: dict[str, Effect] = {}

    def sent(self, frame: Frame) -> None:
        """Note a message of the client."""
        if frame.get("method") == _LISTS_TOOLS:
            self._listings.add(frame.get("id"))

    def received(self, frame: Frame) -> None:
        """Note a message of the server: the reply to a listing of its tools says which of them only read."""
        if "method" in frame or frame.get("id") not in self._listings:
            return
        self._listings.discard(frame.get("id"))
        result = frame.get("result")
        tools = result.get("tools") if isinstance(result, dict) else None
        for tool in tools if isinstance(tools, list) else ():
            if isinstance(tool, dict):
                hints = tool.get("annotations")
                reads = isinstance(hints, dict) and hints.get("readOnlyHint") is True
                self._effects[str(tool.get("name"))] = _READS if reads else "write"

    def begin(self, frame: Frame) -> RecordedCall | Served | None:
        """Make a call of a request. Its `_meta` (progress tokens, traces) is not asked.

        Raises:
            BaseException: as `begin_exchange`.
        """
        method, params = str(frame["method"]), frame.get("params")
        asked = {key: value for key, value in params.items() if key != "_meta"} if isinstance(params, dict) else params
        name, effect = method, _READS
        if method == _CALLS_A_TOOL and isinstance(asked, dict):
            name = str(asked.get("name"))
            effect = self._effects.get(name, "write")
        named: dict[str, Wire] = {
            "server": asked_value(encode(self._server)),
            "method": method,
            "params": asked_value(encode(asked)),
        }
        signature = signature_of(named)
        given = _EditableFrame(frame) if method == _CALLS_A_TOOL else None
        return begin_exchange(Asked("tool", name, named, signature, effect=effect, given=given), can_wait=True)


def signature_of(named: Mapping[str, Wire]) -> str:
    """The hex digest of the question that a request to a server is, by its arguments."""
    return digest(["mcp", dict(named)]).hex()


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


class Messages:
    """Frames as JSON, from and to the messages of the installed version."""

    def __init__(self) -> None:
        # The library is loaded: it is its transports that are patched. From version 2 on its types are a package.
        self._types: Any = sys.modules.get("mcp_types") or sys.modules["mcp.types"]
        self._message: Any = sys.modules["mcp.shared.message"].SessionMessage

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
