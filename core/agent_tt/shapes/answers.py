"""What `show`, `find` and a finished fork say, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.shapes.effects import effects_shape, unrecorded_tools
from agent_tt.shapes.records import (
    asked_shape,
    held_runs,
    hit_shape,
    input_shape,
    labels_shape,
    notes_shape,
    run_shape,
    step_shape,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.runs.without_effect import WithoutEffect
    from agent_tt.model import Call, Run, Step
    from agent_tt.protocols import RunSource
    from agent_tt.querying.expecting import Hoped
    from agent_tt.querying.search.hits import Hits
    from agent_tt.shapes.records import Shape

__all__ = [
    "calls_of",
    "effects_answer",
    "find_answer",
    "fork_answer",
    "oddities_answer",
    "run_answer",
    "step_answer",
    "where_answer",
]


def calls_of(source: RunSource, run: Run, step: Step) -> list[Call]:
    """The calls of a step; nothing is read where it has none."""
    return source.calls(run.id, step.number) if step.calls else []


def run_answer(source: RunSource, run: Run) -> Shape:
    """`{run, steps, notes, labels, unrecorded}`, and `expect` of a fork of which something was hoped."""
    from agent_tt.comparing.steps.asked_tools import read_asked_tools
    from agent_tt.querying.expecting import hoped_of

    hoped = hoped_of(source, run)
    return {
        "run": run_shape(run) | {"held": run.id in held_runs(source, [run])},
        "steps": [step_shape(step, calls_of(source, run, step)) for step in source.steps(run.id)],
        "notes": notes_shape(source.notes(run.id)),
        "labels": labels_shape(source.labels(run.id)),
        "unrecorded": [asked_shape(each) for each in read_asked_tools(source, run).times],
        **({} if hoped is None else {"expect": hoped.to_json()}),
    }


def step_answer(source: RunSource, run: Run, number: int, *, pending: bool = False) -> Shape:
    """A step with its calls, `state` and `unrecorded`; of 0, the input.

    Args:
        source: where the run is.
        run: the run.
        number: the step.
        pending: whether the state has what was written after the step and no checkpoint has taken in.
    """
    from agent_tt.comparing.steps.asked_tools import read_asked_tools

    step = next(iter(source.steps(run.id, number, number + 1)), None) if number else None
    shape = input_shape(run.started_us) if step is None else step_shape(step, calls_of(source, run, step))
    asked = read_asked_tools(source, run).by_step().get(number, ())
    return {
        **shape,
        "state": source.pending_state(run.id, number) if pending else source.state(run.id, number),
        "unrecorded": [asked_shape(each) for each in asked],
    }


def oddities_answer(source: RunSource, run: Run) -> Shape:
    """`{oddities: [{kind, what, steps}]}`, and `unread` where not all could be looked at."""
    from agent_tt.querying.oddities import find_oddities
    from agent_tt.querying.unread import unread_in

    odd, unread = find_oddities(source, run), unread_in(source, run)
    return {"oddities": [each.to_json() for each in odd], **({"unread": [*unread]} if unread else {})}


def effects_answer(source: RunSource, run: Run) -> Shape:
    """`{run, effects, held_back, reads, models, summary, unrecorded}`: what a run did to the world."""
    from agent_tt.forking.outside.ledger import effects_of

    return {"run": run_shape(run), **effects_shape(effects_of(source, run), unrecorded_tools(source, run))}


def find_answer(found: Hits, unread: Sequence[str] = ()) -> Shape:
    """`{hits, total, complete}`, and how far a search came that did not look at all.

    Args:
        found: what was found.
        unread: what could not be looked at, in words.
    """
    return {
        "hits": [hit_shape(hit) for hit in found.hits],
        "total": found.total,
        "complete": found.is_complete and found.searched >= 1,
        **({"searched": round(found.searched, 3)} if found.searched < 1 else {}),
        **({"newest": found.newest, "of": found.of} if found.newest is not None else {}),
        **({"seconds": round(found.seconds, 1)} if found.seconds is not None else {}),
        **({"unread": [*unread]} if unread else {}),
    }


def where_answer(source: RunSource, run: Run, expression: str) -> Shape:
    """`{steps, spans}`: where an expression holds; where nowhere, also `unread` of what could not be looked at.

    Raises:
        InvalidExpression: it cannot be read, or would take too long.
    """
    from agent_tt.querying.unread import unread_in
    from agent_tt.querying.watches.step_search import Watch

    spans = list(Watch(source, run.id, expression).spans())
    unread = () if spans else unread_in(source, run)
    return {
        "steps": [step for span in spans for step in range(span.first, span.last + 1)],
        "spans": [[span.first, span.last] for span in spans],
        **({"unread": [*unread]} if unread else {}),
    }


def fork_answer(source: RunSource, run: Run, unmade: Sequence[WithoutEffect], hoped: Hoped | None) -> Shape:
    """A fork that has ended: as in `runs`, with what it did and was kept from, and what came of its edits.

    Args:
        source: where it is.
        run: the fork.
        unmade: its edits that nothing came of.
        hoped: what was hoped of it; None for nothing.
    """
    effects = effects_answer(source, run)
    notes: list[Wire] = [note.body for note in source.notes(run.id) if note.kind == "note"]
    return {
        **run_shape(run),
        **{name: effects[name] for name in ("effects", "held_back", "unrecorded")},
        "notes": notes,
        "edits_without_effect": [each.to_json() for each in unmade],
        "expect": None if hoped is None else hoped.to_json(),
    }
