"""What a step did to the state, for steps of which nothing else is known: those that asked no tool and no model.

Two nodes of one name differ in what they wrote, not in what the state had become by then. So the writes are compared,
without the lengths and positions of lists at that moment: an edited message more does not make the appends of all later
steps differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.codec.paths import format_path
from agent_tt.comparing.steps.moves import lasting, value_key
from agent_tt.comparing.values.bookkeeping import is_bookkeeping, keeps_order
from agent_tt.history.changes.ops import op_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.history.changes.ops import Op
    from agent_tt.model import Step
    from agent_tt.protocols import RunSource

__all__ = ["different_places", "read_updates"]


def read_updates(source: RunSource, run_id: str, step: Step) -> dict[str, str]:
    """What a step wrote: a text for each place, equal where the same was written.

    A step without a checkpoint wrote nothing that is known.

    Raises:
        AgentTTError: the checkpoint cannot be read.
    """
    if step.seq is None:
        return {}
    written: dict[str, list[Wire]] = {}
    for op in source.changes(run_id, step.number):
        if is_bookkeeping(op_path(op)) or keeps_order(op):
            continue
        written.setdefault(format_path(op_path(op)), []).append(_written(op))
    return {place: value_key(what) for place, what in written.items()}


def different_places(a: Mapping[str, str], b: Mapping[str, str]) -> list[str]:
    """The places to which two steps wrote different things, or only one of them wrote."""
    return [place for place in dict.fromkeys([*a, *b]) if a.get(place) != b.get(place)]


def _written(op: Op) -> Wire:
    """An operation (they are listed in `history.changes.ops`) without where in a list or text it happened."""
    match op:
        case ["a", _, _, items]:
            return ["a", lasting(items)]
        case ["x", _, _, removed, items]:
            return ["x", removed, lasting(items)]
        case ["t", _, _, suffix]:
            return ["t", suffix]
        case [kind, _, *rest]:
            return [kind, lasting(rest)]
        case _:
            return list(op)
