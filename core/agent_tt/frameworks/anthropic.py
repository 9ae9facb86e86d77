"""Anthropic's client: tools of `beta_tool`, those of its own that a runner calls, and the members of its toolsets.

A runner calls a tool by its `call` with the input that the model wrote, and so does a program with a loop of its own.
What a runner makes of an answer or an error, it makes again in a replay.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from agent_tt.frameworks.tool_calls import InMiddle, ToolCall, asked_by, call_tool, call_tool_async
from agent_tt.recording.calls.boundary import spec_of
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.modules.fitness import need_attributes, need_parameters
from agent_tt.recording.scope import here

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import ModuleType

    Call = Callable[..., Any]
    CallAsync = Callable[..., Awaitable[Any]]

_NAME: Final = "Anthropic"
_INPUT: Final = "input"
"""The name of an input that is not a JSON object."""


def patches(module: ModuleType) -> list[Patch]:
    """List what is replaced in `anthropic.lib.tools`.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    runners = module._beta_runner  # noqa: SLF001  where the classes are that both kinds of runner are made of
    functions = (module.BetaFunctionTool, "call", _calling), (module.BetaAsyncFunctionTool, "call", _calling_async)
    for owner, name, _ in functions:
        need_parameters(getattr(owner, name), _INPUT)
    running = (runners.BaseSyncToolRunner, _calling), (runners.BaseAsyncToolRunner, _calling_async)
    for owner, _ in running:
        need_parameters(owner._run_tool, "tool", "tool_use")  # noqa: SLF001
        need_attributes(owner._run_tool, "call", "input")  # noqa: SLF001
    members = (module.BetaRunnableToolset, _member), (module.BetaAsyncRunnableToolset, _member_async)
    for owner, _ in members:
        need_parameters(owner.tool_result, "tool_use")
        need_parameters(owner.call, "context", "name", _INPUT)
    return [
        *(Patch(owner, name, make) for owner, name, make in functions),
        *(Patch(owner, "_run_tool", _running(recorded)) for owner, recorded in running),
        *(Patch(owner, "tool_result", _answering(recorded)) for owner, recorded in members),
    ]


# ---------------------------------------------------------------- tools that are made of functions


def _calling(original: Call) -> Call:
    def call(tool: Any, input: object) -> Any:  # noqa: A002  its name in the client
        asked = asked_by(_NAME, _tool, tool, input)
        if asked is None:
            return original(tool, input)
        return call_tool(asked, lambda given: original(tool, _again(given, input)))

    return call


def _calling_async(original: CallAsync) -> CallAsync:
    async def call(tool: Any, input: object) -> Any:  # noqa: A002  as above
        asked = asked_by(_NAME, _tool, tool, input)
        if asked is None:
            return await original(tool, input)
        return await call_tool_async(asked, lambda given: original(tool, _again(given, input)))

    return call


def _tool(tool: Any, given: object) -> ToolCall | None:
    if _is_named(tool) and _is_in_call():
        return None
    answers = getattr(tool, "_agent_tt_answers", None)  # where a runner calls it
    return ToolCall(tool.name, _arguments(given), function=getattr(tool, "func", None), answers=answers)


def _is_named(tool: Any) -> bool:
    """Whether the program's own recording was told of the `call` of tools, as `--call module.tool.call` does."""
    return spec_of(tool.__class__.call) is not None  # not `type(tool)`: it may be an `InMiddle`


def _is_in_call() -> bool:
    """Whether this code runs in a call that was named so: it is recorded there."""
    scope = here()
    spec = None if scope is None or scope.call is None else scope.call.spec
    return spec is not None and spec.made_of is None and spec.name.rpartition(".")[2] == "call"


def _arguments(given: object) -> dict[str, object]:
    return dict(given) if isinstance(given, dict) else {_INPUT: given}


def _again(arguments: dict[str, Any], given: object) -> object:
    """What a tool is given: the model's own input, or what a person made of it."""
    if arguments == _arguments(given):
        return given
    return arguments if isinstance(given, dict) else arguments[_INPUT]


# ---------------------------------------------------------------- the tools of a runner


def _running(recorded: Callable[[Call], Call]) -> Callable[[Call], Call]:
    """Tell a tool which question it answers; one whose `call` is its own is recorded here."""

    def replacing(original: Call) -> Call:
        def _run_tool(runner: Any, tool: Any, tool_use: Any) -> Any:
            if hasattr(tool, "func") and _is_named(tool):
                return original(runner, tool, tool_use)
            call = type(tool).call if hasattr(tool, "func") else recorded(type(tool).call)
            asked = functools.partial(call, InMiddle(tool, _agent_tt_answers=tool_use.id))
            return original(runner, InMiddle(tool, call=asked), tool_use)

        return _run_tool

    return replacing


# ---------------------------------------------------------------- toolsets


def _answering(recorded: Callable[[Any, str], Call]) -> Callable[[Call], Call]:
    """Build the result for the call of a member as ever, with that recorded."""

    def replacing(original: Call) -> Call:
        def tool_result(toolset: Any, tool_use: Any) -> Any:
            return original(InMiddle(toolset, call=recorded(toolset, tool_use.id)), tool_use)

        return tool_result

    return replacing


def _member(toolset: Any, answers: str) -> Call:
    def call(context: Any, name: str, given: Any) -> Any:
        asked = asked_by(_NAME, ToolCall, name, _arguments(given), answers=answers)
        if asked is None:
            return toolset.call(context, name, given)
        return call_tool(asked, lambda arguments: toolset.call(context, name, _again(arguments, given)))

    return call


def _member_async(toolset: Any, answers: str) -> CallAsync:
    async def call(context: Any, name: str, given: Any) -> Any:
        asked = asked_by(_NAME, ToolCall, name, _arguments(given), answers=answers)
        if asked is None:
            return await toolset.call(context, name, given)
        return await call_tool_async(asked, lambda arguments: toolset.call(context, name, _again(arguments, given)))

    return call
