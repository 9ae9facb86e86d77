"""What is shown of a call beside its arguments: where it was made, inside which other call, which model it asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.recording.call_site import call_site
from agent_tt.recording.call_spec import KEY
from agent_tt.recording.hooks import HOOKS
from agent_tt.recording.interruption import INTERRUPTED, is_cleaning_up
from agent_tt.recording.lanes import UNSURE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.recording.call_spec import CallSpec
    from agent_tt.recording.calls import RecordedCall
    from agent_tt.recording.recorder import Recording

__all__ = ["facts_of", "unsure_here"]


def unsure_here(recording: Recording) -> str:
    """Why the lane of this code may be another's in another run of the program; "" where it is sure."""
    return recording.lanes.current().unsure or next(iter(HOOKS.unfit.values()), "")


def facts_of(
    recording: Recording, spec: CallSpec, around: RecordedCall | None, named: Mapping[str, Wire]
) -> dict[str, Wire]:
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
            facts["model"] = model
    if spec.idempotency_key is not None:
        facts[KEY] = named.get(spec.idempotency_key)
    unsure = unsure_here(recording)
    if unsure:
        facts[UNSURE] = unsure
    if is_cleaning_up():
        facts[INTERRUPTED] = True
    if around is None and recording.inside is not None:
        facts["inside"] = dict(recording.inside)
    elif around is not None:
        # Either way the function of that call made this one: a replay that gives its answer makes neither.
        facts["outlives" if around.is_over else "inside"] = around.place()
    return facts
