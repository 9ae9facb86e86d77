"""An agent that runs again: wait for it, see what it prints, stop it, and write down its end where it cannot."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
import weakref
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Self

from agent_tt.errors import AgentTTError
from agent_tt.forking.editing.without_effect import keep_written_over
from agent_tt.forking.policy.answering import answer_question, keep_answering, questions_of
from agent_tt.intercepting.limits import memory_is_up, time_is_up
from agent_tt.model import LIMIT_REACHED, ErrorInfo
from agent_tt.querying.expecting import hoped_of
from agent_tt.rerunning.ending import check_ended
from agent_tt.store import open_patiently, open_store
from agent_tt.supervising.forked import ForkedProcess
from agent_tt.supervising.keeper import Keeper, TerminalLost
from agent_tt.supervising.processes import Processes

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType
    from typing import BinaryIO

    from agent_tt.forking.policy.answering import Asked
    from agent_tt.model import Run, RunStatus
    from agent_tt.protocols import Store
    from agent_tt.querying.expecting import Hoped
    from agent_tt.questions import CallQuestion, Decision
    from agent_tt.supervising.adopted import AdoptedProcess
    from agent_tt.supervising.keeper import KeptAgent

__all__ = ["RunHandle"]

_GRACE_SECONDS = 5.0
_LOST_GRACE_SECONDS = 0.8  # the terminal is gone: nothing is to happen 2 s later
_TAIL_BYTES = 64 * 1024
_LINES_KEPT = 20
_TICK_SECONDS = 1.0
_MEMORY_TICK_SECONDS = 0.1
_RUNAWAY = 1.5  # times its memory limit: no more patience
_MOST_OUTPUT_BYTES = 64 * 1024 * 1024
_BLOCK_BYTES = 512
_NAMES_SHOWN = 3
_CHILDREN = (subprocess.Popen, ForkedProcess)
_DIED_UNSEEN = "its process ended without ending its run"
_ENDED: frozenset[RunStatus] = frozenset({"succeeded", "failed", "interrupted"})


class RunHandle:
    """Controls an agent that runs in another process, and the run that is recorded of it: a fork, or a resumed run.

    As a context manager it stops the child when the block is left by an exception (Ctrl-C, for example); a block that
    ends normally leaves the child running. The child ends with the process that started it, however that ends, unless
    it is let go with `detach`.

    When the agent's process has ended, so does everything that it started, wherever that went
    (`agent_tt.supervising.processes`); its run says what that was.

    Args:
        store: the file that the run is written to.
        run_id: the run.
        process: the child, which leads a session of its own.
        output: the file that it prints to; duplicated.
        keeper: what ends the child if this process is killed; None where this is the keeper itself.
        seconds: how long it may run. The child keeps that itself before each step and call, and while it waits for an
            answer; a child that makes none is stopped from here.
        left: what is left of `seconds` of a child that runs already; all of it where nothing is said.
        memory: how many bytes it may hold, with all that it started.
        asked: decides the calls whose policy is `ask`, in a thread of the handle. Without it they wait until somebody
            else does (`questions` and `answer`, `agent-tt answer`, the app); the time that they wait counts.

    Attributes:
        run_id: the run.
        store: the file that it is written to.
    """

    def __init__(
        self,
        store: Path,
        run_id: str,
        process: subprocess.Popen[bytes] | ForkedProcess | AdoptedProcess,
        output: BinaryIO,
        *,
        keeper: Keeper | KeptAgent | None = None,
        seconds: float | None = None,
        left: float | None = None,
        memory: int | None = None,
        asked: Asked | None = None,
    ) -> None:
        self.run_id = run_id
        self.store = store
        self._seconds = seconds
        self._memory = memory
        self._ends = None if seconds is None else time.monotonic() + (seconds if left is None else left)
        self._process = process
        self._keeper = keeper
        self._is_handed_over = False
        self._processes = Processes(run_id, process.pid)
        self._left_behind: list[str] = []
        self._why_stopped: str | None = None
        self._output = os.dup(output.fileno())
        weakref.finalize(self, os.close, self._output)
        self._stopping = threading.Event()
        self._settled = threading.Event()
        self._is_over = threading.Event()
        self._lock = threading.Lock()
        self._failure: AgentTTError | None = None
        threading.Thread(target=self._settle, name=f"agent-tt fork {run_id}", daemon=True).start()
        threading.Thread(target=self._watch, name=f"agent-tt watch {run_id}", daemon=True).start()
        if asked is not None:
            told = (store, run_id, process.pid, asked, self._is_over)
            threading.Thread(target=keep_answering, args=told, name=f"agent-tt answers {run_id}", daemon=True).start()

    def __repr__(self) -> str:
        return f"<RunHandle of run {self.run_id}, {'running' if self.poll() is None else 'ended'}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is not None:
            self.stop(_LOST_GRACE_SECONDS if issubclass(kind, TerminalLost) else _GRACE_SECONDS)

    @property
    def process(self) -> int:
        """The id of the child process."""
        return self._process.pid

    def poll(self) -> int | None:
        """The child's exit code (negative: the signal that killed it), None while it runs."""
        return self._process.returncode if self._settled.is_set() else None

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait until the child has ended and its run says how. Ctrl-C stops the child.

        Args:
            timeout: longest wait in seconds; None waits as long as it takes.

        Returns:
            The child's exit code, None when it still runs after `timeout`.
        """
        try:
            self._settled.wait(timeout)
        except KeyboardInterrupt as error:
            self.stop(_LOST_GRACE_SECONDS if isinstance(error, TerminalLost) else _GRACE_SECONDS)
            raise
        return self.poll()

    def result(self) -> Run:
        """Wait, then give the finished run.

        Raises:
            CannotReenter: the agent does not ask again what was recorded up to the fork's step.
            InvalidEntryPoint: the agent could not be started, or not from this state; a run that was to be resumed can
                be resumed once more.
            AgentTTError: the agent of a run that was to be resumed does not ask again what was recorded, or does before
                the break what was not recorded; it can be resumed once more.
            AgentFailed: the agent raised, exited with a failure or was killed.
            Interrupted: it was stopped, or stopped itself.
            StoreUnreadable: the run cannot be read, or could not be written to its end.
        """
        self.wait()
        if self._failure is not None:
            raise self._failure
        with closing(open_store(self.store, read_only=True)) as store:
            run = store.run(self.run_id)
        check_ended(run, self.poll(), was_stopped=self._stopping.is_set())
        return run

    def hoped(self) -> Hoped | None:
        """Wait, then say whether what was hoped with the fork came; None where nothing was said."""
        self.wait()
        with closing(open_store(self.store, read_only=True)) as store:
            return hoped_of(store, store.run(self.run_id))

    def questions(self) -> list[CallQuestion]:
        """The calls of the fork that wait for somebody's decision, the oldest question first."""
        with closing(open_store(self.store, read_only=True)) as store:
            return questions_of(store, self.run_id, self._process.pid)

    def answer(self, question: CallQuestion, decision: Decision) -> None:
        """Decide about a call that waits: `handle.answer(question, question.run(amount=5))`.

        Raises:
            QuestionClosed: it was answered already, or nobody waits for the answer any more.
        """
        answer_question(self.store, question, decision if decision.by else decision.said_by("program"))

    def stop(self, grace: float = _GRACE_SECONDS) -> None:
        """Interrupt the agent as Ctrl-C would and wait; after `grace` seconds kill it and all that it started.

        Its run ends as interrupted. Does nothing when the child has ended. Blocks for `grace` seconds and
        a moment at most, so an interface calls it from a thread.
        """
        if self._settled.is_set():
            return
        self._stopping.set()
        self._stop_questions()
        self._signal(signal.SIGINT)
        try:
            if not self._settled.wait(grace):
                self._kill()
                self._settled.wait()
        except KeyboardInterrupt:  # a second Ctrl-C: no more patience
            self._kill()
            self._settled.wait()
            raise

    def detach(self) -> None:
        """Let the child run on when this process ends. Its limits hold on, and its run says how it ended.

        `agent-tt stop` ends it then. What it asks waits for `agent-tt answer`. One of the many runs of a sweep, which
        one keeper looks after, is not let go.
        """
        if not isinstance(self._keeper, Keeper) or self._settled.is_set():
            return
        self._is_handed_over = True
        left = None if self._ends is None else max(0.0, self._ends - time.monotonic())
        self._keeper.hand_over(self._seconds, left, self._memory)

    def output(self, limit: int = _TAIL_BYTES) -> str:
        """The last `limit` bytes that the child printed, as text. It is the agent's: it may hold control codes."""
        size = os.fstat(self._output).st_size
        start = max(0, size - limit)
        # Where the file was cut because it grew too long, it begins with a hole.
        return os.pread(self._output, size - start, start).lstrip(b"\0").decode("utf-8", "replace")

    def _stop_questions(self) -> None:
        """Let threads of the child that wait for a decision go on: only its main thread hears of Ctrl-C."""
        with suppress(AgentTTError), closing(open_store(self.store)) as store:
            for run_id in {question.run_id for question in self.questions()}:
                store.stop_questions(run_id)

    def _signal(self, number: signal.Signals) -> None:
        with self._lock:  # the number of a process that was waited for may belong to another one
            if self._process.returncode is None:
                try:
                    os.killpg(self._process.pid, number)
                except (ProcessLookupError, PermissionError):  # it is ending this moment
                    return

    def _kill(self) -> None:
        """End the child and all that it started, those that are in no group of ours too."""
        self._signal(signal.SIGSTOP)  # what is stopped starts nothing
        self._processes.end(mercy=False)
        self._signal(signal.SIGKILL)

    def _watch(self) -> None:
        """Look after the child, in a thread of the handle: its limits, what it starts, how much it prints."""
        tick = _TICK_SECONDS if self._memory is None else min(_TICK_SECONDS, _MEMORY_TICK_SECONDS)
        looks = 0.0
        kills: float | None = None
        while True:
            next_at = self._ends if kills is None else kills
            left = tick if next_at is None else next_at - time.monotonic()
            if self._is_over.wait(max(0.0, min(tick, left))) or self._is_handed_over:
                return
            now = time.monotonic()
            if now >= looks:
                looks = now + _TICK_SECONDS
                self._processes.look()
                self._bound_output()
            if self._stopping.is_set():
                continue
            if kills is None:
                self._why_stopped = self._limit_reached(now)
                if self._why_stopped is not None:  # it may be about to see for itself, before its next call
                    self._signal(signal.SIGINT)
                    kills = now + _GRACE_SECONDS
            elif now >= kills or self._is_runaway():
                self._kill()
                return

    def _limit_reached(self, now: float) -> str | None:
        """Say which limit the child has come to; None while it has come to none."""
        if self._ends is not None and now >= self._ends:
            return time_is_up(self._seconds or 0.0)
        if self._memory is None or self._processes.memory() <= self._memory:
            return None
        held = self._processes.shared_memory()
        return memory_is_up(self._memory, held) if held > self._memory else None

    def _is_runaway(self) -> bool:
        return self._memory is not None and self._processes.memory() > self._memory * _RUNAWAY

    def _bound_output(self) -> None:
        """Let go of what was printed where that fills the disk; the end of it is what is shown anyway."""
        known = os.fstat(self._output)
        if known.st_blocks * _BLOCK_BYTES > _MOST_OUTPUT_BYTES:
            start = max(0, known.st_size - _TAIL_BYTES)
            tail = os.pread(self._output, known.st_size - start, start)
            os.ftruncate(self._output, 0)  # the child writes on where it was: what lies before becomes a hole
            os.pwrite(self._output, tail, start)

    def _settle(self) -> None:
        """Wait for the child (in a thread of the handle) and make sure that its run says how it ended."""
        try:
            code = self._reap()
            if self._is_handed_over and isinstance(self._keeper, Keeper):
                self._keeper.wait()
            else:
                self._write_end(code)
        except AgentTTError as error:
            self._failure = error
        finally:
            if self._keeper is not None and not self._is_handed_over:
                self._keeper.dismiss()
            self._is_over.set()
            self._settled.set()

    def _reap(self) -> int:
        if isinstance(self._process, _CHILDREN) and hasattr(os, "waitid"):  # not macOS before Python 3.13
            os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)  # its number stays taken until it is reaped
        else:
            self._process.wait()
        self._is_over.set()
        if not self._is_handed_over:
            # What the agent started and left behind: by now its number is still its own, so its session can be told.
            self._left_behind = self._processes.names()
            self._processes.end(mercy=not self._stopping.is_set())
            self._signal(signal.SIGKILL)
        with self._lock:
            return self._process.wait()

    def _write_end(self, code: int) -> None:
        store = open_patiently(self.store)
        try:
            self._say_what_was_left(store)
            run = store.run(self.run_id)
            keep_written_over(store, run)
            if self._why_stopped is not None and self._memory is not None and run.steps <= (run.fork_step or 0):
                self._why_stopped += ", before its agent took a step"
            if run.status == "interrupted" and self._why_stopped is not None:
                store.set_run_status(self.run_id, "interrupted", ErrorInfo(LIMIT_REACHED, self._why_stopped))
            if run.status in _ENDED or (run.status == "crashed" and run.error is not None):
                return  # it has said itself how it ended
            if self._why_stopped is not None:
                status: RunStatus = "interrupted"
                error = ErrorInfo(LIMIT_REACHED, self._why_stopped)
            elif self._stopping.is_set():
                status = "interrupted"
                error = ErrorInfo("builtins:KeyboardInterrupt", "it was stopped")
            else:
                status = "crashed"
                last_lines = "\n".join(self.output().splitlines()[-_LINES_KEPT:])
                how = _how_it_died(code) if isinstance(self._process, _CHILDREN) else _DIED_UNSEEN
                error = ErrorInfo("agent_tt.errors:AgentFailed", how, last_lines)
            store.set_run_status(self.run_id, status, error)
        finally:
            store.close()

    def _say_what_was_left(self, store: Store) -> None:
        left = self._left_behind
        if not left:
            return
        shown = "; ".join(left[:_NAMES_SHOWN]) + (f" and {len(left) - _NAMES_SHOWN} more" * (len(left) > _NAMES_SHOWN))
        what = (
            "a process that it had started was" if len(left) == 1 else f"{len(left)} processes that it had started were"
        )
        store.add_note(self.run_id, None, "note", f"{what} still there when it ended, and ended with it: {shown}")


def _how_it_died(code: int) -> str:
    if code >= 0:
        return f"its process exited with code {code} without ending its run"
    try:
        name = signal.Signals(-code).name
    except ValueError:  # a real-time signal
        name = f"signal {-code}"
    return f"its process was killed by {name}"
