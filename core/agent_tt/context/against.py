"""A model call beside any other one of its run: what was added, dropped, changed and cut."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agent_tt.context.changing import changes_of
from agent_tt.context.dropping import gone_words
from agent_tt.context.shown import Cut, Item, came_and_went

if TYPE_CHECKING:
    from agent_tt.context.shown import CallContext, Mark

__all__ = ["against"]


def against(context: CallContext, other: CallContext) -> CallContext:
    """A call as it stands to another one, earlier or later, in place of the last one in its lane.

    What a later answer needed was found for the last call, and is not said of another.

    Args:
        context: the call.
        other: the one that it is compared with.
    """
    old = other.items
    changes = changes_of([item.part for item in old], [item.part for item in context.items])
    items: list[Item] = []
    for item in context.items:
        was = changes.became.get(item.number)
        mark: Mark = "same" if item.number < changes.top or item.number in changes.same else "new"
        if was is not None:
            mark = "shortened" if len(item.part.text) < len(old[was].part.text) else "changed"
        before = None if was is None else old[was].tokens
        items.append(
            item
            if (item.mark, item.tokens_before) == (mark, before)
            else replace(item, mark=mark, tokens_before=before)
        )
    cuts = tuple(Cut(old[at], after) for at, after in changes.cut)
    shorter = [Cut(old[was], at) for at, was in changes.became.items() if items[at].mark == "shortened"]
    added, removed = came_and_went(items, cuts)
    is_earlier = other.place < context.place
    return replace(
        context,
        items=tuple(items),
        cuts=cuts,
        before=other.place,
        same=changes.top,
        compaction=None,
        gone=gone_words((*cuts, *shorter), [item.part for item in items]) if is_earlier else (),
        needed=(),
        is_chosen=True,
        shared=0,
        added=added,
        removed=removed,
    )
