"""What a replay gives in place of a function's answer: the recorded one, in the shape in which the function gave it."""

from __future__ import annotations

import concurrent.futures
import threading
from typing import TYPE_CHECKING

from agent_tt.codec.encode import encode
from agent_tt.codec.parts import class_name
from agent_tt.recording.scope import nowhere

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from agent_tt.model import Delivery
    from agent_tt.recording.calls.answers import Served


def served_answer(served: Served) -> object:
    """What a plain function gives: its result, or what it gave in its place.

    Raises:
        BaseException: the recorded exception.
        Divergence: the answer cannot be given.
    """
    match served.call.facts.returned_as:
        case "coroutine":
            return served_coroutine(served)
        case "generator":
            return served_generator(served)
        case "async generator":
            return served_async_generator(served)
        case "asyncio future":
            import asyncio

            with nowhere():  # the task is ours: it makes no lane
                return asyncio.get_running_loop().create_task(served_coroutine(served))
        case "future":
            return _future(served)
    served.wait()
    return _result(served)


async def served_coroutine(served: Served) -> object:
    """The recorded answer, to be awaited."""
    await served.turn()
    return _result(served)


def served_generator(served: Served) -> Generator[object, object, object]:
    """The recorded pieces, one by one, with what the generator returned or raised."""
    index, thrown = 0, None
    while True:
        piece = _piece(served, index)
        served.wait(index)
        if piece is None or piece.kind != "chunk":
            return _ending(served, piece, thrown)
        index, thrown = index + 1, None
        try:
            sent = yield served.value(piece.data)
        except GeneratorExit:
            served.leave(index)
            raise
        except BaseException as error:  # noqa: BLE001  the recorded generator got it too: what it did comes next
            thrown = error
        else:
            if sent is not None:
                served.got(index - 1, encode(sent))


async def served_async_generator(served: Served) -> AsyncGenerator[object, object]:
    """As `served_generator`, for an async one."""
    index, thrown = 0, None
    while True:
        piece = _piece(served, index)
        await served.turn(index)
        if piece is None or piece.kind != "chunk":
            _ending(served, piece, thrown)
            return
        index, thrown = index + 1, None
        try:
            sent = yield served.value(piece.data)
        except GeneratorExit:
            served.leave(index)
            raise
        except BaseException as error:  # noqa: BLE001  as above
            thrown = error
        else:
            if sent is not None:
                served.got(index - 1, encode(sent))


def _piece(served: Served, index: int) -> Delivery | None:
    """The piece that comes next; None where no piece was recorded, and waiting for it tells why."""
    piece = served.pieces[index] if index < len(served.pieces) else None
    if piece is not None and piece.kind == "closed":
        raise served.read_past()
    return piece


def _ending(served: Served, piece: Delivery | None, thrown: BaseException | None) -> object:
    """What the generator returned; raises what it raised, which may be what was thrown into it."""
    error = served.call.error
    if error is not None:
        if thrown is not None and class_name(type(thrown)) == error.class_name and str(thrown) == error.message:
            raise thrown
        raise served.failure()
    return None if piece is None else served.value(piece.data)


def _result(served: Served) -> object:
    if served.call.error is not None:
        raise served.failure()
    return served.value(served.call.result)


def _future(served: Served) -> concurrent.futures.Future[object]:
    """A future of no event loop, resolved by a thread of ours when it is its turn."""
    future: concurrent.futures.Future[object] = concurrent.futures.Future()

    def resolve() -> None:
        try:
            served.wait()
            result = _result(served)
        except BaseException as error:  # noqa: BLE001  whoever asks the future for its result gets it
            future.set_exception(error)
        else:
            future.set_result(result)

    with nowhere():  # the thread is ours: it makes no lane
        threading.Thread(target=resolve, daemon=True).start()
    return future
