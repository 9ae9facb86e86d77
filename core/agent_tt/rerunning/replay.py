"""Replaying a whole run in a process of its own: the agent's code as it is now, the run's Python, folder and root."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from agent_tt._dataclass import dataclass
from agent_tt.addresses import told
from agent_tt.errors import AgentFailed, Damaged, Interrupted, InvalidEntryPoint
from agent_tt.protocols import check_proven
from agent_tt.replaying.progress import calls_answered
from agent_tt.replaying.report import report_from_json
from agent_tt.rerunning.kept_replays import KeptReplay, ReplayStopped
from agent_tt.rerunning.process import start_agent
from agent_tt.rerunning.rerun import Rerun
from agent_tt.store.file.provenance import check_made_here
from agent_tt.supervising.forked import await_end
from agent_tt.temporary import temporary_file, temporary_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.replaying.report import ReplayReport
    from agent_tt.rerunning.warm.pool import WarmAgents
    from agent_tt.supervising.forked import ForkedProcess

__all__ = ["KeptRun", "from_here", "run_replay"]

_TAIL_BYTES: Final = 16 * 1024
_LAST_LINES: Final = 20
_POLL_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A replay whose run is kept, for somebody else to judge.

    Attributes:
        store: the file that it is kept in.
        run_id: its id.
        name: its name.
        folder: the working directory of the agent; None for the recorded one.
        is_fork: whether its row is there already, waiting to be filled.
        live_names, live_changed, earlier: which calls are made for real, where the policy of the folder's project lets
            them; see `Rerun`.
        interpreter: the Python that it runs with, whatever the recording names; None for the recorded one.
        in_place: whether a question that differs is answered as the one in its place was, however much it differs;
            else recorded calls may come in any order.
    """

    store: Path
    run_id: str
    name: str
    folder: str | None
    is_fork: bool = False
    live_names: tuple[str, ...] = ()
    live_changed: bool = False
    earlier: tuple[str, ...] = ()
    interpreter: str | None = sys.executable
    in_place: bool = False

    def told_in(self, rerun: Rerun) -> Rerun:
        """What the process of the agent is told, with this."""
        return replace(
            rerun,
            any_order=not self.in_place,
            in_place=self.in_place,
            keep=told(self.store.resolve()),
            kept=self.run_id,
            kept_name=self.name,
            kept_is_fork=self.is_fork,
            live_names=self.live_names,
            live_changed=self.live_changed,
            live_earlier=self.earlier,
        )


def run_replay(
    source: RunSource,
    run: Run,
    *,
    observe: bool = False,
    arguments: Sequence[str] = (),
    timeout: float | None = None,
    cancelled: Callable[[], bool] | None = None,
    progress: Callable[[int], None] | None = None,
    debug_at: int | None = None,
    standard_input: int | None = None,
    agent: str | None = None,
    keeps: KeptRun | None = None,
    warm: WarmAgents | None = None,
) -> ReplayReport:
    """Replay a run and give the report; what came of it is kept with the run, where its store can be written.

    Args:
        source: where it lies.
        run: the run.
        observe: go on after changed requests and collect what differs.
        arguments: what the agent finds behind its name in `sys.argv`.
        timeout: longest time in seconds; None waits as long as it takes.
        cancelled: asked a few times a second, in this thread, whether it is not wanted any more; None for never.
        progress: told as often, in this thread, how many calls were answered so far.
        debug_at: open pdb in the agent at this step, on our own terminal, where the agent prints too.
        standard_input: a file that the agent reads from; None for an empty one. What it read when it was recorded is
            not recorded.
        agent: another entry point that runs in place of the recorded one; a file is looked for here first, then where
            the run ran.
        keeps: where the run that comes is kept, and with what it is run; None where nothing is kept.
        warm: forks its process, where it is one of many; see `start_agent`.

    Raises:
        Untrusted: the store came from elsewhere.
        Damaged: something of the run is not as it was recorded, or is missing.
        InvalidEntryPoint: the agent cannot be started.
        AgentFailed: its process died, took too long, or was stopped because it is not wanted any more.
        Interrupted: somebody stopped it in the debugger.
        AgentTTError: what keeps a run from being replayed; the message says why.
    """
    check_made_here(source.path, run)
    agent = None if agent is None else from_here(agent)
    check_proven(source, run)
    with (
        KeptReplay(source, run, observe=observe, agent=agent, debugged=debug_at is not None) as kept,
        temporary_folder("agent-tt-replay-") as scratch,
        temporary_file() as output,
    ):
        report, count = Path(scratch) / "report.json", Path(scratch) / "answered"
        rerun = Rerun(
            store=told(source.path.resolve()),
            run=run.id,
            begins="recording",
            follows="halt",
            observe=observe,
            arguments=tuple(arguments),
            report=str(report),
            progress=str(count),
            debug_at=debug_at,
            agent=agent,
        )
        if keeps is not None:
            rerun = keeps.told_in(rerun)

        def is_unwanted() -> bool:
            if progress is not None:
                progress(calls_answered(count))
            return cancelled is not None and cancelled()

        code = _run(run, rerun, output, timeout, is_unwanted, standard_input, keeps, warm)
        try:
            shape = json.loads(report.read_bytes())
        except (OSError, ValueError):
            raise AgentFailed(
                f"the replay of {run.name} ended without a report (its process: {_how(code)})",
                traceback=_tail(output),
                hint=_last_words(output),
            ) from None
        if "stopped" in shape:
            raise Interrupted(shape["stopped"])
        if "error" in shape:
            is_damaged = shape["error"].get("exit_code") == Damaged.exit_code
            kind = Damaged if is_damaged else InvalidEntryPoint
            raise kind(shape["error"]["message"], hint=shape["error"]["hint"])
        kept.report = replace(report_from_json(shape), output=_tail(output))
        return kept.report


def from_here(agent: str) -> str:
    """An entry point in a file that is meant from here, for what runs in another folder; any other as it is."""
    location, colon, name = agent.rpartition(":")
    file = Path(location).expanduser()
    return f"{file.resolve()}:{name}" if colon and location.endswith(".py") and file.is_file() else agent


def _run(
    run: Run,
    rerun: Rerun,
    output: BinaryIO,
    timeout: float | None,
    is_unwanted: Callable[[], bool],
    standard_input: int | None,
    keeps: KeptRun | None,
    warm: WarmAgents | None,
) -> int:
    has_terminal = rerun.debug_at is not None
    mark = f"replay-{uuid.uuid4().hex}"
    started = start_agent(
        rerun,
        run,
        None if has_terminal else output,
        mark=mark,
        standard_input=standard_input,
        interpreter=None if keeps is None else keeps.interpreter,
        folder=None if keeps is None else keeps.folder,
        warm=warm,
    )
    process = started.process
    try:
        with _leaving_ctrl_c_to_the_child() if has_terminal else nullcontext():
            return _wait(process, timeout, is_unwanted)
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
        started.keeper.dismiss()


def _wait(
    process: subprocess.Popen[bytes] | ForkedProcess, timeout: float | None, is_unwanted: Callable[[], bool]
) -> int:
    """Wait for the end of a process, or until it is not wanted any more."""
    ends = None if timeout is None else time.monotonic() + timeout
    while not is_unwanted():
        left = _POLL_SECONDS if ends is None else ends - time.monotonic()
        await_end(process.pid, max(0.0, min(_POLL_SECONDS, left)))
        code = process.poll()
        if code is not None:
            return code
        if timeout is not None and left <= _POLL_SECONDS:
            raise subprocess.TimeoutExpired(process.args, timeout)
    raise ReplayStopped("the replay was stopped")


@contextmanager
def _leaving_ctrl_c_to_the_child() -> Iterator[None]:
    """While a child has our terminal, its Ctrl-C is the child's: pdb shows its prompt again, and we wait on.

    A handler of our own, not `SIG_IGN`, which the child would inherit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _tail(output: BinaryIO) -> str:
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - _TAIL_BYTES))
    return output.read().decode("utf-8", "replace")


def _last_words(output: BinaryIO) -> str:
    return "\n".join(_tail(output).splitlines()[-_LAST_LINES:])


def _how(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"killed by signal {-code}"
