"""Lanes: the logical threads of control of a run, named by where they were created.

A lane's id is a path of creation: `main`, then `/label.ordinal` for each task of asyncio or trio, executor job or
thread, with the ordinal counted per parent and label in the order of *creation*. So the ids of two equal runs are
equal, however their threads raced. Counting per label keeps tasks that the garbage collector starts from shifting their
siblings, and what the network stack creates below a request is labelled apart (`call>label`).
"""

from __future__ import annotations

import itertools
import threading
import weakref
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from agent_tt.recording.concurrency.tasks import current_task, runs_a_loop

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.recording.concurrency.tasks import Task

MAIN: Final = "main"


class Lane:
    """One logical thread of control of one run.

    Attributes:
        id: its path of creation.
        lanes: the lanes of its run.
        base: the nearest lane at or above it that was named with `lane(...)`, else main.
        is_taken: whether a task already runs in it.
        unsure: why another run of the program may give its id to another thread of control; "" where it is sure.
        site: `file` and `line` of the agent's that created it, where a replay may have to name them.
    """

    __slots__ = ("__weakref__", "_ordinals", "_sequence", "base", "id", "is_taken", "lanes", "site", "unsure")

    def __init__(self, lanes: Lanes, id: str, base: Lane | None = None) -> None:  # noqa: A002  it is the lane's id
        self.lanes = lanes
        self.id = id
        self.base = base or self
        self.is_taken = False
        self.unsure = ""
        self.site: Mapping[str, Wire] = {}
        self._ordinals: dict[str, int] = {}
        self._sequence = itertools.count(1)

    def child(self, label: str) -> Lane:
        """A new lane, created here."""
        with self.lanes.lock:
            ordinal = self._ordinals.get(label, 0)
            self._ordinals[label] = ordinal + 1
        return Lane(self.lanes, f"{self.id}/{label}.{ordinal}", self.base)

    def next_sequence(self) -> int:
        """The number of the next call in this lane, from 1."""
        return next(self._sequence)


UNSEEN: Final = "its task was created where that could not be seen"
SHARES_WORK: Final = "its thread takes from a queue what another may take"


class _ThreadLanes(threading.local):
    """Lanes that belong to an operating-system thread: of the job that it works on, and of the thread itself."""

    job: Lane | None = None
    thread: Lane | None = None


THREAD_LANES = _ThreadLanes()
INHERITED: ContextVar[Lane | None] = ContextVar("agent_tt_lane", default=None)
"""The lane of a new task, put into its context; others that copy the context (anyio's workers) find it there."""

NAMED: ContextVar[tuple[Lane, Lane] | None] = ContextVar("agent_tt_named_lane", default=None)
"""A lane named with `lane(...)`, and the lane that it was named in: children copy the context but are not in it."""


class Lanes:
    """All lanes of one run.

    Attributes:
        main: the lane in which the recording of this process began.
        lock: guards what the lanes count.
    """

    def __init__(self, main: str = MAIN) -> None:
        self.lock = threading.RLock()  # reentrant: the garbage collector may run an agent's generators while it is held
        self.main = Lane(self, main)
        self._tasks: weakref.WeakKeyDictionary[Task, Lane] = weakref.WeakKeyDictionary()
        self._named: dict[str, Lane] = {}

    def begin_here(self) -> None:
        """Say that the code that asks runs in main."""
        task = current_task()
        if task is not None:
            self.assign(task, self.main)

    def go_on_forked(self, main: Lane) -> None:
        """In a process that was forked: whoever has no lane is in `main` now. Other threads are gone with locks."""
        self.lock = threading.RLock()
        self.main = main

    def current(self) -> Lane:
        """The lane of the code that asks."""
        created = self._created()
        named = NAMED.get()
        return named[0] if named is not None and named[1] is created else created

    def assign(self, task: Task, lane: Lane) -> None:
        """Say that `task` runs in `lane`, unless it is known to run in another."""
        with self.lock:
            self._tasks.setdefault(task, lane)
            lane.is_taken = True

    def named(self, key: str) -> tuple[Lane, Lane]:
        """The lane called `key`, and the one that it is named in. The same key below the same base is the same lane."""
        created, current = self._created(), self.current()
        id_ = f"{current.base.id}/@{key}"
        with self.lock:
            lane = self._named.get(id_)
            if lane is None:
                lane = self._named[id_] = Lane(self, id_)
        return lane, created

    def _created(self) -> Lane:
        task = current_task()
        if task is not None:
            return self._of_task(task)
        # A job before the context: libraries submit `copy_context().run`, and then all workers share one context. But a
        # callback of an event loop has the context of who asked for it, often another thread than the loop's.
        lanes = (THREAD_LANES.job, THREAD_LANES.thread, INHERITED.get())
        for lane in reversed(lanes) if runs_a_loop() else lanes:  # outside any task, as is known here
            if lane is not None and lane.lanes is self:
                return lane
        return self.main

    def _of_task(self, task: Task) -> Lane:
        with self.lock:
            known = self._tasks.get(task)
        if known is not None:
            return known
        inherited = INHERITED.get()
        if inherited is None or inherited.lanes is not self:
            inherited = self.main
        # An eager task asks before `create_task` has returned: the lane in its context is still free. Any other task
        # was created where no hook saw it, and is numbered by its first call.
        if not inherited.is_taken and inherited is not self.main:
            lane = inherited
        else:
            lane = inherited.child("task?")
            lane.unsure = UNSEEN
        self.assign(task, lane)
        return lane
