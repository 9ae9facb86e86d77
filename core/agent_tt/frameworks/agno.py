"""Agno: functions and toolkits of agents, and which agent's turn it is.

A function is caught where its call comes to it, below hooks and the cache. The state of a session, which it may change,
is shared: a replay repeats the changes.
"""

from __future__ import annotations

import functools
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from agent_tt.frameworks.tool_calls import InMiddle, ToolCall, asked_by, in_place_of
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.modules.fitness import need_attributes, need_keywords
from agent_tt.recording.modules.rebinding import Rebinding
from agent_tt.recording.steps.agent_names import acting_as

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from types import ModuleType

_NAME: Final = "Agno"
_OF_TEAMS: Final = "agno.team._default_tools"
_ASK_MEMBERS: Final = frozenset({"delegate_task_to_member", "delegate_task_to_members"})
"""The functions by which a team asks its members, whose own tools are calls."""


def tools(module: ModuleType) -> list[Patch]:
    """List what is replaced in `agno.tools.function`.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    call = module.FunctionCall
    for each in (call._execute, call._aexecute):  # noqa: SLF001  both public ones do more around them
        need_attributes(each, "function", "entrypoint", "arguments")
    return [Patch(call, "_execute", _executing), Patch(call, "_aexecute", _executing_async)]


def _executing(original: Callable[..., Any]) -> Callable[..., Any]:
    def _execute(call: Any) -> Any:
        with _recorded_in(call):
            return original(call)

    return _execute


def _executing_async(original: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def _aexecute(call: Any) -> Any:
        with _recorded_in(call):
            return await original(call)

    return _aexecute


@contextmanager
def _recorded_in(call: Any) -> Iterator[None]:
    """Let a call find its function recorded; it may be asked for in hooks, which know the call and not us."""
    asked = asked_by(_NAME, _tool, call)
    if asked is None:
        yield
        return
    function = call.function
    call.function = InMiddle(function, entrypoint=in_place_of(function.entrypoint, asked))
    try:
        yield
    finally:
        call.function = function


def _tool(call: Any) -> ToolCall | None:
    function = call.function
    if function.entrypoint is None:
        return None
    asks_a_member = getattr(function.entrypoint, "__module__", None) == _OF_TEAMS and function.name in _ASK_MEMBERS
    state = getattr(function._run_context, "session_state", None)  # noqa: SLF001
    return ToolCall(
        name=function.name,
        arguments=dict(call.arguments or {}),
        shared={"session state": state} if isinstance(state, dict) else {},
        function=function.entrypoint,
        answers=call.call_id,
        effect="read" if asks_a_member else None,
    )


def agents(module: ModuleType) -> list[Rebinding]:
    """List what is replaced in `agno.agent._run`.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    runs = module._run, module._run_stream, module._arun, module._arun_stream  # noqa: SLF001
    for run in runs:
        need_keywords(run, "agent")
    return [Rebinding(run, functools.wraps(run)(acting_as("name")(run))) for run in runs]
