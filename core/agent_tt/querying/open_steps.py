"""Which steps were open on a state while another one ended: what it then held may be theirs as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from agent_tt.model import Step
    from agent_tt.protocols import RunSource

__all__ = ["open_steps"]

_MOST_BESIDE: Final = 2_000
"""Steps before and after a step among which those are looked for that were open beside it."""


def open_steps(source: RunSource, run_id: str, number: int) -> list[Step]:
    """The steps of other lanes that were open on the same state between the checkpoint before a step's and its own.

    Steps around it or in it are of its own lane or began in it, and are not among them unless they are of another lane.

    Args:
        source: where the run is.
        run_id: the run.
        number: the step whose checkpoint is asked about; 0 is the input, which nobody wrote.

    Returns:
        Them, in order; none where the source does not say when steps began and ended.
    """
    if number < 1:
        return []
    beside = source.steps(run_id, max(1, number - _MOST_BESIDE), number + _MOST_BESIDE)
    own = next((step for step in beside if step.number == number), None)
    if own is None or own.started_us is None or own.ended_us is None or own.seq is None:
        return []
    base = source.base_step(run_id, number)
    before = next((step for step in beside if step.number == base), None)
    since = own.started_us if before is None or before.ended_us is None else before.ended_us
    return [
        step
        for step in beside
        if step.number != number
        and step.lane != own.lane
        and step.track == own.track
        and step.started_us is not None
        and step.started_us < own.ended_us
        and (step.ended_us is None or step.ended_us > since)
    ]
