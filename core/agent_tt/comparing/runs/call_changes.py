"""What differs between the calls of two steps: what was asked, what came back, and calls that only one of them made."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_tt.comparing.runs.divergence_reason import differences
from agent_tt.comparing.steps.call_pairs import calls_told, pair_calls, same_calls_reordered
from agent_tt.comparing.steps.moves import asked_by, lasting
from agent_tt.comparing.values.states import Change
from agent_tt.model import ACTING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.model import Call

__all__ = ["call_changes"]


def call_changes(a: Sequence[Call], b: Sequence[Call]) -> list[Change]:
    """What differs between the calls of two steps, at paths such as `search result.total`, `search asked.query`.

    Calls of one kind are set beside each other, equal ones first (`agent_tt.comparing.steps.call_pairs`). Where all are
    equal and only their order is known to be another one, that is the change, at `order`. Of models and their requests
    what differs each time that the same is said (ids and the like) is not a difference, as in the comparison of whole
    runs.

    Args:
        a: the calls of the one step, with what they carried.
        b: those of the other.
    """
    found: list[Change] = []
    for acting in (True, False):
        ours, theirs = ([call for call in calls if _counts(call, acting=acting)] for calls in (a, b))
        seen: Counter[str] = Counter()
        for one, other in pair_calls(ours, theirs):
            name = _name(one, other)
            seen[name] += 1
            found += _between(one, other, name if seen[name] == 1 else f"{name} #{seen[name]}")
    if not found and same_calls_reordered(a, b):
        found.append(Change("change", "order", calls_told(a), calls_told(b)))
    return found


def _counts(call: Call, *, acting: bool) -> bool:
    return call.kind in ACTING if acting else call.kind == "llm"


def _name(one: Call | None, other: Call | None) -> str:
    names = [call.name for call in (one, other) if call is not None]
    return " / ".join(dict.fromkeys(names))


def _between(one: Call | None, other: Call | None, name: str) -> list[Change]:
    if one is None or other is None:
        if other is not None:
            return [Change("add", name, new=other.args)]
        return [] if one is None else [Change("remove", name, old=one.args)]
    found: list[Change] = []
    if one.name != other.name:
        found.append(Change("change", f"{name} name", one.name, other.name))
    is_model = one.kind == "llm"
    found += _at(f"{name} asked", differences(asked_by(one), asked_by(other)))
    results = (lasting(one.result), lasting(other.result)) if is_model else (one.result, other.result)
    found += _at(f"{name} result", differences(*results))
    ends = [call.status if call.error is None else call.error.short for call in (one, other)]
    if ends[0] != ends[1]:
        found.append(Change("change", f"{name} ended", ends[0], ends[1]))
    return found


def _at(where: str, changes: Sequence[Change]) -> list[Change]:
    """Changes within a part of a call, at paths that begin with its name."""
    return [
        replace(each, path=_within(where, each.path), old_path=each.old_path and _within(where, each.old_path))
        for each in changes
    ]


def _within(where: str, path: str) -> str:
    return f"{where}{'' if not path or path.startswith('[') else '.'}{path}"
