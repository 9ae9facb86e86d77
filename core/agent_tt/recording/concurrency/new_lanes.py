"""Making the lane of a task, job or thread that is about to begin; for the hooks that see them created."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from agent_tt.recording.calls.site import call_site
from agent_tt.recording.lanes.guard_bypass import is_below_a_call
from agent_tt.recording.lanes.lanes import INHERITED, THREAD_LANES
from agent_tt.recording.scope import CURRENT
from agent_tt.recording.session import SESSION

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context

    from agent_tt.recording.lanes.lanes import Lane
    from agent_tt.recording.scope import Scope

T = TypeVar("T")

__all__ = ["in_lane", "new_lane", "place_here", "say_ended"]


def new_lane(scope: Scope, label: str, *, creator: Lane | None = None, context: Context | None = None) -> Lane:
    """A lane that the code in `scope` creates.

    Lanes that a recorded call creates, or the network stack below one, are counted apart from the agent's own: in a
    replay the call's answer is given, none of that runs, and the agent's own lanes must have the same numbers.

    Args:
        scope: where the creator is.
        label: what the lane is counted under, beside its creator's others.
        creator: the lane that creates it, where that is not the one of the code that asks.
        context: where `scope` is current; None for the context of the code that asks.
    """
    creator = creator or scope.recording.lanes.current()
    lane = creator.child(f"call>{label}" if is_below_a_call(context) else label)
    if SESSION.chain.watches:
        lane.site = call_site(scope.recording.code.root) or creator.site
    return lane


def place_here(scope: Scope, lane: Lane) -> None:
    """Let the code of this context be in `scope` and `lane`."""
    CURRENT.set(scope)
    INHERITED.set(lane)


def in_lane(scope: Scope, lane: Lane, job: Callable[[], T]) -> T:
    """Let a worker thread do a job in `scope` and `lane`, and then be where it was."""
    outer_lane, outer_scope, outer_inherited = THREAD_LANES.job, CURRENT.get(), INHERITED.get()
    THREAD_LANES.job = lane
    lane.is_taken = True
    place_here(scope, lane)  # the context too: an event loop that the job hands a coroutine to finds the lane in there
    try:
        return job()
    finally:
        THREAD_LANES.job = outer_lane
        INHERITED.set(outer_inherited)
        CURRENT.set(outer_scope)
        say_ended(scope, lane)


def say_ended(scope: Scope, lane: Lane) -> None:
    """Tell a run that one of its jobs or threads is over."""
    steps = scope.recording.model_steps
    if steps is not None:
        steps.lane_ended(lane.id)
