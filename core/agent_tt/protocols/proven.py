"""Checks before recorded data is used: what is damaged is shown, but never served, forked or compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.errors import Damaged

if TYPE_CHECKING:
    from agent_tt.model import Call, Delivery, Run, Step
    from agent_tt.protocols.reading import RunSource

_HINT: Final = "`agent-tt verify` shows what else is damaged."


def check_proven(source: RunSource, run: Run, last: int | None = None) -> None:
    """Refuse to use a run of which something is not as it was recorded, or is missing.

    Args:
        source: where it lies. Files of other systems prove nothing, and are taken as they are.
        run: the run.
        last: the last step that is used; None for all of them.

    Raises:
        Damaged: names the run, and step and call where they are known.
    """
    check_run(run)
    problem = source.damage(run.id, last)
    if problem is not None:
        raise Damaged(f"{run.name} ({run.id}) cannot be used: {problem.what}", hint=_HINT)


def check_run(run: Run) -> None:
    """Refuse to use a run that is only shown in the place of a damaged one.

    Raises:
        Damaged: names it.
    """
    if run.damaged is not None:
        raise Damaged(run.damaged, hint=_HINT)


def check_count(run: Run, step: Step, found: int) -> None:
    """Refuse to use the calls of a step of which some are missing.

    Raises:
        Damaged: names the run and the step.
    """
    if step.status != "running" and found < step.calls:
        what = f"{step.calls - found} of the {step.calls} calls of step {step.number} are missing"
        raise Damaged(f"{run.name} ({run.id}) cannot be used: {what}", hint=_HINT)


def check_shown(run: Run, *shown: Step | Call | Delivery) -> None:
    """Refuse to use steps, calls and pieces of answers that are damaged, or of which a part cannot be read.

    Raises:
        Damaged: names the run, and step and call.
    """
    for each in shown:
        if each.damaged is not None:
            raise Damaged(f"{run.name} ({run.id}) cannot be used: {each.damaged}", hint=_HINT)
