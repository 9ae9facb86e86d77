"""What a session comes to: its steps, its cost, how full its context was. For that it is read, within bounds."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentTTError

if TYPE_CHECKING:
    from agent_tt.found.sessions import Found

__all__ = ["MOST_BYTES", "Measures", "measure"]

MOST_BYTES: Final = 4 << 20
"""A larger file is not read to be listed: it takes up to a second."""


@dataclass(frozen=True, slots=True)
class Measures:
    """What a session comes to.

    Attributes:
        steps: how many it has.
        errors: how many of these failed, or have a call that failed.
        cost_usd: what it cost as far as that is known; None where nothing is.
        context: the tokens that each answer of its main conversation read, in order.
        model: the model that was asked last, where that is known.
    """

    steps: int
    errors: int
    cost_usd: float | None
    context: tuple[int, ...]
    model: str | None


def measure(found: Found) -> Measures | None:
    """Read a session; None of one that is too large for that, or does not open."""
    from agent_tt.sources import open_source

    if found.size is not None and found.size > MOST_BYTES:
        return None
    try:
        with closing(open_source(found.path, read_only=True)) as source:
            run = source.run(found.run) if found.run is not None else None
            run = run or next((each for each in reversed(source.runs()) if each.parent is None), None)
            if run is None:
                return None
            steps = source.steps(run.id)
    except (AgentTTError, OSError):
        return None
    main = steps[0].lane if steps else "main"
    context = tuple(step.tokens_in for step in steps if step.tokens_in is not None and step.lane == main)
    errors = sum(step.status == "error" for step in steps)
    return Measures(run.steps, errors, run.cost_usd, context, run.model.model if run.model else None)
