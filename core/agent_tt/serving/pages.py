"""Pages: an answer has a budget of characters, says what it leaves out, and how to get that.

A page is a head, a list of which as much is shown as fits, and `next`, the cursor that goes on. What an item shows does
not depend on its page: all pages joined are the whole list. What is cut inside an item stands in `left_out`, with the
call that gets it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from agent_tt._dataclass import dataclass
from agent_tt.errors import UsageError
from agent_tt.serving.fitting import LEAST, fit
from agent_tt.serving.text import length

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.serving.fitting import LeftOut
    from agent_tt.shapes.records import Shape

__all__ = ["MOST_LEFT", "Item", "Where", "left_out", "page", "position", "record", "shown"]

T = TypeVar("T")

Where: TypeAlias = "Callable[[Path], str] | None"
"""Says with which call a part of a value is got, by its path in the value; None where nothing gets it."""

_TAIL: Final = 240
"""Characters that are kept for the cursor, the numbers of a page, and what counts the rest."""

MOST_LEFT: Final = 6
"""Places that are named of what was cut in a page; the others are counted."""

_EXACT: Final = frozenset({"at", "path", "run"})
"""Facts that are given back to the server, and so have to be whole."""

_LONGEST_NAME: Final = 400
"""Characters of one of these; in the names of places that people and programs give there are far fewer."""

_LONGEST_LEFT: Final = 300
"""Characters of one of these."""


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a page.

    Attributes:
        shape: what is shown.
        left_out: what of it is not there, each with the call that gets it.
    """

    shape: Wire
    left_out: Sequence[Shape] = ()

    @property
    def facts(self) -> Shape:
        """What is shown, of an item that has names for it."""
        return dict(self.shape) if isinstance(self.shape, dict) else {}


def shown(value: Wire, limit: int, where: Where = None, *, depth: int | None = None) -> Item:
    """A value as far as it fits.

    Args:
        value: the value.
        limit: characters that it may take.
        where: says with which call a part of it is got; None where nothing gets it.
        depth: how many levels of containers are opened.
    """
    fitted, left = fit(value, limit, depth=depth)
    return Item(fitted, [_told(each, where) for each in left])


def position(cursor: str | None) -> int:
    """The position that a cursor stands for; 0 without one.

    Raises:
        UsageError: it is none.
    """
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 18:
        raise UsageError(f"{cursor[:40]!r} is not a cursor", hint="Give what stood in `next`, or leave it out.")
    return int(cursor)


def page(
    head: Shape,
    name: str,
    items: Sequence[T],
    make: Callable[[T, int], Item],
    *,
    cursor: str | None,
    budget: int,
    is_whole: bool = True,
    after: Callable[[int], str] = str,
    start: int | None = None,
) -> Shape:
    """One page of a list.

    Args:
        head: what stands before the list; made to fit into two fifths of the budget.
        name: the key of the list.
        items: the list; where it is not whole, more than fits into a page.
        make: makes an item, of at most so many characters.
        cursor: where the page begins.
        budget: characters of the answer.
        is_whole: whether nothing comes after `items`; else nobody says how many there are.
        after: the cursor of a position.
        start: the position that the cursor stands for, where `after` makes cursors of another form.

    Raises:
        UsageError: the cursor is none, or stands behind the end.
    """
    begin = position(cursor) if start is None else start
    count = len(items)
    if begin > count or (begin == count and begin):
        raise UsageError(f"the cursor {cursor} stands behind the end: there are {count}", hint="Begin without one.")
    answer, left = _fitted_head(head, budget * 2 // 5)
    most = max(200, budget // 4)
    used = length(answer, budget) + sum(length(each, budget) + 1 for each in left) + _TAIL + len(name)
    listed: list[Wire] = []
    unnamed = 0
    for entry in items[begin:]:
        item = make(entry, most)
        told = [each for each in item.left_out if length(each, _LONGEST_LEFT) <= _LONGEST_LEFT]
        told = told[: max(0, MOST_LEFT - len(left))]
        taken = length(item.shape, budget) + 1 + sum(length(each, budget) + 1 for each in told)
        if used + taken > budget:
            if listed:
                break
            told = []  # one item always goes
        used += taken
        listed.append(item.shape)
        left += told
        unnamed += len(item.left_out) - len(told)
    answer[name] = listed
    end = begin + len(listed)
    if begin or end < count:
        answer |= {"from": begin, **({"of": count} if is_whole else {})}
    if end < count:
        answer["next"] = after(end)
    return answer | left_out(left, len(left) + unnamed)


def left_out(named: Sequence[Shape], count: int) -> Shape:
    """Say what an answer does not show: some of it by name, and how much more there is."""
    more = count - len(named)
    return {**({"left_out": [*named]} if named else {}), **({"left_out_more": more} if more else {})}


def _fitted_head(head: Shape, limit: int) -> tuple[Shape, list[Shape]]:
    """The head with each of its values fitted, where it does not fit as it is, and what of them is not there."""
    if length(head, limit) <= limit:
        return dict(head), []
    share = max(LEAST, (limit - _LONGEST_LEFT) // max(1, len(head)))
    answer: Shape = {}
    left: list[Shape] = []
    for key, value in head.items():
        fitted, cut = fit(value, share)
        answer[key] = fitted
        left += [{"at": key, "what": each.what} for each in cut[:1]]
    return answer, left[:3]


def _told(left: LeftOut, where: Where) -> Shape:
    return {"what": left.what, **({} if where is None else {"get": where(left.path)})}


def record(limit: int, facts: Mapping[str, Wire], values: Mapping[str, tuple[Wire, Where]]) -> Item:
    """An item of facts, which are short, and values, which share the room that is left.

    Args:
        limit: characters that it may take.
        facts: its facts by name; those that are None are left out.
        values: its values by name, each with what says how a part of it is got.
    """
    shape: Shape = {}
    left: list[Shape] = []
    for name, fact in facts.items():
        if fact is not None:
            shape[name], cut = fit(fact, _LONGEST_NAME if name in _EXACT else LEAST)
            left += [{"at": name, "what": each.what} for each in cut[:1]]
    room = limit - length(shape, limit)
    for index, (name, (value, where)) in enumerate(values.items()):
        part = shown(value, room // (len(values) - index) - len(name) - 4, where)
        shape[name] = part.shape
        room -= length(part.shape, limit) + len(name) + 4
        left += part.left_out
    return Item(shape, left)
