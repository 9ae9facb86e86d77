"""The events that a guard watches, and what each would have reached.

Most are audit events; their arguments are those of CPython's table (docs.python.org/3/library/audit_events.html). The
others are made here, where Python raises none.
"""

from __future__ import annotations

import shlex
from os import PathLike, fsdecode
from typing import TYPE_CHECKING, Any, Final

from agent_tt.replaying.guard.foreign_calls import ADDRESS, CFFI, FUNCTION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["FOREIGN", "LIBRARIES", "NAMED", "OPEN", "SPAWN", "TARGETS", "WORKER_STARTS", "text_of"]

SPAWN: Final = "multiprocessing.spawn"
"""Not an audit event: multiprocessing starts a process in its own way."""

WORKER_STARTS: Final = ("os.fork", SPAWN)
"""How a process begins that goes on with the agent's own Python code."""

OPEN: Final = "open"
"""Audited for every file; only those are looked at that are opened by number, or for writing."""

NAMED: Final = frozenset({"ctypes.dlsym", "ctypes.dlsym/handle", FUNCTION})
LIBRARIES: Final = frozenset({"ctypes.dlopen", CFFI})
FOREIGN: Final = NAMED | LIBRARIES | {"ctypes.call_function", ADDRESS}


def _address(address: object) -> str:
    if isinstance(address, tuple) and len(address) >= 2:
        return f"{text_of(address[0])}:{address[1]}"
    return text_of(address)


def text_of(value: object) -> str:
    """A path, a name or nothing, as text."""
    if isinstance(value, (str, bytes, PathLike)):
        return fsdecode(value)
    return "" if value is None else str(value)


def _command(command: object, executable: object = None) -> str:
    if isinstance(command, (list, tuple)) and command:
        return shlex.join(text_of(part) for part in command)
    return text_of(command) or text_of(executable)


TARGETS: Final[Mapping[str, Callable[[tuple[Any, ...]], str]]] = {
    "socket.connect": lambda args: _address(args[1]),
    "socket.bind": lambda args: _address(args[1]),
    "socket.sendto": lambda args: _address(args[1]),
    "socket.sendmsg": lambda args: _address(args[1]),
    "socket.getaddrinfo": lambda args: _address(args[:2]) if args[1] is not None else text_of(args[0]),
    "socket.gethostbyname": lambda args: text_of(args[0]),
    "socket.gethostbyaddr": lambda args: text_of(args[0]),
    "socket.getnameinfo": lambda args: _address(args[0]),
    "subprocess.Popen": lambda args: _command(args[1], args[0]),
    "os.system": lambda args: text_of(args[0]),
    "os.exec": lambda args: _command(args[1], args[0]),
    "os.posix_spawn": lambda args: _command(args[1], args[0]),
    "os.spawn": lambda args: _command(args[2], args[1]),
    "os.fork": lambda _: "",
    "os.kill": lambda args: f"process {args[0]}, signal {int(args[1])}",
    "os.killpg": lambda args: f"process group {args[0]}, signal {int(args[1])}",
    "os.forkpty": lambda _: "",
    "os.startfile": lambda args: text_of(args[0]),
    "os.startfile/2": lambda args: text_of(args[0]),
    "pty.spawn": lambda args: _command(args[0]),
    "fcntl.ioctl": lambda _: "terminal input",
    "cpython.PyInterpreterState_New": lambda _: "subinterpreter",
    "ctypes.dlopen": lambda args: text_of(args[0]),
    "ctypes.dlsym": lambda args: text_of(args[1]),
    "ctypes.dlsym/handle": lambda args: text_of(args[1]),
    "ctypes.call_function": lambda _: "by address",
    FUNCTION: lambda args: text_of(args[0]),
    ADDRESS: lambda _: "by address",
    CFFI: lambda args: text_of(args[0]) or "the process",
    OPEN: lambda args: str(args[0]),
    SPAWN: lambda args: _command(args[0]),
}
"""The audit events that are watched, and what each would have reached, from the event's arguments.

The arguments are those of CPython's table of audit events (docs.python.org/3/library/audit_events.html); of `SPAWN`
they are a command's words.
"""
