"""Lanes of the jobs of `multiprocessing.pool`: by job, as an executor's, whatever thread or process works on it."""

from __future__ import annotations

import functools
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from agent_tt.recording.concurrency.new_lanes import in_lane, new_lane
from agent_tt.recording.concurrency.process_pools import pool_job
from agent_tt.recording.lanes.guard_bypass import carried
from agent_tt.recording.modules.fitness import need_parameters
from agent_tt.recording.scope import here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from agent_tt.recording.lanes.lanes import Lane
    from agent_tt.recording.open_run import OpenRun
    from agent_tt.recording.scope import Scope

    Function = Callable[..., Any]
    Given: TypeAlias = tuple[OpenRun, dict[int, str]]

__all__ = ["thread_pool_places"]

_GIVEN: Final[weakref.WeakKeyDictionary[Any, Given]] = weakref.WeakKeyDictionary()
"""By what waits for jobs of processes: the run, and their lanes by the numbers that the pool gives them."""


def thread_pool_places(module: ModuleType) -> list[tuple[Any, str, Function]]:
    """List what is replaced in `multiprocessing.pool`: owner, name, and what makes the replacement.

    Raises:
        AttributeError: this Python's is not made as we know it.
    """
    pool, thread_pool = module.Pool, module.ThreadPool
    need_parameters(pool.apply_async, "func")
    need_parameters(pool._guarded_task_generation, "result_job", "func", "iterable")  # noqa: SLF001
    waiting = (module.ApplyResult, module.MapResult, module.IMapIterator, module.IMapUnorderedIterator)
    for each in waiting:
        need_parameters(each._set, "i")  # noqa: SLF001
    return [
        *((each, "_set", _hook_set) for each in waiting),
        (pool, "apply_async", functools.partial(_hook_apply, thread_pool)),
        (pool, "_guarded_task_generation", functools.partial(_hook_tasks, thread_pool)),
    ]


def _hook_apply(thread_pool: type, original: Function) -> Function:
    def apply_async(pool: object, func: Function, *args: object, **options: object) -> object:
        scope = here()
        if scope is None:
            return original(pool, func, *args, **options)
        lane = new_lane(scope, "work")
        if isinstance(pool, thread_pool):
            return original(pool, _work(scope, lane, carried(func)), *args, **options)
        result = original(pool, pool_job(scope, func, lane), *args, **options)
        _GIVEN[result] = scope.recording, {0: lane.id}
        return result

    return apply_async


def _hook_set(original: Function) -> Function:
    """Where a pool of processes tells what became of a job."""

    def tell(result: object, i: int, outcome: object) -> object:
        given = _GIVEN.get(result)
        if given is not None and i in given[1]:
            given[0].jobs_came.setdefault(given[1].pop(i))
        return original(result, i, outcome)

    return tell


def _hook_tasks(thread_pool: type, original: Function) -> Function:
    """The jobs of `map` and its like: they are made when the pool wants them, in the order of the items.

    So they are counted below a lane of their own, whatever else their creator makes meanwhile.
    """

    def tasks(pool: Any, result_job: int, func: Function, iterable: object) -> Any:
        scope = here()
        made = original(pool, result_job, func, iterable)
        if scope is None:
            return made
        around = new_lane(scope, "map")
        if isinstance(pool, thread_pool):
            call = carried(_call)
            return _in_lanes(made, around, lambda func, lane: _work(scope, lane, functools.partial(call, func)))
        given = pool_job(scope, _call, around)  # the step is that of this code, not of the thread that asks for jobs
        lanes: dict[int, str] = {}
        _GIVEN[pool._cache[result_job]] = scope.recording, lanes  # noqa: SLF001
        return _in_lanes(made, around, lambda func, lane: replace(given, function=func, lane=lane.id), lanes)

    return tasks


def _in_lanes(
    made: Iterator[Any], around: Lane, work: Callable[[Function, Lane], Function], lanes: dict[int, str] | None = None
) -> Iterator[Any]:
    for job, index, func, args, options in made:
        lane = around.child("work")
        lane.site = around.site
        if lanes is not None:
            lanes[index] = lane.id
        yield job, index, work(func, lane), args, options


def _call(function: Function, *args: object, **options: object) -> object:
    return function(*args, **options)


def _work(scope: Scope, lane: Lane, function: Function) -> Function:
    def work(*args: object, **options: object) -> object:
        try:
            return in_lane(scope, lane, lambda: function(*args, **options))
        finally:
            scope.recording.journal.handover.goes_on()

    return work
