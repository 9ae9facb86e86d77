"""AG2: tools of functions, and which agent's turn it is.

A tool is caught where it calls its function; the context of the conversation is given to that, and is not recorded.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from agent_tt.frameworks.tool_calls import ToolCall, calling
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.modules.fitness import need_attributes, need_parameters
from agent_tt.recording.steps.agent_names import acting

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from types import ModuleType

_NAME: Final = "AG2"


def patches(module: ModuleType) -> list[Patch]:
    """List what is replaced in `ag2`.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    tool = module.tools.final.function_tool.FunctionTool
    need_parameters(tool.__call__, "event", "context")
    need_attributes(tool.__call__, "model", "asolve", "serialized_arguments")
    return [
        Patch(tool, "__call__", calling(_NAME, "model.asolve", _tool)),
        Patch(module.Agent, "_turn_scope", _turning),
    ]


def _tool(tool: Any, event: Any, _context: Any) -> ToolCall:
    return ToolCall(tool.name, dict(event.serialized_arguments), function=tool.model.call, answers=event.id)


def _turning(original: Callable[..., Any]) -> Callable[..., Any]:
    @asynccontextmanager
    async def _turn_scope(agent: Any, *args: Any, **options: Any) -> AsyncIterator[Any]:
        async with original(agent, *args, **options) as drive:

            async def driving() -> Any:
                with acting(agent.name):
                    return await drive()

            yield driving

    return _turn_scope
