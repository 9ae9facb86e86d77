"""What a compaction left in place of a conversation, as the place that an answer was taken from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.model.kinds import COMPACTION
from agent_tt.querying.places import text_path
from agent_tt.querying.provenance.links import Link
from agent_tt.querying.provenance.origins import leaves
from agent_tt.querying.provenance.searching import MOST_OTHERS

if TYPE_CHECKING:
    from agent_tt.model import Call
    from agent_tt.protocols import RunSource
    from agent_tt.querying.provenance.model_reading import Read
    from agent_tt.querying.provenance.searching import Search

__all__ = ["summary_link"]


def summary_link(source: RunSource, run_id: str, search: Search, read: Read, call: Call) -> tuple[Link, str] | None:
    """Give the link to the compaction that left what a model read, and why the way ends there; None where none did.

    The results before it that hold the same words are named: what the summary was made of is not recorded, so each of
    them may be where it came from.
    """
    for step in reversed(source.steps(run_id, 1, call.step)):
        if step.name != COMPACTION or step.damaged or step.is_unkept:
            continue
        place = next((path for path, leaf in leaves(source.state(run_id, step.number)) if leaf == read.value), None)
        if place is None:
            continue
        others = tuple(search.candidates(read.shared, step.number)[:MOST_OTHERS]) if read.shared else ()
        ends = "a summary says it; what that was made of is not recorded"
        if others:
            ends += ": the results that are named held the same before it"
        why = f"the summary that the compaction left says it, {read.why}"
        where = text_path(source, run_id, step.number, place)
        return Link("request", step.number, None, step.name, where, read.value, why, read.shared, others), ends
    return None
