"""Where an item came from, and what it says, in a few words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from agent_tt.codec.text import printable

if TYPE_CHECKING:
    from agent_tt.context.shown import CallContext, Item, Origin

__all__ = ["came_from", "cut_words", "from_words", "item_words"]

_MOST: Final = 2_000


def from_words(origin: Origin) -> str:
    """One origin: `search_docs, step 3`, `the model, step 2`, `the program, step 1`, `the input`."""
    if not origin.step:
        return "the input"
    at = f"step {origin.step}"
    match origin.kind:
        case "model":
            return f"the model, {at}"
        case "system" | "tools":
            return f"the program, {at}"
        case "user":
            return f"you, {at}"
        case "summary":
            return f"compaction, {at}"
        case _:
            return f"{printable(origin.name) or ('the program' if origin.kind == 'unknown' else 'a tool')}, {at}"


def came_from(item: Item) -> str:
    """Where most of an item came from, a file by its name alone; empty where that is not known."""
    if item.is_summary and not item.origins:
        return "not recorded"
    if not item.origins:
        return ""
    first, *others = item.origins
    if first.kind == "file":
        first = replace(first, name=first.name.replace("\\", "/").rstrip("/").rpartition("/")[2])
    words = from_words(first)
    return f"{words.replace(', step ', ', ')} or others" if others else words


def item_words(item: Item) -> str:
    """What an item says, on one row."""
    part = item.part
    text = part.text[:_MOST]
    if part.kind == "call":
        name, _, rest = text.partition("\n")
        return f"{name}({', '.join(row.strip() for row in rest.splitlines())})"
    if part.kind == "tools" and part.name:
        rest = text.removeprefix(part.name).strip()
        return f"{part.name}: {' '.join(rest.split())}" if rest else part.name
    return " ".join(text.split()) or "(empty)"


def cut_words(context: CallContext) -> str:
    """What was cut since the last call, or what a chosen one has more; empty where nothing is."""
    if not context.cuts:
        return ""
    count = len(context.cuts)
    items = f"{count:,} item{'s' if count != 1 else ''}"
    if context.is_chosen and context.before is not None:
        return f"{items} of step {context.before[0]} that step {context.step} lacks"
    if context.summary is not None:
        return f"{items} became 1 summary at step {context.step}"
    return f"{items} cut at step {context.step}"
