"""The side of whoever starts agents: their processes are forked from one that has imported what they need."""

from __future__ import annotations

import ctypes
import json
import logging
import os
import socket
import subprocess
import sys
import threading
import uuid
from collections import Counter
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.addresses import located
from agent_tt.errors import AgentTTError
from agent_tt.rerunning.rerun import RERUN_VARIABLE, WARM_VARIABLE
from agent_tt.rerunning.warm.server import HEAD, YES
from agent_tt.supervising.forked import ForkedProcess
from agent_tt.supervising.keeper import KeptAgent, SharedKeeper
from agent_tt.supervising.marks import MARK, marked
from agent_tt.temporary import temporary_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import BinaryIO

    from agent_tt.rerunning.rerun import Rerun

__all__ = ["COLD_VARIABLE", "Start", "WarmAgents", "warm_agents"]

_LOG: Final = logging.getLogger(__name__)

COLD_VARIABLE: Final = "AGENT_TT_COLD"
"""Environment variable with which every process of an agent begins from nothing."""

_MOST_FORKS: Final = 50
"""So many agents are forked from one process: those share an order of sets, where nothing says which it is to be."""

_MOST_SERVERS: Final = 4
_MOST_FAILURES: Final = 2
_MANY: Final = 3
_START_SECONDS: Final = 60.0
_FORK_SECONDS: Final = 20.0
_ROOM: Final = 64
"""Letters that the mark of one agent may have."""

_SET_ADOPTS, _GET_ADOPTS = 36, 37
"""PR_SET_CHILD_SUBREAPER and PR_GET_CHILD_SUBREAPER of Linux's `prctl`: whether orphans below become our children."""

_ADOPTING: Final = threading.Lock()


@dataclass(frozen=True, slots=True)
class Start:
    """A process of an agent, as it would be started from nothing.

    Attributes:
        command: the command line.
        folder: where it runs.
        environment: its variables, without its mark.
        mark: its mark.
        rerun: what it does.
        output: where it prints.
    """

    command: Sequence[str]
    folder: str
    environment: Mapping[str, str]
    mark: str
    rerun: Rerun
    output: BinaryIO

    @property
    def begins_alike(self) -> tuple[object, ...]:
        """What it has in common with others that can be forked from the same process."""
        variables = sorted((name, text) for name, text in self.environment.items() if name != RERUN_VARIABLE)
        return *self.command, self.folder, self.rerun.begins, self.rerun.follows, *variables


class WarmAgents:
    """Processes that agents are forked from, one for all that begin alike. Safe to use from several threads.

    Only on Linux, where what is forked can become the child of whoever asked. Of agents that begin alike the command
    line, folder, and all variables are the same; so is the order of sets, if `PYTHONHASHSEED` says it, else up to
    `_MOST_FORKS` of them share one.

    Args:
        expected: how many agents will be started that begin alike; 0 where nobody knows. Then the first of each kind
            begins from nothing: there may be no other.
    """

    def __init__(self, expected: int = 0) -> None:
        self._first = 1 if expected >= _MANY else 2
        self._lock = threading.Lock()
        self._servers: dict[tuple[object, ...], _Server] = {}
        self._asked: Counter[tuple[object, ...]] = Counter()
        self._failures: Counter[tuple[object, ...]] = Counter()
        self._keeper: SharedKeeper | None = None
        self._is_closed = sys.platform != "linux" or bool(os.environ.get(COLD_VARIABLE))

    def fork(self, start: Start) -> tuple[ForkedProcess, KeptAgent] | None:
        """Fork the process of an agent.

        Returns:
            Its process and what ends it when this one is gone; None where it has to begin from nothing.
        """
        key = start.begins_alike
        with self._lock:
            self._asked[key] += 1
            if not self._may_fork(key):
                return None
            try:
                server = self._server(key, start)
                forked = server.fork(start)
            except (OSError, ValueError, AgentTTError) as error:
                _LOG.info("an agent begins from nothing: %s", error)
                self._failures[key] += 1
                self._drop(key)
                return None
            if server.forks >= _MOST_FORKS:
                self._drop(key)
            return forked

    def close(self) -> None:
        """End the processes that agents are forked from; agents that run go on."""
        with self._lock:
            self._is_closed = True
            for key in [*self._servers]:
                self._drop(key)
            if self._keeper is not None:
                self._keeper.close()

    def _may_fork(self, key: tuple[object, ...]) -> bool:
        """Tell whether such an agent is forked."""
        if self._is_closed or self._failures[key] >= _MOST_FAILURES:
            return False
        return key in self._servers or (self._asked[key] >= self._first and len(self._servers) < _MOST_SERVERS)

    def _server(self, key: tuple[object, ...], start: Start) -> _Server:
        if key not in self._servers:
            self._servers[key] = _Server(start, self._kept())
        return self._servers[key]

    def _kept(self) -> SharedKeeper:
        if self._keeper is None:
            self._keeper = SharedKeeper()
        return self._keeper

    def _drop(self, key: tuple[object, ...]) -> None:
        server = self._servers.pop(key, None)
        if server is not None:
            server.close()


@contextmanager
def warm_agents() -> Iterator[WarmAgents]:
    """Processes that agents are forked from, as long as the block lasts."""
    agents = WarmAgents()
    try:
        yield agents
    finally:
        agents.close()


class _Server:
    """One process that agents are forked from.

    Raises:
        OSError: it could not be started, or cannot be forked.
    """

    def __init__(self, start: Start, keeper: SharedKeeper) -> None:
        self.forks = 0
        self._keeper = keeper
        self._kept: KeptAgent | None = None
        self._mark = f"warm-{uuid.uuid4().hex}"
        self._command = [*start.command]
        rerun = start.rerun
        with ExitStack() as stack:
            ours, theirs = socket.socketpair()
            stack.enter_context(theirs)
            unstarted = stack.enter_context(ExitStack())
            unstarted.enter_context(ours)
            output = stack.enter_context(temporary_file())
            told = {WARM_VARIABLE: f"{theirs.fileno()} {rerun.begins} {rerun.follows}"}
            others = {name: text for name, text in start.environment.items() if name != RERUN_VARIABLE}
            self._channel = ours
            self._process = subprocess.Popen(  # noqa: S603  what the agent's process would be
                self._command,
                cwd=start.folder,
                env=marked(self._mark.ljust(_ROOM), {**others, **told}),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                pass_fds=(theirs.fileno(),),
            )
            unstarted.pop_all()
        try:
            self._kept = keeper.add(self._mark, self._process.pid)
            ours.settimeout(_START_SECONDS)
            _received(ours, 1)  # nothing from one that cannot be forked
        except BaseException:
            self.close()
            raise
        ours.settimeout(_FORK_SECONDS)

    def fork(self, start: Start) -> tuple[ForkedProcess, KeptAgent]:
        """Fork the process of an agent, and let it begin.

        Raises:
            OSError: this process is gone, or the system does not give us its children.
        """
        mark = marked(start.mark, {**start.environment})[MARK]
        words = json.dumps({"mark": mark, "rerun": start.rerun.to_variable()}).encode()
        go, theirs = socket.socketpair()
        with go:
            with theirs, _adopting():
                socket.send_fds(self._channel, [b"%*d" % (HEAD, len(words))], [start.output.fileno(), theirs.fileno()])
                self._channel.sendall(words)
                pid = int(_received(self._channel, HEAD))
                _received(self._channel, 1)
            process = ForkedProcess(pid, self._command)
            try:
                go.settimeout(_FORK_SECONDS)
                _received(go, 1)
                run = (located(start.rerun.store), start.rerun.run) if start.rerun.fills else None
                kept = self._keeper.add(start.mark, pid, run=run)
                go.sendall(YES)
            except BaseException:
                process.kill()
                process.wait()
                raise
        self.forks += 1
        return process, kept

    def close(self) -> None:
        """End it. It is killed: there is nothing that it has to do."""
        self._channel.close()
        self._process.kill()
        self._process.wait()
        if self._kept is not None:
            self._kept.dismiss()


def _received(channel: socket.socket, size: int) -> bytes:
    received = channel.recv(size, socket.MSG_WAITALL)
    if len(received) < size:
        raise ConnectionError("the process that agents are forked from is gone, or cannot be forked")
    return received


@contextmanager
def _adopting() -> Iterator[None]:
    """Let processes below us whose parent ends become our children, as they would those of the first process."""
    libc, before = ctypes.CDLL(None, use_errno=True), ctypes.c_int()
    with _ADOPTING:
        if libc.prctl(_GET_ADOPTS, ctypes.byref(before), 0, 0, 0) or libc.prctl(_SET_ADOPTS, 1, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "no process can be adopted")
        try:
            yield
        finally:
            libc.prctl(_SET_ADOPTS, before.value, 0, 0, 0)
