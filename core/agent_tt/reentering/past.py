"""What a re-entered agent is given again: the calls of the steps that its fork kept, with the edits of a call.

The answer of a call that was edited stands in its place, and the step that it belongs to is taken anew. What followed
from it (what its lane asked later, and what lanes asked that were created from it since) is not given again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from agent_tt.forking.editing.call_edits import CALLS, edited_call
from agent_tt.model import ACTING, STOPPED_BY_LIMIT
from agent_tt.model.facts import CallFacts, PolicyFacts
from agent_tt.replaying.tape.full_history import calls_until, course_of
from agent_tt.replaying.tape.repeats import place_of
from agent_tt.resuming.past import read_past

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, Delivery, Edit, Run
    from agent_tt.protocols import RunSource
    from agent_tt.resuming.past import Past

__all__ = ["read_prefix", "served_in_edited_step"]

_STOPS: Final = STOPPED_BY_LIMIT | {"builtins:KeyboardInterrupt"}


def read_prefix(source: RunSource, run: Run) -> Past:
    """Read what a fork's agent is given again.

    Args:
        source: where the fork and its parents lie.
        run: the fork.

    Raises:
        UsageError: an edit of a call does not fit any more.
    """
    past = read_past(source, run)
    calls = [(call, pieces) for call, pieces in past.calls if not _is_unanswered(call)]
    edits = [edit for edit in run.edits if edit.target in CALLS]
    templates = _templates(source, run, edits, {(call.lane, call.lane_seq) for call, _ in calls})
    last_seq = dict(past.last_seq)
    for call, _ in templates:  # what is asked for real in their lanes comes after them
        last_seq[call.lane] = max(last_seq.get(call.lane, 0), call.lane_seq)
    return replace(
        past,
        calls=[*calls, *templates],
        open=frozenset(),
        covered=frozenset(),
        last_seq=last_seq,
        copies=frozenset(place_of(call) for call, _ in templates),
        closed=_closed_steps(source, run),
    )


def _closed_steps(source: RunSource, run: Run) -> frozenset[int]:
    """The steps of a fork's parents that were over before the first step was taken that it did not keep.

    One in which the agent was stopped is not: what it was about to do there comes now.
    """
    closed: set[int] = set()
    for part in course_of(source, run)[:-1]:
        last = part.last or 0
        later = source.steps(part.run.id, last + 1, last + 2)
        ends = later[0].started_us if later else None
        closed.update(
            step.number
            for step in source.steps(part.run.id, part.first, last + 1)
            if step.status != "interrupted" and step.ended_us is not None and (ends is None or step.ended_us <= ends)
        )
    return frozenset(closed)


def _templates(
    source: RunSource, run: Run, edits: Sequence[Edit], known: set[tuple[str, int]]
) -> list[tuple[Call, Sequence[Delivery]]]:
    """The calls of the edited step that are answered from the parent's row of it, edited or not."""
    if not edits or run.parent is None:
        return []
    parent, step = source.run(run.parent), (run.fork_step or 0) + 1
    asked = [
        (call, pieces)
        for call, pieces in calls_until(source, parent, step, first=step)
        if not _is_unanswered(call) and (call.lane, call.lane_seq) not in known
    ]
    changed = {place: [edit for edit in edits if (edit.step, edit.call) == place] for place in map(_place, edits)}
    first = [call for call, _ in asked if place_of(call) in changed]
    templates: list[tuple[Call, Sequence[Delivery]]] = []
    for call, pieces in asked:
        if place_of(call) in changed:
            made, its = edited_call(call, pieces, changed[place_of(call)])
            templates.append((_given(made, PolicyFacts.word.entry("stub") | PolicyFacts.source.entry("you")), its))
        elif not any(_follows(call, edited) for edited in first):
            taken = {"run": parent.id, "step": call.step, "call": call.number}
            said = PolicyFacts.word.entry("recorded") | {PolicyFacts.taken_from.key: cast("Wire", taken)}
            templates.append((_given(call, said), pieces))
    return templates


def _given(call: Call, said: dict[str, Wire]) -> Call:
    """A call with who answered it, as the fork does not make it."""
    if call.kind not in ACTING | {"llm"}:  # a draw is no doing
        return call
    return replace(call, meta={**call.meta, CallFacts.policy.key: said})


def served_in_edited_step(source: RunSource, run: Run) -> frozenset[tuple[str, int]]:
    """Lanes and numbers of the calls of the step with edited calls that a fork answers from its parent's rows."""
    edits = [edit for edit in run.edits if edit.target in CALLS]
    return frozenset((call.lane, call.lane_seq) for call, _ in _templates(source, run, edits, set()))


def _is_unanswered(call: Call) -> bool:
    """Whether the parent broke off, or was stopped, inside a call: then it is made for real."""
    return call.status == "pending" or (call.error is not None and call.error.class_name in _STOPS)


def _place(edit: Edit) -> tuple[int | None, int | None]:
    return edit.step, edit.call


def _follows(call: Call, edited: Call) -> bool:
    """Whether a call may follow from the answer of another one."""
    if call.lane == edited.lane:
        return call.lane_seq > edited.lane_seq
    is_below = call.lane.startswith(f"{edited.lane}/")
    return is_below and (call.started_us or 0) >= (edited.started_us or 0)
