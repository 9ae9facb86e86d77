"""WebSockets of `aiohttp`: caught where a session opens one, where its writer sends and where its parser is done.

What a connection hears is recorded message by message, whole and unpacked, as the agent has it: aiohttp puts fragments
together. The opening goes through the connector of the session, as any request; `aiohttp_seam` leaves it to this seam.
On replay aiohttp parses what a recording says, so that deadlines, closing and errors are its own.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from agent_tt.recording.calls.exchange import is_watched
from agent_tt.recording.lanes.guard_bypass import passing
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.modules.fitness import need_attributes, need_members, need_parameters
from agent_tt.seams.http.aiohttp_seam import EXCHANGE, OPENING, refuse, with_key
from agent_tt.seams.http.wire_answer import SWITCHING
from agent_tt.seams.ws.frames import BINARY, CLOSE, PING, PONG, TEXT, Frame
from agent_tt.seams.ws.lines import ServedTransport
from agent_tt.seams.ws.talk import open_talk

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from types import ModuleType

    from agent_tt.seams.ws.talk import Talk

_Function = Callable[..., Any]

_TALK: Final = "_agent_tt_talk"
"""The attribute of a protocol that holds what is recorded of its WebSocket, or answers it."""


def patches(module: ModuleType) -> list[Patch]:
    """List what is replaced in `aiohttp.client`.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    protocol = sys.modules["aiohttp.client_proto"].ResponseHandler
    need_attributes(module.ClientSession._ws_connect, "WebSocketDataQueue", "WebSocketWriter")  # noqa: SLF001
    need_parameters(module.ClientSession._ws_connect, "url")  # noqa: SLF001
    need_parameters(module.WebSocketWriter.send_frame, "message", "opcode")
    need_members(module.WebSocketDataQueue, "feed_data", "set_exception")
    need_attributes(protocol.__init__, "_payload")
    return [
        Patch(module.ClientSession, "_ws_connect", _ws_connect),
        Patch(module, "WebSocketDataQueue", _queue),
        Patch(module.WebSocketWriter, "send_frame", _send_frame),
        Patch(protocol, "feed_data", _feed_data),
    ]


def _talk_of(protocol: Any) -> Talk | None:
    talk: Talk | None = vars(protocol).get(_TALK)
    return talk


# ---------------------------------------------------------------- opening


def _ws_connect(original: _Function) -> _Function:
    async def _ws_connect(session: Any, *args: Any, **options: Any) -> object:
        if not is_watched():
            return await original(session, *args, **options)
        # A heartbeat counts on pongs that come at once.
        opening = _Opening(shows_pings=not options.get("autoping", True) and options.get("heartbeat") is None)
        token = OPENING.set(opening)
        try:
            opened = await original(session, *args, **options)
        except BaseException as error:
            opening.failed(error)
            raise
        finally:
            OPENING.reset(token)
        opening.is_read()
        return opened

    return _ws_connect


class _Opening:
    """One call of `ws_connect`: it connects again where it is sent elsewhere."""

    def __init__(self, *, shows_pings: bool) -> None:
        self._shows_pings = shows_pings
        self._talk: Talk | None = None
        self._line: _Line | None = None

    async def connect(self, request: Any, connect: Callable[[], Awaitable[Any]], stand_in: _Function) -> object:
        """Connect, or stand in for that; see `aiohttp_seam.Opening`."""
        self.failed(ConnectionResetError("the connection broke before the server answered, and was made again"))
        talk = self._talk = open_talk(
            str(request.url), request.headers.items(), is_awaited=True, shows_pings=self._shows_pings
        )
        if talk is None:
            with passing():
                return await connect()
        await talk.until_live()
        answering = talk.answering
        if answering is None:
            with passing():
                connection = await connect()
        else:
            try:
                await talk.fail_as_recorded()
            except Exception as error:
                with_key(error, request)
                raise
            connection = stand_in(lambda protocol: _Line(protocol, answering))
            self._line = connection.transport
        vars(connection.protocol).update({_TALK: talk, EXCHANGE: _Connection(talk)})
        return connection

    def failed(self, error: BaseException) -> None:
        """`error` ended the handshake, unless that had its answer."""
        if self._talk is not None:
            self._talk.failed(error)

    def is_read(self) -> None:
        """The client reads messages now."""
        if self._line is not None:
            self._line.resume_reading()


class _Connection:
    """How the connection of a WebSocket fares, as `aiohttp_seam` tells of it."""

    answer: Final = None

    def __init__(self, talk: Talk) -> None:
        self._talk = talk

    def sent(self) -> None:
        """The handshake goes out."""

    def received(self, data: bytes) -> None:
        """Bytes came; none where the server has closed."""
        if not data:
            self._talk.ended(None)

    def failed(self, error: BaseException) -> None:
        """`error` broke the connection."""
        self._talk.failed(error)
        self._talk.ended(error)

    def closed(self) -> None:
        """The client gives it up."""
        self._talk.ended(None, is_own=True)


class _Line(ServedTransport):
    """A transport that gives no message before the client reads them: in between, aiohttp takes none of an ending."""

    _is_refused = False

    def receive(self, data: bytes) -> None:
        """Let the client have bytes of the server."""
        if data.startswith(b"HTTP/1.1 %d" % SWITCHING):
            self.pause_reading()
        super().receive(data)

    def lose(self, error: BaseException | None) -> None:
        """End the connection. What aiohttp found wrong itself goes to whoever receives, and the client closes then."""
        if error is not None and type(error).__module__.partition(".")[0] == "aiohttp":
            self._is_refused = True
            refuse(self._protocol, error)
        elif not self._is_refused:
            super().lose(error)


# ---------------------------------------------------------------- what the server says


def _feed_data(original: _Function) -> _Function:
    """What a protocol has parsed: the heads of answers, that to a handshake among them."""

    def feed_data(protocol: Any, data: Any, *args: Any) -> object:
        talk = _talk_of(protocol)
        head = data[0]
        if talk is not None and (head.code >= 200 or head.code == SWITCHING):
            pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in head.raw_headers]
            talk.opened(head.code, head.reason, pairs, b"")
            if head.code != SWITCHING:  # an ordinary connection again, which may be pooled
                del vars(protocol)[_TALK]
                vars(protocol).pop(EXCHANGE, None)
                talk.ended(None)
        return original(protocol, data, *args)

    return feed_data


def _queue(original: Any) -> _Function:
    """In place of the queue in which the messages of a connection arrive, parsed."""

    class Heard(original):  # type: ignore[misc]
        """A queue that tells of what arrives."""

        _talk: Talk

        def feed_data(self, data: Any, size: int) -> None:
            """Take a message."""
            frame = _frame_of(data)
            if frame is None:
                super().feed_data(data, size)
                return
            self._talk.received(frame)
            try:
                super().feed_data(data, size)
            finally:
                self._talk.reads_on()

        def set_exception(self, exc: BaseException, *args: Any) -> None:
            """Something is wrong with a message, or with the connection."""
            self._talk.ended(exc)
            super().set_exception(exc, *args)

    def queue(protocol: Any, *args: Any, **options: Any) -> object:
        talk = _talk_of(protocol)
        if talk is None:
            return original(protocol, *args, **options)
        made = Heard(protocol, *args, **options)
        made._talk = talk  # noqa: SLF001  ours
        return made

    return queue


def _frame_of(message: Any) -> Frame | None:
    """A message as a frame; None for what aiohttp tells itself."""
    kind, data, extra = int(message.type), message.data, message.extra
    if kind == CLOSE:
        return Frame(CLOSE, struct.pack("!H", data) + str(extra or "").encode() if data else b"")
    if kind not in (TEXT, BINARY, PING, PONG):
        return None
    return Frame(kind, data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data))


# ---------------------------------------------------------------- what the agent says


def _send_frame(original: _Function) -> _Function:
    async def send_frame(writer: Any, message: Any, opcode: int, *args: Any, **options: Any) -> object:
        # A server's writer has a protocol of another class.
        talk = getattr(writer.protocol, _TALK, None)
        if talk is None or opcode >= CLOSE or not is_watched():
            return await original(writer, message, opcode, *args, **options)
        sending = talk.begin(message, text=opcode == TEXT, can_wait=True)
        if sending is None:
            return await original(writer, message, opcode, *args, **options)
        if await sending.is_given():
            return None
        error = sending.cut()
        try:
            await original(writer, sending.message, opcode, *args, **options)
        except BaseException as failure:
            failure.__cause__ = failure.__cause__ or error
            sending.failed(failure)
            raise
        sending.sent()
        return None

    return send_frame
