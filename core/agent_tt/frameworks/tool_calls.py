"""A framework's call of a tool, made through the recorder: what every adapter is built on."""

from __future__ import annotations

import functools
import inspect
import logging
from contextlib import aclosing
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar, cast

from agent_tt._dataclass import dataclass
from agent_tt.recording.calls.boundary import recorded, spec_of
from agent_tt.recording.calls.exchange import is_watched
from agent_tt.recording.calls.signature import CallSpec, NamedArguments

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Mapping

    from agent_tt.model import Effect

__all__ = ["InMiddle", "Kept", "ToolCall", "asked_by", "call_tool", "call_tool_async", "calling", "in_place_of"]

_LOG = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool as the model asked for it.

    Attributes:
        name: the tool's.
        arguments: the model's JSON, by name.
        contexts: what the framework gives beside that, by name: shown by its type, never compared.
        shared: objects of the agent's that the tool may change, by name: shown with what they hold, never compared; a
            replay repeats the changes.
        function: what the tool was made of; None where that cannot be told.
        answers: the id that the model asked for it under, where there is one.
        effect: what the framework knows of its effect; None where it knows nothing. What an `@agent_tt.tool` or the
            settings say goes before.
    """

    name: str
    arguments: Mapping[str, object]
    contexts: Mapping[str, object] = field(default_factory=dict)
    shared: Mapping[str, object] = field(default_factory=dict)
    function: object = None
    answers: str | None = None
    effect: Effect | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """How an answer is recorded that a framework wraps in an object of its own.

    Attributes:
        plain: what is recorded of it.
        wrapped: makes it of what was recorded.
    """

    plain: Callable[[Any], object]
    wrapped: Callable[[Any], Any]


_AS_IT_IS: Final = Kept(lambda answer: answer, lambda recorded: recorded)


def asked_by(
    framework: str, describe: Callable[P, ToolCall | None], *args: P.args, **kwargs: P.kwargs
) -> ToolCall | None:
    """What is asked here; None where no recording, replay or fork wants to know, or it cannot be told.

    Args:
        framework: its name, for the warning where it cannot be told. That is said once.
        describe: tells it; None for what is not to be recorded.
        args: what `describe` is given.
        kwargs: the same by name.
    """
    if not is_watched():
        return None
    try:
        return describe(*args, **kwargs)
    except Exception as error:  # noqa: BLE001  a framework that is made otherwise than we know
        if framework not in _TOLD:
            _TOLD.add(framework)
            _LOG.warning("a tool of %s is not recorded: %s: %s", framework, type(error).__name__, error)
        return None


_TOLD: Final[set[str]] = set()


def call_tool(asked: ToolCall, make: Callable[[dict[str, Any]], R], kept: Kept = _AS_IT_IS) -> R:
    """Make a call through the recorder.

    Args:
        asked: what is asked.
        make: makes the call with these arguments; a person may have changed some.
        kept: how its answer is recorded.

    Raises:
        BaseException: what the tool raised, now or when it was recorded; a link refuses the call (`ToolDenied`) or
            halts the agent (`Divergence`).
    """
    live: list[R] = []

    def run(**arguments: Any) -> object:
        return _plain(make(arguments), kept, live)

    answer = recorded(run, _spec(asked))(**asked.arguments)
    return live[-1] if live else cast("R", kept.wrapped(answer))


async def call_tool_async(asked: ToolCall, make: Callable[[dict[str, Any]], Awaitable[R]], kept: Kept = _AS_IT_IS) -> R:
    """As `call_tool`, where a coroutine makes the call."""
    live: list[R] = []

    async def run(**arguments: Any) -> object:
        return _plain(await make(arguments), kept, live)

    answer = await recorded(run, _spec(asked))(**asked.arguments)
    return live[-1] if live else cast("R", kept.wrapped(answer))


def _plain(answer: R, kept: Kept, live: list[R]) -> object:
    """What is recorded of an answer; where that is another object, the answer itself is kept for the agent."""
    plain = kept.plain(answer)
    if plain is not answer:
        live.append(answer)
    return plain


def in_place_of(function: Callable[..., Any], asked: ToolCall) -> Callable[..., Any]:
    """A function whose next call goes through the recorder: to be put where a framework keeps what a tool is made of.

    It is called with what the framework has made of the model's arguments, and stays what it is: plain, a coroutine
    function or a generator function. Arguments that a person changed are given to it as they are.

    Args:
        function: the function.
        asked: what is asked, as the model did.
    """

    def call_with(args: tuple[Any, ...], named: dict[str, Any], given: dict[str, Any]) -> Any:
        before = asked.arguments
        changed = {name: each for name, each in given.items() if name not in before or before[name] != each}
        if changed and args:  # one of them may be there by position
            args, named = (), {**dict(zip(inspect.signature(function).parameters, args, strict=False)), **named}
        return function(*args, **{**named, **changed})

    def call_plain(*args: Any, **named: Any) -> Any:
        return call_tool(asked, lambda given: call_with(args, named, given))

    def call_generator(*args: Any, **named: Any) -> Generator[Any, Any, Any]:
        def run(**given: Any) -> Generator[Any, Any, Any]:
            return (yield from call_with(args, named, given))

        return (yield from recorded(run, _spec(asked))(**asked.arguments))

    async def call_coroutine(*args: Any, **named: Any) -> Any:
        return await call_tool_async(asked, lambda given: call_with(args, named, given))

    async def call_async_generator(*args: Any, **named: Any) -> AsyncIterator[Any]:
        async def run(**given: Any) -> AsyncIterator[Any]:
            async for piece in call_with(args, named, given):
                yield piece

        async with aclosing(recorded(run, _spec(asked))(**asked.arguments)) as pieces:  # type: ignore[type-var]
            async for piece in pieces:
                yield piece

    call: Callable[..., Any] = call_plain
    if inspect.isasyncgenfunction(function):
        call = call_async_generator
    elif inspect.isgeneratorfunction(function):
        call = call_generator
    elif inspect.iscoroutinefunction(function):
        call = call_coroutine
    return functools.wraps(function)(call)


def calling(
    framework: str, function: str, describe: Callable[..., ToolCall | None]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make what is put in place of a tool's method, plain or a coroutine function, for a `Patch`.

    Args:
        framework: its name, for the warning where a call cannot be told.
        function: the attribute in which the tool keeps what the method calls in its middle, maybe one of an attribute:
            `model.asolve`.
        describe: tells what is asked, as in `asked_by`; it is given what the method is.
    """

    def replacing(original: Callable[..., Any]) -> Callable[..., Any]:
        def recorded_in(tool: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
            asked = asked_by(framework, describe, tool, *args, **named)
            if asked is None:
                return tool
            first, _, inner = function.partition(".")
            kept = getattr(tool, first)
            within = InMiddle(kept, **{inner: in_place_of(getattr(kept, inner), asked)}) if inner else None
            return InMiddle(tool, **{first: within or in_place_of(kept, asked)})

        def call(tool: Any, *args: Any, **named: Any) -> Any:
            return original(recorded_in(tool, args, named), *args, **named)

        async def call_async(tool: Any, *args: Any, **named: Any) -> Any:
            return await original(recorded_in(tool, args, named), *args, **named)

        return call_async if inspect.iscoroutinefunction(original) else call

    return replacing


class InMiddle:
    """An object as a method of its class sees it, but for what that calls in its middle.

    Args:
        whole: the object.
        others: what stands in place of attributes of it.
    """

    def __init__(self, whole: object, **others: object) -> None:
        vars(self).update(others, _whole=whole)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(vars(self)["_whole"])

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["_whole"], name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(vars(self)["_whole"], name, value)


def _spec(asked: ToolCall) -> CallSpec:
    spec = CallSpec(
        "tool",
        asked.name,
        asked.effect or "write",
        NamedArguments(asked.contexts, asked.shared),
        made_of=asked.name,
        answers=asked.answers,
    )
    inner = spec_of(asked.function)
    if inner is None or inner.kind != "tool":
        return spec
    return replace(
        spec,
        effect=inner.effect if inner.is_effect_said else spec.effect,
        is_effect_said=inner.is_effect_said,
        idempotency_key=inner.idempotency_key if inner.idempotency_key in asked.arguments else None,
        once=inner.once,
        made_of=inner.name,
        seen=inner.seen,
    )
