"""The seams at which lanes are created: tasks of asyncio and trio, jobs and threads. Timers are counted beside them.

Installed when the first recording of a process begins, removed when the last one ends. Each hook passes straight
through where no recording is current. A library is patched where the program has imported it, or when it does; one that
is not made as we know it is left alone, and lanes are then not sure (`Hooks.unfit`).
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import logging
import queue
import sys
import threading
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from agent_tt.recording.concurrency.lane_checks import (
    check_anyio,
    check_asyncio,
    check_threads,
    check_trio_threads,
)
from agent_tt.recording.concurrency.lane_labels import label_of_task
from agent_tt.recording.concurrency.new_lanes import in_lane, new_lane, place_here, say_ended
from agent_tt.recording.concurrency.process_pools import executor_places
from agent_tt.recording.concurrency.tasks import TRIO_RUN, is_asyncio_future, runs_a_loop
from agent_tt.recording.concurrency.thread_pools import thread_pool_places
from agent_tt.recording.concurrency.trio_tasks import trio_places
from agent_tt.recording.concurrency.worker_threads import (
    ANYIO,
    PROCESS_POOLS,
    THREAD_POOLS,
    TRIO_THREADS,
    serves_jobs,
)
from agent_tt.recording.lanes.guard_bypass import carried, is_below_a_call
from agent_tt.recording.lanes.job_ends import job_returns, job_told
from agent_tt.recording.lanes.lanes import INHERITED, SHARES_WORK, THREAD_LANES
from agent_tt.recording.lanes.list_order import ListOrder
from agent_tt.recording.lanes.timers import count_fired
from agent_tt.recording.modules.import_watch import ImportWatch
from agent_tt.recording.modules.loaded_modules import looking_once
from agent_tt.recording.runs.child_process import preparing_places, starting_places, watch_forks
from agent_tt.recording.scope import CURRENT, here

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence
    from contextvars import Context
    from types import ModuleType

    from agent_tt.recording.lanes.lanes import Lane, Lanes
    from agent_tt.recording.modules.rebinding import Rebinding

    Function = Callable[..., object]

_LOG = logging.getLogger(__name__)

_TAKERS: Final[weakref.WeakKeyDictionary[object, Lane]] = weakref.WeakKeyDictionary()
"""By queue, the thread or job that was the first to take something from it."""


_MADE: Final[weakref.WeakSet[FunctionType]] = weakref.WeakSet()
"""The functions that patches put in place of others, as long as anything refers to them."""


class Patch:
    """One method of a class or object, or function of a module, replaced while recordings run.

    A patch that others have patched over cannot be undone; it is then still in place the next time, and not put twice.
    """

    def __init__(self, owner: object, name: str, make: Callable[..., Any]) -> None:
        self._owner: Any = owner
        self._name = name
        self._make = make
        self._replacement: Function | None = None
        self._original: Function | None = None
        self._was_inherited = False

    @property
    def place(self) -> tuple[int, str]:
        """Which class and method it replaces; the same for two patches of one place."""
        return id(self._owner), self._name

    def is_on(self, owner: type | ModuleType) -> bool:
        """Whether it replaces something of that class or module."""
        return self._owner is owner

    @property
    def is_applied(self) -> bool:
        """Whether our replacement is in place."""
        return self._replacement is not None

    def apply(self) -> None:
        """Replace the method; once."""
        if self._replacement is not None:
            return
        self._original = getattr(self._owner, self._name)
        self._was_inherited = self._name not in vars(self._owner)
        made = self._make(self._original)
        self._replacement = functools.wraps(self._original)(made) if callable(self._original) else made
        setattr(self._owner, self._name, self._replacement)
        if isinstance(self._replacement, FunctionType):
            _MADE.add(self._replacement)

    def undo(self) -> None:
        """Put the original back. Where somebody replaced ours meanwhile, it stays beneath theirs and passes through."""
        if self._replacement is None or self._original is None:
            return
        if vars(self._owner).get(self._name) is not self._replacement:
            _LOG.debug("%s of %r was patched by others; the hook stays beneath", self._name, self._owner)
            return
        if self._was_inherited:
            delattr(self._owner, self._name)
        else:
            setattr(self._owner, self._name, self._original)
        if getattr(self._owner, self._name) != self._original:  # not `is`: a bound method is made each time
            _LOG.error("%s of %r could not be restored", self._name, self._owner)
        self._replacement = self._original = None


def unpatched(value: Any) -> Any:
    """What a function was before patches of ours, and of others who say so, were put over it."""
    while (below := getattr(value, "__wrapped__", None)) is not None:
        value = below
    return value


def made_by_patches() -> list[FunctionType]:
    """Give the functions that patches put in place: a module that imported one keeps it when the patch is undone."""
    return list(_MADE)


def _hook_create_task(original: Function) -> Function:
    def create_task(loop: object, coro: object, **options: object) -> object:
        scope = here()
        if scope is None:
            return original(loop, coro, **options)
        lanes = scope.recording.lanes
        lane = new_lane(scope, label_of_task(coro))
        context = options.get("context")
        if isinstance(context, contextvars.Context):
            # A context of the caller's own: it need not know the recording yet. One that is running right now cannot
            # be entered again; it is the creator's, and the task is found by its identity.
            with contextlib.suppress(RuntimeError):
                context.run(place_here, scope, lane)
            task = original(loop, coro, **options)
        else:
            copied = contextvars.copy_context()
            copied.run(INHERITED.set, lane)
            task = copied.run(functools.partial(original, loop, coro, **options))
        if is_asyncio_future(type(task)):
            made = cast("asyncio.Task[object]", task)
            lanes.assign(made, lane)
            steps = scope.recording.model_steps
            if steps is not None:
                made.add_done_callback(lambda _: steps.lane_ended(lane.id))
        return task

    return create_task


def _hook_submit(original: Function) -> Function:
    def submit(executor: object, function: Function, /, *args: object, **kwargs: object) -> object:
        scope, function = here(), carried(function)
        if scope is None:
            return original(executor, function, *args, **kwargs)
        lane = new_lane(scope, "work")

        def work(*args: object, **kwargs: object) -> object:
            try:
                return in_lane(scope, lane, lambda: function(*args, **kwargs))
            finally:
                job_returns(scope.recording.journal.handover)

        return original(executor, work, *args, **kwargs)

    return submit


def _hook_start(original: Function) -> Function:
    def start(thread: threading.Thread) -> object:
        scope, own = here(), thread.run
        run = carried(own)
        if (scope is None and run is own) or serves_jobs(thread):
            return original(thread)
        lane = None if scope is None else new_lane(scope, "thread")

        def run_in_lane() -> None:
            del thread.run  # our attribute; a cycle otherwise
            if scope is None or lane is None:
                run()
                return
            THREAD_LANES.thread = lane
            lane.is_taken = True
            place_here(scope, lane)
            try:
                run()
            finally:
                scope.recording.journal.handover.goes_on()
                say_ended(scope, lane)

        thread.run = run_in_lane  # type: ignore[method-assign]
        try:
            return original(thread)
        except RuntimeError:  # it cannot be started (again); leave no trace in it
            vars(thread).pop("run", None)
            raise

    return start


def _hook_get(original: Function) -> Function:
    """In place of `get` of a queue: which of several threads takes an item is a race that no replay decides."""

    def get(queue: object, *args: object, **options: object) -> object:
        scope = here()
        if scope is not None and not runs_a_loop():
            with contextlib.suppress(TypeError):  # one of a class of its own, that cannot be a key
                _takes(queue, scope.recording.lanes)
        return original(queue, *args, **options)

    return get


def _takes(queue: object, lanes: Lanes) -> None:
    taker = lanes.current()
    with lanes.lock:
        first = _TAKERS.setdefault(queue, taker)
    if first is not taker and first.lanes is lanes:
        first.unsure = taker.unsure = SHARES_WORK


def _hook_call_at(original: Function) -> Function:
    """In place of `call_at` of an event loop: the same, with the agent's own timers counted when they fire."""

    def call_at(
        loop: asyncio.AbstractEventLoop,
        when: float,
        callback: Function,
        *args: object,
        context: Context | None = None,
    ) -> object:
        return original(loop, when, _counted(loop, callback, context), *args, context=context)

    return call_at


def _counted(loop: asyncio.AbstractEventLoop, callback: Function, context: Context | None) -> Function:
    scope = here() if context is None else context.get(CURRENT)
    if scope is None or is_below_a_call(context):
        return callback

    def fire(*args: object) -> object:
        result = callback(*args)
        # Behind whoever it woke: before they have run, nothing has come of it.
        loop.call_soon(count_fired, context=contextvars.Context())
        return result

    return fire


class Companion(Protocol):
    """Something else that is put in place while recordings run."""

    def acquire(self) -> None:
        """Put it in place, or count one more who needs it."""

    def release(self) -> None:
        """Take it away when nobody needs it any more."""


class Hooks:
    """All hooks of the process, counted by the recordings that need them.

    Attributes:
        unfit: libraries that are not made as we know them, with the reason: lanes of theirs cannot be told apart.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._users = 0
        self._companions: list[Companion] = [ListOrder()]
        self._patches = [
            Patch(ThreadPoolExecutor, "submit", _hook_submit),
            Patch(Future, "set_result", job_told),
            Patch(Future, "set_exception", job_told),
            Patch(threading.Thread, "start", _hook_start),
            Patch(queue.Queue, "get", _hook_get),
        ]
        self._of_libraries: list[Patch | Rebinding] = []
        self._imports = ImportWatch(self._hook_library)
        self.unfit: dict[str, str] = {}

    @property
    def is_idle(self) -> bool:
        """Whether nobody needs the hooks."""
        return self._users == 0

    def join(self, companion: Companion) -> None:
        """Let `companion` come and go with the hooks from now on."""
        with self._lock:
            self._companions.append(companion)
            if self._users:
                companion.acquire()

    def acquire(self) -> None:
        """Install the missing hooks: at once for libraries that are imported, else when the program imports them."""
        with self._lock, looking_once():
            for patch in self._patches:
                patch.apply()
            watch_forks()
            self._users += 1
            if self._users > 1:
                return
            self._try("threading", lambda: _version_of("threading"), check_threads)
            for name in _LIBRARIES:
                self._imports.watch(name)
                module = sys.modules.get(name)
                if module is not None and not _is_loading(module):
                    self._hook_library(name, module)
            for companion in self._companions:
                companion.acquire()

    def release(self) -> None:
        """Remove everything when nobody needs it any more."""
        with self._lock, looking_once():
            self._users -= 1
            if self._users == 0:
                self._imports.stop()
                for companion in reversed(self._companions):
                    companion.release()
                for patch in reversed([*self._patches, *self._of_libraries]):
                    patch.undo()

    def _hook_library(self, name: str, module: ModuleType) -> None:
        with self._lock:
            if self._users:
                self._try(name, lambda: _version_of(name), lambda: self._put(_LIBRARIES[name](module)))

    def _put(self, patches: Sequence[Patch | Rebinding]) -> None:
        """Apply patches, unless there are some of the same places."""
        for patch in patches:
            known = next((other for other in self._of_libraries if other.place == patch.place), None)
            if known is None:
                self._of_libraries.append(patch)
            (known or patch).apply()

    def _try(self, name: str, version: Callable[[], str], hook: Callable[[], object]) -> None:
        """Hook something, or say that it cannot be; never raises, because the program did nothing wrong."""
        try:
            hook()
        except Exception as error:  # noqa: BLE001  a version that we do not know
            library = name.partition(".")[0]
            if library not in self.unfit:
                self.unfit[library] = f"{library} {version()} is not as we know it: {error}"
                _LOG.warning("calls may be recorded in a wrong lane: %s", self.unfit[library])


def _is_loading(module: ModuleType) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def _version_of(module: str) -> str:
    if module.partition(".")[0] in sys.stdlib_module_names:
        return ".".join(map(str, sys.version_info[:3]))

    from importlib import metadata

    try:
        return metadata.version(module.partition(".")[0])
    except metadata.PackageNotFoundError:
        return "?"


def _asyncio_patches(module: ModuleType) -> list[Patch | Rebinding]:
    from agent_tt.recording.concurrency.task_order import TASKS_IN_LIST_ORDER

    check_asyncio(module)
    loop = module.BaseEventLoop
    return [Patch(loop, "create_task", _hook_create_task), Patch(loop, "call_at", _hook_call_at), TASKS_IN_LIST_ORDER]


def _uvloop_patches(module: ModuleType) -> list[Patch]:
    loop = getattr(module, "Loop", None)
    return [Patch(loop, "create_task", _hook_create_task)] if isinstance(loop, type) else []


def _checked(check: Callable[[ModuleType], None]) -> Callable[[ModuleType], list[Patch]]:
    """A library that is only looked at."""

    def patches(module: ModuleType) -> list[Patch]:
        check(module)
        return []

    return patches


_LIBRARIES: Final[dict[str, Callable[[ModuleType], Sequence[Patch | Rebinding]]]] = {
    "asyncio": _asyncio_patches,
    "uvloop": _uvloop_patches,
    ANYIO: _checked(check_anyio),
    PROCESS_POOLS: lambda module: [Patch(*place) for place in executor_places(module)],
    "multiprocessing.process": lambda module: [Patch(*place) for place in starting_places(module)],
    "multiprocessing.spawn": lambda module: [Patch(*place) for place in preparing_places(module)],
    THREAD_POOLS: lambda module: [Patch(*place) for place in thread_pool_places(module)],
    TRIO_RUN: lambda module: [Patch(*place) for place in trio_places(module)],
    TRIO_THREADS: _checked(check_trio_threads),
}
"""The modules that are looked at, and patched, when they are there."""

HOOKS = Hooks()
