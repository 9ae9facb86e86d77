"""What stands for the input of an agent that names none: the conversation that it first sends to a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.providers.reading import recorded_call

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.protocols import RunSource

__all__ = ["state_to_edit"]

_STEPS_LOOKED_AT: Final = 20


def state_to_edit(source: RunSource, run_id: str, step: int) -> Wire:
    """The state after a step, as edits of an agent that runs from its beginning see it.

    A program that was recorded as a whole has no input; what it first asks a model takes its place, so that its first
    messages can be edited as its later ones can.
    """
    state = source.state(run_id, step)
    if step or state is not None:
        return state
    for taken in source.steps(run_id, 1, _STEPS_LOOKED_AT + 1):
        for call in source.calls(run_id, taken.number) if taken.calls else ():
            asked = recorded_call(call.args) if call.kind == "llm" else None
            if asked is not None and asked.conversation:
                return dict(asked.conversation)
    return None
