"""Where an answer may be from that its request does not show: a summary's sources, and results of no message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.codec.paths import format_path
from agent_tt.model.kinds import COMPACTION
from agent_tt.querying.places import text_path
from agent_tt.querying.provenance.links import Link, Source
from agent_tt.querying.provenance.model_reading import places_read
from agent_tt.querying.provenance.origins import leaves
from agent_tt.querying.provenance.searching import MOST_OTHERS, MOST_STEPS_BACK

if TYPE_CHECKING:
    from agent_tt.model import Call
    from agent_tt.protocols import RunSource
    from agent_tt.querying.provenance.model_reading import Read
    from agent_tt.querying.provenance.searching import Search

__all__ = ["results_link", "summary_link"]


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


def results_link(search: Search, call: Call, text: str) -> tuple[Link, str] | None:
    """Give the results before a model's answer that have what it says, where its request shows none of them; and why.

    Traces often say less of a request than the model was shown.
    """
    before = [
        each
        for number in range(call.step, max(0, call.step - MOST_STEPS_BACK), -1)
        for each in reversed(search.of_step(number))
        if each.kind == "tool" and each.status == "ok" and (each.step, each.number) < (call.step, call.number)
    ]
    reads = places_read([each.result for each in before], text)
    if not reads:
        return None
    found = [(before[int(read.path[0])], format_path(read.path[1:]), read) for read in reads]
    others = tuple(Source(each.step, each.number, each.name, path) for each, path, _ in found)[:MOST_OTHERS]
    shared = ", ".join(dict.fromkeys(read.shared for *_, read in found[:MOST_OTHERS]))
    why = f"its request, as it is recorded, shows none of it; these results before it have {shared}"
    ends = "that they came before it does not say that it was shown them"
    return Link("candidates", call.step, call.number, call.name, "", text, why, others=others), ends
