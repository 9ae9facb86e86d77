"""The stacked bar: of what a request is made, by kinds of origins."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agent_tt.context.shown import KINDS
from agent_tt.context.weighing import divide
from agent_tt_tui import format as fmt

if TYPE_CHECKING:
    from agent_tt.context.shown import CallContext, OriginKind

__all__ = ["Segment", "segments_of"]

_LEAST = 2


class Segment(NamedTuple):
    """One part of the bar.

    Attributes:
        kind: what it is.
        columns: how wide it is, the free column behind it included.
        name: its name and tokens, as long as they fit into it; empty where they do not.
        share: its share.
        label: what stands above it where its name does not fit.
    """

    kind: OriginKind
    columns: int
    name: str
    share: str
    label: str


def segments_of(context: CallContext, columns: int) -> list[Segment]:
    """Divide the columns by tokens; what would be too narrow to be seen has two."""
    shares = [share for share in context.shares if share.tokens]
    if not shares:
        return []
    free = max(0, columns - _LEAST * len(shares))
    widths = [_LEAST + extra for extra in divide(free, [share.tokens for share in shares])]
    tools = sum(item.part.kind == "tools" for item in context.items)
    found = []
    for share, wide in zip(shares, widths, strict=True):
        name = KINDS[share.kind]
        if share.kind == "unknown" and context.rest * 2 > share.tokens:
            name = "not recorded"
        if share.kind == "tools" and tools > 1:
            name += f" {tools}"
        tokens = fmt.short(share.tokens)
        inside = wide - 1
        fits = next((text for text in (f" {name} {tokens}", f" {name}") if len(text) <= inside), "")
        label = "" if fits else f"{name} {tokens}"
        part = fmt.percent(share.tokens / context.tokens)
        found.append(Segment(share.kind, wide, fits, f" {part}" if len(part) < inside else "", label))
    return found
