"""What a step's state is compared with: the bases that `d` goes through, and itself before its pending writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from agent_tt._dataclass import dataclass
from agent_tt_tui.text import clean

if TYPE_CHECKING:
    from agent_tt.querying.ranges import StepRange
    from agent_tt_tui.viewmodel.debugger.overview import Overview
    from agent_tt_tui.viewmodel.debugger.runmodel import RunModel
    from agent_tt_tui.viewmodel.past.other_state import OtherState

BaseKind = Literal["previous", "mark", "parent", "lane", "other", "pending", "range"]


@dataclass(frozen=True, slots=True)
class Base:
    """A state to compare with.

    Attributes:
        kind: Which one it is.
        step: The step after which it was; None leaves it to the source, which takes the one before on the same track.
        label: How the diff pane calls it.
        short: The same where there is little room.
        other: A state that a person named, which may be one of another run.
        steps: Of a range of steps, what these alone did; None where that cannot be read.
    """

    kind: BaseKind
    step: int | None
    label: str
    short: str
    other: OtherState | None = None
    steps: StepRange | None = None


def bases(model: RunModel, number: int, other: OtherState | None = None) -> list[Base]:
    """The bases there are for a step, the usual one first.

    Args:
        model: The run; only what is at hand of it is looked at.
        number: The step.
        other: The state that a person named, if one did.
    """
    if len(model.overview.lanes) > 1:
        # Beside other lanes the step before is rarely what led to this one.
        found = [Base("lane", None, "previous in lane", "lane")]
        if number > 0:
            found.append(Base("previous", number - 1, "previous", "prev"))
    else:
        found = [Base("previous", None, "previous", "prev")]
    marked = model.bookmarks.before(number)
    if marked is not None:
        letter = model.bookmarks.letters[marked]
        found.append(Base("mark", marked, f"since mark {letter}", f"mark {letter}"))
    step = model.peek(number)
    if step is not None and step.parent is not None:
        found.append(Base("parent", max(0, step.parent - 1), f"since {step.parent} began", "parent"))
    if model.range_start is not None and model.range_start <= number:
        found.append(Base("range", None, f"from {model.range_start} on", "range"))
    if other is not None:
        found.append(Base("other", other.step, f"{other.name}@{other.step}", "other", other))
    return found


def choose(model: RunModel, number: int, wanted: BaseKind | None, other: OtherState | None = None) -> Base:
    """The base of the wanted kind, or the usual one where that step has none of it."""
    if wanted == "pending":
        return Base("pending", number, "before pending writes", "pending")
    there = bases(model, number, other)
    return next((base for base in there if base.kind == wanted), there[0])


def following(model: RunModel, number: int, current: BaseKind | None, other: OtherState | None = None) -> Base:
    """The base that comes after the current one, in turn."""
    there = bases(model, number, other)
    at = there.index(choose(model, number, None if current == "pending" else current, other))
    return there[(at + 1) % len(there)]


def lanes_between(overview: Overview, base: int | None, number: int) -> str:
    """Say which steps of other lanes lie between two steps: `8-10 are other lanes: web, critic`; else nothing."""
    if base is None or len(overview.lanes) < 2 or number > overview.scanned:
        return ""
    own = overview.lane_index(number)
    others = [step for step in range(base + 1, number) if overview.lane_index(step) != own]
    if not others:
        return ""
    names = ", ".join(dict.fromkeys(clean(overview.lanes[overview.lane_index(step)]) for step in others))
    if len(others) == 1:
        return f"{others[0]} is another lane: {names}"
    return f"{others[0]}-{others[-1]} are other lanes: {names}"
