"""Processes that asyncio starts: `create_subprocess_exec`, `create_subprocess_shell`, anyio's `open_process`.

What the loop tells a process's protocol is noted on its way there. In a replay the protocol is told the recorded.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final

from agent_tt.recording.calls.exchange import begin_exchange, is_watched
from agent_tt.recording.calls.recorded_call import RecordedCall
from agent_tt.recording.lanes.guard_bypass import passing
from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.runs.child_process import environment_for
from agent_tt.recording.scope import nowhere
from agent_tt.recording.session import SESSION
from agent_tt.seams.processes.process_question import Outcome, asked_of, check_sent, recorded_outcome, within

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from agent_tt.recording.calls.answers import Served

    Function = Callable[..., Any]

__all__ = ["patches"]

_STREAMS: Final = {1: "stdout", 2: "stderr"}
_PAUSE_SECONDS: Final = 0.05
_PAUSES: Final = 100
"""So often (in the loop's time) a served process waits for input before it answers without it."""


def patches(module: ModuleType) -> list[Patch]:
    """List what is replaced in the event loop of asyncio, and of uvloop where that is loaded."""
    loops = [module.BaseEventLoop]
    uvloop = sys.modules.get("uvloop")
    if uvloop is not None:
        loops.append(uvloop.Loop)
    return [
        Patch(loop, name, make)
        for loop in loops
        for name, make in (("subprocess_exec", _hook_exec), ("subprocess_shell", _hook_shell))
    ]


def _hook_exec(original: Function) -> Function:
    async def subprocess_exec(loop: Any, factory: Function, program: object, *args: object, **options: Any) -> Any:
        return await _start(original, loop, factory, (program, *args), options, reads_line=False)

    return subprocess_exec


def _hook_shell(original: Function) -> Function:
    async def subprocess_shell(loop: Any, factory: Function, cmd: object, **options: Any) -> Any:
        return await _start(original, loop, factory, (cmd,), options, reads_line=True)

    return subprocess_shell


async def _start(
    original: Function,
    loop: Any,
    factory: Function,
    command: tuple[object, ...],
    options: dict[str, Any],
    *,
    reads_line: bool,
) -> Any:
    """Start a process; `reads_line` says that the command is a line for a shell."""
    if not is_watched():
        return await original(loop, factory, *command, **options)
    captured = [name for name in _STREAMS.values() if options.get(name, subprocess.PIPE) == subprocess.PIPE]
    asked = asked_of(command[0] if reads_line else command, shell=reads_line, cwd=options.get("cwd"), captured=captured)
    begun = begin_exchange(asked, can_wait=True)
    if begun is None:
        return await original(loop, factory, *command, **options)
    call, served = (begun, begun.served) if isinstance(begun, RecordedCall) else (None, begun)
    try:
        if call is not None:
            call.is_awaited = True
            await call.until_live()
            served = call.served
        if served is not None:
            return await _serve(loop, factory, call, served, has_input=options.get("stdin", -1) == subprocess.PIPE)
        assert call is not None  # noqa: S101  who is not served is recorded
        environment = environment_for(options.get("env"), call.place())
        if environment is not None:
            options = {**options, "env": environment}
        with within(), passing():
            return await _watch(original, loop, factory, call, captured, command, options)
    except BaseException as error:
        if call is not None:
            call.failed(error)
        raise


# ---------------------------------------------------------------- recording


async def _watch(
    original: Function,
    loop: Any,
    factory: Function,
    call: RecordedCall,
    captured: list[str],
    command: tuple[object, ...],
    options: dict[str, Any],
) -> Any:
    outcome = Outcome()
    for name in captured:
        outcome.capture(name)
    for name in _STREAMS.values():
        if options.get(name) not in (None, subprocess.PIPE, subprocess.STDOUT, subprocess.DEVNULL):
            outcome.lost[name] = "it went into a file of the program's own"
    talk = _Talk(call, outcome, set(captured))
    transport, protocol = await original(loop, lambda: talk.over(factory()), *command, **options)
    outcome.pid = transport.get_pid()
    pipe = transport.get_pipe_transport(0)
    if pipe is not None:
        talk.watch_input(pipe)
        file = pipe.get_extra_info("pipe")
        if file is not None:
            for started in SESSION.chain.program_started:
                started(file.fileno(), command)
    return transport, protocol


class _Talk:
    """Notes what a process and its protocol tell each other."""

    def __init__(self, call: RecordedCall, outcome: Outcome, open_streams: set[str]) -> None:
        self._call = call
        self._outcome = outcome
        self._open = open_streams
        self._transport: Any = None

    def over(self, protocol: Any) -> Any:
        """The protocol, with what it is told noted before it is."""
        made, got = protocol.connection_made, protocol.pipe_data_received
        lost, exited = protocol.pipe_connection_lost, protocol.process_exited

        def connection_made(transport: Any) -> None:
            self._transport = transport
            made(transport)

        def pipe_data_received(fd: int, data: bytes) -> None:
            if fd in _STREAMS:
                self._outcome.got(_STREAMS[fd], bytes(data))
            got(fd, data)

        def pipe_connection_lost(fd: int, error: Exception | None) -> None:
            self._open.discard(_STREAMS.get(fd, ""))
            self._end_if_over()
            lost(fd, error)

        def process_exited() -> None:
            self._outcome.returncode = self._transport.get_returncode()
            self._end_if_over()
            exited()

        protocol.connection_made, protocol.pipe_data_received = connection_made, pipe_data_received
        protocol.pipe_connection_lost, protocol.process_exited = pipe_connection_lost, process_exited
        return protocol

    def watch_input(self, pipe: Any) -> None:
        """Note what is written into standard input."""
        write = pipe.write

        file = pipe.get_extra_info("pipe")

        def noted(data: Any) -> None:
            if file is not None and not pipe.is_closing():
                for check in SESSION.chain.before_write:
                    check(file.fileno())
            self._outcome.put(bytes(data))
            write(data)

        pipe.write = noted

    def _end_if_over(self) -> None:
        if self._outcome.returncode is not None and not self._open:
            self._call.succeeded(self._outcome.result())


# ---------------------------------------------------------------- serving


async def _serve(loop: Any, factory: Function, call: RecordedCall | None, served: Served, *, has_input: bool) -> Any:
    if served.call.status in ("error", "denied"):
        await served.turn()
        raise served.failure()
    outcome, protocol = recorded_outcome(served), factory()
    transport = _ServedProcess(loop, outcome, has_input=has_input)
    protocol.connection_made(transport)
    with nowhere():  # whoever reads of the process waits for its turn, in the lane of whoever started it
        transport.work = loop.create_task(transport.run(protocol, call, served))
    return transport, protocol


class _ServedProcess(asyncio.SubprocessTransport):
    """A process that does not run: what it says and how it ends is recorded.

    Attributes:
        work: the task that says it.
    """

    def __init__(self, loop: Any, outcome: Outcome, *, has_input: bool) -> None:
        super().__init__()
        self._outcome = outcome
        self._code: int | None = None
        self._over: asyncio.Future[None] = loop.create_future()
        self._pipes: dict[int, Any] = {fd: _Silent() for fd, name in _STREAMS.items() if outcome.captures(name)}
        self._input = _Input() if has_input else None
        self.work: asyncio.Task[None] | None = None
        if self._input is not None:
            self._pipes[0] = self._input

    async def run(self, protocol: Any, call: RecordedCall | None, served: Served) -> None:
        """Say what was recorded, at its turn."""
        failure: BaseException | None = None
        try:
            await self._wait_for_input(served)
            await served.turn()
        except BaseException as error:  # noqa: BLE001  a divergence, which is for whoever reads of the process
            failure = error
        else:
            self._code = self._outcome.returncode
            if call is not None:
                call.succeeded(self._outcome.result())
        for fd in self._pipes:
            data = b"" if failure is not None or fd not in _STREAMS else self._outcome.stream(_STREAMS[fd])
            if data:
                protocol.pipe_data_received(fd, data)
            protocol.pipe_connection_lost(fd, failure)
        protocol.process_exited()
        if failure is None:
            self._over.set_result(None)
        else:
            self._over.set_exception(failure)
            self._over.exception()  # whoever does not wait for the process meets it at the next call
        protocol.connection_lost(None)

    async def _wait_for_input(self, served: Served) -> None:
        if self._input is None:
            return
        result = served.call.result
        sent = result.get("sent") if isinstance(result, dict) else None
        for _ in range(_PAUSES if sent else 1):
            await asyncio.sleep(_PAUSE_SECONDS if sent else 0)
            if self._input.is_closing():
                break
        check_sent(served, bytes(self._input.sent))

    async def _wait(self) -> int | None:
        """As `asyncio.subprocess.Process.wait` asks its transport."""
        await asyncio.shield(self._over)  # one who stops waiting does not stop the others
        return self._code

    def get_pid(self) -> int | None:  # type: ignore[override]
        return self._outcome.pid

    def get_returncode(self) -> int | None:
        return self._code

    def get_pipe_transport(self, fd: int) -> Any:
        return self._pipes.get(fd)

    def send_signal(self, signal: int) -> None:
        """Nobody is there to get it."""

    def terminate(self) -> None:
        """Nobody is there to get it."""

    def kill(self) -> None:
        """Nobody is there to get it."""

    def close(self) -> None:
        """Nothing is open."""

    def is_closing(self) -> bool:
        return self._over.done()


class _Silent(asyncio.ReadTransport):
    """The reading end of a pipe that has all its bytes in memory."""

    def pause_reading(self) -> None:
        """Everything is read already."""

    def resume_reading(self) -> None:
        """Everything is read already."""

    def close(self) -> None:
        """Nothing is open."""


class _Input(asyncio.WriteTransport):
    """The writing end of a pipe that nobody reads.

    Attributes:
        sent: what was written.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sent = bytearray()
        self._is_closing = False

    def write(self, data: Any) -> None:
        self.sent += data

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self._is_closing = True

    def close(self) -> None:
        self._is_closing = True

    def abort(self) -> None:
        self._is_closing = True

    def is_closing(self) -> bool:
        return self._is_closing

    def get_write_buffer_size(self) -> int:
        return 0
