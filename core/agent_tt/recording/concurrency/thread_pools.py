"""Lanes of the jobs of `multiprocessing.pool.ThreadPool`: by job, as an executor's, whatever thread works on it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from agent_tt.recording.concurrency.new_lanes import in_lane, new_lane
from agent_tt.recording.lanes.guard_bypass import carried
from agent_tt.recording.modules.fitness import need_parameters
from agent_tt.recording.scope import here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from agent_tt.recording.lanes.lanes import Lane
    from agent_tt.recording.scope import Scope

    Function = Callable[..., Any]

__all__ = ["thread_pool_places"]


def thread_pool_places(module: ModuleType) -> list[tuple[Any, str, Function]]:
    """List what is replaced in `multiprocessing.pool`: owner, name, and what makes the replacement.

    Raises:
        AttributeError: this Python's is not made as we know it.
    """
    pool, thread_pool = module.Pool, module.ThreadPool
    need_parameters(pool.apply_async, "func")
    need_parameters(pool._guarded_task_generation, "result_job", "func", "iterable")  # noqa: SLF001
    return [
        (pool, "apply_async", functools.partial(_hook_apply, thread_pool)),
        (pool, "_guarded_task_generation", functools.partial(_hook_tasks, thread_pool)),
    ]


def _hook_apply(thread_pool: type, original: Function) -> Function:
    def apply_async(pool: object, func: Function, *args: object, **options: object) -> object:
        scope = here() if isinstance(pool, thread_pool) else None
        if scope is not None:
            func = _work(scope, new_lane(scope, "work"), carried(func))
        return original(pool, func, *args, **options)

    return apply_async


def _hook_tasks(thread_pool: type, original: Function) -> Function:
    """The jobs of `map` and its like: they are made when a thread of the pool wants them, in the order of the items.

    So they are counted below a lane of their own, whatever else their creator makes meanwhile.
    """

    def tasks(pool: object, result_job: int, func: Function, iterable: object) -> Any:
        scope = here() if isinstance(pool, thread_pool) else None
        made = original(pool, result_job, func, iterable)
        if scope is None:
            return made
        return _in_lanes(made, scope, new_lane(scope, "map"), carried(_call))

    return tasks


def _in_lanes(made: Iterator[Any], scope: Scope, around: Lane, call: Function) -> Iterator[Any]:
    for job, index, func, args, options in made:
        lane = around.child("work")
        lane.site = around.site
        yield job, index, _work(scope, lane, functools.partial(call, func)), args, options


def _call(function: Function, *args: object, **options: object) -> object:
    return function(*args, **options)


def _work(scope: Scope, lane: Lane, function: Function) -> Function:
    def work(*args: object, **options: object) -> object:
        try:
            return in_lane(scope, lane, lambda: function(*args, **options))
        finally:
            scope.recording.journal.handover.goes_on()

    return work
