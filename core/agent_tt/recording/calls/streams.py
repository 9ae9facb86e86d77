"""Generators whose calls are recorded: each piece is committed before the consumer has it, closing one early too.

The recorded result is `{"yielded": [...], "returned": value}`; `"sent": [[index, value], ...]` says what the consumer
sent in after the item of that index, `"closed": true` stands in place of `returned` when the consumer left early.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, TypeVar

from agent_tt.codec.encode import encode
from agent_tt.errors import AgentTTError
from agent_tt.model import NO_USAGE
from agent_tt.recording.calls.usage import usage_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator

    from agent_tt.codec.wire import Wire
    from agent_tt.recording.calls.recorded_call import RecordedCall

Y = TypeVar("Y")
S = TypeVar("S")
R = TypeVar("R")


class _Tape:
    """What went through one generator so far."""

    def __init__(self, call: RecordedCall) -> None:
        self._call = call
        self._count = 0
        self._sent: list[Wire] = []
        self._priced: object = None

    def gave(self, item: object) -> None:
        """The generator yielded `item`. Streams of model answers tell their usage in one of them, the last counts."""
        self._call.gave(encode(item))
        self._count += 1
        if usage_of(item) != NO_USAGE:
            self._priced = item

    def got(self, value: object) -> None:
        """The consumer sent `value` in, unless it only asked for the next item."""
        if value is not None:
            self._sent.append([self._count - 1, encode(value)])

    def returned(self, value: object) -> None:
        priced = value if usage_of(value) != NO_USAGE else self._priced
        last = encode(value)
        self._call.stream_ended("end", {**self._so_far(), "returned": last}, returned=last, priced=priced)

    def closed(self) -> None:
        self._call.stream_ended("closed", {**self._so_far(), "closed": True}, priced=self._priced)

    def raised(self, error: BaseException) -> None:
        self._call.stream_failed(error, self._so_far())

    def _so_far(self) -> dict[str, Wire]:
        so_far: dict[str, Wire] = {"yielded": [*self._call.kept()]}
        if self._sent:
            so_far["sent"] = self._sent
        return so_far


def relay(call: RecordedCall, generator: Generator[Y, S, R]) -> Generator[Y, S, R]:
    """`generator`, recorded as `call` while it is consumed."""
    tape = _Tape(call)
    advance: Callable[[], Y] = functools.partial(next, generator)
    try:
        while True:
            call.reads_on()
            with call.running():
                item = advance()
            try:
                tape.gave(item)
            except AgentTTError:  # nobody will ask the generator for more
                generator.close()
                raise
            try:
                sent = yield item
            except GeneratorExit:
                with call.running():
                    generator.close()
                tape.closed()
                raise
            except BaseException as error:  # noqa: BLE001  it is the generator's to handle
                advance = functools.partial(generator.throw, error)
            else:
                tape.got(sent)
                advance = functools.partial(generator.send, sent)
    except StopIteration as stop:
        result: R = stop.value
    except BaseException as error:
        tape.raised(error)
        raise
    tape.returned(result)
    return result


def async_stream(
    start: Callable[..., tuple[RecordedCall | None, Callable[[], AsyncGenerator[Y, S]]]],
) -> Callable[..., AsyncGenerator[Y, S]]:
    """An async generator function that relays the generator which `start` makes, recorded where there is a call.

    Args:
        start: given the arguments of the function; called when the first item is asked for. It gives the call, and what
            makes the generator once that may be made.
    """

    async def stream(*args: object, **kwargs: object) -> AsyncGenerator[Y, S]:
        call, make = start(*args, **kwargs)
        generator = await _made(call, make)
        tape = None if call is None else _Tape(call)
        advance: Callable[[], Awaitable[Y]] = generator.__anext__
        try:
            while True:
                item = await _advanced(call, advance)
                try:
                    if tape is not None:
                        tape.gave(item)
                except AgentTTError:
                    await generator.aclose()
                    raise
                try:
                    sent = yield item
                except GeneratorExit:
                    await _advanced(call, generator.aclose)
                    if tape is not None:
                        tape.closed()
                    raise
                except BaseException as error:  # noqa: BLE001  it is the generator's to handle
                    advance = functools.partial(generator.athrow, error)
                else:
                    if tape is not None:
                        tape.got(sent)
                    advance = functools.partial(generator.asend, sent)
        except StopAsyncIteration:
            if tape is not None:
                tape.returned(None)
        except BaseException as error:
            if tape is not None:
                tape.raised(error)
            raise

    return stream


async def _made(call: RecordedCall | None, make: Callable[[], AsyncGenerator[Y, S]]) -> AsyncGenerator[Y, S]:
    """The generator, once the call may be made."""
    if call is not None:
        await call.until_live()
    return make()


async def _advanced(call: RecordedCall | None, advance: Callable[[], Awaitable[Y]]) -> Y:
    if call is None:
        return await advance()
    with call.running():
        return await advance()
