"""What is shown of a call beside its arguments: where it was made, inside which other call, which model it asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.model.facts import CallFacts
from agent_tt.recording.calls.site import call_site
from agent_tt.recording.errors.cancellation import is_cleaning_up
from agent_tt.recording.lanes.hooks import HOOKS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.recording.calls.signature import CallSpec
    from agent_tt.recording.open_run import OpenCall, OpenRun

__all__ = ["facts_of", "unsure_here"]

# A recorded call says all this of itself: what its keys are is looked up once.
_MODEL: Final = CallFacts.model.key
_KEY: Final = CallFacts.idempotency_key.key
_ANSWERS: Final = CallFacts.answers.key
_UNSURE: Final = CallFacts.lane_unsure.key
_INTERRUPTED: Final = CallFacts.interrupted.key
_INSIDE: Final = CallFacts.inside.key
_OUTLIVES: Final = CallFacts.outlives.key


def unsure_here(recording: OpenRun) -> str:
    """Why the lane of this code may be another's in another run of the program; "" where it is sure."""
    return recording.lanes.current().unsure or next(iter(HOOKS.unfit.values()), "")


def facts_of(recording: OpenRun, spec: CallSpec, around: OpenCall | None, named: Mapping[str, Wire]) -> dict[str, Wire]:
    """The facts of a call that begins.

    Args:
        recording: what records it.
        spec: what is called.
        around: the call whose function makes it, or made what makes it.
        named: its arguments by name.
    """
    facts = call_site(recording.code.root) or dict(recording.lanes.current().site)
    if spec.kind == "llm":
        model = spec.model or recording.model
        if model is not None:
            facts[_MODEL] = model
    if spec.idempotency_key is not None:
        facts[_KEY] = named.get(spec.idempotency_key)
    if spec.answers is not None:
        facts[_ANSWERS] = spec.answers
    unsure = unsure_here(recording)
    if unsure:
        facts[_UNSURE] = unsure
    if is_cleaning_up():
        facts[_INTERRUPTED] = True
    if around is None and recording.inside is not None:
        facts[_INSIDE] = dict(recording.inside)
    elif around is not None:
        # Either way the function of that call made this one: a replay that gives its answer makes neither.
        facts[_OUTLIVES if around.is_over else _INSIDE] = around.place()
    return facts
