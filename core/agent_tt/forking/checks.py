"""Where a fork may start, and which values it can carry over.

A restore hands one state to the agent and goes on from there. That is sound only where nothing else was under way: a
state taken while another step was open on it holds half of that step's work, which the fork would not do again.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agent_tt.addresses import Address
from agent_tt.codec.decode import check_envelopes
from agent_tt.codec.paths import format_path
from agent_tt.codec.wire import Path, Wire, envelope_type
from agent_tt.errors import Damaged, NotRebuildable, ReadOnlySource, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.model import Run, Step
    from agent_tt.protocols import RunSource

__all__ = ["MAIN_TRACK", "check_ended", "check_origin", "check_step", "check_values", "envelopes", "last_kept"]

MAIN_TRACK = "main"
"""The state history of the run's own state object, the one that an entry point takes."""

_STEPS_TRIED = 50
_LOST = frozenset({"opaque", "damaged", "made"})


def check_origin(source: RunSource, run: Run) -> None:
    """Refuse runs in files that the fork cannot be written to, however `source` was opened.

    Raises:
        ReadOnlySource: the run is another system's, or the file is write-protected.
    """
    if run.read_only:
        raise ReadOnlySource(
            f"{run.name} lies in {source.path}, which holds no program that could run",
            hint="let a model go on with its conversation: --continue-with openai:MODEL",
        )
    if not isinstance(source.path, Address) and not os.access(source.path, os.W_OK):
        raise ReadOnlySource(
            f"{run.name} lies in {source.path}, which is only read, so it cannot be forked there",
            hint="fork runs that agent-tt recorded itself, in a store that you can write",
        )


def check_step(source: RunSource, run: Run, steps: Sequence[Step], number: int) -> Step | None:
    """Refuse steps whose checkpoint is not a whole state of the run.

    Args:
        source: where the run is.
        run: the run.
        steps: all its steps, in order.
        number: the step to fork after, 0 for the input.

    Returns:
        The step, None for checkpoint 0.

    Raises:
        StepNotFound: the run has no such step.
        UsageError: the step is still running, other steps were open on its state, it is part of a step, or its state is
            not the run's own.
        Damaged: its checkpoint holds something damaged.
    """
    source.step_number(run, str(number))
    chosen = steps[number - 1] if number else None
    if chosen is not None:
        why = _refusal(chosen, steps)
        if why is not None:
            raise UsageError(
                f"{run.name} cannot be forked after step {number} {chosen.name}: {why}", hint=_nearest(chosen, steps)
            )
    if number in source.damaged_steps(run.id):
        raise Damaged(
            f"the state after step {number} of {run.name} holds something damaged, so no agent can start from it",
            hint=f"`agent-tt verify {run.id}` says what; fork an earlier step",
        )
    return chosen


def check_ended(source: RunSource, run: Run, steps: Sequence[Step], number: int) -> Step | None:
    """Refuse steps that an agent cannot be re-entered after: only those that are not over.

    Others may have been open beside it: each lane is given what it had asked by then.

    Raises:
        StepNotFound: the run has no such step.
        UsageError: it, or one before it, has not ended yet.
    """
    source.step_number(run, str(number))
    for step in steps[:number] if run.status == "running" else ():
        if step.status == "running":
            raise UsageError(
                f"{run.name} cannot be forked after step {number}: step {step.number} {step.name} has not ended yet",
                hint=f"wait for it, or fork after step {step.number - 1}",
            )
    return steps[number - 1] if number else None


def _refusal(step: Step, steps: Sequence[Step]) -> str | None:
    if step.status == "running":
        return "it has not ended yet"
    if step.is_unkept:
        if step.facts.state_error is not None:
            return f"its state could not be read: {step.facts.state_error}"
        return "no checkpoint was taken of it" if step.facts.state_dropped is None else "its checkpoint was dropped"
    if step.track != MAIN_TRACK:
        return f"its state is that of {step.agent or step.track} alone, not the run's"
    if step.parent is not None:
        return f"it is part of step {step.parent}, which was not over then"
    contained = _contained(step, steps)
    for other in _begun_during(step, steps):
        if other.number in contained:
            if _ended_after(other, step):
                return f"step {other.number} {other.name} inside it was not over then"
        elif other.track == step.track:
            return f"step {other.number} {other.name} was open on the same state"
        elif other.number < max(contained, default=0):
            return f"step {other.number} {other.name} began between the steps inside it"
    last = steps[max(contained, default=step.number) - 1]
    if last.track != step.track:  # the fork goes on from the checkpoint of the last step that it keeps
        return f"step {last.number} {last.name} inside it has a state of its own"
    for other in steps[: step.number - 1]:
        if other.track == step.track and _ended_after(other, step):
            return f"step {other.number} {other.name} was open on the same state"
    return None


def last_kept(step: Step, steps: Sequence[Step]) -> int:
    """Number of the last step that a fork after `step` keeps: its own, or that of the last step inside it.

    A step that contains others began before them, and its state is that after all of them.
    """
    return max(_contained(step, steps), default=step.number)


def _contained(step: Step, steps: Sequence[Step]) -> set[int]:
    """Numbers of the steps inside `step`, at any depth."""
    inside: set[int] = set()
    for other in _begun_during(step, steps):
        if other.parent == step.number or other.parent in inside:
            inside.add(other.number)
    return inside


def _nearest(step: Step, steps: Sequence[Step]) -> str:
    """The nearest step before it that stands alone; checkpoint 0 always does."""
    for candidate in reversed(steps[max(0, step.number - _STEPS_TRIED) : step.number - 1]):
        if _refusal(candidate, steps) is None:
            return f"fork after step {candidate.number} {candidate.name}"
    return "fork after step 0, the input"


def _begun_during(step: Step, steps: Sequence[Step]) -> Iterator[Step]:
    """The steps that began after `step` did and before it ended; steps are numbered in the order of beginning."""
    for other in steps[step.number :]:
        began_later = other.started_us is not None and step.ended_us is not None and other.started_us >= step.ended_us
        if began_later and other.parent != step.number:
            return
        yield other


def _ended_after(other: Step, step: Step) -> bool:
    if other.seq is not None and step.seq is not None:
        return other.seq > step.seq  # checkpoints are numbered in the order of ending
    return other.ended_us is None or (step.ended_us is not None and other.ended_us > step.ended_us)


def check_values(state: Wire) -> None:
    """Refuse a state with values that no process can rebuild.

    Raises:
        NotRebuildable: an opaque, damaged or unknown value, or one whose class lies inside a function; names its path.
    """
    for path, envelope in envelopes(state):
        kind = envelope_type(envelope) or "unknown"
        class_name = envelope.get("class")
        name = class_name if isinstance(class_name, str) else kind
        if kind in _LOST:
            why = "is damaged" if kind == "damaged" else f"was recorded as a {name}, which cannot be rebuilt"
        elif "<locals>" in name:
            why = f"is a {name}, whose class lies inside a function where it cannot be found"
        else:
            continue
        where = format_path(path) or "the state"
        raise NotRebuildable(
            f"{where} {why}, so no agent can start from this state",
            path=where,
            class_name=name,
            hint=f"edit {where} to a plain value, fork another step, or fork --by replay",
        )
    check_envelopes(state)


def envelopes(state: Wire) -> Iterator[tuple[Path, dict[str, Wire]]]:
    """Every typed value in a state, with its wire path, outer ones first."""
    waiting: list[tuple[Path, Wire]] = [((), state)]
    while waiting:
        path, node = waiting.pop()
        if isinstance(node, dict):
            if envelope_type(node) is not None:
                yield path, node
            waiting.extend(
                ((*path, key), value) for key, value in reversed(node.items()) if isinstance(value, dict | list)
            )
        elif isinstance(node, list):
            waiting.extend(
                ((*path, index), node[index])
                for index in reversed(range(len(node)))
                if isinstance(node[index], dict | list)
            )
