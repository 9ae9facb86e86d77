"""The seams at which lanes are created: asyncio tasks, executor jobs and threads. Timers are counted beside them.

Installed when the first recording of a process begins, removed when the last one ends. Each hook passes straight
through where no recording is current.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import logging
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import thread as _executor_threads
from typing import TYPE_CHECKING, Final, Protocol, cast

from agent_tt.recording.adoption import process_policy
from agent_tt.recording.answers import answers_here
from agent_tt.recording.call_site import call_site
from agent_tt.recording.child_process import watch_forks
from agent_tt.recording.import_watch import ImportWatch
from agent_tt.recording.job_ends import job_returns, job_told
from agent_tt.recording.lanes import INHERITED, THREAD_LANES
from agent_tt.recording.list_order import ListOrder
from agent_tt.recording.passing import carried
from agent_tt.recording.scope import CURRENT, here
from agent_tt.recording.timers import count_timers

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from agent_tt.recording.lanes import Lane
    from agent_tt.recording.scope import Scope

    Function = Callable[..., object]

_LOG = logging.getLogger(__name__)
_UVLOOP: Final = "uvloop"
_WORKER: Final = getattr(_executor_threads, "_worker", None)


class Patch:
    """One method of a class, or function of a module, replaced while recordings run.

    A patch that others have patched over cannot be undone; it is then still in place the next time, and not put twice.
    """

    def __init__(self, owner: type | ModuleType, name: str, make: Callable[[Function], Function]) -> None:
        self._owner = owner
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
        self._replacement = functools.wraps(self._original)(self._make(self._original))
        setattr(self._owner, self._name, self._replacement)

    def undo(self) -> None:
        """Put the original back. Where somebody replaced ours meanwhile, it stays beneath theirs and passes through."""
        if self._replacement is None or self._original is None:
            return
        if vars(self._owner).get(self._name) is not self._replacement:
            _LOG.debug("%s.%s was patched by others; the hook stays beneath", self._owner.__name__, self._name)
            return
        if self._was_inherited:
            delattr(self._owner, self._name)
        else:
            setattr(self._owner, self._name, self._original)
        if getattr(self._owner, self._name) is not self._original:
            _LOG.error("%s.%s could not be restored", self._owner.__name__, self._name)
        self._replacement = self._original = None


def _hook_create_task(original: Function) -> Function:
    def create_task(loop: object, coro: object, **options: object) -> object:
        scope = here()
        if scope is None:
            return original(loop, coro, **options)
        lanes = scope.recording.lanes
        lane = _new_lane(scope, getattr(coro, "__qualname__", "task"))
        context = options.get("context")
        if isinstance(context, contextvars.Context):
            # A context of the caller's own: it need not know the recording yet. One that is running right now cannot
            # be entered again; it is the creator's, and the task is found by its identity.
            with contextlib.suppress(RuntimeError):
                context.run(_place, scope, lane)
            task = original(loop, coro, **options)
        else:
            copied = contextvars.copy_context()
            copied.run(INHERITED.set, lane)
            task = copied.run(functools.partial(original, loop, coro, **options))
        if isinstance(task, asyncio.Future):
            lanes.assign(cast("asyncio.Task[object]", task), lane)
            steps = scope.recording.model_steps
            if steps is not None:
                task.add_done_callback(lambda _: steps.lane_ended(lane.id))
        return task

    return create_task


def _new_lane(scope: Scope, label: str) -> Lane:
    """A lane that the code in `scope` creates.

    Lanes that a recorded call creates are counted apart from the agent's own: in a replay the call's answer is given,
    the function does not run, and the agent's own lanes must have the same numbers.
    """
    creator = scope.recording.lanes.current()
    lane = creator.child(label if scope.call is None else f"call>{label}")
    if answers_here() is not None or process_policy() is not None:
        lane.site = call_site(scope.recording.code.root) or creator.site
    return lane


def _place(scope: Scope, lane: Lane) -> None:
    CURRENT.set(scope)
    INHERITED.set(lane)


def _hook_submit(original: Function) -> Function:
    def submit(executor: object, function: Function, /, *args: object, **kwargs: object) -> object:
        scope, function = here(), carried(function)
        if scope is None:
            return original(executor, function, *args, **kwargs)
        lane = _new_lane(scope, "work")

        def work(*args: object, **kwargs: object) -> object:
            outer_lane, outer_scope = THREAD_LANES.job, CURRENT.get()
            THREAD_LANES.job = lane
            CURRENT.set(scope)
            try:
                return function(*args, **kwargs)
            finally:
                THREAD_LANES.job = outer_lane
                CURRENT.set(outer_scope)
                job_returns(scope.recording.journal.handover)
                _say_ended(scope, lane)

        return original(executor, work, *args, **kwargs)

    return submit


def _hook_start(original: Function) -> Function:
    def start(thread: threading.Thread) -> object:
        scope, own = here(), thread.run
        run = carried(own)
        if (scope is None and run is own) or _serves_jobs(thread):
            return original(thread)
        lane = None if scope is None else _new_lane(scope, "thread")

        def run_in_lane() -> None:
            del thread.run  # our attribute; a cycle otherwise
            if scope is None or lane is None:
                run()
                return
            THREAD_LANES.thread = lane
            CURRENT.set(scope)
            try:
                run()
            finally:
                scope.recording.journal.handover.goes_on()
                _say_ended(scope, lane)

        thread.run = run_in_lane  # type: ignore[method-assign]
        try:
            return original(thread)
        except RuntimeError:  # it cannot be started (again); leave no trace in it
            vars(thread).pop("run", None)
            raise

    return start


def _say_ended(scope: Scope, lane: Lane) -> None:
    """Tell a run that one of its jobs or threads is over."""
    steps = scope.recording.model_steps
    if steps is not None:
        steps.lane_ended(lane.id)


def _serves_jobs(thread: threading.Thread) -> bool:
    """Whether a thread is a pool's own: what it works on has lanes of its own, and it outlives its creator."""
    if type(thread).__module__ == "anyio._backends._asyncio":
        return True
    return _WORKER is not None and getattr(thread, "_target", None) is _WORKER


class Companion(Protocol):
    """Something else that is put in place while recordings run."""

    def acquire(self) -> None:
        """Put it in place, or count one more who needs it."""
        ...

    def release(self) -> None:
        """Take it away when nobody needs it any more."""
        ...


class Hooks:
    """All hooks of the process, counted by the recordings that need them."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._users = 0
        self._companions: list[Companion] = [ListOrder()]
        self._patches = [
            Patch(asyncio.BaseEventLoop, "create_task", _hook_create_task),
            Patch(asyncio.BaseEventLoop, "call_at", count_timers),
            Patch(ThreadPoolExecutor, "submit", _hook_submit),
            Patch(Future, "set_result", job_told),
            Patch(Future, "set_exception", job_told),
            Patch(threading.Thread, "start", _hook_start),
        ]
        self._imports = ImportWatch(self._hook_uvloop)

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
        """Install what is not installed yet. uvloop is hooked where the program has imported it, or when it does."""
        with self._lock:
            for patch in self._patches:
                patch.apply()
            watch_forks()
            self._users += 1
            if self._users > 1:
                return
            self._imports.watch(_UVLOOP)
            uvloop = sys.modules.get(_UVLOOP)
            if uvloop is not None:
                self._hook_uvloop(_UVLOOP, uvloop)
            for companion in self._companions:
                companion.acquire()

    def release(self) -> None:
        """Remove everything when nobody needs it any more."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._imports.stop()
                for companion in reversed(self._companions):
                    companion.release()
                for patch in reversed(self._patches):
                    patch.undo()

    def _hook_uvloop(self, _: str, module: ModuleType) -> None:
        loop = getattr(module, "Loop", None)
        with self._lock:
            if not self._users or not isinstance(loop, type):
                return
            patch = Patch(loop, "create_task", _hook_create_task)
            known = next((other for other in self._patches if other.place == patch.place), None)
            if known is None:
                self._patches.append(patch)
            (known or patch).apply()


HOOKS = Hooks()
