"""A guard sees whatever reaches for the world, and refuses it where it is tried.

While a recording is replayed nothing passes that is not served; a fork has a guard of its own, which asks its policy
(`agent_tt.forking.outside.guarding`). Guards that stand inside each other are asked from the innermost on: what passes
has passed them all.

The guard knows no libraries. An audit hook (PEP 578) sees every connection, name look-up and new process of the
interpreter, in whatever thread and under whatever name it is called. What raises no event is patched while the guard
stands: multiprocessing's own way to start processes, and the calls of functions in C (`foreign_calls`). Of these, what
reaches the world by its name is refused to everybody, and to the agent's own code also what cannot be told: a function
of which only the address is known, a library that links to such functions (`native_libraries`).

Not seen, and said instead (`Guard.not_held`): libraries in C that reach the world by themselves. Not held either is a
program that sets out to get round it: inside one process nothing in Python is out of reach of Python, nor anything of
machine code.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import stat
import sys
import threading
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, NoReturn

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentTTError
from agent_tt.recording.calls.site import is_agent_file, is_event_loop, shown_path
from agent_tt.recording.lanes.guard_bypass import is_ours
from agent_tt.recording.links import Link, Place
from agent_tt.recording.modules.native_libraries import (
    REACHES,
    find_library,
    is_everywhere,
    links_to_world,
    shown_name,
    uncovered_libraries,
)
from agent_tt.recording.session import SESSION
from agent_tt.replaying.guard.foreign_calls import ADDRESS, asking
from agent_tt.replaying.guard.guard_events import FOREIGN, LIBRARIES, NAMED, OPEN, SPAWN, TARGETS, text_of
from agent_tt.replaying.guard.uvloop_calls import asking_uvloop
from agent_tt.seams.processes.process_question import asks_about_this_machine, is_imported

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator
    from types import FrameType

__all__ = ["Attempt", "Guard", "Rules", "guarded", "stay_guarded"]

_LONGEST_TARGET: Final = 200
_MOST_ATTEMPTS: Final = 1000


@dataclass(frozen=True, slots=True)
class Attempt:
    """Something that would have reached the world.

    Attributes:
        event: the audit event, or `multiprocessing.spawn`: `socket.connect`, `subprocess.Popen`, ….
        target: what would have been reached: `host:port`, a path, a command line; "" of a fork.
        file: the innermost file of the agent's on the stack, relative to the project where it lies in there; None
            where another thread works for the agent and no frame of the agent's is on its stack.
        line: the line in it.
        function: the qualified name of the function.
    """

    event: str
    target: str
    file: str | None = None
    line: int | None = None
    function: str | None = None

    def __str__(self) -> str:
        place = f" at {self.file}:{self.line}" if self.file else ""
        return f"{self.event} {self.target}".rstrip() + place


@dataclass(frozen=True, slots=True)
class Rules:
    """What a guard lets pass.

    Attributes:
        passes: asked whether the code that reaches for something now may do so.
        ignores: audit events that it does not look at.
        harmless: asked of an event, its arguments and the frame that raised it whether they change nothing.
        forbids: asked of what would pass whether it is refused all the same: of an event and its target.
        far_end: asked of a file descriptor that is opened as a file where it leads: to what event and target; None
            where what is written to it stays inside.
        opened: told of a socket that is about to be connected, and may be.
    """

    passes: Callable[[], bool] = lambda: False
    ignores: frozenset[str] = frozenset()
    harmless: Callable[[str, tuple[Any, ...], FrameType | None], bool] = lambda _event, _args, _frame: False
    forbids: Callable[[str, str], bool] = lambda _event, _target: False
    far_end: Callable[[int], tuple[str, str] | None] = lambda _fd: None
    opened: Callable[[object], None] = lambda _sock: None


class Guard(Link):
    """One guard while it stands; made by `guarded`.

    Attributes:
        attempts: what it did not simply let pass so far, in order; the first thousand.
        opened_libraries: names of the C libraries that packages opened meanwhile, and that may reach the world.
    """

    place = Place.GUARD

    def __init__(self, refuse: Callable[[Attempt], BaseException | None], root: str | None, rules: Rules) -> None:
        self._refuse = refuse
        self._root = root
        self._rules = rules
        self.attempts: list[Attempt] = []
        self.opened_libraries: list[str] = []

    def reach(self, event: str, args: tuple[Any, ...], caller: FrameType | None) -> BaseException | None:
        """What to raise instead of what `caller` tries; None lets it pass."""
        refusal = self._judge(event, args, caller)
        if refusal is None and event == "socket.connect":
            self._rules.opened(args[0])
        return refusal

    def _judge(self, event: str, args: tuple[Any, ...], frame: FrameType | None) -> BaseException | None:
        rules = self._rules
        if is_ours():
            return None
        if event == OPEN:  # nearly always a file like any other: nothing is asked of rules, which may open files too
            reached = rules.far_end(args[0]) if type(args[0]) is int else _named_pipe(args[0])
            if reached is None or (rules.passes() and not rules.forbids(*reached)):
                return None
            return self.refuse(*reached, frame)
        if event in rules.ignores or (rules.passes() and not rules.forbids(event, TARGETS[event](args))):
            return None
        if event in FOREIGN and not self._is_foreign_reach(event, args, frame):
            return None
        if _is_inside(event, args, frame) or rules.harmless(event, args, frame):
            return None
        return self.refuse(event, TARGETS[event](args), frame)

    def refuse(self, event: str, target: str, frame: FrameType | None) -> BaseException | None:
        """What to raise instead of what was tried in `frame`; None lets it pass."""
        attempt = Attempt(event, target[:_LONGEST_TARGET], *self._place(frame))
        if len(self.attempts) < _MOST_ATTEMPTS:
            self.attempts.append(attempt)
        return self._refuse(attempt)

    def not_held(self) -> tuple[str, ...]:
        """Libraries of this process that may reach the world unseen, by name."""
        found = uncovered_libraries()
        opened = (shown_name(find_library(name) or name) for name in self.opened_libraries)
        return (*found, *(name for name in dict.fromkeys(opened) if name not in found))

    def _is_foreign_reach(self, event: str, args: tuple[Any, ...], frame: FrameType | None) -> bool:
        """Whether code in C may reach the world through what is done; what only a package's code does is remembered."""
        asks = _asker(frame)
        if event in NAMED:
            name = TARGETS[event](args)
            # What a package looks up while it is imported is asked about when it is called.
            return REACHES.fullmatch(name) is not None and (event != "ctypes.dlsym" or not is_imported(asks))
        library = args[0] if event in LIBRARIES else None
        if event == "ctypes.dlopen" and (
            library is None or is_everywhere(text_of(library))
        ):  # its functions have known names
            return False
        if library is not None:
            path = find_library(text_of(library))
            if path is not None and not is_everywhere(path) and links_to_world(path) is False:
                return False
        if _is_agents(asks):
            return True
        said = text_of(library) or str(asks.f_globals.get("__name__") if asks is not None else "")
        if event != ADDRESS and said not in self.opened_libraries:
            self.opened_libraries.append(said)
        return False

    def _place(self, frame: FrameType | None) -> tuple[str, int, str] | tuple[()]:
        while frame is not None and not is_event_loop(frame.f_code):
            if is_agent_file(frame.f_code.co_filename):
                return shown_path(frame.f_code.co_filename, self._root), frame.f_lineno, frame.f_code.co_qualname
            frame = frame.f_back
        return ()


_NOTHING_PASSES: Final = Rules()


def _asker(frame: FrameType | None) -> FrameType | None:
    """The frame that asks ctypes or cffi for something: neither theirs, nor ours, nor code without a file."""
    while frame is not None and (
        frame.f_globals.get("__name__") in _BETWEEN or frame.f_code.co_filename.startswith(("<string", "<stdin"))
    ):
        frame = frame.f_back
    return frame


def _is_agents(frame: FrameType | None) -> bool:
    """Whether the agent's own code does something; where nobody can tell, it does."""
    return frame is None or is_agent_file(frame.f_code.co_filename)


class _Process:
    """What all guards of this process share: one hook, which cannot be removed.

    Attributes:
        began: the id of the process that hooked; of one that it forked, its parent's.
        is_over: whether the program has ended: whatever its last finalizers try is refused.
        held: what holds guards that stand until the end.
    """

    def __init__(self) -> None:
        self.began = os.getpid()
        self.is_over = False
        self.held: list[ExitStack] = []
        self.is_hooked = False
        self.heard = False
        self.lock = threading.RLock()


_PROCESS = _Process()


@contextmanager
def guarded(
    refuse: Callable[[Attempt], BaseException | None], *, root: str | None = None, rules: Rules = _NOTHING_PASSES
) -> Iterator[Guard]:
    """Let nothing of this process reach the world while the block lasts, in any thread.

    Args:
        refuse: makes what is raised in place of what was tried; None lets it pass.
        root: the project root, relative to which files are named.
        rules: what is let through unasked.

    Raises:
        AgentTTError: the interpreter does not take audit hooks, so nothing could be guarded.
    """
    guard = Guard(refuse, root, rules)
    with _PROCESS.lock:
        _hook_once()
        is_first = not SESSION.chain.reach
        SESSION.join(guard)
    with ExitStack() as stack:
        if is_first:
            stack.enter_context(_no_other_spawn())
            stack.enter_context(asking(_ask))
            stack.enter_context(asking_uvloop(_ask))
        try:
            yield guard
        finally:
            SESSION.leave(guard)


def stay_guarded(held: ExitStack) -> None:
    """Refuse everything in this process from now on, until it ends: finalizers run after all else is gone.

    Args:
        held: what holds the guard, and is never let go.
    """
    kept = held.pop_all()
    _PROCESS.held.append(kept)
    with suppress(ImportError):  # else it would be let go, with a word about it, when nothing that it needs is left
        import ctypes

        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    _PROCESS.is_over = True


# ---------------------------------------------------------------- the hook


def _hook_once() -> None:
    if not _PROCESS.is_hooked:
        sys.addaudithook(_hook)
        _PROCESS.is_hooked, _PROCESS.began = True, os.getpid()
    _PROCESS.heard = False
    sys.audit(_CHECK)
    if not _PROCESS.heard:  # another hook refused ours, which Python does not tell
        _PROCESS.is_hooked = False
        raise AgentTTError(
            "the network guard cannot be installed: another audit hook of this process refuses it",
            hint="run it without the tool that installs audit hooks",
        )


def _hook(
    event: str,
    args: tuple[Any, ...],
    *,
    targets: Container[str] = TARGETS,
    process: _Process = _PROCESS,
    is_finalizing: Callable[[], bool] = sys.is_finalizing,
) -> None:
    """Called by the interpreter for every audited event: what is not watched must cost next to nothing.

    It outlives the modules: at the interpreter's end their names are None, but for what is bound here.
    """
    if event not in targets:
        if event == _CHECK:
            process.heard = True
        return
    try:
        if (not SESSION.chain.reach and not process.is_over) or (event == OPEN and not _may_leave(args)):
            return
        frame = inspect.currentframe()
        _ask(event, args, None if frame is None else frame.f_back)
    except (TypeError, AttributeError):
        if not is_finalizing():
            raise
        if process.is_over and event != "open":
            raise PermissionError(f"{event}: the program has ended") from None


def _ask(event: str, args: tuple[Any, ...], caller: FrameType | None) -> None:
    """Ask all guards about an event, from the innermost on; raises what the first that refuses it says."""
    if _PROCESS.is_over and event != OPEN and not _is_inside(event, args, caller):
        raise PermissionError(f"{event}: the program has ended")
    for reach in SESSION.chain.reach:
        refusal = reach(event, args, caller)
        if refusal is not None:
            if event == "os.exec" and os.getpid() != _PROCESS.began:
                _leave_forked(refusal)
            raise refusal


def _may_leave(args: tuple[Any, ...]) -> bool:
    """Whether a file that is opened could be a way out: what is open already, or something that is written to."""
    path, flags = args[0] if args else None, args[2] if len(args) > 2 else 0  # anybody may raise such an event
    return type(path) is int or (isinstance(path, (str, bytes)) and isinstance(flags, int) and bool(flags & _WRITES))


def _named_pipe(path: str | bytes) -> tuple[str, str] | None:
    """What stands for writing to a path where another program may read it: the event and its target."""
    with suppress(OSError, ValueError):
        if stat.S_ISFIFO(os.stat(path).st_mode):  # noqa: PTH116  of bytes too
            return "socket.send", text_of(path)
    return None


def _leave_forked(refusal: BaseException) -> NoReturn:
    """End a forked process that was not allowed to become another program: its Python code was never to go on."""
    with suppress(BaseException):  # whatever keeps it from being said, it ends
        os.write(2, f"{refusal}\n".encode("utf-8", "replace"))
    os._exit(_NOT_EXECUTED)


def _is_inside(event: str, args: tuple[Any, ...], caller: FrameType | None) -> bool:
    """Whether nothing is reached beyond this process, or only the facts about its machine."""
    if event == "socket.sendmsg" and args[1] is None:  # over a pair or a connection, whose opening was seen
        return True
    if event == "fcntl.ioctl":
        return bool(args[1] != _TERMINAL_INPUT)
    if event in _SIGNALS and (args[1] == 0 or args[0] in (0, os.getpid(), os.getpgrp())):
        return True  # it asks whether somebody is there, or means itself
    if event == "socket.bind" and _is_any_port_of_ours(args[1]) and is_imported(caller):
        return True
    return event in _STARTS_PROCESS and asks_about_this_machine(caller)


def _is_any_port_of_ours(address: object) -> bool:
    """Whether a socket takes any free port of the loopback interface.

    Libraries do so when they are imported, urllib3 for one, to see whether this machine has IPv6. Nothing is reached.
    """
    return isinstance(address, tuple) and address[:1] in _LOOPBACK and address[1:2] == (0,)


_CHECK: Final = "agent_tt.guard.check"
_NO_AGENT: Final = "multiprocessing.resource_tracker"
"""Part of the command by which Python starts a process that only tidies up shared memory."""
_NOT_EXECUTED: Final = 127
"""The exit code of a shell that could not execute a program."""
_WRITES: Final = os.O_WRONLY | os.O_RDWR
_TERMINAL_INPUT: Final = 0x5412
"""TIOCSTI: types into the terminal, as if a person did."""
_BETWEEN: Final = frozenset({"ctypes", "ctypes.util", "cffi.api", "agent_tt.replaying.guard.foreign_calls", __name__})
_LOOPBACK: Final = (("127.0.0.1",), ("::1",), ("localhost",))
_SIGNALS: Final = frozenset({"os.kill", "os.killpg"})
_STARTS_PROCESS: Final = frozenset({"subprocess.Popen", "os.posix_spawn"})


# ---------------------------------------------------------------- what raises no audit event


@contextmanager
def _no_other_spawn() -> Iterator[None]:
    """Refuse multiprocessing's own `fork_exec` (spawn, forkserver, resource tracker), which is not audited.

    `subprocess` has its own name for the same function and raises an event before.
    """
    if importlib.util.find_spec("_posixsubprocess") is None:  # Windows: CreateProcess is audited
        yield
        return
    import _posixsubprocess

    original = _posixsubprocess.fork_exec

    def fork_exec(args: Any, *rest: Any) -> int:
        links = () if any(_NO_AGENT in text_of(word) for word in args) else SESSION.chain.reach
        frame = inspect.currentframe()
        caller = None if frame is None else frame.f_back
        for reach in links:
            refusal = reach(SPAWN, (list(args),), caller)
            if refusal is not None:
                raise refusal
        return original(args, *rest)

    _posixsubprocess.fork_exec = fork_exec
    try:
        yield
    finally:
        if _posixsubprocess.fork_exec is fork_exec:
            _posixsubprocess.fork_exec = original
