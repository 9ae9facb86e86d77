"""The small process beside each agent: it ends the agent when what started it is gone, however that went.

A process that is killed can end nothing any more, and an agent that is busy in C or hears no signal does not end
itself.
So whoever starts an agent first starts `agent_tt/_keeper.py` and holds the one end of a pipe to it. When that
end is closed, which the system does whatever becomes of the holder, the keeper ends the agent and all that it started.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO, Final

from agent_tt._dataclass import dataclass
from agent_tt.addresses import STORE_VARIABLE, Address, told
from agent_tt.errors import InvalidEntryPoint
from agent_tt.supervising.beginning import began

__all__ = ["Charge", "Keeper", "KeptAgent", "SharedKeeper", "TerminalLost"]

_LOG: Final = logging.getLogger(__name__)

_PROGRAM: Final = str(Path(__file__).parents[1] / "_keeper.py")
_ALONE: Final = ("-P", "-S")
"""It looks for no packages before it needs them: there is one beside each agent, and most of them only wait."""


class TerminalLost(KeyboardInterrupt):
    """Raised where the terminal is gone: whatever was started here is to end at once, since nobody sees it."""


@dataclass(frozen=True, slots=True)
class Charge:
    """What a keeper looks after.

    Attributes:
        parent: number of the process that started it and the agent.
        mark: the agent's mark; see `processes`.
        store, run: the run that the agent fills, "" where it fills none.
        drives: whether it is a command of ours that starts agents, and no agent itself: each agent has its own keeper.
        many: whether it is told of the agents that it looks after, and of the end of each.
    """

    parent: int
    mark: str
    store: str = ""
    run: str = ""
    drives: bool = False
    many: bool = False


class Keeper:
    """The keeper of one agent, as whoever starts the agent sees it. Safe to use from several threads.

    Args:
        mark: the agent's mark.
        run: the store and the id of the run that the agent fills.
        output: the file that the agent prints to, where the keeper is to look after it when it is handed over.
        drives: see `Charge`.

    Raises:
        InvalidEntryPoint: it could not be started.
    """

    def __init__(
        self, mark: str, *, run: tuple[Path, str] | None = None, output: BinaryIO | None = None, drives: bool = False
    ) -> None:
        path, run_id = ("", "") if run is None else (str(run[0].resolve()), run[1])
        self._line = _Line(Charge(os.getpid(), mark, path, run_id, drives), output, None if run is None else run[0])

    def watch(self, pid: int) -> None:
        """Tell it the agent's process, which has just been started."""
        since = began(pid)
        if since is not None:
            self._line.tell({"pid": pid, "began": since})

    def hand_over(self, seconds: float | None = None, left: float | None = None, memory: int | None = None) -> None:
        """Let the agent go on when this process ends: from now on the keeper holds its limits and writes down its end.

        Args:
            seconds: how long the agent may run; None for as long as it takes.
            left: what is left of that.
            memory: how many bytes it may hold; None for as many as there are.
        """
        self._line.tell({"detached": True, "seconds": seconds, "left": left, "memory": memory})
        self._line.hang_up()

    def wait(self) -> None:
        """Wait until it has ended: of an agent that was handed over the end is written down then."""
        self._line.process.wait()

    def dismiss(self) -> None:
        """End it: the agent is over."""
        self._line.end()


class SharedKeeper:
    """One keeper of several agents, which come and go. Safe to use from several threads.

    Raises:
        InvalidEntryPoint: it could not be started.
    """

    def __init__(self) -> None:
        self._line = _Line(Charge(os.getpid(), "", many=True))
        self._lock = threading.Lock()
        self._kept: set[str] = set()
        self._is_closed = False

    def add(self, mark: str, pid: int, *, run: tuple[Path, str] | None = None) -> KeptAgent:
        """Let it look after one more process.

        Args:
            mark: the agent's mark.
            pid: its process.
            run: the store and the id of the run that it fills.

        Raises:
            ProcessLookupError: the process has ended.
        """
        from agent_tt.supervising.processes import process_of

        since = began(pid)
        if since is None or process_of(pid) is None:
            raise ProcessLookupError(f"process {pid} has ended")
        path, run_id = ("", "") if run is None else (told(run[0].resolve()), run[1])
        charge = asdict(Charge(os.getpid(), mark, path, run_id))
        with self._lock:
            self._kept.add(mark)
            self._line.tell({**charge, "pid": pid, "began": since})
        return KeptAgent(self, mark)

    def remove(self, mark: str) -> None:
        """Let it look after that agent no more; it ends with the last one, once it was closed."""
        with self._lock:
            self._kept.discard(mark)
            self._line.tell({"over": mark})
            self._end_with_the_last()

    def close(self) -> None:
        """No agent is added any more."""
        with self._lock:
            self._is_closed = True
            self._end_with_the_last()

    def _end_with_the_last(self) -> None:
        if self._is_closed and not self._kept:
            self._line.end()


@dataclass(frozen=True, slots=True)
class KeptAgent:
    """An agent that a shared keeper looks after; it cannot be handed over.

    Attributes:
        shared: the keeper.
        mark: the agent's mark.
    """

    shared: SharedKeeper
    mark: str

    def dismiss(self) -> None:
        """Let it be looked after no more: the agent is over."""
        self.shared.remove(self.mark)


class _Line:
    """The process of a keeper, and the pipe to it."""

    def __init__(self, charge: Charge, output: BinaryIO | None = None, store: Path | None = None) -> None:
        self._lock = threading.Lock()
        # Everybody can read a command line: there an address has no password.
        environment = {**os.environ, STORE_VARIABLE: told(store)} if isinstance(store, Address) else None
        try:
            self.process = subprocess.Popen(  # noqa: S603  our own module
                [sys.executable, *_ALONE, _PROGRAM, json.dumps(asdict(charge))],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL if output is None else output,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                env=environment,
                start_new_session=True,  # Ctrl-C and a terminal that closes are not for it
            )
        except OSError as error:
            raise InvalidEntryPoint(
                f"{sys.executable} could not be started to look after the agent: {error.strerror}",
                hint="check the Python that runs agent-tt",
            ) from error

    def tell(self, words: dict[str, object]) -> None:
        """Tell it something."""
        with self._lock:
            try:
                if self.process.stdin is not None and not self.process.stdin.closed:
                    self.process.stdin.write(json.dumps(words).encode() + b"\n")
            except OSError as error:
                _LOG.warning("nobody ends the agent of process %d if this one is killed: %s", os.getpid(), error)

    def hang_up(self) -> None:
        """Close the pipe."""
        with self._lock, suppress(OSError):
            if self.process.stdin is not None:
                self.process.stdin.close()

    def end(self) -> None:
        """End its process."""
        with self._lock:
            self.process.kill()
            if self.process.stdin is not None:
                with suppress(OSError):
                    self.process.stdin.close()
            self.process.wait()
