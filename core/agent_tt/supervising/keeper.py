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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO, Final

from agent_tt.errors import InvalidEntryPoint
from agent_tt.supervising.processes import process_of

__all__ = ["Charge", "Keeper", "TerminalLost"]

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
    """

    parent: int
    mark: str
    store: str = ""
    run: str = ""
    drives: bool = False


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
        charge = Charge(os.getpid(), mark, path, run_id, drives)
        self._lock = threading.Lock()
        try:
            self._process = subprocess.Popen(  # noqa: S603  our own module
                [sys.executable, *_ALONE, _PROGRAM, json.dumps(asdict(charge))],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL if output is None else output,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                start_new_session=True,  # Ctrl-C and a terminal that closes are not for it
            )
        except OSError as error:
            raise InvalidEntryPoint(
                f"{sys.executable} could not be started to look after the agent: {error.strerror}",
                hint="check the Python that runs agent-tt",
            ) from error

    def watch(self, pid: int) -> None:
        """Tell it the agent's process, which has just been started."""
        process = process_of(pid)
        if process is not None:
            self._tell({"pid": pid, "began": process.create_time()})

    def hand_over(self, seconds: float | None = None, left: float | None = None, memory: int | None = None) -> None:
        """Let the agent go on when this process ends: from now on the keeper holds its limits and writes down its end.

        Args:
            seconds: how long the agent may run; None for as long as it takes.
            left: what is left of that.
            memory: how many bytes it may hold; None for as many as there are.
        """
        self._tell({"detached": True, "seconds": seconds, "left": left, "memory": memory})
        with self._lock, suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()

    def wait(self) -> None:
        """Wait until it has ended: of an agent that was handed over the end is written down then."""
        self._process.wait()

    def dismiss(self) -> None:
        """End it: the agent is over."""
        with self._lock:
            self._process.kill()
            if self._process.stdin is not None:
                with suppress(OSError):
                    self._process.stdin.close()
            self._process.wait()

    def _tell(self, words: dict[str, object]) -> None:
        with self._lock:
            try:
                if self._process.stdin is not None and not self._process.stdin.closed:
                    self._process.stdin.write(json.dumps(words).encode() + b"\n")
            except OSError as error:
                _LOG.warning("nobody ends the agent of process %d if this one is killed: %s", os.getpid(), error)
