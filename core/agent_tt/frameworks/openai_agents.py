"""OpenAI Agents: function tools, handoffs, sessions in files, and which agent's turn it is.

A function tool is caught where the runner invokes it, below guardrails and hooks and above the tool's own handling of
errors; an agent that is used as a tool is one, and what its agent does is nested in it. A handoff is a call as well:
the model asks for it as for a tool, and it may run a function of the agent's. Hosted tools run at the provider; they
stand in the model's answer. The object that the agent gave to its run as `context` is shared: tools may change it.

A session that is kept in a file is there before the run and after it. So what it gives is recorded, and what goes into
it is a write; where a fork denies that, its conversation is not kept, and the agent goes on.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import json
from typing import TYPE_CHECKING, Any, Final

from agent_tt.errors import ToolDenied
from agent_tt.frameworks.tool_calls import Kept, ToolCall, asked_by, call_tool_async
from agent_tt.recording.calls.exchange import is_watched
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.modules.fitness import need_keywords, need_members
from agent_tt.recording.modules.rebinding import Rebinding, Replaced
from agent_tt.recording.steps.agent_names import acting

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from types import ModuleType

    from agent_tt.model import Effect

    Run = Callable[..., Awaitable[Any]]

_NAME: Final = "OpenAI Agents"
_TEXT: Final = "input"
"""The name of arguments that are not a JSON object."""

_SESSION: Final[Mapping[str, Effect]] = {
    "get_items": "read", "add_items": "write", "pop_item": "write", "clear_session": "write",
}  # fmt: skip
"""The methods of a session, and what they do to its file."""


def patches(module: ModuleType) -> list[Replaced]:
    """List what is replaced in `agents`; nothing in a module of the program's own that is called so.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    if not hasattr(module, "FunctionTool") or not hasattr(module, "Runner"):
        return []
    tool, loop, turns = module.tool, module.run_internal.run_loop, module.run_internal.turn_resolution
    invoke = tool._invoke_function_tool_with_metadata  # noqa: SLF001  `invoke_function_tool` calls it; the runner calls this
    need_keywords(invoke, "function_tool", "context", "arguments")
    need_keywords(tool.maybe_invoke_function_tool_failure_error_function, "function_tool", "context", "error")
    need_keywords(turns.execute_handoffs, "run_handoffs", "context_wrapper")
    need_keywords(loop.run_single_turn, "bindings")
    need_keywords(loop.run_single_turn_streamed, "bindings")
    need_members(module.SQLiteSession, *_SESSION)
    return [
        *(Patch(module.SQLiteSession, name, functools.partial(_in_session, name)) for name in _SESSION),
        Rebinding(invoke, _invoking(invoke, tool)),
        Rebinding(turns.execute_handoffs, _handing_off(turns.execute_handoffs)),
        *(Rebinding(turn, _named(turn)) for turn in (loop.run_single_turn, loop.run_single_turn_streamed)),
    ]


# ---------------------------------------------------------------- function tools


def _invoking(original: Run, module: ModuleType) -> Run:
    result_of = module._FunctionToolInvocationResult  # noqa: SLF001
    failed = module.maybe_invoke_function_tool_failure_error_function

    def wrapped(recorded: Any) -> Any:
        return recorded if isinstance(recorded, result_of) else result_of(recorded)

    kept = Kept(lambda result: result if result.is_sdk_generated_error else result.output, wrapped)

    @functools.wraps(original)
    async def invoke(*, function_tool: Any, context: Any, arguments: str) -> Any:
        asked = asked_by(_NAME, _tool, function_tool, context, arguments)
        if asked is None:
            return await original(function_tool=function_tool, context=context, arguments=arguments)

        def make(given: dict[str, Any]) -> Awaitable[Any]:
            text = _text(asked, given, arguments)
            if text is not arguments:
                context.tool_arguments, context._function_tool_arguments = text, None  # noqa: SLF001  parsed already
            return original(function_tool=function_tool, context=context, arguments=text)

        try:
            return await call_tool_async(asked, make, kept)
        except ToolDenied as denied:  # told to the model as what the tool raises is
            said = await failed(function_tool=function_tool, context=context, error=denied)
            if said is None:
                raise
            return result_of(said, is_sdk_generated_error=True)

    return invoke


def _tool(tool: Any, context: Any, arguments: str) -> ToolCall:
    return ToolCall(
        name=getattr(tool, "qualified_name", tool.name),
        arguments=_arguments(arguments),
        shared=_shared(context),
        function=getattr(tool, "__wrapped__", None),
        answers=getattr(context, "tool_call_id", None),
        effect=_effect(tool),
    )


def _arguments(text: str) -> Mapping[str, object]:
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {_TEXT: text}


def _text(asked: ToolCall, given: dict[str, Any], arguments: str) -> str:
    """The arguments as a text again: the model's own, or what a person made of them."""
    if given == dict(asked.arguments):
        return arguments
    is_text = given.keys() == {_TEXT} == asked.arguments.keys()
    return str(given[_TEXT]) if is_text else json.dumps(given)


def _shared(context: Any) -> dict[str, object]:
    """The agent's own object, under a name that no parameter has."""
    return {} if context.context is None else {"run context": context.context}


def _effect(tool: Any) -> Effect | None:
    """What the SDK knows: an agent's tools are calls of their own, and a server may say that its tool only reads."""
    hints = getattr(tool, "mcp_annotations", None)
    hint = getattr(hints, "read_only_hint", getattr(hints, "readOnlyHint", None))  # mcp 2, else 1
    return "read" if hint is True or getattr(tool, "_is_agent_tool", False) else None


# ---------------------------------------------------------------- handoffs


def _handing_off(original: Run) -> Run:
    @functools.wraps(original)
    async def execute_handoffs(*, run_handoffs: list[Any], context_wrapper: Any, **options: Any) -> Any:
        if is_watched() and run_handoffs:  # the first counts, the others are refused
            first, *others = run_handoffs
            handoff = copy.copy(first.handoff)
            handoff.on_invoke_handoff = _recorded_handoff(first.handoff, first.tool_call.call_id)
            run_handoffs = [dataclasses.replace(first, handoff=handoff), *others]
        return await original(run_handoffs=run_handoffs, context_wrapper=context_wrapper, **options)

    return execute_handoffs


def _recorded_handoff(handoff: Any, call_id: str) -> Run:
    async def invoke(context: Any, arguments: str) -> Any:
        asked = asked_by(_NAME, _handoff, handoff, call_id, context, arguments)
        if asked is None:
            return await handoff.on_invoke_handoff(context, arguments)

        def make(given: dict[str, Any]) -> Awaitable[Any]:
            made: Awaitable[Any] = handoff.on_invoke_handoff(context, _text(asked, given, arguments))
            return made

        return await call_tool_async(asked, make, Kept(lambda agent: agent.name, lambda _name: handoff._agent_ref()))  # noqa: SLF001

    return invoke


def _handoff(handoff: Any, call_id: str, context: Any, arguments: str) -> ToolCall | None:
    """Describe a handoff; None if only the program's own code knows which agent it leads to."""
    if handoff._agent_ref is None or handoff._agent_ref() is None:  # noqa: SLF001
        return None
    has_callback, callback = _callback(handoff.on_invoke_handoff)
    return ToolCall(
        name=handoff.tool_name,
        arguments=_arguments(arguments),
        shared=_shared(context),
        function=callback,
        answers=call_id,
        effect="write" if has_callback else "read",
    )


def _callback(invoke: Any) -> tuple[bool, object]:
    """Whether a handoff runs a function of the agent's, and which; where that cannot be told, it does."""
    for function in (invoke, *getattr(invoke, "args", ())):
        code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None)
        if code is not None and cells is not None and "on_handoff" in code.co_freevars:
            found = cells[code.co_freevars.index("on_handoff")].cell_contents
            return found is not None, found
    return True, None


# ---------------------------------------------------------------- sessions


def _in_session(name: str, original: Run) -> Run:
    names = [*inspect.signature(original).parameters][1:]

    async def method(session: Any, *args: Any, **options: Any) -> Any:
        given = {**dict(zip(names, args, strict=False)), **options}
        asked = asked_by(_NAME, _session_call, name, session, given)
        if asked is None:
            return await original(session, *args, **options)

        def make(arguments: dict[str, Any]) -> Awaitable[Any]:
            return original(session, **{each: value for each, value in arguments.items() if each != _ID})

        try:
            return await call_tool_async(asked, make)
        except ToolDenied:
            if name != "add_items":
                raise
            return None

    return method


_ID: Final = "session_id"


def _session_call(name: str, session: Any, given: Mapping[str, object]) -> ToolCall | None:
    if str(session.db_path) == ":memory:":  # it is the agent's own, and gone with it
        return None
    return ToolCall(f"session.{name}", {_ID: session.session_id, **given}, effect=_SESSION[name])


# ---------------------------------------------------------------- agents


def _named(turn: Run) -> Run:
    @functools.wraps(turn)
    async def run_turn(*args: Any, **options: Any) -> Any:
        bindings = options.get("bindings") or next((each for each in args if hasattr(each, "public_agent")), None)
        with acting(getattr(getattr(bindings, "public_agent", None), "name", None)):
            return await turn(*args, **options)

    return run_turn
