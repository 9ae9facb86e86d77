"""AutoGen: tools, and which agent's turn it is.

A tool is caught where it runs with what was made of the model's arguments. An agent or a team that is used as a tool
is none of its own: what it does is recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from agent_tt.frameworks.tool_calls import InMiddle, ToolCall, asked_by, call_tool_async
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.modules.fitness import need_attributes, need_parameters
from agent_tt.recording.steps.agent_names import acting_as

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from types import ModuleType

    Run = Callable[..., Awaitable[Any]]

_NAME: Final = "AutoGen"


def tools(module: ModuleType) -> list[Patch]:
    """List what is replaced in `autogen_core.tools`.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    tool = module.BaseTool
    need_parameters(tool.run_json, "args", "cancellation_token")
    need_attributes(tool.run_json, "run", "_args_type")
    return [Patch(tool, "run_json", _running)]


def _running(original: Run) -> Run:
    async def run_json(tool: Any, args: Mapping[str, Any], *others: Any, **options: Any) -> Any:
        asked = asked_by(_NAME, _tool, tool, args, options.get("call_id"))
        if asked is None:
            return await original(tool, args, *others, **options)

        async def run(read: Any, cancellation_token: Any) -> Any:
            def make(given: dict[str, Any]) -> Awaitable[Any]:
                again = read if given == asked.arguments else tool.args_type().model_validate(given)
                made: Awaitable[Any] = tool.run(again, cancellation_token)
                return made

            return await call_tool_async(asked, make)

        return await original(InMiddle(tool, run=run), args, *others, **options)

    return run_json


def _tool(tool: Any, args: Mapping[str, Any], call_id: str | None) -> ToolCall:
    return ToolCall(tool.name, dict(args), function=getattr(tool, "_func", None), answers=call_id)


def agents(module: ModuleType) -> list[Patch]:
    """List what is replaced in `autogen_agentchat.agents`.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    return [Patch(module.AssistantAgent, "on_messages_stream", acting_as("name"))]
