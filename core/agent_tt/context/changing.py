"""What of a request was there in the last one, what is new, what is gone, and what is shorter than it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agent_tt.context.index import LEAST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.context.parts import Part

__all__ = ["Changes", "changes_of"]


class Changes(NamedTuple):
    """How a request stands to the last one.

    Attributes:
        same: by the number of an item, that of the same item there.
        became: by the number of an item, that of the item there that it is another form of.
        cut: the numbers of items there that are gone, each with that of the item here that stands before it (-1: none).
        top: how many items at the top are the same.
    """

    same: dict[int, int]
    became: dict[int, int]
    cut: tuple[tuple[int, int], ...]
    top: int


def changes_of(before: Sequence[Part], now: Sequence[Part]) -> Changes:
    """Compare two requests, whose order stays."""
    least = min(len(before), len(now))
    top = next((at for at in range(least) if before[at].key != now[at].key), least)
    end = next((at for at in range(least - top) if before[-1 - at].key != now[-1 - at].key), least - top)
    same = {at: at for at in range(top)} | {len(now) - 1 - at: len(before) - 1 - at for at in range(end)}
    places: dict[tuple[str, str, str], list[int]] = {}
    for at in range(top, len(before) - end):
        places.setdefault(before[at].key, []).append(at)
    last = top - 1
    for at in range(top, len(now) - end):
        listed = places.get(now[at].key, [])
        there = next((each for each in listed if each > last), None)
        if there is not None:
            same[at] = last = there
    gone = sorted(set(range(len(before))) - set(same.values()))
    became = _other_forms(before, now, gone, [at for at in range(len(now)) if at not in same])
    where = {there: here for here, there in (*same.items(), *became.items())}
    cut = []
    for at in gone:
        if at not in where:
            stands = max((where[each] for each in range(at) if each in where), default=-1)
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
