"""A range of the steps of a run: what these alone took, cost, wrote and changed."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.comparing.steps.effects import effects_between
from agent_tt.errors import RunNotFound, UsageError
from agent_tt.model.usage import NO_USAGE, Usage
from agent_tt.querying.checkpoints import find_place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.comparing.steps.effects import Effects
    from agent_tt.comparing.values.state_diff import StateDiff
    from agent_tt.model import Call, Run
    from agent_tt.protocols import RunSource

__all__ = ["StepRange", "find_range", "range_base", "range_changes", "read_range", "why_no_changes"]

_DOTS = ".."


@dataclass(frozen=True, slots=True)
class StepRange:
    """Some steps in a row, and what they alone did.

    Attributes:
        first, last: the steps; both belong to it.
        base: the step whose state was the one before the range, in the history that the last step's state is of; None
            where there was none.
        steps: how many steps are there.
        errors: how many of them failed.
        usage: tokens and costs, as far as they are known.
        uncounted: of how many model calls nobody said what tokens they took.
        took_us: from the beginning of the earliest to the end of the latest, None where that is not known.
        effects: what went out, and what was held back.
    """

    first: int
    last: int
    base: int | None
    steps: int
    errors: int
    usage: Usage
    uncounted: int
    took_us: int | None
    effects: Effects


def find_range(source: RunSource, run: str, steps: str | None) -> tuple[Run, int, int] | None:
    """The run and the steps that `RUN A..B` or `RUN@A..B` names; None where no range is named.

    Either end may be left out, and is any name of a step: `3..`, `..@error`, `~4..~1`.

    Args:
        source: where the runs are.
        run: what was typed for the run.
        steps: what was typed for the steps; None where nothing was.

    Raises:
        UsageError: the first step comes after the last one, or the run is named with a step, too.
        RunNotFound, StepNotFound: there is no such run or step.
    """
    if steps is None:
        run, steps = _apart(source, run)
    if steps is None or _DOTS not in steps:
        return None
    found, number = find_place(source, run, None)
    if number is not None:
        raise UsageError(
            f"{run} names a step, and {steps} names a range", hint="Name the run and a range of its steps."
        )
    begin, _, end = steps.partition(_DOTS)
    last = source.step_number(found, end) if end else source.step_count(found.id)
    first = source.step_number(found, begin) if begin else min(1, last)
    if first > last:
        raise UsageError(
            f"step {first} comes after step {last}", hint=f"Name the earlier step first: {last}{_DOTS}{first}."
        )
    return found, first, last


def _apart(source: RunSource, text: str) -> tuple[str, str | None]:
    """Take `RUN@A..B` apart, where that is no run's whole name: either end may hold an `@` itself."""
    for at, sign in enumerate(text):
        if sign == "@" and _DOTS in text[at:]:
            with suppress(RunNotFound):
                source.run(text)
                return text, None
            with suppress(RunNotFound):
                source.run(text[:at])
                return text[:at], text[at + 1 :]
    return text, None


def range_base(source: RunSource, run_id: str, first: int, last: int) -> int | None:
    """The step whose state was the one before a range: in the history that the last step's state is of.

    Where no step of the range before the last is of that history, it is the one before the last.
    """
    if first < 1:
        return 0 if last else None
    ends = source.steps(run_id, last, last + 1)
    track = ends[0].track if ends else ""
    begins = next((step.number for step in source.steps(run_id, first, last + 1) if step.track == track), last)
    return source.base_step(run_id, begins)


def range_changes(source: RunSource, run: Run, found: StepRange) -> StateDiff | None:
    """What a range changed in the state; None where no state was before it, or that after it was not kept."""
    from agent_tt.comparing.values.state_diff import diff_states

    if found.base is None or why_no_changes(source, run, found):
        return None
    return diff_states(source.state(run.id, found.base), source.state(run.id, found.last))


def why_no_changes(source: RunSource, run: Run, found: StepRange) -> str:
    """Why nobody knows what a range changed; "" where that can be told."""
    ends = source.steps(run.id, found.last, found.last + 1) if found.last else ()
    if any(step.is_unkept for step in ends):
        return f"no checkpoint is kept of step {found.last}"
    return "no state was before them" if found.base is None else ""


def read_range(source: RunSource, run: Run, first: int, last: int, *, values: bool = True) -> StepRange:
    """Read what the steps first..last did; the input, step 0, did nothing.

    Args:
        source: where the run is.
        run: the run.
        first: the first step.
        last: the last one; it belongs to the range.
        values: whether the effects have arguments, results and errors.
    """
    steps = source.steps(run.id, max(first, 1), last + 1)
    usage = NO_USAGE
    for step in steps:
        usage += Usage(step.tokens_in, step.tokens_out, step.cost_usd, step.facts.unpriced)
    started = [step.started_us for step in steps if step.started_us is not None]
    ended = [step.ended_us for step in steps if step.ended_us is not None]
    is_known = bool(started) and len(started) == len(ended) == len(steps)
    return StepRange(
        first,
        last,
        range_base(source, run.id, first, last),
        len(steps),
        sum(step.status == "error" for step in steps),
        usage,
        _uncounted(source.call_heads(run.id, max(first, 1), last + 1)),
        max(ended) - min(started) if is_known else None,
        effects_between(source, run, max(first, 1), last + 1, values=values),
    )


def _uncounted(calls: Sequence[Call]) -> int:
    """Model calls that told no tokens; one that asks a model through another call is not asked for its own."""
    models = [call for call in calls if call.kind == "llm"]
    around = {call.facts.inside for call in models}
    return sum(
        call.facts.tokens_in is None and call.facts.tokens_out is None
        for call in models
        if (call.step, call.number) not in around
    )
