"""In which model calls of a run an item stands, word for word."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.context.shown import Item, RunContexts

__all__ = ["Standing", "standing_of"]


class Standing:
    """The calls of a run, by what they were shown."""

    def __init__(self, calls: Mapping[tuple[str, str, str], Sequence[int]]) -> None:
        self._calls = calls

    def of(self, item: Item) -> Sequence[int]:
        """The calls that have an item, from 0."""
        return self._calls.get(item.part.key, ())


def standing_of(contexts: RunContexts) -> Standing:
    """Look where each item stands."""
    found: dict[tuple[str, str, str], list[int]] = {}
    for number, context in enumerate(contexts.calls):
        for item in context.items:
            listed = found.setdefault(item.part.key, [])
            if not listed or listed[-1] != number:
                listed.append(number)
    return Standing(found)
