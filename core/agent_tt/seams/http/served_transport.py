"""A connection of asyncio that answers from a recording: bytes reach its protocol in the recorded order."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt.seams.http.served_answer import ServedAnswer


class Receiver(Protocol):
    """What the bytes are for: aiohttp's `ResponseHandler`."""

    def data_received(self, data: bytes) -> None:
        """Take bytes."""

    def connection_lost(self, exc: BaseException | None) -> None:
        """Hear that no more will come."""


class QuietTransport(asyncio.Transport):
    """A transport without a network; what is read and written is for its subclasses to say."""

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._may_read = asyncio.Event()
        self._may_read.set()
        self._is_closed = False

    def is_closing(self) -> bool:
        """Whether it is closed."""
        return self._is_closed

    def abort(self) -> None:
        """As `close`: there is nothing to flush."""
        self.close()

    def pause_reading(self) -> None:
        """The reader has enough for now."""
        self._may_read.clear()

    def resume_reading(self) -> None:
        """The reader wants more."""
        self._may_read.set()

    def is_reading(self) -> bool:
        """Whether bytes may be handed out."""
        return self._may_read.is_set()

    def get_extra_info(self, _name: str, default: Any = None) -> Any:
        """Nothing is known: there is no socket."""
        return default

    def get_write_buffer_size(self) -> int:
        """Nothing waits to be written."""
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Nothing is ever held back."""


class ServedTransport(QuietTransport):
    """What is written is swallowed; `start` begins to hand out the answer.

    Args:
        receiver: the protocol of the connection.
        answer: what it receives.
        refuse: tells the receiver's reader of an error that is not an event of a connection: a divergence.
    """

    def __init__(self, receiver: Receiver, answer: ServedAnswer, refuse: Any) -> None:
        super().__init__()
        self._receiver = receiver
        self._answer = answer
        self._refuse = refuse
        self._feeding: asyncio.Task[None] | None = None

    def start(self) -> None:
        """The request has been sent: hand out the answer."""
        # Made by hand: a task of ours takes no place among the lanes of the agent's.
        self._feeding = asyncio.Task(self._feed(), loop=self._loop)

    async def _feed(self) -> None:
        failure: BaseException | None = None
        try:
            if not await self._hand_out():
                return
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001  what the recorded connection was lost with, or a divergence
            failure = error
        # Outside the handler: what the agent's library raises now is not raised while this one is handled.
        if failure is None or isinstance(failure, Exception):
            self._lose(failure)
        else:
            self._refuse(failure)  # a divergence belongs where the agent waits, not in a task of ours

    async def _hand_out(self) -> bool:
        """Hand out the answer; whether the connection ended with it."""
        while not self._answer.is_complete:
            await self._may_read.wait()
            if self._answer.ends_with_the_agent:
                await self._answer.hang()
            data = await self._answer.wire_bytes_async()
            if not data:
                return True
            if self._is_closed:
                return False
            self._receiver.data_received(data)
        return False

    def _lose(self, error: BaseException | None) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._receiver.connection_lost(error)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Swallow `data`."""

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        """Swallow all of it."""

    def close(self) -> None:
        """The agent wants no more. Its protocol is told later, as by a real connection."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._feeding is not None:
            self._feeding.cancel()
        self._answer.leave()
        if not self._loop.is_closed():
            self._loop.call_soon(self._receiver.connection_lost, None)
