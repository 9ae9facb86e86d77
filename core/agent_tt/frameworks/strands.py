"""Strands: tools of functions, and which agent's turn it is.

A tool is caught where it calls its function; what a tool of an MCP server does is a call of that server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from agent_tt.frameworks.tool_calls import InMiddle, ToolCall, asked_by, in_place_of
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.modules.fitness import need_attributes, need_parameters
from agent_tt.recording.steps.agent_names import acting_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from types import ModuleType

    Stream = Callable[..., AsyncIterator[Any]]

_NAME: Final = "Strands"


def patches(module: ModuleType) -> list[Patch]:
    """What is replaced in `strands`.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    kinds = module.tools.decorator.DecoratedFunctionTool, module.tools.tools.PythonAgentTool
    for kind in kinds:
        need_parameters(kind.stream, "tool_use", "invocation_state")
        need_attributes(kind.__init__, "_tool_func")
    return [*(Patch(kind, "stream", _streaming) for kind in kinds), Patch(module.Agent, "stream_async", _acting)]


def _streaming(original: Stream) -> Stream:
    def stream(tool: Any, tool_use: Any, invocation_state: Any, **options: Any) -> AsyncIterator[Any]:
        asked = asked_by(_NAME, _tool, tool, tool_use)
        if asked is not None:
            tool = InMiddle(tool, _tool_func=in_place_of(tool._tool_func, asked))  # noqa: SLF001
        return original(tool, tool_use, invocation_state, **options)

    return stream


def _tool(tool: Any, tool_use: Any) -> ToolCall:
    return ToolCall(
        tool.tool_name,
        dict(tool_use["input"]),
        function=tool._tool_func,  # noqa: SLF001
        answers=tool_use.get("toolUseId"),
    )


def _acting(original: Stream) -> Stream:
    def stream_async(agent: Any, *args: Any, **options: Any) -> AsyncIterator[Any]:
        return acting_in(original(agent, *args, **options), agent.name)

    return stream_async
