"""`websocket-client`: caught where it connects, sends a frame and has read one.

What a connection hears is recorded frame by frame, when the agent's thread reads it; the library has no thread of its
own for that. It gives pings and pongs to whoever asks for them, so they are kept. On replay it reads a socket that is
none, and which its selectors know: deadlines, closing, errors and the loop of `WebSocketApp` are the library's.
"""

from __future__ import annotations

import selectors
import ssl
import sys
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from agent_tt.recording.calls.exchange import is_watched
from agent_tt.recording.lanes.guard_bypass import passing
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.modules.fitness import need_keywords, need_members, need_parameters
from agent_tt.seams.http.wire_answer import SWITCHING, WireAnswer
from agent_tt.seams.ws.frames import BINARY, CLOSE, NEXT, TEXT, Frame
from agent_tt.seams.ws.lines import ServedSocket
from agent_tt.seams.ws.talk import open_talk

if TYPE_CHECKING:
    from types import ModuleType

    from agent_tt.seams.ws.talk import Talk

_Function = Callable[..., Any]

_CONNECTION: Final = "_agent_tt_connection"
"""The attribute of a `WebSocket` that holds what is known of its connection."""

_PAYLOAD: Final = (str, bytes, bytearray, memoryview)
_TRIES_AGAIN: Final = (BlockingIOError, InterruptedError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
"""Errors after which a socket goes on."""

_OPTIONS: Final = {"origin": "Origin", "cookie": "Cookie", "host": "Host"}
"""Options of connecting that are sent as headers."""


def patches(module: ModuleType) -> list[Patch]:
    """List what is replaced in `websocket._core`, or in `websocket._dispatcher`.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    if module.__name__.endswith("._dispatcher"):
        return [Patch(module, "selectors", _Selectors)]
    made, reading = module.WebSocket, sys.modules["websocket._socket"]
    need_parameters(made.connect, "url")
    need_parameters(made.send_frame, "frame")
    need_parameters(made._recv, "bufsize")  # noqa: SLF001
    need_members(made, "recv_frame", "shutdown")
    need_keywords(module.connect, "url", "options", "proxy", "socket")
    need_keywords(module.handshake, "sock", "url")
    parse_url = sys.modules["websocket._url"].parse_url
    closed = module.WebSocketConnectionClosedException
    return [
        Patch(made, "connect", lambda original: _opening(original, parse_url)),
        Patch(module, "connect", _connect),
        Patch(module, "handshake", _handshake),
        Patch(made, "recv_frame", _recv_frame),
        Patch(made, "_recv", lambda original: _recv(original, closed)),
        Patch(made, "send_frame", _send_frame),
        Patch(made, "shutdown", _give_up),
        *([Patch(made, "abort", _give_up)] if hasattr(made, "abort") else []),
        Patch(reading, "selectors", _Selectors),
    ]


class _Connection:
    """What is known of the connection of one `WebSocket`.

    Attributes:
        talk: what is recorded of it, or answers it.
        is_closed_there: whether the server has said that it closes.
        is_text: whether the message that is being sent in fragments is text.
    """

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self.is_closed_there = False
        self.is_text = True


def _connection_of(websocket: Any) -> _Connection | None:
    connection: _Connection | None = vars(websocket).get(_CONNECTION)
    return connection


# ---------------------------------------------------------------- opening


class _Opening:
    """One call of `WebSocket.connect`: it connects again where it is sent elsewhere."""

    def __init__(self, websocket: Any, options: Mapping[str, Any], parse_url: _Function) -> None:
        self._websocket = websocket
        self._headers = _headers(options)
        self._parse_url = parse_url
        self._talk: Talk | None = None

    def connect(self, original: _Function, url: str, options: Any, *args: Any) -> object:
        """Connect, or stand in for that."""
        talk = self._talk = open_talk(url, self._headers, is_awaited=False, shows_pings=True)
        vars(self._websocket).pop(_CONNECTION, None)
        if talk is None:
            with passing():
                return original(url, options, *args)
        try:
            if talk.answering is None:
                with passing():
                    return original(url, options, *args)
            talk.fail_as_recorded_here()
            address = self._parse_url(url)[:3]
        except BaseException as error:
            talk.failed(error)
            raise
        sock = ServedSocket(talk.answering)
        sock.settimeout(options.timeout)
        return sock, address

    def shake_hands(self, original: _Function, sock: Any, *args: Any, **options: Any) -> object:
        """Open the WebSocket over a connection."""
        talk = self._talk
        if talk is None:
            return original(sock, *args, **options)
        heard = _Heard(sock)
        try:
            answer = original(heard, *args, **options)
        except BaseException as error:
            heard.tell(talk)
            talk.failed(error)
            talk.ended(None)
            raise
        if heard.tell(talk) == SWITCHING:
            vars(self._websocket)[_CONNECTION] = _Connection(talk)
        else:  # it is sent elsewhere
            talk.ended(None)
        return answer


_OPENING: Final[ContextVar[_Opening | None]] = ContextVar("agent_tt_websocket_opening", default=None)


def _opening(original: _Function, parse_url: _Function) -> _Function:
    def connect(websocket: Any, url: str, **options: Any) -> object:
        token = _OPENING.set(_Opening(websocket, options, parse_url) if is_watched() else None)
        try:
            return original(websocket, url, **options)
        finally:
            _OPENING.reset(token)

    return connect


def _connect(original: _Function) -> _Function:
    def connect(url: str, options: Any, proxy: Any, socket: Any) -> object:
        opening = _OPENING.get()
        if opening is None:
            return original(url, options, proxy, socket)
        return opening.connect(original, url, options, proxy, socket)

    return connect


def _handshake(original: _Function) -> _Function:
    def handshake(sock: Any, *args: Any, **options: Any) -> object:
        opening = _OPENING.get()
        if opening is None:
            return original(sock, *args, **options)
        return opening.shake_hands(original, sock, *args, **options)

    return handshake


def _headers(options: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The headers that a program gives a connection, in any way that the library takes."""
    given = options.get("header") or ()
    if isinstance(given, Mapping):
        pairs = [(str(name), str(value)) for name, value in given.items() if value is not None]
    else:
        lines = [str(line).partition(":") for line in ([given] if isinstance(given, str) else given)]
        pairs = [(name.strip(), value.strip()) for name, _, value in lines]
    pairs += [(name, str(options[option])) for option, name in _OPTIONS.items() if options.get(option)]
    protocols = options.get("subprotocols")
    return [*pairs, ("Sec-WebSocket-Protocol", ",".join(protocols))] if protocols else pairs


class _Heard:
    """A connection that looks at what comes while hands are shaken."""

    def __init__(self, sock: Any) -> None:
        self._sock = sock
        self._answer = WireAnswer("GET")
        self._body = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)

    def recv(self, size: int) -> Any:
        """Receive."""
        data = self._sock.recv(size)
        self._body += self._answer.feed(data)
        return data

    def tell(self, talk: Talk) -> int | None:
        """Say what the server has answered. Its status; None where it has not."""
        head = self._answer.head
        if head is None:
            return None
        talk.opened(head.status, head.reason or "", head.headers, self._body)
        return head.status


# ---------------------------------------------------------------- what the server says


def _recv_frame(original: _Function) -> _Function:
    def recv_frame(websocket: Any) -> object:
        connection = _connection_of(websocket)
        if connection is None:
            return original(websocket)
        talk = connection.talk
        talk.reads_on()
        frame = original(websocket)
        talk.received(Frame(int(frame.opcode), bytes(frame.data), is_last=bool(frame.fin)))
        connection.is_closed_there = connection.is_closed_there or frame.opcode == CLOSE
        return frame

    return recv_frame


def _recv(original: _Function, closed: type[Exception]) -> _Function:
    def _recv(websocket: Any, bufsize: int) -> object:
        try:
            return original(websocket, bufsize)
        except (closed, OSError) as error:
            connection = _connection_of(websocket)
            if connection is not None and not isinstance(error, _TRIES_AGAIN):
                connection.talk.ended(None if isinstance(error, closed) else error)
            raise

    return _recv


def _give_up(original: _Function) -> _Function:
    """Closing a connection at once; aborting it, for whoever reads in another thread."""

    def give_up(websocket: Any) -> object:
        connection = _connection_of(websocket)
        if connection is not None and websocket.sock is not None:
            connection.talk.ended(None, is_own=True)
        return original(websocket)

    return give_up


# ---------------------------------------------------------------- what the agent says


def _send_frame(original: _Function) -> _Function:
    def send_frame(websocket: Any, frame: Any) -> object:
        connection = _connection_of(websocket)
        if connection is None or not is_watched():
            return original(websocket, frame)
        talk = connection.talk
        if frame.opcode == CLOSE:
            sent = original(websocket, frame)
            if connection.is_closed_there:  # it is over for both
                talk.ended(None)
            return sent
        if frame.opcode not in (NEXT, TEXT, BINARY) or not isinstance(frame.data, _PAYLOAD):
            return original(websocket, frame)
        if frame.opcode != NEXT:
            connection.is_text = frame.opcode == TEXT
        sending = talk.begin(frame.data, text=connection.is_text, can_wait=False)
        if sending is None:
            return original(websocket, frame)
        if sending.is_given_here():
            return len(frame.format())
        lost = sending.cut()
        if lost is not None:
            sending.failed(lost)
            raise lost
        frame.data = sending.message
        try:
            sent = original(websocket, frame)
        except BaseException as error:
            sending.failed(error)
            raise
        sending.sent()
        return sent

    return send_frame


# ---------------------------------------------------------------- waiting


class _Selectors:
    """In place of the module `selectors`, whose selectors wait for the network only."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def DefaultSelector(self) -> _Selector:  # noqa: N802  as it is called
        """Make a selector."""
        return _Selector(self._module.DefaultSelector())


class _Selector:
    """A selector that also knows a connection that stands for one; the library asks each for one connection."""

    def __init__(self, inner: selectors.BaseSelector) -> None:
        self._inner = inner
        self._served: selectors.SelectorKey | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """Wait for that."""
        if not isinstance(fileobj, ServedSocket):
            return self._inner.register(fileobj, events, data)
        self._served = selectors.SelectorKey(fileobj, -1, events, data)
        return self._served

    def select(self, timeout: float | None = None) -> Iterable[tuple[selectors.SelectorKey, int]]:
        """Wait until something can be done."""
        key = self._served
        if key is None:
            return self._inner.select(timeout)
        sock: Any = key.fileobj
        is_ready = key.events & selectors.EVENT_WRITE or sock.waits(timeout)
        return [(key, key.events)] if is_ready else []
