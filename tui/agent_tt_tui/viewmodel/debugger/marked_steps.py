"""Remarks about unusual steps: the model was not asked, or no checkpoint was taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.model import STOPPED_BY_LIMIT
from agent_tt_tui.text import clean

if TYPE_CHECKING:
    from agent_tt.model import Run, Step

__all__ = ["MADE_UP_WORDS", "has_own_state", "name_of", "remarks", "why_stopped"]

MADE_UP_WORDS: Final = "made up"
_MOST_CHANNELS: Final = 4


def name_of(step: Step) -> str:
    """The name of a step, with a word where no model gave what it works with."""
    return f"mock: {step.name}" if step.facts.made_up else step.name


def has_own_state(step: Step) -> bool:
    """Whether the state that is shown with a step is its own, and not that of an earlier one."""
    return not step.is_unkept


def remarks(step: Step) -> list[str]:
    """What is odd about a step, in words."""
    found = [] if step.damaged is None else [step.damaged]
    if step.facts.made_up:
        found.append("answers made up, no model was asked")
    if not has_own_state(step):
        found.append(clean(step.why_unkept))
    if step.facts.rebuilt:
        channels = clean(", ".join(map(str, step.facts.rebuilt[:_MOST_CHANNELS])))
        found.append(f"{channels}: not in this checkpoint, put together from what was written")
    if step.facts.not_held:
        channels = clean(", ".join(map(str, step.facts.not_held[:_MOST_CHANNELS])))
        found.append(f"{channels}: not in this checkpoint, but put together where pending writes are applied")
    if step.facts.attempt:
        found.append(
            "overcome: it ran again, and went on" if step.status == "error" else "it was answered, and went on"
        )
    if step.facts.recorded_in:
        found.append(f"its agent was recorded meanwhile: calls may be in run {clean(step.facts.recorded_in)}")
    return found


def why_stopped(run: Run) -> str:
    """Which limit ended a run, or how its process died; "" for neither, or where nobody said."""
    error = run.error
    told = error is not None and (
        (run.status == "interrupted" and error.class_name in STOPPED_BY_LIMIT) or run.status == "crashed"
    )
    return error.message.partition("\n")[0] if told and error is not None else ""
