"""A guard sees whatever reaches for the world, and refuses it where it is tried.

While a recording is replayed nothing passes that is not served; a fork has a guard of its own, which asks its policy
(`agent_tt.forking.guarding`). Guards that stand inside each other are asked from the innermost on: what passes has
passed them all.

The guard knows no libraries. An audit hook (PEP 578) sees every connection, name look-up and new process of the
interpreter, in whatever thread and under whatever name it is called; multiprocessing's own way to start processes is
the one that raises no audit event, and is patched while the guard stands. Served calls need nothing of it: their
answers come from memory.

Not seen, and said instead (`uncovered_modules`, `Guard.opened_libraries`): libraries in C that have sockets of their
own, functions called through ctypes, and connections that were open before the guard stood.
"""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import os
import re
import shlex
import sys
import threading
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from os import PathLike, fsdecode
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agent_tt.errors import AgentTTError
from agent_tt.recording.call_site import is_agent_file, shown_path
from agent_tt.seams.process_question import asks_about_this_machine, is_imported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import FrameType

__all__ = ["Attempt", "Guard", "Rules", "guarded", "uncovered_modules"]

_LONGEST_TARGET: Final = 200
_MOST_ATTEMPTS: Final = 1000


@dataclass(frozen=True, slots=True)
class Attempt:
    """Something that would have reached the world.

    Attributes:
        event: the audit event, or `multiprocessing.spawn`: `socket.connect`, `subprocess.Popen`, ….
        target: what would have been reached: `host:port`, a path, a command line; "" of a fork.
        file: the innermost file of the agent's on the stack, relative to the project where it lies in there; None
            where another thread works for the agent and no frame of the agent's is on its stack.
        line: the line in it.
        function: the qualified name of the function.
    """

    event: str
    target: str
    file: str | None = None
    line: int | None = None
    function: str | None = None

    def __str__(self) -> str:
        place = f" at {self.file}:{self.line}" if self.file else ""
        return f"{self.event} {self.target}".rstrip() + place


@dataclass(frozen=True, slots=True)
class Rules:
    """What a guard lets pass.

    Attributes:
        passes: asked whether the code that reaches for something now may do so.
        ignores: audit events that it does not look at.
        harmless: asked of an event, its arguments and the frame that raised it whether they change nothing.
    """

    passes: Callable[[], bool] = lambda: False
    ignores: frozenset[str] = frozenset()
    harmless: Callable[[str, tuple[Any, ...], FrameType | None], bool] = lambda _event, _args, _frame: False


class Guard:
    """One guard while it stands; made by `guarded`.

    Attributes:
        around: the guard inside of which it stands.
        attempts: what it did not simply let pass so far, in order; the first thousand.
        opened_libraries: names of the C libraries that were opened through ctypes meanwhile. What they do is not seen.
    """

    def __init__(
        self, refuse: Callable[[Attempt], BaseException | None], root: str | None, rules: Rules, around: Guard | None
    ) -> None:
        self._refuse = refuse
        self._root = root
        self._rules = rules
        self.around = around
        self.attempts: list[Attempt] = []
        self.opened_libraries: list[str] = []

    def judge(self, event: str, args: tuple[Any, ...], frame: FrameType | None) -> BaseException | None:
        """What to raise instead of what is tried in `frame`; None lets it pass."""
        rules = self._rules
        if event in rules.ignores or rules.passes():
            return None
        if event == "ctypes.dlopen":
            self._note_library(args[0], frame)
            return None
        if _is_inside(event, args, frame) or rules.harmless(event, args, frame):
            return None
        return self.refuse(event, _TARGETS[event](args), frame)

    def refuse(self, event: str, target: str, frame: FrameType | None) -> BaseException | None:
        """What to raise instead of what was tried in `frame`; None lets it pass."""
        attempt = Attempt(event, target[:_LONGEST_TARGET], *self._place(frame))
        if len(self.attempts) < _MOST_ATTEMPTS:
            self.attempts.append(attempt)
        return self._refuse(attempt)

    def _note_library(self, name: object, frame: FrameType | None) -> None:
        """Remember a library that was opened through ctypes in `frame`.

        What every process has loaded anyway is news only where the agent's own code opens it: SDKs ask it for facts.
        """
        if name is None or str(name) in self.opened_libraries:  # None is the interpreter itself
            return
        while frame is not None and frame.f_globals.get("__name__") in ("ctypes", __name__):
            frame = frame.f_back
        is_agents = frame is not None and is_agent_file(frame.f_code.co_filename)
        if is_agents or _EVERYWHERE.match(Path(str(name)).name) is None:
            self.opened_libraries.append(str(name))

    def _place(self, frame: FrameType | None) -> tuple[str, int, str] | tuple[()]:
        while frame is not None and frame.f_code is not _EVENT_LOOP:
            if is_agent_file(frame.f_code.co_filename):
                return shown_path(frame.f_code.co_filename, self._root), frame.f_lineno, frame.f_code.co_qualname
            frame = frame.f_back
        return ()


_EVENT_LOOP: Final = asyncio.Handle._run.__code__  # noqa: SLF001  below it lies who started the loop


_NOTHING_PASSES: Final = Rules()


class _Process:
    """The guards of this process: one hook for all of them, which cannot be removed, and the innermost that stands."""

    def __init__(self) -> None:
        self.guard: Guard | None = None
        self.is_hooked = False
        self.heard = False
        self.lock = threading.RLock()


_PROCESS = _Process()


@contextmanager
def guarded(
    refuse: Callable[[Attempt], BaseException | None], *, root: str | None = None, rules: Rules = _NOTHING_PASSES
) -> Iterator[Guard]:
    """Let nothing of this process reach the world while the block lasts, in any thread.

    Args:
        refuse: makes what is raised in place of what was tried; None lets it pass.
        root: the project root, relative to which files are named.
        rules: what is let through unasked.

    Raises:
        AgentTTError: the interpreter does not take audit hooks, so nothing could be guarded.
    """
    with _PROCESS.lock:
        _hook_once()
        before = _PROCESS.guard
        guard = _PROCESS.guard = Guard(refuse, root, rules, before)
    with _no_other_spawn() if before is None else nullcontext():
        try:
            yield guard
        finally:
            with _PROCESS.lock:
                _PROCESS.guard = before


def uncovered_modules() -> tuple[str, ...]:
    """Loaded libraries whose sockets the guard cannot see, by the names that people install them under."""
    return tuple(shown for module, shown in _OWN_SOCKETS.items() if module in sys.modules)


# ---------------------------------------------------------------- the hook


def _hook_once() -> None:
    if not _PROCESS.is_hooked:
        sys.addaudithook(_hook)
        _PROCESS.is_hooked = True
    _PROCESS.heard = False
    sys.audit(_CHECK)
    if not _PROCESS.heard:  # another hook refused ours, which Python does not tell
        _PROCESS.is_hooked = False
        raise AgentTTError(
            "the network guard cannot be installed: another audit hook of this process refuses it",
            hint="run it without the tool that installs audit hooks",
        )


def _hook(event: str, args: tuple[Any, ...]) -> None:
    """Called by the interpreter for every audited event: what is not watched must cost next to nothing."""
    guard = _PROCESS.guard
    if event not in _TARGETS:
        if event == _CHECK:
            _PROCESS.heard = True
        return
    if guard is None:
        return
    frame = inspect.currentframe()
    caller = None if frame is None else frame.f_back
    while guard is not None:
        refusal = guard.judge(event, args, caller)
        if refusal is not None:
            raise refusal
        guard = guard.around


def _is_inside(event: str, args: tuple[Any, ...], caller: FrameType | None) -> bool:
    """Whether nothing is reached beyond this process, or only the facts about its machine."""
    if event == "socket.sendmsg" and args[1] is None:  # over a pair or a connection, whose opening was seen
        return True
    if event in _SIGNALS and (args[1] == 0 or args[0] in (0, os.getpid(), os.getpgrp())):
        return True  # it asks whether somebody is there, or means itself
    if event == "socket.bind" and _is_any_port_of_ours(args[1]) and is_imported(caller):
        return True
    return event in _STARTS_PROCESS and asks_about_this_machine(caller)


def _is_any_port_of_ours(address: object) -> bool:
    """Whether a socket takes any free port of the loopback interface.

    Libraries do so when they are imported, urllib3 for one, to see whether this machine has IPv6. Nothing is reached.
    """
    return isinstance(address, tuple) and address[:1] in _LOOPBACK and address[1:2] == (0,)


_CHECK: Final = "agent_tt.guard.check"
_SPAWN: Final = "multiprocessing.spawn"
"""Not an audit event: see `_no_other_spawn`."""

_NO_AGENT: Final = "multiprocessing.resource_tracker"
"""Part of the command by which Python starts a process that only tidies up shared memory."""

_EVERYWHERE: Final = re.compile(r"lib(?:c|m|dl|rt|pthread|gcc_s|stdc\+\+|System)\.")
_LOOPBACK: Final = (("127.0.0.1",), ("::1",), ("localhost",))
_SIGNALS: Final = frozenset({"os.kill", "os.killpg"})
_STARTS_PROCESS: Final = frozenset({"subprocess.Popen", "os.posix_spawn"})


def _address(address: object) -> str:
    if isinstance(address, tuple) and len(address) >= 2:
        return f"{_text(address[0])}:{address[1]}"
    return _text(address)


def _text(value: object) -> str:
    if isinstance(value, (str, bytes, PathLike)):
        return fsdecode(value)
    return "" if value is None else str(value)


def _command(command: object, executable: object = None) -> str:
    if isinstance(command, (list, tuple)) and command:
        return shlex.join(_text(part) for part in command)
    return _text(command) or _text(executable)


_TARGETS: Final[Mapping[str, Callable[[tuple[Any, ...]], str]]] = {
    "socket.connect": lambda args: _address(args[1]),
    "socket.bind": lambda args: _address(args[1]),
    "socket.sendto": lambda args: _address(args[1]),
    "socket.sendmsg": lambda args: _address(args[1]),
    "socket.getaddrinfo": lambda args: _address(args[:2]) if args[1] is not None else _text(args[0]),
    "socket.gethostbyname": lambda args: _text(args[0]),
    "socket.gethostbyaddr": lambda args: _text(args[0]),
    "socket.getnameinfo": lambda args: _address(args[0]),
    "subprocess.Popen": lambda args: _command(args[1], args[0]),
    "os.system": lambda args: _text(args[0]),
    "os.exec": lambda args: _command(args[1], args[0]),
    "os.posix_spawn": lambda args: _command(args[1], args[0]),
    "os.spawn": lambda args: _command(args[2], args[1]),
    "os.fork": lambda _: "",
    "os.kill": lambda args: f"process {args[0]}, signal {int(args[1])}",
    "os.killpg": lambda args: f"process group {args[0]}, signal {int(args[1])}",
    "os.forkpty": lambda _: "",
    "os.startfile": lambda args: _text(args[0]),
    "os.startfile/2": lambda args: _text(args[0]),
    "pty.spawn": lambda args: _command(args[0]),
    "ctypes.dlopen": lambda args: _text(args[0]),
    _SPAWN: lambda args: _command(args[0]),
}
"""The audit events that are watched, and what each would have reached, from the event's arguments.

The arguments are those of CPython's table of audit events (docs.python.org/3/library/audit_events.html); of `_SPAWN`
they are a command's words.
"""

_OWN_SOCKETS: Final[Mapping[str, str]] = {
    "grpc._cython.cygrpc": "grpc",
    "psycopg2._psycopg": "psycopg2",
    "psycopg.pq": "psycopg",
    "MySQLdb._mysql": "mysqlclient",
    "_mysql_connector": "mysql-connector-python",
    "pymssql._pymssql": "pymssql",
    "pyodbc": "pyodbc",
    "pycurl": "pycurl",
    "curl_cffi": "curl_cffi",
    "primp": "primp",
    "tls_client": "tls-client",
    "zmq": "pyzmq",
    "confluent_kafka.cimpl": "confluent-kafka",
    "pycares": "pycares",
    "gevent._gevent_cares": "gevent",
    "pyarrow._flight": "pyarrow.flight",
    "duckdb": "duckdb",
    "lancedb._lancedb": "lancedb",
    "deltalake._internal": "deltalake",
    "awscrt": "awscrt",
    "ray._raylet": "ray",
}
"""Modules in C, Rust or Go with sockets of their own, and what they are known as."""


# ---------------------------------------------------------------- what raises no audit event


@contextmanager
def _no_other_spawn() -> Iterator[None]:
    """Refuse multiprocessing's own `fork_exec` (spawn, forkserver, resource tracker), which is not audited.

    `subprocess` has its own name for the same function and raises an event before.
    """
    if importlib.util.find_spec("_posixsubprocess") is None:  # Windows: CreateProcess is audited
        yield
        return
    import _posixsubprocess

    original = _posixsubprocess.fork_exec

    def fork_exec(args: Any, *rest: Any) -> int:
        guard = None if any(_NO_AGENT in _text(word) for word in args) else _PROCESS.guard
        frame = inspect.currentframe()
        caller = None if frame is None else frame.f_back
        while guard is not None:
            refusal = guard.judge(_SPAWN, (list(args),), caller)
            if refusal is not None:
                raise refusal
            guard = guard.around
        return original(args, *rest)

    _posixsubprocess.fork_exec = fork_exec
    try:
        yield
    finally:
        if _posixsubprocess.fork_exec is fork_exec:
            _posixsubprocess.fork_exec = original
