"""Everything that the panes show about one step, read at one moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.values.states import Change
    from agent_tt.model import Call, Run, Step


class StepView(NamedTuple):
    """One step of a run with the state after it.

    Attributes:
        run: The run, as it was when the step was read.
        number: The step's number; 0 is the initial input.
        step: The step itself; None at 0.
        state: The state after the step. Values may be shared with other views: read it, never change it.
        base: The step whose state `changes` are against; None where there is none.
        changes: What differs between the states after `base` and after this step, in the order of the state.
        calls: The calls of the step, in order of starting.
        error: Why the state cannot be read, and what to do; None when it could be.
    """

    run: Run
    number: int
    step: Step | None
    state: Wire
    base: int | None
    changes: tuple[Change, ...]
    calls: tuple[Call, ...]
    error: str | None = None


def calls_differ(old: StepView, new: StepView) -> bool:
    """Whether the calls must be shown anew: of another step, or of one that went on."""
    facts = [(view.number, view.run.status, [(call.number, call.status) for call in view.calls]) for view in (old, new)]
    return facts[0] != facts[1]
