"""Lanes of trio's tasks, as `hooks` makes them for asyncio's; and trio's tasks in one order, each time.

trio reverses every second batch of ready tasks by the toss of a coin, so that nobody relies on their order. A replay
could not toss as the recording did, because it makes other passes; so while a recording runs, tasks are always run in
the order in which they became ready, which is one of the two that trio allows.
"""

from __future__ import annotations

import contextlib
import weakref
from typing import TYPE_CHECKING, Any, Final

from agent_tt.recording.concurrency.lane_labels import label_of_task
from agent_tt.recording.concurrency.new_lanes import new_lane, place_here
from agent_tt.recording.concurrency.trio_passes import OWN, count_expired, count_removed, count_rests
from agent_tt.recording.lanes.guard_bypass import is_below_a_call
from agent_tt.recording.lanes.lanes import INHERITED
from agent_tt.recording.modules.fitness import need_attributes, need_members, need_parameters
from agent_tt.recording.scope import here

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from agent_tt.recording.scope import Scope

    Places = list[tuple[Any, str, Callable[..., Any]]]

__all__ = ["trio_places"]

_IN_ORDER: Final = 0.0
"""In place of a coin: trio takes a batch from its end, and reverses it before where the coin says less than a half."""

_ENDED: Final[weakref.WeakKeyDictionary[object, Callable[[], None]]] = weakref.WeakKeyDictionary()


def trio_places(module: ModuleType) -> Places:
    """List what is replaced in trio's `_core._run`: owner, name, and what makes the replacement.

    Raises:
        AttributeError: this version is not made as we know it.
    """
    runner, deadlines = module.Runner, module.Deadlines
    need_parameters(runner.spawn_impl, "async_fn", "args", "nursery", "name")
    need_attributes(module.unrolled_run, "_r", "random", "reverse", "expire", "next_deadline")
    need_attributes(module.unrolled_run, "_ALLOW_DETERMINISTIC_SCHEDULING")
    need_attributes(module.unrolled_run, "GLOBAL_RUN_CONTEXT", "task")
    need_attributes(module.setup_runner, "GLOBAL_RUN_CONTEXT", "runner")
    need_members(module.Task, "coro", "context")
    need_members(runner, "task_exited")
    need_members(deadlines, "add", "remove", "expire", "next_deadline")
    # A replay moves its clock, and looks whether anything is ready (`agent_tt.replaying.clock.trio_loop`).
    need_members(module.SystemClock, "current_time")
    need_members(module.TheIOManager, "get_events", "force_wakeup")
    need_members(runner, "runq", "deadlines", "entry_queue", "io_manager")
    if not hasattr(module.TheIOManager, "_epoll") and not hasattr(module.TheIOManager, "_kqueue"):
        raise AttributeError("its sockets are watched by neither epoll nor kqueue")
    return [
        (runner, "spawn_impl", _hook_spawn),
        (runner, "task_exited", _hook_exit),
        (deadlines, "add", _hook_add),
        (deadlines, "remove", count_removed),
        (deadlines, "expire", count_expired),
        (deadlines, "next_deadline", count_rests),
        (module._r, "random", lambda _: _toss),  # noqa: SLF001  its own generator, of which nothing else is drawn
        # Else, as where Hypothesis is loaded, each batch is sorted by age and shuffled: its order would be lost.
        (module, "_ALLOW_DETERMINISTIC_SCHEDULING", lambda _: False),
    ]


def _toss() -> float:
    return _IN_ORDER


def _hook_spawn(original: Callable[..., Any]) -> Callable[..., Any]:
    def spawn_impl(
        runner: object, async_fn: object, args: object, nursery: object, name: object, **options: Any
    ) -> Any:
        task = original(runner, async_fn, args, nursery, name, **options)
        scope = here(task.context)
        if scope is not None:
            _begin(task, scope, is_first=nursery is None, is_handed_over=options.get("context") is not None)
        return task

    return spawn_impl


def _begin(task: Any, scope: Scope, *, is_first: bool, is_handed_over: bool) -> None:
    """Put a task that was just made into its lane.

    Args:
        task: the task; it has not run.
        scope: where its creator is.
        is_first: it is the one around all others of its run, which runs nothing of the agent's.
        is_handed_over: it was given a context, as another thread's does that calls back into trio.
    """
    lanes = scope.recording.lanes
    if is_first:
        lanes.assign(task, lanes.current())
        return
    inherited = task.context.get(INHERITED) if is_handed_over else None
    creator = inherited if inherited is not None and inherited.lanes is lanes else None
    lane = new_lane(scope, label_of_task(task.coro), creator=creator, context=task.context)
    with contextlib.suppress(RuntimeError):  # a context that is running right now is the creator's
        task.context.run(place_here, scope, lane)
    lanes.assign(task, lane)
    steps = scope.recording.model_steps
    if steps is not None:
        _ENDED[task] = lambda: steps.lane_ended(lane.id)


def _hook_add(original: Callable[..., None]) -> Callable[..., None]:
    """In place of `add`, by which a scope's deadline is set: remember whether that is the agent's own."""

    def add(deadlines: object, deadline: float, cancel_scope: object) -> None:
        if here() is not None and not is_below_a_call():
            OWN.add(cancel_scope)
        else:
            OWN.discard(cancel_scope)
        original(deadlines, deadline, cancel_scope)

    return add


def _hook_exit(original: Callable[..., object]) -> Callable[..., object]:
    def task_exited(runner: object, task: object, outcome: object) -> object:
        ended = _ENDED.pop(task, None)
        if ended is not None:
            ended()
        return original(runner, task, outcome)

    return task_exited
