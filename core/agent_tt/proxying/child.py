"""The program that asks through the proxy: started with nothing of ours but the addresses, and waited for."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from agent_tt.errors import NotFound, UsageError
from agent_tt.launching.settings import BOOT_FOLDER, REPORT_VARIABLE, SETTINGS_VARIABLE
from agent_tt.recording.lanes.guard_bypass import ours
from agent_tt.recording.runs.child_process import JOIN_VARIABLE
from agent_tt.supervising.terminals import is_in_front

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import FrameType

__all__ = ["Child"]

_PATH: Final = "PYTHONPATH"
_PASSED_ON: Final = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
_SIGNALLED: Final = 128


class Child:
    """The program. What it does is not recorded here, and no guard of ours holds it.

    Attributes:
        is_interrupted: whether somebody has pressed Ctrl-C, or stopped the run.

    Args:
        command: the program and its arguments.

    Raises:
        NotFound: there is no such program.
    """

    def __init__(self, command: Sequence[str]) -> None:
        program = shutil.which(command[0])
        if program is None:
            raise NotFound(f"there is no program {command[0]!r}", hint="check its name and PATH")
        self._program, self._command = program, list(command)
        self._process: int | None = None
        self.is_interrupted = False

    def start(self, variables: Mapping[str, str]) -> None:
        """Start it, with these variables beside the environment of this process."""
        environment = {name: value for name, value in os.environ.items() if name not in _OURS}
        folders = [each for each in environment.get(_PATH, "").split(os.pathsep) if each and each != str(BOOT_FOLDER)]
        environment.pop(_PATH, None)
        if folders:
            environment[_PATH] = os.pathsep.join(folders)
        self._pass_signals_on()
        with ours():
            try:
                self._process = os.posix_spawn(self._program, self._command, {**environment, **variables})
            except OSError as error:
                raise UsageError(f"{self._command[0]} could not be started: {error.strerror}") from error

    def wait(self) -> int:
        """Wait for its end; its exit code, 128 and the number of the signal that ended it."""
        if self._process is None:
            return 0
        # Who waits for one of our own threads is seen to rest, and a replay goes on meanwhile.
        is_over = threading.Event()
        ended: list[int] = []
        work = partial(_wait, self._process, ended, is_over)
        with ours():
            threading.Thread(target=work, name="agent-tt waits", daemon=True).start()
        is_over.wait()
        self._process = None
        code = ended[0] if ended else 0
        return code if code >= 0 else _SIGNALLED - code

    def end(self, number: int = signal.SIGTERM) -> None:
        """Let it end."""
        process = self._process
        if process is not None:
            with suppress(ProcessLookupError), ours():
                os.kill(process, number)

    def _pass_signals_on(self) -> None:
        def hear(number: int, _frame: FrameType | None) -> None:
            self.is_interrupted = self.is_interrupted or number == signal.SIGINT
            if not (number == signal.SIGINT and _is_in_front()):  # a terminal has sent it to the program, too
                self.end(number)

        for name in _PASSED_ON:
            with suppress(ValueError, AttributeError):  # not in the main thread; not on this system
                signal.signal(getattr(signal, name), hear)


def _is_in_front() -> bool:
    """Whether this process and the program are those that a terminal sends its signals to."""
    with ours():
        return is_in_front()


def _wait(process: int, ended: list[int], is_over: threading.Event) -> None:
    try:
        _, status = os.waitpid(process, 0)
        ended.append(os.waitstatus_to_exitcode(status))
    finally:
        is_over.set()


_OURS: Final = frozenset((SETTINGS_VARIABLE, REPORT_VARIABLE, JOIN_VARIABLE))
