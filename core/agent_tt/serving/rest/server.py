"""Serving over HTTP until Ctrl-C: uvicorn in front of the application behind its gate."""

from __future__ import annotations

import logging
import signal
import threading
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agent_tt._dataclass import dataclass
from agent_tt.errors import UsageError
from agent_tt.serving.listening import LOOPBACK, hosts_of, listening, origins_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from agent_tt.serving.starting import Starter

__all__ = ["Serving", "serve"]

_MOST_HEAD: Final = (1 << 20) + (64 << 10)
"""Bytes of the head of a request: an id of a million characters is told that it is none."""

_MOST_CONNECTIONS: Final = 256
_GRACE_SECONDS: Final = 3
_MISSING: Final = "the server needs FastAPI and uvicorn, which are not installed"
_HINT: Final = "pip install 'agent-tt[server]'"


@dataclass(frozen=True, slots=True)
class Serving:
    """What is served, to whom, and how much of it.

    Attributes:
        store: the file with the runs, or the address.
        token: what every request has to bring.
        goldens: the folder whose goldens are shown.
        host: the address of this machine that is listened on.
        port: where; 0 takes a free port.
        names: under which else it is asked, by a proxy.
        read_only: whether nothing may be changed, taken in or started.
        audit: where requests are written down; None for the user's own log folder.
        rate: requests a second.
        at_once: how many requests are worked on side by side.
        seconds: how long is worked for one.
        starter: what starts agents; None without leave.
        idle: after how many seconds without a span a trace is closed.
        keep: for how many more late spans of it are taken.
    """

    store: Path
    token: str
    goldens: Path = Path("tests/agents")
    host: str = LOOPBACK
    port: int = 0
    names: tuple[str, ...] = ()
    read_only: bool = False
    audit: Path | None = None
    rate: float = 500.0
    at_once: int = 4
    seconds: float = 60.0
    starter: Starter | None = None
    idle: float = 600.0
    keep: float = 86_400.0


def serve(serving: Serving, told: Callable[[str], None]) -> None:
    """Serve clients until Ctrl-C; agents that were started and still run end then.

    Args:
        serving: what is served.
        told: told the address, from when on it is answered.

    Raises:
        UsageError: what serves is not installed, the port is taken, or the audit log cannot be written.
        StoreNotFound, StoreUnreadable: there are no such runs.
    """
    try:
        import uvicorn

        from agent_tt.serving.rest.app import application, gated
        from agent_tt.serving.rest.desk import Desk
    except ImportError as error:
        raise UsageError(_MISSING, hint=_HINT) from error
    from agent_tt.serving.rest.audit import Audit
    from agent_tt.serving.rest.gate import Room

    with ExitStack() as stack:
        audit = stack.enter_context(closing(Audit(serving.audit or _usual_audit())))
        desk = Desk(
            serving.store,
            serving.goldens,
            read_only=serving.read_only,
            seconds=serving.seconds,
            at_once=serving.at_once,
            starter=serving.starter,
        )
        takes_spans = desk.check_store()
        stack.callback(desk.forget)
        bound = stack.enter_context(closing(listening(serving.port, serving.host)))
        number = bound.getsockname()[1]
        if takes_spans:
            from agent_tt.serving.otlp.receiver import Receiver

            desk.receiver = Receiver(serving.store, idle=serving.idle, keep=serving.keep)
            stack.callback(desk.receiver.stop)
        app: Any = gated(
            application(desk),
            token=serving.token,
            hosts=hosts_of(number, serving.host, serving.names),
            origins=origins_of(number, serving.host, serving.names),
            audit=audit,
            room=Room(rate=serving.rate),
        )
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            log_level="error",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=_MOST_CONNECTIONS,
            h11_max_incomplete_event_size=_MOST_HEAD,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)

        class Server(uvicorn.Server):
            """Lets streams end before connections are waited for."""

            def handle_exit(self, sig: int, frame: FrameType | None) -> None:
                desk.stopping.set()
                super().handle_exit(sig, frame)

        shown = f"[{serving.host}]" if ":" in serving.host else serving.host
        told(f"http://{shown}:{number}")
        try:
            with _signals_ended():
                Server(config).run(sockets=[bound])
        finally:
            if serving.starter is not None:
                serving.starter.stop()


@contextmanager
def _signals_ended() -> Iterator[None]:
    """Let the signals that end the server do no more than that: uvicorn raises them again when it has stopped."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _usual_audit() -> Path:
    """The audit log where nobody names one."""
    from platformdirs import user_log_path

    return user_log_path("agent-tt", appauthor=False) / "server.jsonl"
