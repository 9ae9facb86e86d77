"""Google's Gen AI SDK: functions that it calls by itself when a model asks for them.

They are caught where the SDK has made a function's arguments of the model's, and before it turns an error of the
function into an answer. Tools of MCP sessions are calls of their own server.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from agent_tt.frameworks.tool_calls import ToolCall, asked_by, call_tool, call_tool_async
from agent_tt.recording.modules.fitness import need_keywords
from agent_tt.recording.modules.rebinding import Rebinding

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from types import ModuleType

    Function = Callable[..., Any]
    Read = Callable[[Mapping[str, Any], Function], Mapping[str, Any]]

_NAME: Final = "google-genai"


def patches(module: ModuleType) -> list[Rebinding]:
    """List what is replaced in `google.genai._extra_utils`.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    invoke, invoke_async = module.invoke_function_from_dict_args, module.invoke_function_from_dict_args_async
    for each in (invoke, invoke_async):
        need_keywords(each, "args", "function_to_invoke")
    read = module.convert_argument_from_function
    need_keywords(read, "args", "function")
    return [Rebinding(invoke, _invoking(invoke, read)), Rebinding(invoke_async, _invoking_async(invoke_async, read))]


def _invoking(original: Function, read: Read) -> Function:
    @functools.wraps(original)
    def invoke(args: Mapping[str, Any], function_to_invoke: Function) -> Any:
        asked = asked_by(_NAME, _tool, args, function_to_invoke)
        if asked is None:
            return original(args, function_to_invoke)

        @functools.wraps(function_to_invoke)  # the SDK looks at its parameters
        def function(**converted: Any) -> Any:
            return call_tool(asked, lambda given: function_to_invoke(**_arguments(asked, given, converted, read)))

        return original(args, function)

    return invoke


def _invoking_async(original: Callable[..., Awaitable[Any]], read: Read) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(original)
    async def invoke(args: Mapping[str, Any], function_to_invoke: Function) -> Any:
        asked = asked_by(_NAME, _tool, args, function_to_invoke)
        if asked is None:
            return await original(args, function_to_invoke)

        @functools.wraps(function_to_invoke)  # as above
        async def function(**converted: Any) -> Any:
            def make(given: dict[str, Any]) -> Awaitable[Any]:
                made: Awaitable[Any] = function_to_invoke(**_arguments(asked, given, converted, read))
                return made

            return await call_tool_async(asked, make)

        return await original(args, function)

    return invoke


def _tool(args: Mapping[str, Any], function: Function) -> ToolCall:
    return ToolCall(function.__name__, dict(args), function=function)


def _arguments(asked: ToolCall, given: dict[str, Any], converted: Mapping[str, Any], read: Read) -> Mapping[str, Any]:
    """What the function is given: what the SDK made of the model's arguments, or of those that a person changed."""
    return converted if given == asked.arguments else read(given, asked.function)  # type: ignore[arg-type]  # as in `_tool`
