"""Connections and programs that an allowed call leaves open: the policy also decides about what is sent to them later.

Python raises no audit event where something is written to an open connection or to a running program. So while a fork
is guarded the ways to do that are replaced: the methods of `socket.socket` and `ssl.SSLSocket`, `os.write` and its
like. What belongs to something that runs passes at once. Otherwise the far end decides: a connection that a request
opened, or that was accepted, passes; what else is connected goes by the rule for `socket HOST:PORT`, as if it were
opened now. A terminal's program and a named pipe count as connections, too; the standard input of a program that a call
started goes by the rule for `subprocess PROGRAM` (its pipes ask: `before_write`).
"""

from __future__ import annotations

import functools
import os
import shlex
import socket
import stat
import sys
import weakref
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agent_tt.recording.lanes.guard_bypass import is_passing, passing_for
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.links import Link, Place
from agent_tt.recording.modules.import_watch import ImportWatch
from agent_tt.recording.session import SESSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType, ModuleType

    Refuse = Callable[[str, str, FrameType | None], BaseException | None]

__all__ = ["LeftOpen"]

_SENT: Final = "socket.send"
_TOLD: Final = "subprocess.write"
_SENDS: Final = ("send", "sendall", "sendto", "sendmsg", "sendfile")
_WRITES: Final = {"write": 0, "writev": 0, "pwrite": 0, "pwritev": 0, "sendfile": 0, "splice": 1}
"""Functions of `os` that write, by the place of the file descriptor among their arguments."""

_STANDARD: Final = (0, 1, 2)
"""The streams that whoever started the process gave it: what an agent prints is seen there."""

_PTMX: Final = (5, 2)
"""The device number of the master end of a terminal, on Linux."""


class LeftOpen(Link):
    """Knows who opened which connection, and which programs calls started. Safe to use from several threads."""

    place = Place.GUARD

    def __init__(self) -> None:
        self._refuse: Refuse = _let_pass
        self._programs: dict[tuple[int, int], str] = {}
        self._free: set[int] = set()
        self._accepted: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    def opened(self, sock: object) -> None:
        """A connection is about to be opened, and may be.

        What a request opens is its client's to use, and to close, at any time; so is what a rule let be opened. What a
        call opened is its own only while that runs.
        """
        with suppress(AttributeError, OSError, TypeError):
            number = sock.fileno()  # type: ignore[attr-defined]
            if passing_for() == "call":
                self._free.discard(number)
            else:
                self._free.add(number)

    def program_started(self, number: int, command: Any) -> None:
        """Remember the program that reads a pipe, where a call started it."""
        if passing_for() == "call":
            pipe = os.fstat(number)
            words = [command] if isinstance(command, (str, bytes, os.PathLike)) else command
            line = os.fsdecode(words[0]) if words is not command else shlex.join(os.fsdecode(word) for word in words)
            self._programs[pipe.st_dev, pipe.st_ino] = line

    def before_write(self, number: int) -> None:
        """Ask whether a file descriptor may be written to.

        Raises:
            BaseException: it may not.
        """
        self._check_number(self._refuse, number)

    def far_end(self, number: int) -> tuple[str, str] | None:
        """Where a file descriptor leads, where what is written to it leaves this program; None where it does not.

        Returns:
            The event that stands for writing there, and its target.
        """
        if number in _STANDARD:
            return None
        try:
            kind = os.fstat(number)
        except OSError:
            return None
        if stat.S_ISCHR(kind.st_mode) and (os.major(kind.st_rdev), os.minor(kind.st_rdev)) == _PTMX:
            return _SENT, "terminal"
        if stat.S_ISFIFO(kind.st_mode):
            program = self._programs.get((kind.st_dev, kind.st_ino), "")
            path = "" if program else _named_pipe(number)
            return (_TOLD, program) if program else (_SENT, path) if path else None
        if not stat.S_ISSOCK(kind.st_mode) or number in self._free:
            return None
        with suppress(OSError), socket.socket(fileno=os.dup(number)) as seen:
            peer = seen.getpeername()  # one that is not connected raises: whom it sends to is told by an event
            target = f"{peer[0]}:{peer[1]}" if isinstance(peer, tuple) else os.fsdecode(peer)
            return (_SENT, target) if target else None  # a pair has no name
        return None

    def _of_socket(self, sock: socket.socket) -> tuple[str, str] | None:
        """As `far_end`, of a socket object."""
        if sock in self._accepted or getattr(sock, "server_side", False):
            return None
        return self.far_end(sock.fileno())

    @contextmanager
    def ruled(self, refuse: Refuse) -> Iterator[None]:
        """Ask before something is sent there, while the block lasts.

        Args:
            refuse: given an event, where it leads and the frame that sends, makes what is raised; None lets it be sent.
        """
        patches: list[Patch] = []

        def put(_: str, module: ModuleType) -> None:
            made = self._patches(module, refuse)
            for patch in made:
                patch.apply()
            patches.extend(made)

        watch = ImportWatch(put)  # who imports one of them again finds it asking, too
        for name in ("socket", "ssl", "os"):
            watch.watch(name)
            if name in sys.modules:
                put(name, sys.modules[name])
        try:
            self._refuse = refuse
            with SESSION.joined(self):
                yield
        finally:
            watch.stop()
            for patch in reversed(patches):
                patch.undo()

    def _patches(self, module: ModuleType, refuse: Refuse) -> list[Patch]:
        """List what is replaced in a module."""
        if module.__name__ == "os":
            return [
                Patch(module, name, functools.partial(self._over_write, refuse, place))
                for name, place in _WRITES.items()
                if hasattr(module, name)
            ]
        owner, names = (module.SSLSocket, (*_SENDS, "write")) if module.__name__ == "ssl" else (module.socket, _SENDS)
        made = [Patch(owner, name, functools.partial(self._over_send, refuse)) for name in names]
        return made if module.__name__ == "ssl" else [*made, Patch(owner, "accept", self._over_accept)]

    def _check_number(self, refuse: Refuse, number: int) -> None:
        if not is_passing():
            _check(refuse, self.far_end(number))

    def _over_send(self, refuse: Refuse, original: Callable[..., Any]) -> Callable[..., Any]:
        def send(sock: socket.socket, *args: Any, **named: Any) -> Any:
            if not is_passing():
                _check(refuse, self._of_socket(sock))
            return original(sock, *args, **named)

        return send

    def _over_write(self, refuse: Refuse, place: int, original: Callable[..., Any]) -> Callable[..., Any]:
        def write(*args: Any, **named: Any) -> Any:
            number = args[place] if len(args) > place else next(iter(named.values()), None)
            if isinstance(number, int):
                self._check_number(refuse, number)
            return original(*args, **named)

        return write

    def _over_accept(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def accept(sock: socket.socket) -> Any:
            made, address = original(sock)
            with suppress(TypeError):
                self._accepted.add(made)
            return made, address

        return accept


def _let_pass(_event: str, _target: str, _frame: FrameType | None) -> None:
    """Refuse nothing."""


def _check(refuse: Refuse, reached: tuple[str, str] | None) -> None:
    refusal = None if reached is None else refuse(*reached, sys._getframe(2))  # noqa: SLF001
    if refusal is not None:
        raise refusal


def _named_pipe(number: int) -> str:
    """The path of a named pipe; "" of one that has none."""
    with suppress(OSError):
        path = str(Path(f"/proc/self/fd/{number}").readlink())
        return path if path.startswith("/") else ""
    return ""
