"""Replaying a whole run in a process of its own: the agent's code as it is now, the run's Python, folder and root."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from agent_tt.errors import AgentFailed, InvalidEntryPoint
from agent_tt.replaying.job import JOB_VARIABLE, Job
from agent_tt.replaying.report import report_from_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.replaying.report import ReplayReport

__all__ = ["HASH_SEED", "run_replay"]

HASH_SEED: Final = "PYTHONHASHSEED"
"""Also the key of a run's metadata that keeps what it was: lists that agents make of sets are ordered by it."""

FLAGS: Final = ("-P", "-u", "-X", "faulthandler")
"""As for the process of a fork: no modules from the working directory, output at once, crashes say where."""

_NOT_FOR_THE_AGENT: Final = frozenset({"AGENT_TT_FORK", "AGENT_TT_LAUNCH", "AGENT_TT_REPORT"})
_TAIL_BYTES: Final = 16 * 1024
_LAST_LINES: Final = 20
_POLL_SECONDS: Final = 0.05


def run_replay(
    source: RunSource,
    run: Run,
    *,
    observe: bool = False,
    arguments: Sequence[str] = (),
    timeout: float | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> ReplayReport:
    """Replay a run and give the report.

    Args:
        source: where it lies.
        run: the run.
        observe: go on after changed requests and collect what differs.
        arguments: what the agent finds behind its name in `sys.argv`.
        timeout: longest time in seconds; None waits as long as it takes.
        cancelled: asked a few times a second, in this thread, whether the replay is still wanted; None for always.

    Raises:
        InvalidEntryPoint: the agent cannot be started.
        AgentFailed: its process died, took too long, or was stopped because it is not wanted any more.
        AgentTTError: what keeps a run from being replayed; the message says why.
    """
    with tempfile.TemporaryDirectory(prefix="agent-tt-replay-") as scratch, tempfile.TemporaryFile() as output:
        report = Path(scratch) / "report.json"
        job = Job(str(source.path.resolve()), run.id, observe, tuple(arguments), str(report))
        code = _run(run, job, output, timeout, cancelled)
        try:
            shape = json.loads(report.read_bytes())
        except (OSError, ValueError):
            raise AgentFailed(
                f"the replay of {run.name} ended without a report (its process: {_how(code)})",
                traceback=_tail(output),
                hint=_last_words(output),
            ) from None
        if "error" in shape:
            raise InvalidEntryPoint(shape["error"]["message"], hint=shape["error"]["hint"])
        return replace(report_from_json(shape), output=_tail(output))


def _run(run: Run, job: Job, output: BinaryIO, timeout: float | None, cancelled: Callable[[], bool] | None) -> int:
    interpreter, folder = interpreter_of(run), folder_of(run)
    environment = environment_of(run) | {JOB_VARIABLE: job.to_variable()}
    try:
        process = subprocess.Popen(  # noqa: S603  running the agent is what was asked for
            [interpreter, *FLAGS, "-m", "agent_tt._replay_child"],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # whose terminal we may be drawing on: its keys are not the agent's
        )
    except OSError as error:
        why = f"{interpreter} could not be started in {folder}: {error.strerror}"
        raise InvalidEntryPoint(why, hint="check the run's interpreter and working directory") from error
    try:
        return process.wait(timeout) if cancelled is None else _wait(process, timeout, cancelled)
    except subprocess.TimeoutExpired:
        raise AgentFailed(
            f"the replay of {run.name} was stopped after {timeout:g} seconds",
            traceback=_tail(output),
            hint="nothing waits in a replay: the agent may loop without calling anything",
        ) from None
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], timeout: float | None, cancelled: Callable[[], bool]) -> int:
    """Wait for the end of a process, or until it is not wanted any more."""
    ends = None if timeout is None else time.monotonic() + timeout
    while not cancelled():
        left = _POLL_SECONDS if ends is None else ends - time.monotonic()
        try:
            return process.wait(max(0.0, min(_POLL_SECONDS, left)))
        except subprocess.TimeoutExpired:
            if timeout is not None and left <= _POLL_SECONDS:
                raise subprocess.TimeoutExpired(process.args, timeout) from None
    raise AgentFailed("the replay was stopped")


def interpreter_of(run: Run) -> str:
    """The Python that an agent ran with, else this one."""
    recorded = run.code.interpreter
    return recorded if recorded is not None and os.access(recorded, os.X_OK) else sys.executable


def folder_of(run: Run) -> str:
    """Where the agent ran, else its project, else here."""
    return next((path for path in (run.code.cwd, run.code.root) if path and Path(path).is_dir()), str(Path.cwd()))


def environment_of(run: Run) -> dict[str, str]:
    """The environment for running an agent again: ours, with the order of sets that it had.

    What we were told ourselves (to be a fork, to be recorded) is not for that agent.
    """
    environment = {name: value for name, value in os.environ.items() if name not in _NOT_FOR_THE_AGENT}
    seed = run.metadata.get(HASH_SEED)
    if isinstance(seed, str):
        environment[HASH_SEED] = seed
    return environment


def _tail(output: BinaryIO) -> str:
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - _TAIL_BYTES))
    return output.read().decode("utf-8", "replace")


def _last_words(output: BinaryIO) -> str:
    return "\n".join(_tail(output).splitlines()[-_LAST_LINES:])


def _how(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"killed by signal {-code}"
