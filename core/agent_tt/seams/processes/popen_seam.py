"""Processes that are started with `subprocess.Popen`, on which `run`, `check_output` and the others stand.

Nothing is put between the program and its process: what the program reads of a pipe, and how it learns of the end, is
noted on the way. A replay lets `Popen` do all it does but start the process: its pipes are given memory to read from.
"""

from __future__ import annotations

import functools
import inspect
import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any, Final

from agent_tt.recording.calls.exchange import begin_exchange, is_watched
from agent_tt.recording.calls.recorded_call import RecordedCall
from agent_tt.recording.lanes.guard_bypass import passing, passing_for
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.runs.child_process import environment_for
from agent_tt.recording.session import SESSION
from agent_tt.seams.processes.process_pipes import LostPipe, ReadPipe, WritePipe, over
from agent_tt.seams.processes.process_question import (
    Outcome,
    asked_of,
    asks_about_this_machine,
    check_sent,
    is_imported,
    is_probe,
    is_within,
    recorded_outcome,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from agent_tt.model import Effect
    from agent_tt.recording.calls.answers import Served

    Function = Callable[..., Any]
    Process = subprocess.Popen[Any]

__all__ = ["patches"]

_STREAMS: Final = ("stdout", "stderr")
_OUR_OUTPUT: Final = (1, 2)
"""Where a process writes that has the program's own output streams."""


def patches(module: ModuleType) -> list[Patch]:
    """List what is replaced in `subprocess`.

    Raises:
        AttributeError: this version does not have what we replace.
    """
    owner = module.Popen
    makers: dict[str, Callable[[Function], Function]] = {
        "__init__": _hook_init,
        "_execute_child": _hook_execute,
        "poll": _hook_poll,
        "wait": _hook_wait,
        "communicate": _hook_communicate,
        "send_signal": _hook_send_signal,
        "__del__": _hook_del,
    }
    for name in makers:
        getattr(owner, name)
    return [Patch(owner, name, make) for name, make in makers.items()]


class _Watched:
    """What is known of one `Popen` object.

    Attributes:
        call: its call, None where nobody records.
        served: a replay's answer, None where the process runs.
        outcome: what has come back so far; of a replay, all that will.
        is_inside: whether one of `Popen`'s own methods is at work, which calls the others.
    """

    def __init__(self, call: RecordedCall | None, served: Served | None) -> None:
        self.call = call
        self.served = served
        self.outcome = Outcome()
        self.is_inside = False
        self._open: set[str] = set()
        self._is_forgotten = False

    # ------------------------------------------------------------ while it is recorded

    def watch(self, process: Process) -> None:
        """The process runs: look at what goes through its pipes."""
        self.outcome.pid = process.pid
        for name in _STREAMS:
            pipe = getattr(process, name)
            if pipe is not None:
                self._open.add(name)
                setattr(process, name, over(pipe, functools.partial(ReadPipe, self, name)))
        self.watch_input(process)
        if process.stdin is not None:
            for started in SESSION.chain.program_started:
                started(process.stdin.fileno(), process.args)

    def watch_input(self, process: Process) -> None:
        """Look at what the program sends."""
        if process.stdin is not None:
            process.stdin = over(process.stdin, functools.partial(WritePipe, self))

    def sends(self, process: Process, data: object) -> None:
        """The program gives `communicate` what to send."""
        if data and process.stdin is not None:
            if self.served is None:
                for check in SESSION.chain.before_write:
                    check(process.stdin.fileno())
            self.outcome.put(_bytes(data, process.stdin))

    def read_all(self, name: str, data: object, process: Process) -> None:
        """The program has all that a stream gave, as bytes or as text."""
        if data is not None and self.outcome.captures(name):
            self.outcome.has_all(name, _bytes(data, getattr(process, name)))

    def read(self, stream: str, data: bytes) -> None:
        """See `process_pipes.Watcher`."""
        self.outcome.got(stream, data)

    def wrote(self, data: bytes) -> None:
        """See `process_pipes.Watcher`. What `communicate` writes is known before."""
        if not self.is_inside:
            self.outcome.put(data)

    def stream_ended(self, name: str) -> None:
        """Nothing more is read of a stream."""
        self._open.discard(name)
        if not self.is_inside:
            self._end_ifover()

    def exited(self, code: int | None) -> None:
        """The program knows how the process ended."""
        self.outcome.returncode = code
        if not self.is_inside:
            self._end_ifover()

    def forget(self, code: int | None) -> None:
        """The program has let go of the process, which may run on, but perhaps not of its pipes."""
        if self.served is None:
            self.outcome.returncode, self._is_forgotten = code, True
            self._end_ifover()

    def _end_ifover(self) -> None:
        is_over = self._is_forgotten or self.outcome.returncode is not None
        if self.call is not None and is_over and not self._open:
            self.call.succeeded(self.outcome.result())

    # ------------------------------------------------------------ while it is served

    def serve(self, process: Process) -> None:
        """Nothing runs, and the pipes hold what was recorded; see `_stand_in`."""
        self.watch_input(process)
        if self.served is None:
            return
        if self.served.call.status == "pending":
            for name in _STREAMS:
                pipe = getattr(process, name)
                if pipe is not None:
                    setattr(process, name, over(pipe, functools.partial(LostPipe, self, self.served)))
        elif self.outcome.returncode is None:  # the recorded program never asked, so nobody waits for its turn
            self.served.leave(0)

    def is_early(self) -> bool:
        """Whether the program looks when the recorded one still ran."""
        if self.outcome.not_yet <= 0:
            return False
        self.outcome.not_yet -= 1
        return True

    def answer(self, process: Process) -> int | None:
        """The recorded exit code, at its turn."""
        if process.returncode is None and self.served is not None:
            check_sent(self.served, bytes(self.outcome.sent))
            self.served.wait()
            process.returncode = self.outcome.returncode
            if self.call is not None:
                self.call.succeeded(self.outcome.result())
        return process.returncode


def _is_own_file(target: Any) -> bool:
    """Whether a process writes into a file that the program has opened, and may read later."""
    if target in (None, subprocess.PIPE, subprocess.STDOUT, subprocess.DEVNULL):
        return False
    try:
        number = target if isinstance(target, int) else target.fileno()
    except (AttributeError, OSError, ValueError):
        return True
    return number not in _OUR_OUTPUT


def _bytes(data: object, pipe: object) -> bytes:
    """What goes through a pipe, given as bytes or as text."""
    if isinstance(data, str):
        return data.encode(getattr(pipe, "encoding", None) or "utf-8", getattr(pipe, "errors", None) or "strict")
    return bytes(data)  # type: ignore[call-overload,no-any-return]


# ---------------------------------------------------------------- the methods of `Popen`

_WATCHED: Final = "_agent_tt_watched"


def _watched_of(process: Process) -> _Watched | None:
    """What is known of a process; None where its start was nobody's business."""
    return vars(process).get(_WATCHED)


def _hook_init(original: Function) -> Function:
    signature = inspect.signature(original)

    def __init__(process: Process, *args: Any, **named: Any) -> None:  # noqa: N807  it stands in its place
        # The frame is kept in no name: it would hold itself, and with it the process that is to end when it is let go.
        if not is_watched() or is_within() or asks_about_this_machine(sys._getframe(1)):  # noqa: SLF001
            original(process, *args, **named)
            return
        try:
            given = signature.bind(process, *args, **named).arguments
        except TypeError:
            original(process, *args, **named)  # it says best what is wrong
            return
        captured = [name for name in _STREAMS if given.get(name) == subprocess.PIPE]
        shell = bool(given.get("shell"))
        # What a library starts while it is imported tells it about this machine, and changes nothing.
        is_asking = is_imported(sys._getframe(1)) and is_probe(given["args"], shell=shell)  # noqa: SLF001
        effect: Effect | None = "read" if is_asking else None
        asked = asked_of(given["args"], shell=shell, cwd=given.get("cwd"), captured=captured, effect=effect)
        begun = begin_exchange(asked)
        if begun is None and passing_for() != "call":
            original(process, *args, **named)
            return
        call, served = (begun, begun.served) if isinstance(begun, RecordedCall) else (None, begun)
        watched = _Watched(call, served)
        for name in captured:
            watched.outcome.capture(name)
        for name in _STREAMS:
            if _is_own_file(given.get(name)):
                watched.outcome.lost[name] = "it went into a file of the program's own"
        vars(process)[_WATCHED] = watched
        try:
            original(process, *args, **named)
        except BaseException as error:
            if call is not None:
                call.failed(error)
            raise
        if served is None:
            watched.watch(process)
        else:
            watched.serve(process)

    return __init__


def _hook_execute(original: Function) -> Function:
    signature = inspect.signature(original)

    def _execute_child(process: Process, *args: Any, **named: Any) -> None:
        watched = _watched_of(process)
        bound = signature.bind(process, *args, **named)
        if watched is not None and watched.served is not None:
            _stand_in(process, watched, watched.served, bound.arguments)
            return
        if watched is not None and watched.call is not None:
            bound.arguments["env"] = environment_for(bound.arguments["env"], watched.call.place())
            with passing():
                original(*bound.args, **bound.kwargs)
            return
        original(*bound.args, **bound.kwargs)

    return _execute_child


def _stand_in(process: Process, watched: _Watched, served: Served, given: dict[str, Any]) -> None:
    """In place of starting a process: what its pipes are connected to is recorded bytes."""
    if served.call.status in ("error", "denied"):
        served.wait()
        raise served.failure()
    sent, watched.outcome = watched.outcome.sent, recorded_outcome(served)
    watched.outcome.sent = sent
    process.pid = watched.outcome.pid or 0
    for name, pipe in (("stdout", given["c2pread"]), ("stderr", given["errread"])):
        if pipe != -1:
            with tempfile.TemporaryFile() as file:
                file.write(watched.outcome.stream(name))
                file.seek(0)
                os.dup2(file.fileno(), pipe, inheritable=False)
    if given["p2cwrite"] != -1:
        nobody = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nobody, given["p2cwrite"], inheritable=False)
        os.close(nobody)
    for pipe in {given["p2cread"], given["c2pwrite"], given["errwrite"]} - {-1}:
        os.close(pipe)
    process._closed_child_pipe_fds = True  # type: ignore[attr-defined]  # noqa: SLF001  as the original does, for who called it


def _hook_poll(original: Function) -> Function:
    def poll(process: Process) -> int | None:
        watched = _watched_of(process)
        if watched is None:
            unwatched: int | None = original(process)
            return unwatched
        if watched.served is not None:
            if process.returncode is None and watched.is_early():
                return None
            return watched.answer(process)
        code: int | None = original(process)
        if code is not None:
            watched.exited(code)
        elif not watched.is_inside:
            watched.outcome.not_yet += 1
        return code

    return poll


def _hook_wait(original: Function) -> Function:
    def wait(process: Process, timeout: float | None = None) -> int | None:
        watched = _watched_of(process)
        if watched is None:
            unwatched: int | None = original(process, timeout=timeout)
            return unwatched
        if watched.served is not None:
            if process.returncode is None and timeout is not None and not watched.is_inside and watched.is_early():
                raise subprocess.TimeoutExpired(process.args, timeout)
            return watched.answer(process)
        try:
            code: int | None = original(process, timeout=timeout)
        except subprocess.TimeoutExpired:
            if not watched.is_inside:
                watched.outcome.not_yet += 1
            raise
        watched.exited(code)
        return code

    return wait


def _hook_communicate(original: Function) -> Function:
    def communicate(process: Process, input: Any = None, timeout: float | None = None) -> Any:  # noqa: A002  as it is called
        watched = _watched_of(process)
        if watched is None:
            return original(process, input, timeout)
        if watched.served is not None and process.returncode is None:
            if timeout is not None and watched.is_early():
                seen = watched.outcome
                out, err = (seen.stream(name) if getattr(process, name) else None for name in _STREAMS)
                raise subprocess.TimeoutExpired(process.args, timeout, output=out, stderr=err)
            watched.sends(process, input)
            watched.answer(process)
        watched.is_inside = True
        try:
            if watched.served is None:
                watched.sends(process, input)
            result = original(process, input, timeout)
        except subprocess.TimeoutExpired as error:
            watched.outcome.not_yet += 1
            watched.read_all("stdout", error.stdout, process)
            watched.read_all("stderr", error.stderr, process)
            raise
        finally:
            watched.is_inside = False
        if watched.served is None:
            for name, data in zip(_STREAMS, result, strict=True):
                watched.read_all(name, data, process)
            for name in _STREAMS:  # behind all that came: the end of the last one is the end of the call
                watched.stream_ended(name)
            watched.exited(process.returncode)
        return result

    return communicate


def _hook_del(original: Function) -> Function:
    def __del__(process: Process, *rest: Any, **named: Any) -> None:  # noqa: N807  it stands in its place
        original(process, *rest, **named)
        watched = _watched_of(process)
        if watched is not None:
            watched.forget(process.returncode)

    return __del__


def _hook_send_signal(original: Function) -> Function:
    def send_signal(process: Process, sig: int) -> None:
        watched = _watched_of(process)
        if watched is None or watched.served is None:
            original(process, sig)
        else:
            process.poll()  # as the original does, and for the same number of looks

    return send_signal
