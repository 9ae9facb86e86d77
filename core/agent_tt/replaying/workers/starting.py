"""How worker processes begin in a replay: forked from the process that replays, or as interpreters of their own.

`multiprocessing` starts them; no other process is. A worker that is forked has all that its parent has, and only asks
elsewhere from then on. One that is spawned is told so by the first thing that it reads from its parent. What
`forkserver` would fork from a server is spawned: nothing would guard that server.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from multiprocessing import connection, context, popen_forkserver, popen_spawn_posix, process, spawn
from typing import TYPE_CHECKING, Any, Final

from agent_tt._dataclass import dataclass
from agent_tt.intercepting.recorded_responses import RecordedResponses
from agent_tt.recording.lanes.hooks import HOOKS, Patch
from agent_tt.recording.modules.fitness import need_attributes
from agent_tt.recording.runs.child_process import label_here
from agent_tt.recording.scope import here
from agent_tt.recording.session import SESSION
from agent_tt.redaction.keyed import KEYED
from agent_tt.replaying.clock.timeline import Timeline
from agent_tt.replaying.guard.attempts import answered_again
from agent_tt.replaying.guard.guard import Guard, Rules
from agent_tt.replaying.guard.guard_events import WORKER_STARTS
from agent_tt.replaying.guard.own_pipes import is_own_pipe
from agent_tt.replaying.null_store import number_of
from agent_tt.replaying.workers.asking import Asking
from agent_tt.replaying.workers.connection import Address, Line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from agent_tt.recording.links import Link
    from agent_tt.replaying.clock.virtual_time import VirtualTime
    from agent_tt.replaying.null_store import NumberingStore
    from agent_tt.replaying.workers.serving import Serving

__all__ = ["OWN_WORKERS", "Joining", "Setting", "Workers"]

_LOG: Final = logging.getLogger(__name__)

_METHODS: Final = (None, "fork", "spawn", "forkserver")
"""How `multiprocessing` itself starts a process; None: as one of these. No other would be guarded."""

_LIBRARIES: Final = ("concurrent", "multiprocessing")
"""What has to be made as we know it for jobs to have lanes; see `Hooks.unfit`."""


class _Starting(threading.local):
    """The process that this thread starts."""

    process: process.BaseProcess | None = None


class _Process:
    """What stands in this process."""

    def __init__(self) -> None:
        self.workers: Workers | None = None
        self.watches_forks = False
        self.starting = _Starting()


_PROCESS: Final = _Process()


@dataclass(frozen=True)
class Setting:
    """What holds in every worker of a replay.

    Attributes:
        root: the project root.
        use_rules: makes what was secret in the run secret in a new interpreter.
        patched: which clocks and the like are recorded.
        kept_headers: names of request headers that counted as part of a question when the run was recorded.
        prepare: called in a new interpreter before anything of the agent's is imported there.
        join: makes a new interpreter a worker (`agent_tt.replaying.workers.joining.join`).
    """

    root: str | None
    use_rules: Callable[[], None]
    patched: Any
    kept_headers: frozenset[str]
    prepare: Callable[[], None] | None
    join: Callable[[Joining], None]


@dataclass(frozen=True)
class Joining:
    """What a worker that is a new interpreter is told.

    Attributes:
        setting: what holds in it.
        address: where it asks.
        sys_path: where modules are found.
        lane: its lane; "" where it was started outside of every recording.
        number: which recording of its parent that is.
        makes_steps: whether that recording makes its steps of model calls.
    """

    setting: Setting
    address: Address
    sys_path: tuple[str, ...]
    lane: str
    number: int
    makes_steps: bool


class _Joins:
    """Makes a process a worker where it is unpickled."""

    def __init__(self, joining: Joining) -> None:
        self._joining = joining

    def __reduce__(self) -> tuple[Callable[[Joining], None], tuple[Joining]]:
        return self._joining.setting.join, (self._joining,)


class Workers:
    """The worker processes of one process of a replay, while it runs.

    Args:
        setting: what holds in them.
        store: numbers the steps of this process.
        clock: the clock of this process.
        replaced: what puts its calls to the recording and what guards it: a worker that is forked has others.
        serve: begins to serve workers; None in a worker, whose own ask where it asks.
        address: where that is, in a worker.
    """

    def __init__(
        self,
        setting: Setting,
        store: NumberingStore,
        clock: VirtualTime,
        replaced: tuple[Link, ...],
        serve: Callable[[], Serving] | None,
        address: Address | None = None,
    ) -> None:
        self._setting = setting
        self._store = store
        self._clock = clock
        self._replaced = replaced
        self._serve = serve
        self._lock = threading.Lock()
        self._serving: Serving | None = None
        self._started: set[int] = set()
        self.address = address
        self._meets: Callable[[str, str], bool] = lambda _event, _path: False
        self._has_begun: Callable[[int], object] = lambda _process: None
        if address is not None:
            self._ask_at(Line(address))

    @contextmanager
    def standing(self) -> Iterator[None]:
        """Let workers be started while the block lasts.

        Where this Python makes pools otherwise than we know, none may be: the guard halts the first.
        """
        try:
            check_pools()
        except AttributeError as error:
            _LOG.info("no worker process can be replayed: %s", error)
            yield
            return
        patches = [
            Patch(process.BaseProcess, "start", self._hook_start),
            Patch(spawn, "get_preparation_data", self._hook_preparation),
            Patch(popen_forkserver, "Popen", self._hook_server),
            Patch(ProcessPoolExecutor, "_adjust_process_count", _hook_workers),
        ]
        if not _PROCESS.watches_forks:
            _PROCESS.watches_forks = True
            os.register_at_fork(after_in_child=_in_child)
        _PROCESS.workers = self
        with ExitStack() as stack:
            for patch in patches:
                patch.apply()
                stack.callback(patch.undo)
            try:
                yield
            finally:
                _PROCESS.workers = None
                if self._serving is not None:
                    self._serving.end()

    def is_own(self, event: str, args: tuple[Any, ...]) -> bool:
        """Whether what the guard sees is a worker that is started, asked or ended."""
        if event in WORKER_STARTS:
            return _PROCESS.starting.process is not None
        if event == "os.kill":
            return args[0] in self._started
        if event not in ("socket.bind", "socket.connect") or self.address is None or type(args[1]) is not str:
            return False
        return args[1] == self.address.path or (is_own_pipe(args[1]) and self._meets(event, args[1]))

    def go_on_forked(self) -> None:
        """In a worker that was forked: what answers, numbers, guards and tells the time is elsewhere now."""
        if self.address is None:
            return
        _PROCESS.starting.process = None
        self._lock = threading.Lock()
        self._serve, self._serving, self._started = None, None, set()
        asking = Asking(Line(self.address), self._setting.kept_headers)
        self._ask_at(asking.line)
        self._store.elsewhere = asking
        line = Timeline(asking.awaited)
        asking.awaited.follow(line)
        self._clock.go_on_forked(line, asking.awaited)
        guard = Guard(partial(answered_again, asking), self._setting.root, OWN_WORKERS)
        link = RecordedResponses(asking)
        SESSION.start(*(each for each in SESSION.chain.links if each not in self._replaced), link, guard)
        self._replaced = (link, guard)

    def _ask_at(self, line: Line) -> None:
        self._meets, self._has_begun = partial(line.ask, "meets"), partial(line.ask, "has_begun")

    # ------------------------------------------------------------ what stands for multiprocessing's own

    def _hook_start(self, original: Callable[..., None]) -> Callable[..., None]:
        def start(started: process.BaseProcess) -> None:
            if not _can_be_replayed(started):
                original(started)  # the guard halts it
                return
            self._serve_workers()
            before, _PROCESS.starting.process = _PROCESS.starting.process, started
            try:
                original(started)
            finally:
                _PROCESS.starting.process = before
            if started.pid is not None:
                self._started.add(started.pid)
                self._has_begun(started.pid)

        return start

    def _serve_workers(self) -> None:
        with self._lock:
            if self.address is None and self._serve is not None:
                self._serving = self._serve()
                self.address = self._serving.address
                self._meets, self._has_begun = self._serving.meets, self._serving.busy.add
                self._serving.begin()
                self._clock.line.others_work = self._serving.works

    def _hook_preparation(self, original: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
        def get_preparation_data(name: str) -> dict[str, Any]:
            data = original(name)
            if _PROCESS.starting.process is not None and self.address is not None:
                data["agent_tt"] = _Joins(self._joining(self.address, data["sys_path"]))
            return data

        return get_preparation_data

    def _joining(self, address: Address, sys_path: list[str]) -> Joining:
        scope, lane, number = here(), "", 0
        if scope is not None:
            number = number_of(scope.recording.id) or 0
            lane = scope.recording.lanes.current().child(label_here()).id
        makes_steps = scope is not None and scope.recording.model_steps is not None
        return Joining(self._setting, address, tuple(sys_path), lane, number, makes_steps)

    def _hook_server(self, _: object) -> Callable[..., object]:
        def popen(started: process.BaseProcess) -> object:
            return popen_spawn_posix.Popen(started)

        return popen


def check_pools() -> None:
    """An executor counts its idle workers by a semaphore, and processes are started by what is replaced here.

    Raises:
        AttributeError: this Python does it otherwise.
    """
    count = ProcessPoolExecutor._adjust_process_count  # noqa: SLF001
    need_attributes(count, "_idle_worker_semaphore", "acquire", "_max_workers", "_spawn_process")
    need_attributes(context.ForkServerProcess._Popen, "popen_forkserver", "Popen")  # noqa: SLF001
    need_attributes(popen_spawn_posix.Popen._launch, "get_preparation_data")  # type: ignore[attr-defined]  # noqa: SLF001
    need_attributes(connection.Listener.__init__, "_listener")
    need_attributes(connection.SocketListener.__init__, "_socket")  # type: ignore[attr-defined]


def _executable() -> str | None:
    """The interpreter that `multiprocessing` starts, which a program may choose."""
    chosen: str | bytes | None = spawn.get_executable()
    return None if chosen is None else os.fsdecode(chosen)


def _can_be_replayed(started: process.BaseProcess) -> bool:
    """Whether a worker would be told where to ask, its jobs have lanes, and it would find the same things secret.

    Without the key of their marks, values are taken for recorded ones in the order in which one process meets them.
    """
    is_ours = getattr(started, "_start_method", None) in _METHODS and _executable() == sys.executable
    return is_ours and HOOKS.unfit.keys().isdisjoint(_LIBRARIES) and not KEYED.lacks_key


def _hook_workers(original: Callable[..., None]) -> Callable[..., None]:
    """Let an executor start every worker that it may, as if none were idle.

    When it was recorded there may have been one idle less; and a job that has to return behind another one keeps its
    worker meanwhile.
    """

    def adjust(executor: Any) -> None:
        while executor._idle_worker_semaphore.acquire(blocking=False):  # noqa: SLF001  looked at by `check_pools`
            pass
        original(executor)

    return adjust


def _in_child() -> None:
    if _PROCESS.workers is not None and _PROCESS.starting.process is not None:
        _PROCESS.workers.go_on_forked()


def _is_own(event: str, args: tuple[Any, ...], _: FrameType | None) -> bool:
    return _PROCESS.workers is not None and _PROCESS.workers.is_own(event, args)


OWN_WORKERS: Final = Rules(harmless=_is_own)
"""What a guard lets pass around a program whose worker processes are replayed with it."""
