"""One request while it is served: the recorded deliveries, each when its turn has come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn, cast

from agent_tt.codec.decode import decode
from agent_tt.model.facts import CallFacts
from agent_tt.recording.calls.exchange import WITHHELD
from agent_tt.seams.http.wire_answer import SWITCHING, Head

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, Delivery
    from agent_tt.recording.calls.answers import Served

_SLACK_S: Final = 1.0
_FRAMING: Final = frozenset({"transfer-encoding", "content-length", "connection"})


def patience_s(call: Call) -> float:
    """How many seconds an agent has to leave a connection that it left when this call of it was recorded."""
    return 2 * (call.duration_us or 0) / 1e6 + _SLACK_S


class ServedAnswer:
    """The recorded answer to one request. It is read like the answer itself: the head, then bytes until none come.

    Attributes:
        position: how many of its pieces the agent has had.
    """

    def __init__(self, served: Served) -> None:
        self._served = served
        self._pieces = served.pieces
        self.position = 0

    @property
    def is_nothing(self) -> bool:
        """Whether nothing came back: the transport failed, or the agent stopped waiting."""
        return not self._pieces

    @property
    def result(self) -> Wire:
        """The answer as a person reads it."""
        return self._served.call.result

    @property
    def facts(self) -> Mapping[str, Wire]:
        """What is shown of the recorded call, its usage among that."""
        return self._served.call.meta

    @property
    def is_upgrade(self) -> bool:
        """Whether the connection went on to speak something else than HTTP."""
        result = self.result
        return isinstance(result, dict) and result.get("status") == SWITCHING

    @property
    def ends_with_the_agent(self) -> bool:
        """Whether nothing more was recorded because the agent left here."""
        return not self.is_complete and self._is_beyond

    def head(self) -> Head:
        """The head of the answer, when its turn has come.

        Raises:
            BaseException: what the transport raised instead, or a divergence.
        """
        self._wait()
        return _head_of(self._take())

    async def head_async(self) -> Head:
        """As `head`, for a coroutine."""
        await self._turn()
        return _head_of(self._take())

    def chunk(self) -> bytes | None:
        """The next bytes when their turn has come, None at the end.

        Raises:
            BaseException: what ended the recorded answer, or a divergence: the agent reads further than it did.
        """
        self._wait()
        return _bytes_of(self._take())

    async def chunk_async(self) -> bytes | None:
        """As `chunk`, for a coroutine."""
        await self._turn()
        return _bytes_of(self._take())

    def wire_bytes(self) -> bytes:
        """The next bytes of a connection when their turn has come; none (`b""`) where it ended.

        With the last of them the end is taken too: on the wire nothing else tells the agent of it.
        """
        if self.is_complete:
            return b""
        self._wait()
        data = _wire_of(self._take())
        if self._is_before_end:
            self._wait()
            self._take()
        return data

    async def wire_bytes_async(self) -> bytes:
        """As `wire_bytes`, for a coroutine."""
        if self.is_complete:
            return b""
        await self._turn()
        data = _wire_of(self._take())
        if self._is_before_end:
            await self._turn()
            self._take()
        return data

    @property
    def is_complete(self) -> bool:
        """Whether the agent has had everything, and the end."""
        return self.position == len(self._pieces) > 0 and self._pieces[-1].kind == "end"

    @property
    def _is_before_end(self) -> bool:
        return self.position < len(self._pieces) and self._pieces[self.position].kind == "end"

    def leave(self) -> None:
        """The agent wants no more: nobody waits for what is left."""
        if self._pieces:
            self._served.leave(self.position)

    async def leave_async(self) -> None:
        """As `leave`, for a coroutine that waits until it is closed, in its turn where it was closed at this place."""
        at_its_end = self.position == len(self._pieces) - 1 and self._pieces[-1].kind == "closed"
        if at_its_end and CallFacts.closed_in_turn.of(self.facts):
            await self._served.turn(self.position)
        self.leave()

    async def hang(self) -> NoReturn:
        """Wait for the agent to leave, as it did when it was recorded.

        Raises:
            BaseException: it has not done so in twice the time; it wants more than was recorded.
        """
        import asyncio

        await asyncio.sleep(patience_s(self._served.call))
        raise self._served.read_past()

    def upgraded(self) -> BaseException:
        """What to raise where the connection went on as a WebSocket, or as something else that is not recorded."""
        return self._served.read_past("a WebSocket was opened here, and what goes through one is not recorded")

    def _wait(self) -> None:
        if self._is_beyond:
            raise self._served.read_past()
        self._served.wait(self.position)

    async def _turn(self) -> None:
        if self._is_beyond:
            raise self._served.read_past()
        await self._served.turn(self.position)

    @property
    def _is_beyond(self) -> bool:
        """Whether the recorded agent had left here. What follows of an answer still on its way nobody knows."""
        if self.position < len(self._pieces):
            return self._pieces[self.position].kind == "closed"
        return bool(self._pieces) and self._served.call.status != "pending"

    def _take(self) -> Delivery | None:
        """The piece whose turn it is; None for the end."""
        if not self._pieces:
            raise self._served.failure()
        piece = self._pieces[self.position]
        self.position += 1
        if piece.kind == "error":
            raise self._served.failure()
        if piece.data == WITHHELD:
            raise self._served.read_past("a secret was in this part of a compressed answer, which is not kept")
        return piece if piece.kind == "chunk" else None


def _head_of(piece: Delivery | None) -> Head:
    facts = cast("dict[str, Wire]", None if piece is None else piece.data)
    headers = cast("list[list[str]]", facts["headers"])
    return Head(
        status=cast("int", facts["status"]),
        headers=tuple((name, value) for name, value in headers),
        http_version=cast("str | None", facts.get("http_version")),
        reason=cast("str | None", facts.get("reason")),
    )


def _wire_of(piece: Delivery | None) -> bytes:
    """The bytes of a connection in a piece. A head that was received apart from them is written as one."""
    facts = None if piece is None else piece.data
    if not isinstance(facts, dict) or "status" not in facts:
        return _bytes_of(piece) or b""
    head = _head_of(piece)
    is_chunked = any(name.lower() == "transfer-encoding" for name, _ in head.headers)
    kept = [(name, value) for name, value in head.headers if name.lower() not in _FRAMING or not is_chunked]
    lines = [f"HTTP/1.1 {head.status} {head.reason or ''}", *(f"{name}: {value}" for name, value in kept)]
    if is_chunked:  # its borders are gone: it is over when the connection is
        lines.append("connection: close")
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")


def _bytes_of(piece: Delivery | None) -> bytes | None:
    return None if piece is None else cast("bytes", decode(piece.data))
