"""Strands: tools of functions, and which agent's turn it is.

A tool is caught where it calls its function; what a tool of an MCP server does is a call of that server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from agent_tt.frameworks.tool_calls import ToolCall, calling
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.modules.fitness import need_attributes, need_parameters
from agent_tt.recording.steps.agent_names import acting_as

if TYPE_CHECKING:
    from types import ModuleType

_NAME: Final = "Strands"


def patches(module: ModuleType) -> list[Patch]:
    """List what is replaced in `strands`.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    kinds = module.tools.decorator.DecoratedFunctionTool, module.tools.tools.PythonAgentTool
    for kind in kinds:
        need_parameters(kind.stream, "tool_use", "invocation_state")
        need_attributes(kind.__init__, "_tool_func")
    return [
        *(Patch(kind, "stream", calling(_NAME, "_tool_func", _tool)) for kind in kinds),
        Patch(module.Agent, "stream_async", acting_as("name")),
    ]


def _tool(tool: Any, tool_use: Any, *_args: Any, **_options: Any) -> ToolCall:
    return ToolCall(
        tool.tool_name,
        dict(tool_use["input"]),
        function=tool._tool_func,  # noqa: SLF001
        answers=tool_use.get("toolUseId"),
    )
