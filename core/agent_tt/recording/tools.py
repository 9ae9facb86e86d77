"""`@agent_tt.tool`: functions with which an agent reaches into the world."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast, overload

from agent_tt.errors import UsageError
from agent_tt.recording.calls.boundary import recorded
from agent_tt.recording.calls.once_keys import once_per
from agent_tt.recording.calls.signature import CallSpec, Parameters

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.model import CallKind, Effect
    from agent_tt.recording.calls.once_keys import Once

P = ParamSpec("P")
R = TypeVar("R")


@overload
def tool(function: Callable[P, R], /) -> Callable[P, R]: ...


@overload
def tool(
    *,
    effect: Effect | None = None,
    name: str | None = None,
    once: str | None = None,
    idempotency_key: str | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def tool(
    function: Callable[P, R] | None = None,
    /,
    *,
    effect: Effect | None = None,
    name: str | None = None,
    once: str | None = None,
    idempotency_key: str | None = None,
) -> Callable[P, R] | Callable[[Callable[P, R]], Callable[P, R]]:
    """Record every call of a function as a tool call; `@tool` or `@tool(effect="read")`.

    Plain, async, generator and async generator functions keep their nature, methods drop `self` from what is recorded.
    Arguments are kept as they are when the call begins, results as they are when they come back. Outside any recording
    the function simply runs.

    ```python
    @agent_tt.tool(effect="read")
    def search_docs(query):
        return {"docs": [], "count": 0}
    ```

    Args:
        function: the function, when the decorator is used without arguments.
        effect: `read` when a call changes nothing in the world, `write` when it may. Undeclared it is what
            `[tool.agent-tt.effects]` says of its name, else `write`: a fork denies such tools unless they are allowed.
        name: what the calls are called, in place of the function's own name.
        once: a format string over the arguments, `order-{id}`, that makes a key. Over all runs and processes that
            record into one store the tool is done once for a key, and its answer given again, as it was kept. Where it
            may have happened, or the store cannot be asked, it is not run and raises. Each tool has its own keys.
        idempotency_key: name of the parameter by which the outside world recognises a repeated call. It does not count
            when two calls are compared. A tool that writes is done once for its value, too, unless that is None; where
            it may have happened it is made again.

    Raises:
        UsageError: the effect is another word, the function has no parameter of that name, or `once` names something
            that is no argument, or does not fit the tool.
    """
    if effect not in (None, "read", "write"):
        raise UsageError(f'effect={effect!r} is not an effect of a tool: write effect="read" or effect="write"')
    if once is not None and effect == "read":
        raise UsageError("a tool that only reads is not done once", hint='leave once= out, or write effect="write"')

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        return mark(
            function,
            "tool",
            effect or "write",
            name=name,
            once=once,
            idempotency_key=idempotency_key,
            is_effect_said=effect is not None,
        )

    return decorate if function is None else decorate(function)


def mark(
    function: Callable[P, R],
    kind: CallKind,
    effect: Effect | None,
    *,
    name: str | None = None,
    once: str | None = None,
    idempotency_key: str | None = None,
    model: str | None = None,
    has_receiver: bool | None = None,
    seen: Callable[[], None] | None = None,
    is_effect_said: bool = True,
) -> Callable[P, R]:
    """Wrap a function so that its calls are recorded. A classmethod or staticmethod stays one.

    Args:
        function: the function.
        kind: as in `CallSpec`.
        effect: as in `CallSpec`.
        name: as in `CallSpec`; None for the function's own.
        once: as in `tool`.
        idempotency_key: as in `CallSpec`.
        model: as in `CallSpec`.
        seen: as in `CallSpec`.
        is_effect_said: as in `CallSpec`.
        has_receiver: whether the first argument is the object or class of a method; None decides by its name.
    """
    if isinstance(function, (classmethod, staticmethod)):
        inner = mark(
            function.__func__,
            kind,
            effect,
            name=name,
            once=once,
            idempotency_key=idempotency_key,
            model=model,
            seen=seen,
            is_effect_said=is_effect_said,
        )
        return cast("Callable[P, R]", type(function)(inner))
    parameters = Parameters(function, has_receiver=has_receiver)
    if idempotency_key is not None and idempotency_key not in parameters:
        raise UsageError(
            f"{called(function)} has no parameter {idempotency_key!r} to take as its idempotency key",
            hint="give the name of one of its parameters",
        )
    spec = CallSpec(
        kind,
        name or called(function),
        effect,
        parameters,
        idempotency_key,
        model,
        seen=seen,
        is_effect_said=is_effect_said,
        once=_once(function, parameters, once, idempotency_key),
    )
    return recorded(function, spec)


def _once(
    function: Callable[..., object], parameters: Parameters, template: str | None, idempotency_key: str | None
) -> Once | None:
    """How the keys are made for which a tool is done once."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        if template is None:
            return None
        raise UsageError(f"{called(function)} gives its answer in pieces, and cannot be done once=")
    if template is None:
        template = None if idempotency_key is None else f"{{{idempotency_key}}}"
    return (
        None if template is None else once_per(template, parameters.defaults, is_recognised=idempotency_key is not None)
    )


def called(function: object) -> str:
    """The name of a function as its calls show it: without its class, of a partial what it calls."""
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))
