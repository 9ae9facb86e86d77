"""What `show`, `find` and a finished fork say, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.errors import Interrupted
from agent_tt.shapes.effects import effects_shape, unrecorded_tools
from agent_tt.shapes.records import (
    asked_shape,
    hit_shape,
    input_shape,
    labels_shape,
    notes_shape,
    run_shape,
    run_shapes,
    step_shape,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.runs.without_effect import WithoutEffect
    from agent_tt.comparing.values.state_diff import StateDiff
    from agent_tt.context.causes import Causes
    from agent_tt.model import Call, Run, Step
    from agent_tt.protocols import RunSource
    from agent_tt.querying.expecting import Hoped
    from agent_tt.querying.ranges import StepRange
    from agent_tt.querying.search.hits import Hits
    from agent_tt.shapes.records import Shape

__all__ = [
    "calls_of",
    "effects_answer",
    "find_answer",
    "fork_answer",
    "links_answer",
    "oddities_answer",
    "range_answer",
    "run_answer",
    "step_answer",
    "steps_answer",
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
        "run": run_shapes(source, [run])[0],
        "steps": [step_shape(step, calls_of(source, run, step)) for step in source.steps(run.id)],
        "notes": notes_shape(source.notes(run.id)),
        "labels": labels_shape(source.labels(run.id)),
        "unrecorded": [asked_shape(each) for each in read_asked_tools(source, run).times],
        **({} if hoped is None else {"expect": hoped.to_json()}),
    }


def step_answer(
    source: RunSource, run: Run, number: int, *, pending: bool = False, causes: Causes | None = None
) -> Shape:
    """Describe a step: its calls, `state`, `unrecorded` and `links`; step 0 is the input of the run.

    Args:
        source: where the run is.
        run: the run.
        number: the step.
        pending: whether the state has what was written after the step and no checkpoint has taken in.
        causes: what fed each step of the run; None where that was not looked for.
    """
    from agent_tt.comparing.steps.asked_tools import read_asked_tools
    from agent_tt.shapes.contexts import causes_shape

    step = next(iter(source.steps(run.id, number, number + 1)), None) if number else None
    shape = input_shape(run.started_us) if step is None else step_shape(step, calls_of(source, run, step))
    asked = read_asked_tools(source, run).by_step().get(number, ())
    return {
        **shape,
        "state": source.pending_state(run.id, number) if pending else source.state(run.id, number),
        "unrecorded": [asked_shape(each) for each in asked],
        "links": None if causes is None else causes_shape(causes, number),
    }


def links_answer(source: RunSource, run: Run, number: int, cancelled: Callable[[], bool] = lambda: False) -> Shape:
    """`{run, step, from, to}`: which steps fed a step, and which it fed, as `links` of a step has it.

    Args:
        source: where the run is.
        run: the run.
        number: the step.
        cancelled: whether nobody waits any more.

    Raises:
        Interrupted: nobody waits any more: of a part of a run nothing is said.
    """
    from agent_tt.context.causes import Causes
    from agent_tt.context.reading import read_contexts
    from agent_tt.shapes.contexts import causes_shape

    contexts = read_contexts(source, run.id, cancelled=cancelled)
    if cancelled():
        raise Interrupted("the run was not read to its end: it took too long")
    return {"run": run.id, "step": number, **causes_shape(Causes(contexts), number)}


def steps_answer(source: RunSource, run: Run, first: int, last: int) -> Shape:
    """Describe the steps first..last alone, as `range_answer` does."""
    from agent_tt.querying.ranges import range_changes, read_range

    found = read_range(source, run, first, last)
    return range_answer(run, found, range_changes(source, run, found))


def range_answer(run: Run, found: StepRange, changes: StateDiff | None) -> Shape:
    """`{run, first, last, base, steps, errors, tokens_in, …, effects, held_back, reads, models, summary, changes}`."""
    effects = effects_shape(found.effects)
    del effects["unrecorded"]  # what a conversation shows of them is of no one step
    return {
        "run": run.id,
        "first": found.first,
        "last": found.last,
        "base": found.base,
        "steps": found.steps,
        "errors": found.errors,
        "tokens_in": found.usage.tokens_in,
        "tokens_out": found.usage.tokens_out,
        "uncounted": found.uncounted,
        "cost_usd": found.usage.cost_usd,
        "unpriced_calls": found.usage.unpriced,
        "took_ms": None if found.took_us is None else found.took_us / 1_000,
        **effects,
        "changes": None if changes is None else [change.to_json() for change in changes],
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
