"""One value, page by page: a text by characters, a list by items, a mapping by keys; all pages joined are the value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.codec.text import describe
from agent_tt.codec.wire import VALUE, is_envelope
from agent_tt.errors import UsageError
from agent_tt.serving.fitting import LEAST, fitting
from agent_tt.serving.pages import Item, page, position, record, shown
from agent_tt.serving.references import below
from agent_tt.serving.text import length

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.shapes.records import Shape

__all__ = ["value_page"]

_TAIL: Final = 240


def value_page(
    head: Shape,
    value: Wire,
    where: Callable[[Path], str],
    *,
    cursor: str | None,
    budget: int,
    depth: int | None = None,
) -> Shape:
    """A value, whole in `value` if it fits, else a page of its `text`, `items` or `entries`.

    Entries are `[key, value]`. Of a typed value, `typed` has what its envelope says beside them.

    Args:
        head: what stands before it, which is short.
        value: the value.
        where: says with which call a part of it is got.
        cursor: where the page begins.
        budget: characters of the answer.
        depth: how many levels of containers are opened; None opens all that fits.

    Raises:
        UsageError: the cursor is none, or stands behind the end.
    """
    head = record(budget // 4, {**head, "is": describe(value)}, {}).facts
    room = budget - length(head, budget) - _TAIL
    if cursor is None and depth is None and length(value, room) <= room:
        return {**head, "value": value}
    content = value
    if is_envelope(value) and VALUE in value:
        typed, content = {key: part for key, part in value.items() if key != VALUE}, value[VALUE]
        head["typed"] = shown(typed, max(LEAST, budget // 8)).shape
        where = below(where, (VALUE,))
    if isinstance(content, str):
        return _text_page(head, content, cursor, budget)
    if isinstance(content, list):
        numbered = list(enumerate(content))

        def item(entry: tuple[int, Wire], most: int) -> Item:
            return shown(entry[1], most, below(where, (entry[0],)), depth=None if depth is None else depth - 1)

        return page(head, "items", numbered, item, cursor=cursor, budget=budget)
    if isinstance(content, dict):

        def entry(pair: tuple[str, Wire], most: int) -> Item:
            key = shown(pair[0], most // 3)
            part = shown(
                pair[1],
                most - length(key.shape, most) - 4,
                below(where, (pair[0],)),
                depth=None if depth is None else depth - 1,
            )
            return Item([key.shape, part.shape], [*key.left_out, *part.left_out])

        return page(head, "entries", list(content.items()), entry, cursor=cursor, budget=budget)
    if cursor is not None:
        raise UsageError(f"the cursor {cursor} stands behind the end", hint="Begin without one.")
    return {**head, "value": value}


def _text_page(head: Shape, text: str, cursor: str | None, budget: int) -> Shape:
    begin = position(cursor)
    if begin >= len(text) and begin:
        raise UsageError(f"the cursor {cursor} stands behind the end: there are {len(text)}", hint="Begin without one.")
    room = budget - length(head, budget) - _TAIL
    end = begin + max(1, fitting(text[begin : begin + room], room)) if text else 0
    answer: Shape = {**head, "text": text[begin:end], "from": begin, "of": len(text)}
    return answer if end >= len(text) else {**answer, "next": str(end)}
