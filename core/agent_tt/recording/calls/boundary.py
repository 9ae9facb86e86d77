"""Wrapping functions so that their calls are recorded. Plain, async and generator functions stay what they are."""

from __future__ import annotations

import concurrent.futures
import functools
import inspect
import types
from dataclasses import replace
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar, cast

from agent_tt.recording.calls.placement import begin_call
from agent_tt.recording.calls.served import (
    served_answer,
    served_async_generator,
    served_coroutine,
    served_generator,
)
from agent_tt.recording.calls.signature import CallSpec
from agent_tt.recording.calls.streams import async_stream, relay
from agent_tt.recording.concurrency.tasks import is_asyncio_future
from agent_tt.recording.lanes.guard_bypass import passing

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator

    from agent_tt.recording.calls.recorded_call import RecordedCall

P = ParamSpec("P")
R = TypeVar("R")

_SPEC: Final = "__agent_tt_spec__"
"""The attribute of a wrapper that holds its spec; `functools.wraps` hands it on to what is around it."""


def recorded(function: Callable[P, R], spec: CallSpec) -> Callable[P, R]:
    """`function` with its calls recorded as `spec` says; outside any recording it simply runs."""
    if inspect.isasyncgenfunction(function):
        wrapper: object = _async_generator(function, spec)
    elif inspect.isgeneratorfunction(function):
        wrapper = _generator(function, spec)
    elif inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004  not asked whether it can be called, but how
        wrapper = _coroutine(cast("Callable[P, Awaitable[object]]", function), spec)
    else:
        wrapper = _plain(function, spec)
    setattr(wrapper, _SPEC, spec)
    return cast("Callable[P, R]", wrapper)


def spec_of(function: object) -> CallSpec | None:
    """How the calls of a function are recorded, also where other decorators are around it; None where they are not."""
    found = getattr(function, "__dict__", {}).get(_SPEC)
    return found if isinstance(found, CallSpec) else None


def say_recorded(function: object, *, as_in: object) -> None:
    """Let `spec_of` give, for a function whose calls are redirected, the spec of the function `as_in`."""
    spec = spec_of(as_in)
    if spec is None:
        vars(function).pop(_SPEC, None)
    else:
        setattr(function, _SPEC, spec)


def _plain(function: Callable[P, R], spec: CallSpec) -> Callable[P, R]:
    @functools.wraps(function)
    def call_plain(*args: P.args, **kwargs: P.kwargs) -> R:
        call = begin_call(spec, args, kwargs)
        if call is None:
            with passing("call"):
                return function(*args, **kwargs)
        try:
            with call.running():
                if call.served is None:
                    result = call.sending(function)(*args, **kwargs)
                else:
                    result = cast("R", served_answer(call.served))
        except BaseException as error:
            call.failed(error)
            raise
        return _settle(call, result)

    return call_plain


def _coroutine(function: Callable[P, Awaitable[R]], spec: CallSpec) -> Callable[P, Coroutine[object, object, R]]:
    spec = replace(spec, can_wait=True)

    @functools.wraps(function)
    async def call_coroutine(*args: P.args, **kwargs: P.kwargs) -> R:
        call = begin_call(spec, args, kwargs)
        if call is None:
            with passing("call"):
                return await function(*args, **kwargs)

        def start() -> Awaitable[R]:
            if call.served is not None:
                return cast("Awaitable[R]", served_coroutine(call.served))
            return call.sending(function)(*args, **kwargs)

        return await _follow(call, start)

    return call_coroutine


def _generator(function: Callable[P, Generator[R]], spec: CallSpec) -> Callable[P, Generator[R]]:
    @functools.wraps(function)
    def call_generator(*args: P.args, **kwargs: P.kwargs) -> Generator[R]:
        call = begin_call(spec, args, kwargs)
        if call is None:
            return (yield from function(*args, **kwargs))
        if call.served is not None:
            return (yield from relay(call, cast("Generator[R]", served_generator(call.served))))
        return (yield from relay(call, call.sending(function)(*args, **kwargs)))

    return call_generator


def _async_generator(function: Callable[P, AsyncGenerator[R]], spec: CallSpec) -> Callable[P, AsyncGenerator[R]]:
    spec = replace(spec, can_wait=True)

    def start(*args: P.args, **kwargs: P.kwargs) -> tuple[RecordedCall | None, Callable[[], AsyncGenerator[R]]]:
        call = begin_call(spec, args, kwargs)

        def make() -> AsyncGenerator[R]:
            if call is not None and call.served is not None:
                return cast("AsyncGenerator[R]", served_async_generator(call.served))
            return (function if call is None else call.sending(function))(*args, **kwargs)

        return call, make

    return functools.wraps(function)(async_stream(start))


async def _follow(call: RecordedCall, start: Callable[[], Awaitable[R]]) -> R:
    """Await what `start` gives, once the call may be made."""
    call.is_awaited = True
    try:
        await call.until_live()
        awaitable = start()
        with call.running():
            result = await awaitable
    except BaseException as error:
        call.failed(error)
        raise
    call.succeeded(result)
    return result


def _settle(call: RecordedCall, result: R) -> R:
    """End a call with what a plain function returned; one that returns its answer later ends when that comes."""
    # By its type alone: an object may say of itself that it is of another class, and a `__class__` may raise.
    kind = type(result)
    if kind is types.CoroutineType:
        call.returned_as = "coroutine"
        return cast("R", _follow(call, lambda: cast("Awaitable[object]", result)))
    if kind is types.GeneratorType:
        call.returned_as = "generator"
        return cast("R", relay(call, cast("Generator[object, object, object]", result)))
    if kind is types.AsyncGeneratorType:
        call.returned_as = "async generator"
        pieces = cast("AsyncGenerator[object, object]", result)
        return cast("R", async_stream(lambda: (call, lambda: pieces))())
    if is_asyncio_future(kind) or issubclass(kind, concurrent.futures.Future):
        call.is_awaited = is_asyncio_future(kind)
        call.returned_as = "asyncio future" if call.is_awaited else "future"
        cast("asyncio.Future[object]", result).add_done_callback(functools.partial(_settle_future, call))
        return result
    call.succeeded(result)
    return result


def _settle_future(call: RecordedCall, future: asyncio.Future[object] | concurrent.futures.Future[object]) -> None:
    """End a call with what its future holds; registered first, so before anyone who waits for it is told."""
    if future.cancelled():
        from asyncio import CancelledError

        call.failed(CancelledError())
        return
    error = future.exception()
    if error is None:
        call.succeeded(future.result())
    else:
        call.failed(error)
