"""Lanes of the jobs that worker processes of a pool do: by job, whichever worker takes it.

Where a job is given to a pool its lane is made, as an executor's is that works in threads; the name of the lane goes to
the worker with the job. `ProcessPoolExecutor.submit` and `map` are seen here, `multiprocessing.Pool` in `thread_pools`.

What becomes of jobs is told by a pipe: in which order, after answers that came close together, is a race. So jobs are
counted where that is told, and a replay lets them return in that order.
"""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING, Any, Final

from agent_tt._dataclass import dataclass
from agent_tt.recording.concurrency.new_lanes import in_lane, new_lane
from agent_tt.recording.lanes.lanes import Lane
from agent_tt.recording.modules.fitness import need_parameters
from agent_tt.recording.scope import CURRENT, Scope, here, innermost_step
from agent_tt.recording.session import SESSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from agent_tt.codec.wire import Wire
    from agent_tt.recording.open_run import OpenRun, OpenStep

    Function = Callable[..., Any]

__all__ = ["PoolJob", "executor_places", "jobs_that_came", "pool_job"]

_RUNS: Final[weakref.WeakValueDictionary[str, OpenRun]] = weakref.WeakValueDictionary()
"""Those that have given jobs to worker processes, by their ids."""


@dataclass(frozen=True)
class PoolJob:
    """A function that a worker process is to call, with what says where the call belongs; pickled with its arguments.

    Attributes:
        function: what the agent submitted.
        lane: id of the job's lane.
        step: number of the step in which it was submitted; None for none.
        inside: step and number of the recorded call that submitted it; None where the agent itself did.
        process: id of the process that submitted it.
    """

    function: Function
    lane: str
    step: int | None
    inside: Mapping[str, Wire] | None
    process: int

    def __call__(self, *args: object, **options: object) -> object:
        """Call it in its lane, in whichever process; outside of any recording it is simply called."""
        around = here()
        if around is None or self.process == os.getpid():
            return self.function(*args, **options)
        recording, lane = around.recording, Lane(around.recording.lanes, self.lane)
        scope = Scope(recording, _open_here(around, recording, self.step), None, CURRENT.get())
        before, recording.inside = recording.inside, self.inside
        recording.end_forked()  # which job its worker did before is a race: none follows from another
        if recording.model_steps is not None:
            recording.model_steps.begin_anew(self.lane)
        try:
            return in_lane(scope, lane, lambda: self.function(*args, **options))
        finally:
            recording.end_forked()
            recording.inside = before
            for returns in SESSION.chain.job_returns:
                returns(recording.id, self.lane)


def jobs_that_came(run: str) -> Mapping[str, None]:
    """The lanes of a run's jobs of process pools of which the outcome is known, in the order in which it came back."""
    recording = _RUNS.get(run)
    return {} if recording is None else recording.jobs_came


def pool_job(scope: Scope, function: Function, lane: Lane) -> PoolJob:
    """What to give to a pool of processes in place of `function`."""
    _RUNS[scope.recording.id] = scope.recording
    step = innermost_step(scope.recording)
    number = step.number if step is not None and step.is_open else None
    return PoolJob(function, lane.id, number, None if scope.call is None else scope.call.place(), os.getpid())


def executor_places(module: ModuleType) -> list[tuple[Any, str, Function]]:
    """List what is replaced in `concurrent.futures.process`: owner, name, and what makes the replacement.

    Raises:
        AttributeError: this Python's is not made as we know it.
    """
    executor = module.ProcessPoolExecutor
    need_parameters(executor.submit, "fn")
    return [(executor, "submit", _hook_submit)]


def _hook_submit(original: Function) -> Function:
    def submit(executor: object, fn: Function, /, *args: object, **options: object) -> object:
        scope = here()
        if scope is None:
            return original(executor, fn, *args, **options)
        lane = new_lane(scope, "work")
        future: Any = original(executor, pool_job(scope, fn, lane), *args, **options)
        future.add_done_callback(lambda _: scope.recording.jobs_came.setdefault(lane.id))
        return future

    return submit


def _open_here(scope: Scope | None, recording: OpenRun, number: int | None) -> OpenStep | None:
    """The step of that number, where this process was forked inside it; None where only its parent knows it."""
    while scope is not None and number is not None:
        if scope.recording is recording and scope.step is not None and scope.step.number == number:
            return scope.step
        scope = scope.outer
    return None
