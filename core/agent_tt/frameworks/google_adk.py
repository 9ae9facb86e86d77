"""Google ADK: tools of functions, and which agent's turn it is.

A tool is caught where it calls its function, below confirmations and the reading of arguments. The actions of its event
are shared: what it changes of the session's state, and whom it hands over to, a replay repeats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from agent_tt.frameworks.tool_calls import InMiddle, ToolCall, asked_by, call_tool_async
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.modules.fitness import need_attributes, need_keywords
from agent_tt.recording.steps.agent_names import acting_as

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import ModuleType

    Run = Callable[..., Awaitable[Any]]

_NAME: Final = "Google ADK"
_OF_THE_RUN: Final = frozenset({"google.adk.tools.transfer_to_agent_tool", "google.adk.tools.exit_loop_tool"})
"""Where the functions are that hand over to another agent, or end a loop."""


def tools(module: ModuleType) -> list[Patch]:
    """List what is replaced in `google.adk.tools.function_tool`.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    run = module.FunctionTool.run_async
    need_keywords(run, "args", "tool_context")
    need_attributes(run, "_invoke_callable", "func")
    return [Patch(module.FunctionTool, "run_async", _running)]


def _running(original: Run) -> Run:
    async def run_async(tool: Any, *, args: dict[str, Any], tool_context: Any) -> Any:
        asked = asked_by(_NAME, _tool, tool, args, tool_context)
        if asked is None:
            return await original(tool, args=args, tool_context=tool_context)

        async def _invoke_callable(target: Any, args_to_call: dict[str, Any]) -> Any:
            def make(given: dict[str, Any]) -> Awaitable[Any]:
                changed = {name: value for name, value in given.items() if value != asked.arguments.get(name)}
                made: Awaitable[Any] = tool._invoke_callable(target, {**args_to_call, **changed})  # noqa: SLF001
                return made

            if target is not tool.func:  # whether a person has to confirm it
                return await make({})
            return await call_tool_async(asked, make)

        return await original(InMiddle(tool, _invoke_callable=_invoke_callable), args=args, tool_context=tool_context)

    return run_async


def _tool(tool: Any, args: dict[str, Any], tool_context: Any) -> ToolCall:
    return ToolCall(
        name=tool.name,
        arguments=dict(args),
        contexts={"tool context": tool_context},
        shared={"event actions": tool_context.actions},
        function=tool.func,
        answers=tool_context.function_call_id,
        effect="read" if getattr(tool.func, "__module__", None) in _OF_THE_RUN else None,
    )


def agents(module: ModuleType) -> list[Patch]:
    """List what is replaced in `google.adk.agents`.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    return [Patch(module.BaseAgent, "run_async", acting_as("name"))]
