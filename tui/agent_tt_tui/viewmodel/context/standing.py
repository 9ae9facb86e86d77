"""In which model calls of a run an item stands, word for word."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_tt.context.shown import Item, RunContexts

__all__ = ["Standing", "standing_of"]


class Standing:
    """The calls of a run, by what they were shown."""

    def __init__(self, contexts: RunContexts, own: Mapping[tuple[str, str, str], Mapping[int, Sequence[Item]]]) -> None:
        """Initialise the calls.

        Args:
            contexts: the calls.
            own: by what items say, the calls that have such items of their own, from 0, with these.
        """
        self._contexts = contexts
        self._own = own

    def of(self, item: Item) -> Sequence[int]:
        """The calls that have an item, from 0."""
        own = self._own.get(item.part.key)
        if own is None:
            return ()
        held = self._contexts.holding(lambda number, _: own.get(number, ()))
        return [number for number, items in enumerate(held) if items]


def standing_of(contexts: RunContexts) -> Standing:
    """Look where each item stands."""
    found: dict[tuple[str, str, str], dict[int, list[Item]]] = {}
    for number, context in enumerate(contexts.calls):
        for item in context.own:
            found.setdefault(item.part.key, {}).setdefault(number, []).append(item)
    return Standing(contexts, found)
