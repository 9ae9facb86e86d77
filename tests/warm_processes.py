"""Processes that need not import again what all of them import: each is forked from an interpreter that has.

Most of what a short Python process does is to import: a third of a second of this package, and up to three of an SDK.
A test whose subject is what a process does, and not how it begins, is marked `warm`, with what else is to be imported:

    pytestmark = pytest.mark.warm("openai")

One test of such a module whose subject it is after all is marked `cold`.

While a warm test runs, `subprocess.Popen` has a process of this Python forked by `tests/warm_server.py`. It is as real
as any other: a child of this one, with its own number, memory, session and files, which may be killed. What differs:
its modules are loaded already, and are not taken apart at its end; what follows from them alone was worked out before
(the places of hooks, the search for secrets); `/proc` shows the command line and the environment of what it was forked
from; and `sys.flags` knows no `-P`. Whatever the server does not know how to do (other programs,
other options, a function before the start) is started as ever, and so is everything where there is no Linux.
"""

from __future__ import annotations

import atexit
import ctypes
import inspect
import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

OURS: Final = (
    "agent_tt.rerunning.rerun",
    "agent_tt.rerunning.filling",
    "agent_tt.rerunning.replayed",
    "agent_tt.rerunning.from_recording",
    "agent_tt.rerunning.from_state",
    "agent_tt.recording.record",
    "agent_tt.recording.runs.fallback",
    "agent_tt.recording.steps.model_turns",
    "agent_tt.history.payloads.training",
    "agent_tt.holding.offered",
    "agent_tt.interop.threads.source",
    "agent_tt.launching.command",
    "agent_tt.providers.prices",
    "agent_tt.seams.processes.popen_seam",
    "agent_tt.seams.processes.spawn_seam",
    "agent_tt.store.checking.verify_rows",
    "agent_tt.store.writer",
    "agent_tt_tui.cli.root",
    "agent_tt_tui.cli.running.record",
    "encodings.idna",
    "platformdirs.unix",
    "tomllib",
)
"""What is imported in any case: nearly every process records, or is recorded."""

_SERVER: Final = str(Path(__file__).with_name("warm_server.py"))
_TAKEN: Final = ("PYTHON", "LC_", "LANG")
"""How the variables begin that an interpreter looks at when it starts."""

_SEED: Final = "PYTHONHASHSEED"
_OWN: Final = (_SEED, "PYTHONPATH")
"""Those that may be another process's own: with `PYTHONPATH` it begins differently, and there are many seeds."""

_HEAD: Final = 8
_ADOPT: Final = 36
"""PR_SET_CHILD_SUBREAPER of Linux's `prctl`: orphans among our descendants become our children."""

_FRESH: Final = subprocess.Popen._execute_child  # type: ignore[attr-defined]
_SIGNATURE: Final = inspect.signature(_FRESH)
_UNUSUAL: Final = {
    "preexec_fn": (None,),
    "pass_fds": ((),),
    "close_fds": (True,),
    "shell": (False,),
    "restore_signals": (True,),
    "gid": (None,),
    "gids": (None,),
    "uid": (None,),
    "umask": (-1,),
    "process_group": (None, -1),
}
"""What a process is started with that is to be forked; with anything else it is started as ever."""


@contextmanager
def warm_processes(*modules: str) -> Iterator[None]:
    """Fork processes of this Python, while the block runs, from one that has imported ours and these modules."""
    if sys.platform != "linux":
        yield
        return

    def start(process: Any, *arguments: Any) -> None:
        asked = _SIGNATURE.bind(process, *arguments).arguments
        command = _understood(asked)
        if command is None:
            _FRESH(process, *arguments)
            return
        process.pid = _server(modules, command["environment"]).start(command, asked)
        process._child_created = True
        ends = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        process._close_pipe_fds(*(asked[end] for end in ends))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess.Popen, "_execute_child", start)
        patch.setenv(_SEED, os.environ.get(_SEED, "1"))  # else each recorded program gets one of its own
        yield


def _understood(asked: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the server is asked; None where the process is to be started as ever."""
    if any(asked.get(name, usual[0]) not in usual for name, usual in _UNUSUAL.items()):
        return None
    if isinstance(asked["args"], (str, bytes, os.PathLike)) or asked["executable"] not in (None, asked["args"][0]):
        return None
    command = [os.fsdecode(word) for word in asked["args"]]
    program = _program(command)
    folder = os.fspath(asked["cwd"] or Path.cwd())
    environment = {os.fsdecode(name): os.fsdecode(text) for name, text in (asked["env"] or os.environ).items()}
    is_own = any(environment.get(name) not in (None, os.environ.get(name)) for name in _OWN)
    if program is None or is_own or not Path(folder).is_dir():
        return None
    return {
        **program,
        "command": command,
        "folder": folder,
        "environment": environment,
        "new_session": bool(asked["start_new_session"]),
    }


def _program(command: Sequence[str]) -> dict[str, Any] | None:
    """The parts of a command line of this Python; None for those of others, and for other options."""
    if command[0] != sys.executable:
        return None
    options, rest = [], list(command[1:])
    while rest and rest[0] in ("-P", "-u", "-X"):
        options.append(rest.pop(0))
        if options[-1] == "-X":
            options[-1] = rest.pop(0)
            if options[-1] != "faulthandler":
                return None
    kind = rest.pop(0) if rest and rest[0] in ("-m", "-c") else "script"
    if not rest or rest[0].startswith("-"):
        return None
    return {"options": options, "kind": kind, "what": rest[0], "arguments": rest[1:]}


class _Server:
    """One interpreter that is forked. Safe to use from several threads."""

    def __init__(self, modules: Sequence[str], taken: Mapping[str, str]) -> None:
        others = {name: text for name, text in os.environ.items() if not name.startswith(_TAKEN)}
        self._lock = threading.Lock()
        self._channel, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, _SERVER, str(theirs.fileno()), *OURS, *modules],
                env={**others, **taken},  # and nothing that marks the process that is wanted first
                pass_fds=[theirs.fileno()],
            )
        atexit.register(self.close)

    def start(self, command: Mapping[str, Any], asked: Mapping[str, Any]) -> int:
        """The number of a new child of this process."""
        words = json.dumps(command).encode()
        ends = ("p2cread", "c2pwrite", "errwrite")
        files = [number if asked[end] == -1 else asked[end] for number, end in enumerate(ends)]
        with self._lock, _adopting():
            socket.send_fds(self._channel, [b"%*d" % (_HEAD, len(words))], files)
            self._channel.sendall(words)
            pid, done = (int(self._channel.recv(_HEAD, socket.MSG_WAITALL)) for _ in range(2))
        assert done == 0
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)  # raises where it is not ours to wait for
        return pid

    def close(self) -> None:
        self._channel.close()
        self._process.wait()


@contextmanager
def _adopting() -> Iterator[None]:
    libc = ctypes.CDLL(None)
    libc.prctl(_ADOPT, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_ADOPT, 0, 0, 0, 0)


_SERVERS: Final[dict[object, _Server]] = {}
_SERVERS_LOCK: Final = threading.Lock()


def _server(modules: Sequence[str], environment: Mapping[str, str]) -> _Server:
    """That which has imported these, and began with these variables."""
    taken = {name: text for name, text in environment.items() if name.startswith(_TAKEN)}
    key = tuple(modules), tuple(sorted(taken.items()))
    with _SERVERS_LOCK:
        if key not in _SERVERS:
            _SERVERS[key] = _Server(modules, taken)
        return _SERVERS[key]
