"""What a person asks of the view of contexts; apart from it, so that it is loaded only when it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from textual.message import Message

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from agent_tt.context.shown import Item

__all__ = ["ContextAsked"]


@dataclass
class ContextAsked(Message):
    """Something is asked about a model call, or about an item of it.

    Attributes:
        what: the call so many calls on, the call of a number from 0, where an item came from, a fork without it,
            another call to compare with.
        number: how many calls on, or which call.
        item: the item.
    """

    what: Literal["call", "number", "origin", "fork", "against"]
    number: int = 0
    item: Item | None = None
