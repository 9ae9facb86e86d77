"""The one way from a worker process to the process that replays: a socket in a folder of that process's own.

Each thread of a worker has a connection, over which it asks one thing at a time. What goes over it is pickled, as
everything that these processes tell each other is: both run the agent's own code, and a key keeps others out.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from multiprocessing.connection import Client
from typing import TYPE_CHECKING, Any

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

__all__ = ["Address", "Line"]


@dataclass(frozen=True, slots=True)
class Address:
    """Where the process that replays is asked.

    Attributes:
        path: of its socket.
        key: what proves that one belongs to it.
    """

    path: str
    key: bytes


class _Here(threading.local):
    """The connection of one thread, of the process with that id."""

    connection: Connection[Any, Any] | None = None
    process: int = 0
    is_asking: bool = False


class Line:
    """Asks the process that replays, from any thread of a worker."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._here = _Here()
        self._later: deque[tuple[str, tuple[object, ...]]] = deque()

    def ask(self, what: str, *args: object) -> Any:
        """Ask for something, and wait for it.

        Args:
            what: the name of what is asked for; see `agent_tt.replaying.workers.serving`.
            args: its arguments.

        Raises:
            BaseException: what the process that replays raised.
            SystemExit: it is gone.
        """
        here = self._here
        if here.process != os.getpid():
            here.connection, here.process, here.is_asking = None, os.getpid(), False
        if here.is_asking:  # a finalizer, in the midst of another question: nothing that it says is waited for
            self._later.append((what, args))
            return None
        here.is_asking = True
        try:
            if here.connection is None:
                here.connection = Client(self._address.path, "AF_UNIX", authkey=self._address.key)
                self._over(here.connection, "begin", (os.getpid(),))
            while self._later:
                self._over(here.connection, *self._later.popleft())
            return self._over(here.connection, what, args)
        except (EOFError, OSError):
            raise SystemExit("the replay is over") from None
        finally:
            here.is_asking = False

    def _over(self, connection: Connection[Any, Any], what: str, args: tuple[object, ...]) -> Any:
        connection.send((what, args))
        is_given, value = connection.recv()
        if not is_given:
            raise value
        return value
