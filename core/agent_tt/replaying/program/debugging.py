"""pdb inside the agent of a replay: the prompt stands where a step asks its first call, in the agent's own frame.

The recorded answer is given afterwards, so `n` goes to the next line with it, and `c` runs on to the end. Nothing is
reached from the prompt either: a tool that is called there by hand is refused, and the replay does not count it.

What is added to `pdb`: the prompt opens in a frame that is in the midst of a call, local names that are set there are
kept (Python before 3.13 forgets them outside of a trace function), our own frames are not stepped into, and leaving
by `q` or the end of the input stops the agent as Ctrl-C does.
"""

from __future__ import annotations

import bdb
import contextlib
import ctypes
import inspect
import pdb  # noqa: T100  it is what this module is about
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from agent_tt.errors import Interrupted, UsageError
from agent_tt.recording.calls.site import is_agent_code, is_agent_file
from agent_tt.replaying.tape.tape import DRAWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import FrameType, TracebackType

    from agent_tt.recording.calls.answers import Question
    from agent_tt.replaying.engine import Replay

__all__ = ["Debugger", "StoppedInDebugger", "debugging"]

_OWN: Final = str(Path(__file__).parents[2])


class StoppedInDebugger(KeyboardInterrupt):
    """Somebody left the debugger: the agent is stopped as by Ctrl-C."""


@contextlib.contextmanager
def debugging(
    replay: Replay, step: int | None, *, stdin: TextIO | None = None, stdout: TextIO | None = None
) -> Iterator[None]:
    """Let a debugger open at `step` of a replay that the block makes; at None it is a replay like any other.

    Args:
        replay: not begun yet.
        step: number of the step.
        stdin: where the commands come from, instead of the terminal.
        stdout: where their results go.

    Raises:
        Interrupted: the debugger was left. Also where the agent swallowed that.
    """
    if step is None:
        yield
        return
    debugger = replay.debugger = Debugger(replay, step, _Prompt(stdin, stdout))
    try:
        yield
    except StoppedInDebugger:
        pass
    finally:
        debugger.close()
        replay.debugger = None
    if debugger.was_left:
        raise Interrupted(f"stopped in the debugger at step {step}")
    if not debugger.was_opened:
        replay.notes.add("not reached", f"the agent did not come to step {step}, so no debugger was opened")


class Debugger:
    """Opens pdb once, at one step of a replay.

    Attributes:
        step: the step.
        was_opened: whether the agent came to it.
    """

    def __init__(self, replay: Replay, step: int, prompt: _Prompt) -> None:
        """Watch a replay.

        Args:
            replay: not begun yet.
            step: number of the step. Where it asks no call, the prompt opens as the step begins.
            prompt: what opens.
        """
        self.step = step
        self.was_opened = False
        self._replay = replay
        self._has_calls = any(entry.call.step == step and entry.call.kind not in DRAWN for entry in replay.tape.calls)
        self._prompt = prompt
        self._inside: int | None = None

    def asked(self, question: Question) -> bool:
        """A call is about to be answered; whether it is asked from the prompt itself, and is not the replay's.

        Raises:
            UsageError: from the prompt a call was made that would reach the world.
            StoppedInDebugger: the prompt was left.
        """
        if self._inside == threading.get_ident():
            if question.kind in DRAWN:
                return True
            raise UsageError(
                f"{question.name} is not called from the debugger: a replay reaches nothing",
                hint="continue, and the agent gets its recorded answer",
            )
        if question.step == self.step and question.kind not in DRAWN:
            self._open(f"step {self.step} asks {question.name}")
        return False

    def step_opened(self, number: int) -> None:
        """A step begins.

        Raises:
            StoppedInDebugger: the prompt was left.
        """
        if number == self.step and not self._has_calls:
            self._open(f"step {number} begins")

    def _open(self, where: str) -> None:
        frame = None if self.was_opened else _agent_frame()
        if frame is None:
            return
        self.was_opened = True
        with self._alone():
            self._prompt.message(f"{where}; go on with n (next line), c (to the end) or q (stop)")
            self._prompt.open_in(frame)
        self._prompt.go_on()

    @property
    def was_left(self) -> bool:
        """Whether somebody stopped the agent there."""
        return self._prompt.quitting

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """While the prompt is open nobody's patience ends."""
        self._inside = threading.get_ident()
        self._replay.turns.is_held = True
        try:
            yield
        finally:
            self._replay.turns.is_held = False
            self._replay.turns.progressed()
            self._inside = None

    def close(self) -> None:
        """Nothing is traced any more."""
        sys.settrace(None)
        self._prompt.clear_all_breaks()


class _Prompt(pdb.Pdb):
    """A pdb that opens in a frame that is in the midst of a call."""

    def __init__(self, stdin: TextIO | None, stdout: TextIO | None) -> None:
        super().__init__(stdin=stdin, stdout=stdout, nosigint=True)
        if stdin is not None:
            self.use_rawinput = False
        self.quitting = False
        self.prompt = "(pdb) "

    def open_in(self, frame: FrameType) -> None:
        """Ask for commands in `frame`, until one of them lets the agent go on."""
        self.reset()
        outermost: FrameType = frame
        above: FrameType | None = frame
        while above is not None:
            if is_agent_file(above.f_code.co_filename):
                outermost = above
                above.f_trace = self.trace_dispatch
            above = above.f_back
        self.botframe = outermost
        self.interaction(frame, None)

    def go_on(self) -> None:
        """Trace the agent from here on, if the last command wants that.

        Raises:
            StoppedInDebugger: the last command was to stop.
        """
        if self.quitting:
            raise StoppedInDebugger
        runs_free = self.stopframe is self.botframe and self.stoplineno == -1 and not self.breaks
        sys.settrace(None if runs_free else self.trace_dispatch)

    def get_stack(self, f: FrameType | None, t: TracebackType | None) -> tuple[list[tuple[FrameType, int]], int]:
        """The frames that can be looked at: not our own."""
        stack, index = super().get_stack(f, t)
        kept = [entry for entry in stack if not _is_own(entry[0])]
        return kept, kept.index(stack[index])

    def default(self, line: str) -> None:
        """Execute a statement in the frame that is shown, and keep the local names that it sets."""
        super().default(line)
        if self.curframe is not None:
            _keep_locals(self.curframe, self.curframe_locals)

    def trace_dispatch(self, frame: FrameType, event: str, arg: Any) -> Any:
        """As pdb's, with our way of stopping.

        Raises:
            StoppedInDebugger: the prompt was left.
        """
        try:
            return super().trace_dispatch(frame, event, arg)
        except bdb.BdbQuit:
            sys.settrace(None)
            raise StoppedInDebugger from None

    def stop_here(self, frame: FrameType) -> bool:
        """Whether the prompt may open in `frame`: not in our own code, which stands around the agent's."""
        return not _is_own(frame) and super().stop_here(frame)


def _is_own(frame: FrameType) -> bool:
    code = frame.f_code
    return code.co_filename.startswith(_OWN) or (is_agent_file(code.co_filename) and not is_agent_code(code))


def _agent_frame() -> FrameType | None:
    """The innermost frame of the agent's own code; None where another thread works for it."""
    frame = inspect.currentframe()
    while frame is not None and not is_agent_code(frame.f_code):
        frame = frame.f_back
    return frame


def _keep_locals(frame: FrameType, names: Mapping[str, Any]) -> None:
    """Write names back into a frame's local variables, as Python itself does from 3.13 on (PEP 667)."""
    if sys.version_info < (3, 13):
        changed = dict(names)
        frame.f_locals.update(changed)  # reading `f_locals` fills it from the variables, and lets them be written once
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))
