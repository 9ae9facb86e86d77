"""What every format says of a run before its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.model.shown import cost, counted, duration, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.model import Run, Step

__all__ = ["run_facts", "usage"]


def run_facts(run: Run) -> Iterator[tuple[str, str]]:
    """Yield what is known of a run, each with its name; what is not known is left out."""
    if run.agent:
        yield "agent", run.agent
    if run.model is not None and run.model.model:
        yield "model", run.model.model
    if run.parent is not None:
        edits = f", with {counted(len(run.edits), 'edit')}" if run.edits else ""
        yield "forked", f"at step {run.fork_step}{edits}"
    took = () if run.ended_us is None else (duration((run.ended_us - run.started_us) / 1e6),)
    yield "took", " · ".join((counted(run.steps, "step"), *took, *usage(run)))
    for word in (run.incomplete, run.damaged):
        if word:
            yield "incomplete", word


def usage(what: Run | Step) -> Iterator[str]:
    """Yield tokens and cost of a run or a step, where they are known."""
    known = [count for count in (what.tokens_in, what.tokens_out) if count is not None]
    if known:
        yield tokens(sum(known))
    if what.cost_usd is not None:
        yield cost(what.cost_usd, what.unpriced)
