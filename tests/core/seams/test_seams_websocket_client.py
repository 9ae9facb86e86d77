"""`websocket-client`: frames are recorded as its threads read them, and it reads the recording as the network."""

from __future__ import annotations

import contextlib
import gc
import select
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
import websocket
from tests.core.seams.runs import recorded, replayed
from websocket import ABNF, WebSocketApp

from agent_tt.replaying.divergence import Divergence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.core.seams.runs import Kept
    from tests.core.seams.talking import Talking

    Twice = Callable[[Callable[[], Any]], Kept]


pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


@pytest.fixture(autouse=True)
def _no_socket_is_left_to_another_test() -> Iterator[None]:
    """`WebSocketApp` leaves a connection that the server has closed to the garbage collector."""
    yield
    gc.collect()


def test_messages_of_every_shape_come_again(echo: Talking, twice_echoed: Twice):
    def agent() -> Any:
        connection = websocket.create_connection(echo.url + "/chat", header={"X-Agent": "7"})
        sent = [connection.send("greet")]
        seen: list[Any] = [connection.recv(), connection.recv(), connection.recv()]
        sent.append(connection.send_binary(b"\x00\x01"))
        seen.append(connection.recv_data())
        sent.append(connection.send_frame(ABNF.create_frame("in ", ABNF.OPCODE_TEXT, 0)))
        sent.append(connection.send_frame(ABNF.create_frame("pieces", ABNF.OPCODE_CONT, 1)))
        seen.append(next(connection))
        status, headers = connection.getstatus(), connection.getheaders()
        connection.close()
        return seen, sent, status, sorted(headers), connection.connected

    kept = twice_echoed(agent)
    host = echo.url.removeprefix("ws://")
    assert [call.name for call, _ in kept.calls] == [f"GET ws://{host}/chat", *[f"SEND ws://{host}/chat"] * 4]
    assert [piece.data for piece in kept.calls[0][1][1:7]] == [
        {"text": "hello"},
        {"text": "you", "more": True},
        {"next": " there", "more": True},
        {"next": ""},
        {"bytes": {"$type": "bytes", "$v": "AP8="}},
        {"bytes": {"$type": "bytes", "$v": "AAE="}},
    ]
    assert kept.calls[0][1][-1].kind == "closed"


@pytest.mark.parametrize("word", ["leave", "drop"])
def test_a_connection_ends_as_it_ended(echo: Talking, twice_echoed: Twice, word: str):
    def agent() -> Any:
        connection = websocket.create_connection(echo.url)
        connection.send(word)
        seen: list[Any] = []
        for _ in range(2):
            try:
                seen.append(connection.recv_data(control_frame=True))
            except (websocket.WebSocketException, OSError) as error:
                seen.append((type(error), str(error)))
        connection.shutdown()
        return seen, connection.connected

    kept = twice_echoed(agent)
    assert kept.calls[0][0].status == "ok"


def test_nothing_comes_before_its_deadline(echo: Talking, twice_echoed: Twice):
    def agent() -> Any:
        connection = websocket.create_connection(echo.url, timeout=0.2)
        connection.send("silence")
        with pytest.raises(websocket.WebSocketTimeoutException, match="Connection timed out"):
            connection.recv()
        connection.settimeout(None)
        connection.send("after")
        answer = connection.recv()
        connection.close()
        return answer

    twice_echoed(agent)


def test_who_asks_for_pings_and_pongs_gets_them_again(echo: Talking, twice_echoed: Twice):
    def agent() -> Any:
        connection = websocket.create_connection(echo.url)
        connection.ping("are you there")
        seen = [connection.recv_data(control_frame=True)]
        connection.send("ping")
        seen += [connection.recv_data(control_frame=True), connection.recv_data(control_frame=True)]
        connection.close()
        return seen

    kept = twice_echoed(agent)
    assert [piece.data for piece in kept.calls[0][1][1:3]] == [{"pong": "are you there"}, {"ping": "you?"}]


def test_callbacks_of_an_app_are_called_again(echo: Talking, twice_echoed: Twice):
    def agent() -> Any:
        seen: list[Any] = []
        app = WebSocketApp(
            echo.url,
            on_open=lambda app: app.send("greet"),
            on_message=lambda app, message: (seen.append(message), len(seen) < 3 or app.send("leave")),
            on_error=lambda _, error: seen.append((type(error).__name__, str(error))),
            on_close=lambda _, code, reason: seen.append(("closed", code, reason)),
        )
        thread = threading.Thread(target=app.run_forever)
        thread.start()
        thread.join()
        return seen

    kept = twice_echoed(agent)
    assert kept.calls[0][1][-2].data == {"close": 4001, "reason": "enough"}


def test_another_thread_sends_through_an_app_and_closes_it(echo: Talking, twice_echoed: Twice):
    def agent() -> Any:
        seen: list[Any] = []
        opened, answered = threading.Event(), threading.Event()
        app = WebSocketApp(
            echo.url,
            on_open=lambda _: opened.set(),
            on_data=lambda _, data, kind, last: (seen.append((data, kind, last)), answered.set()),
            on_close=lambda *_: seen.append("closed"),  # which of the two threads reads the code is a race
        )
        thread = threading.Thread(target=app.run_forever, kwargs={"ping_interval": 30})
        thread.start()
        opened.wait()
        for word in ("one", b"two"):
            app.send(word, ABNF.OPCODE_TEXT if isinstance(word, str) else ABNF.OPCODE_BINARY)
            answered.wait()
            answered.clear()
        app.close(status=4000, reason="done")
        thread.join()
        return seen

    twice_echoed(agent)


def test_an_app_connects_again_where_it_was_dropped(echo: Talking, twice_echoed: Twice):
    def agent() -> Any:
        seen: list[Any] = []

        def opened(app: Any) -> None:
            seen.append("open")
            app.send("drop" if len(seen) == 1 else "leave")

        def closed(app: Any, code: Any, _: Any) -> None:
            seen.append(code)

        app = WebSocketApp(
            echo.url,
            on_open=opened,
            on_reconnect=lambda app: (seen.append("again"), app.close(status=4000)),
            on_error=lambda _, error: seen.append(type(error).__name__),
            on_close=closed,
        )
        app.run_forever(reconnect=1)
        return seen

    twice_echoed(agent)


def test_connecting_fails_as_it_failed(echo: Talking, twice_echoed: Twice):
    def agent() -> Any:
        with pytest.raises(websocket.WebSocketBadStatusException) as refused:
            websocket.create_connection(echo.url + "/forbidden")
        with pytest.raises(ConnectionRefusedError) as nobody:
            websocket.create_connection("ws://127.0.0.1:1")
        error = refused.value
        return error.status_code, error.resp_body, str(error), nobody.value.errno, str(nobody.value)

    kept = twice_echoed(agent)
    assert [call.status for call, _ in kept.calls] == ["ok", "error"]
    assert kept.calls[0][0].result["body"] == "not you\n"


def test_a_connection_is_made_where_it_is_sent(echo: Talking, twice_echoed: Twice):
    def agent() -> Any:
        connection = websocket.WebSocket()
        connection.connect(echo.url + "/away", origin="http://example.com", cookie="a=b", subprotocols=["chat"])
        connection.send("here")
        answer = connection.recv()
        connection.close()
        return answer, connection.subprotocol

    kept = twice_echoed(agent)
    assert [call.name.partition(" ")[0] for call, _ in kept.calls] == ["GET", "GET", "SEND"]


def test_an_agent_that_polls_finds_nothing_and_then_something(echo: Talking, twice_echoed: Twice):
    def agent() -> Any:
        connection = websocket.create_connection(echo.url)
        connection.sock.setblocking(False)
        with pytest.raises(BlockingIOError):
            connection.recv()
        connection.send("hello")
        seen = None
        while seen is None:
            with contextlib.suppress(BlockingIOError):
                seen = connection.recv()
            time.sleep(0.01)
        connection.close()
        return seen

    twice_echoed(agent)


def test_who_waits_for_a_descriptor_is_halted_by_a_replay(echo: Talking, tmp_path: Path):
    def agent() -> Any:
        connection = websocket.create_connection(echo.url)
        connection.send("hello")
        assert select.select([connection.sock], [], [], 5)[0]
        message = connection.recv()
        connection.close()
        return message

    _, kept = recorded(agent, tmp_path / "runs.db")
    with pytest.raises(Divergence, match="waits for its messages by a descriptor"):
        replayed(agent, kept)


def test_another_message_is_a_divergence_at_that_message(echo: Talking, tmp_path: Path):
    words = ["first", "second"]

    def agent() -> Any:
        connection = websocket.create_connection(echo.url)
        try:
            for word in words:
                connection.send(word)
                connection.recv()
        finally:
            connection.close()

    _, kept = recorded(agent, tmp_path / "runs.db")
    words[1] = "other"
    with pytest.raises(Divergence, match=r"SEND .* is asked something else than was recorded: body"):
        replayed(agent, kept)
    assert echo.heard == ["first", "second"]
