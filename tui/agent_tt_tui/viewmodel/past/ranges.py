"""A range of steps in a few words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agent_tt.errors import AgentTTError
from agent_tt.model.shown import cost
from agent_tt_tui import format as fmt

if TYPE_CHECKING:
    from agent_tt.querying.ranges import StepRange
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.viewmodel.debugger.runmodel import RunModel
    from agent_tt_tui.viewmodel.past.bases import Base

__all__ = ["as_base", "range_facts", "tokens_of"]


def as_base(model: RunModel, base: Base, number: int) -> Base:
    """What the steps from the marked one on are compared with, and what they took; read from the source.

    Args:
        model: The run, with its marked step.
        base: The base as it is chosen.
        number: The last step of the range.
    """
    from agent_tt.querying.ranges import read_range

    try:
        found = read_range(model.source, model.run, model.range_start or 1, number, values=False)
    except AgentTTError:  # the state that is shown says what is wrong with it
        return base
    return replace(base, step=found.base, steps=found)


def range_facts(found: StepRange, glyphs: Glyphs) -> list[str]:
    """How many steps, what failed, and what they took: `5 steps`, `1 error`, `45 ms`, `1,234 tok`, `$0.002`.

    What nobody told is `–`; where only a part was told, it is said to be the least.
    """
    usage, tokens = found.usage, tokens_of(found)
    took = glyphs.span if found.took_us is None else fmt.duration(found.took_us / 1_000_000)
    least = "at least " if found.uncounted else ""
    counted = f"{glyphs.span} tok" if tokens is None else f"{least}{fmt.tokens(tokens)}"
    least = "at least " if found.uncounted or usage.unpriced else ""
    priced = f"{glyphs.span} cost" if usage.cost_usd is None else f"{least}{cost(usage.cost_usd)}"
    return [
        fmt.counted(found.steps, "step"),
        *([fmt.counted(found.errors, "error")] if found.errors else []),
        *(took if found.took_us is not None else f"{took} took", counted, priced),
    ]


def tokens_of(found: StepRange) -> int | None:
    """Tokens that were read and written; None where nobody told any."""
    known = [count for count in (found.usage.tokens_in, found.usage.tokens_out) if count is not None]
    return sum(known) if known else None
