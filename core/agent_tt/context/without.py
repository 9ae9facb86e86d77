"""The edits of a fork whose request lacks an item, or why there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agent_tt.codec.paths import format_path, get
from agent_tt.context.parts import parts_in
from agent_tt.errors import AgentTTError
from agent_tt.model import Edit
from agent_tt.providers.chat import conversation_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.context.parts import Part
    from agent_tt.context.shown import CallContext, Item
    from agent_tt.protocols import RunSource

__all__ = ["Without", "without_item"]

_TOOLS = "which tools are offered is in the agent's program: no edit takes one away"
_INSIDE = "no message of the state before this step is this item: the program adds it by itself"


class Without(NamedTuple):
    """A fork without an item.

    Attributes:
        step: the step that it begins after.
        edits: what is taken out; empty where nothing can be.
        also: what goes with it, in words; empty where nothing does.
        why_not: why nothing can be taken out; empty where something can.
    """

    step: int
    edits: tuple[Edit, ...] = ()
    also: str = ""
    why_not: str = ""


def without_item(source: RunSource, run_id: str, context: CallContext, item: Item) -> Without:
    """Find what a fork has to leave out of the state before a model call, so that its request lacks an item.

    A tool call and its results go together, as providers refuse one without the other.
    """
    step = context.step - 1
    if item.part.kind == "tools":
        return Without(step, why_not=_TOOLS)
    if any(each.is_unkept for each in (source.steps(run_id, step, step + 1) if step else ())):
        return Without(step, why_not=f"no checkpoint is kept of step {step}: whether the state has it is not known")
    try:
        state = source.state(run_id, step)
    except AgentTTError as error:
        return Without(step, why_not=f"the state before this step cannot be read: {error.message}")
    at = conversation_in(state)
    turns = None if at is None else get(state, at)
    listed = [parts_in(turn) for turn in turns] if isinstance(turns, list) else []
    place = _place(context, item, listed)
    if at is not None and place is not None:
        gone = _with_it(listed, place)
        edits = tuple(Edit("delete", format_path((*at, number))) for number in sorted(gone, reverse=True))
        others = len(gone) - 1
        also = "" if not others else "its call and results go with it" if others > 1 else "its other half goes with it"
        return Without(step, edits, also)
    if item.part.kind == "system":
        return Without(step, (Edit("set", "", "", target="system"),), "the system text is empty then")
    return Without(step, why_not=_INSIDE)


def _place(context: CallContext, item: Item, listed: Sequence[Sequence[Part]]) -> int | None:
    """Which message of a state an item is: of several that say the same, the one as far from the top."""
    mine = item.part
    before = sum(other.part.key == mine.key for other in context.items[: item.number])
    for number, parts in enumerate(listed):
        for part in parts:
            if part.key != mine.key or (part.joins and mine.joins and part.joins != mine.joins):
                continue
            if not before or (part.joins and part.joins == mine.joins):
                return number
            before -= 1
    return None


def _with_it(listed: Sequence[Sequence[Part]], place: int) -> set[int]:
    """The messages that go with one: of a tool call its results, of a result its call and that call's others."""
    gone = {place}
    while True:
        ids = {part.joins for number in gone for part in listed[number] if part.kind in ("call", "result")} - {""}
        more = {number for number, parts in enumerate(listed) if any(part.joins in ids for part in parts)}
        for number in gone:  # of a provider without ids a result stands behind its call
            if any(part.kind == "result" and not part.joins for part in listed[number]):
                more |= {number - 1} if number and _has(listed[number - 1], "call") else set()
            if any(part.kind == "call" and not part.joins for part in listed[number]):
                more |= {number + 1} if number + 1 < len(listed) and _has(listed[number + 1], "result") else set()
        if more <= gone:
            return gone
        gone |= more


def _has(parts: Sequence[Part], kind: str) -> bool:
    return any(part.kind == kind for part in parts)
