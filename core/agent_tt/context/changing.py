"""What of a request was there in the last one, what is new, what is gone, and what is shorter than it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agent_tt.context.index import LEAST
from agent_tt.providers.model_talk import alike

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.context.parts import Part

__all__ = ["Changes", "changes_of"]


class Changes(NamedTuple):
    """How a request stands to the last one.

    Attributes:
        same: by the number of an item below the top, that of the same item there.
        became: by the number of an item, that of the item there that it is another form of.
        cut: the numbers of items there that are gone, each with that of the item here that stands before it (-1: none).
        top: how many items at the top are the same.
    """

    same: dict[int, int]
    became: dict[int, int]
    cut: tuple[tuple[int, int], ...]
    top: int


def changes_of(before: Sequence[Part], now: Sequence[Part], known: int = 0) -> Changes:
    """Compare two requests, whose order stays.

    Args:
        before: the items of the last one.
        now: those of this one.
        known: how many of the first ones are known to be equal.
    """
    least = min(len(before), len(now))
    top = alike(before, now, lambda one, other: one.key != other.key, known)
    end = next((at for at in range(least - top) if before[-1 - at].key != now[-1 - at].key), least - top)
    same = {len(now) - 1 - at: len(before) - 1 - at for at in range(end)}
    places: dict[tuple[str, str, str], list[int]] = {}
    for at in range(len(before) - end - 1, top - 1, -1):
        places.setdefault(before[at].key, []).append(at)
    last = top - 1
    for at in range(top, len(now) - end):
        listed = places.get(now[at].key, [])
        while listed and listed[-1] <= last:
            listed.pop()
        if listed:
            same[at] = last = listed.pop()
    there = set(same.values())
    gone = [at for at in range(top, len(before)) if at not in there]
    became = _other_forms(before, now, gone, [at for at in range(top, len(now)) if at not in same])
    where = {there: here for here, there in (*same.items(), *became.items())}
    cut, stands = [], top - 1
    for at in range(top, len(before)):
        if at in where:
            stands = max(stands, where[at])
        else:
            cut.append((at, stands))
    return Changes(same, became, tuple(cut), top)


def _other_forms(
    before: Sequence[Part], now: Sequence[Part], gone: Sequence[int], new: Sequence[int]
) -> dict[int, int]:
    """Which new items are another form of one that is gone: with its id, or with its first words and fewer of them."""
    left = list(gone)
    found: dict[int, int] = {}
    for at in new:
        part = now[at]
        for there in left:
            other = before[there]
            if (other.role, other.kind) == (part.role, part.kind) and _is_form(other, part):
                found[at] = there
                left.remove(there)
                break
    return found


def _is_form(other: Part, part: Part) -> bool:
    if part.joins and other.joins:
        return part.joins == other.joins
    begins = part.text[:LEAST] == other.text[:LEAST] and len(part.text) >= LEAST
    return (begins and len(part.text) < len(other.text)) or (part.kind == "tools" and part.name == other.name != "")
