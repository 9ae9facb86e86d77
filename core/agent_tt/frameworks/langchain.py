"""LangChain and LangGraph: tools, and which agent or node acts.

Every tool runs in `BaseTool.run` or `arun`: `ToolNode`, agents, middleware and code that calls `invoke` come there.
These call callbacks, read the model's arguments, handle errors and make a message of the answer, which they do in a
replay, too; the call is what stands in their middle, `_run` or `_arun` of the tool. What a graph injects into a tool
(its state, store and runtime) are contexts.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from typing import TYPE_CHECKING, Any, Final

from agent_tt.frameworks.tool_calls import InMiddle, Kept, ToolCall, asked_by, call_tool, call_tool_async
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.modules.fitness import need_attributes, need_keywords, need_members
from agent_tt.recording.steps.agent_names import AgentNames

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from types import ModuleType

_NAME: Final = "LangChain"
_TEXT: Final = "tool_input"
"""The name of an input that is a text."""

_NODES: Final = frozenset({"agent", "model", "tools"})
"""What LangGraph's ready-made agents call their nodes."""


# ---------------------------------------------------------------- tools


def tools(module: ModuleType) -> list[Patch]:
    """List what is replaced in `langchain_core.tools.base`.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    base = module.BaseTool
    need_keywords(base.run, "tool_input", "tool_call_id")
    need_keywords(base.arun, "tool_input", "tool_call_id")
    need_attributes(base.run, "_run")
    need_attributes(base.arun, "_arun")
    need_members(base, "_filter_injected_args", "_to_args_and_kwargs")
    return [Patch(base, "run", _running), Patch(base, "arun", _running_async)]


def _running(original: Callable[..., Any]) -> Callable[..., Any]:
    def run(tool: Any, tool_input: Any, *args: Any, **options: Any) -> Any:
        asked = asked_by(_NAME, _tool, tool, tool_input, options.get("tool_call_id"))
        if asked is None:
            return original(tool, tool_input, *args, **options)
        given_again = _GivenAgain(tool, tool_input, options.get("tool_call_id"), asked)

        @functools.wraps(tool._run)  # noqa: SLF001  its parameters are looked at
        def _run(*positional: Any, **named: Any) -> Any:
            def make(arguments: dict[str, Any]) -> Any:
                values, names = given_again(arguments, positional, named)
                return tool._run(*values, **names)  # noqa: SLF001

            return call_tool(asked, make, _KEPT)

        return original(InMiddle(tool, _run=_run), tool_input, *args, **options)

    return run


def _running_async(original: Callable[..., Any]) -> Callable[..., Any]:
    async def arun(tool: Any, tool_input: Any, *args: Any, **options: Any) -> Any:
        asked = asked_by(_NAME, _tool, tool, tool_input, options.get("tool_call_id"))
        if asked is None:
            return await original(tool, tool_input, *args, **options)
        given_again = _GivenAgain(tool, tool_input, options.get("tool_call_id"), asked)

        @functools.wraps(tool._arun)  # noqa: SLF001  as above
        async def _arun(*positional: Any, **named: Any) -> Any:
            def make(arguments: dict[str, Any]) -> Awaitable[Any]:
                values, names = given_again(arguments, positional, named)
                made: Awaitable[Any] = tool._arun(*values, **names)  # noqa: SLF001
                return made

            return await call_tool_async(asked, make, _KEPT)

        return await original(InMiddle(tool, _arun=_arun), tool_input, *args, **options)

    return arun


class _GivenAgain:
    """The arguments of `_run` where a person changed those of the model."""

    def __init__(self, tool: Any, tool_input: Any, tool_call_id: str | None, asked: ToolCall) -> None:
        self._tool = tool
        self._input = tool_input
        self._id = tool_call_id
        self._asked = asked

    def __call__(
        self, arguments: Mapping[str, Any], positional: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if arguments == dict(self._asked.arguments):
            return positional, named
        given = arguments[_TEXT] if isinstance(self._input, str) else {**self._input, **arguments}
        values, names = self._tool._to_args_and_kwargs(given, self._id)  # noqa: SLF001
        return values, {**{name: value for name, value in named.items() if name not in names}, **names}


def _tool(tool: Any, tool_input: Any, tool_call_id: str | None) -> ToolCall:
    is_text = isinstance(tool_input, str)
    arguments = {_TEXT: tool_input} if is_text else tool._filter_injected_args(tool_input)  # noqa: SLF001
    return ToolCall(
        name=tool.name,
        arguments=arguments,
        contexts={} if is_text else {name: value for name, value in tool_input.items() if name not in arguments},
        answers=tool_call_id,
        function=getattr(tool, "func", None) or getattr(tool, "coroutine", None) or type(tool)._run,  # noqa: SLF001
    )


def _with_nodes(answer: Any, change: Callable[[Any, Any], Any]) -> Any:
    """An answer, with `change` done to the nodes that its commands go to; that is given the class `Send` as well."""
    types = sys.modules.get("langgraph.types")
    if isinstance(answer, list):
        return [_with_nodes(each, change) for each in answer]
    if types is None or not isinstance(answer, types.Command):
        return answer
    if isinstance(answer.goto, (list, tuple)):
        return dataclasses.replace(answer, goto=[change(node, types.Send) for node in answer.goto])
    return dataclasses.replace(answer, goto=change(answer.goto, types.Send))


def _as_data(node: Any, send: type) -> object:
    is_send = isinstance(node, send)
    return {name: getattr(node, name) for name in send.__slots__} if is_send else node  # type: ignore[attr-defined]


def _as_send(node: Any, send: type) -> object:
    return send(**node) if isinstance(node, dict) else node


_KEPT: Final = Kept(
    lambda answer: _with_nodes(answer, _as_data),  # `Send` is no class that can be made again from what it shows
    lambda answer: _with_nodes(answer, _as_send),
)


# ---------------------------------------------------------------- agents


def agents(module: ModuleType) -> list[AgentNames]:
    """Where a graph keeps who acts.

    Raises:
        AttributeError: this version does not have it.
    """
    from langchain_core.runnables.config import var_child_runnable_config

    return [AgentNames(module, lambda: _acting(var_child_runnable_config.get()))]


def _acting(config: Mapping[str, Any] | None) -> str | None:
    """The agent of a graph whose node runs: its name, else the innermost node that is not a ready-made agent's."""
    said = (config or {}).get("metadata") or {}
    name = said.get("lc_agent_name")
    if isinstance(name, str):
        return name
    path = str(said.get("langgraph_checkpoint_ns") or said.get("langgraph_node") or "").split("|")
    nodes = [node.partition(":")[0] for node in path if node]
    return next((node for node in reversed(nodes) if node not in _NODES), None)
