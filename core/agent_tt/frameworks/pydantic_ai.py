"""Pydantic AI: tools of any toolset, output functions, and whose turn it is.

A tool is caught where the manager of a run's tools asks its toolset, below hooks, approvals and retries, which go on in
a replay. An output function is a tool as well, named after itself: the model writes its arguments, and it may do
anything. Before an answer that streams is whole it is tried on what has come so far; that is no call of its own. The
context of the run is shown by its type; the agent's own `deps` in there are shared, tools may change them.
"""

from __future__ import annotations

import copy
import functools
from typing import TYPE_CHECKING, Any, Final

from agent_tt.frameworks.tool_calls import ToolCall, asked_by, call_tool_async
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.modules.fitness import need_attributes, need_keywords, need_parameters
from agent_tt.recording.modules.rebinding import Rebinding
from agent_tt.recording.steps.agent_names import AgentNames

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import ModuleType

    from agent_tt.model import Effect
    from agent_tt.recording.modules.rebinding import Replaced

    Run = Callable[..., Awaitable[Any]]

_NAME: Final = "Pydantic AI"
_ENDS_A_RUN: Final = "output"
"""The kind of a tool whose arguments are the run's answer."""


def patches(module: ModuleType) -> list[Replaced]:
    """List what is replaced in `pydantic_ai`.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    manager, output = module.tool_manager.ToolManager, module._output.execute_output_function  # noqa: SLF001
    need_parameters(manager._raw_execute, "validated")  # noqa: SLF001  every tool that is run comes here
    need_attributes(manager._raw_execute, "toolset", "call_tool", "validated_args")  # noqa: SLF001
    need_keywords(output, "function_schema", "run_context", "args")
    need_attributes(output, "call")
    return [
        Patch(manager, "_raw_execute", _executing),
        Rebinding(output, _giving_out(output)),
        AgentNames(module, functools.partial(_acting, module._run_context.get_current_run_context)),  # noqa: SLF001
    ]


def _acting(context_here: Callable[[], Any]) -> str | None:
    name = getattr(getattr(context_here(), "agent", None), "name", None)
    return name if isinstance(name, str) else None


# ---------------------------------------------------------------- tools


def _executing(original: Run) -> Run:
    async def _raw_execute(manager: Any, validated: Any, **options: Any) -> Any:
        asked = asked_by(_NAME, _tool, validated)
        if asked is None:
            return await original(manager, validated, **options)
        within = copy.copy(manager)
        within.toolset = _Toolset(manager.toolset, asked)
        return await original(within, validated, **options)

    return _raw_execute


class _Toolset:
    """A toolset as the manager asks it, with its tool's call recorded."""

    def __init__(self, toolset: Any, asked: ToolCall) -> None:
        self._toolset = toolset
        self._asked = asked

    async def call_tool(self, name: str, tool_args: Any, ctx: Any, tool: Any) -> Any:
        """Call the tool. Arguments that a person changed are read as the model's were."""

        def make(given: dict[str, Any]) -> Awaitable[Any]:
            read = tool_args
            if given != dict(self._asked.arguments):
                read = tool.args_validator.validate_python(given, context=ctx.validation_context)
            made: Awaitable[Any] = self._toolset.call_tool(name, read, ctx, tool)
            return made

        return await call_tool_async(self._asked, make)


def _tool(validated: Any) -> ToolCall | None:
    call, tool, ctx = validated.call, validated.tool, validated.ctx
    if tool.tool_def.kind == _ENDS_A_RUN:
        return None
    schema = _schema(tool)
    return ToolCall(
        name=call.tool_name,
        arguments=call.args_as_dict(),
        contexts=_contexts(schema, ctx),
        shared=_shared(ctx),
        function=getattr(schema, "function", None),
        effect=_effect(tool),
        answers=call.tool_call_id,
    )


def _schema(tool: Any) -> Any:
    """What is known of the function that a tool was made of, also where it came through other toolsets."""
    while (source := getattr(tool, "source_tool", None)) is not None:
        tool = source
    return getattr(getattr(tool, "call_func", None), "__self__", None)


def _contexts(schema: Any, ctx: Any) -> dict[str, object]:
    return {"run context": ctx} if getattr(schema, "takes_ctx", False) else {}


def _shared(ctx: Any) -> dict[str, object]:
    """The agent's own object, under a name that no parameter has."""
    return {} if ctx.deps is None else {"run deps": ctx.deps}


def _effect(tool: Any) -> Effect | None:
    """What a server of tools says of one of its own."""
    described = tool.tool_def.metadata or {}
    hints = described.get("annotations")
    return "read" if isinstance(hints, dict) and hints.get("readOnlyHint") is True else None


# ---------------------------------------------------------------- output functions


def _giving_out(original: Run) -> Run:
    @functools.wraps(original)
    async def execute_output_function(function_schema: Any, *, run_context: Any, args: Any, **options: Any) -> Any:
        asked = None if run_context.partial_output else asked_by(_NAME, _output, function_schema, run_context, args)
        schema = function_schema if asked is None else _Schema(function_schema, asked)
        return await original(schema, run_context=run_context, args=args, **options)

    return execute_output_function


class _Schema:
    """What is known of an output function, with its call recorded."""

    def __init__(self, schema: Any, asked: ToolCall) -> None:
        self._schema = schema
        self._asked = asked

    async def call(self, args: Any, ctx: Any) -> Any:
        """Call the function. Arguments that a person changed are read as the model's were."""

        def make(given: dict[str, Any]) -> Awaitable[Any]:
            read = args
            if given != dict(self._asked.arguments):
                read = self._schema.validator.validate_python(given, context=ctx.validation_context)
            made: Awaitable[Any] = self._schema.call(read, ctx)
            return made

        return await call_tool_async(self._asked, make)


def _output(schema: Any, ctx: Any, args: dict[str, Any]) -> ToolCall:
    from pydantic_core import to_jsonable_python  # which the framework has loaded

    return ToolCall(
        name=schema.name,
        arguments=to_jsonable_python(args, fallback=repr),
        contexts=_contexts(schema, ctx),
        shared=_shared(ctx),
        function=schema.function,
    )
