"""The items of a request from top to bottom, with what was cut between them; what is short of rows folds."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import field
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from agent_tt.context.shown import CallContext, Item

__all__ = ["ContextRow", "rows_of"]

_LEAST_FOLDED: Final = 3
_SMALL: Final = "small"
"""How the names of folds begin that are there for lack of rows."""


@dataclass(frozen=True, slots=True)
class ContextRow:
    """One row of the list.

    Attributes:
        item: the item that it shows; None of a rule and of a fold.
        folded: the items that it stands for.
        is_cut: whether these are gone.
        is_rule: whether it is the rule below what is the same as in the last call.
        name: of a fold, its name.
    """

    item: Item | None = None
    folded: tuple[Item, ...] = field(default=())
    is_cut: bool = False
    is_rule: bool = False
    name: str = ""

    @property
    def items(self) -> tuple[Item, ...]:
        """What it shows."""
        return self.folded or (() if self.item is None else (self.item,))


def rows_of(context: CallContext, room: int, unfolded: Collection[str], *, by_size: bool) -> list[ContextRow]:
    """Lay out the rows.

    Args:
        context: the call.
        room: rows there are: where they do not suffice, the smallest items that were there before fold.
        unfolded: names of the folds that are open.
        by_size: the largest item first, without what was cut.
    """
    if by_size:
        ordered = sorted(context.items, key=lambda item: (-item.tokens, item.number))
        return [ContextRow(item) for item in ordered]
    rows = list(_in_order(context, unfolded))
    if len(rows) <= room:
        return rows
    # Of all the sizes up to which items may fold, the smallest that makes the rows fit, so that no more is hidden.
    sizes = sorted({row.item.tokens + 1 for row in rows if row.item is not None and not row.is_cut})
    at = bisect_left(sizes, 1, key=lambda size: sum(1 for _ in _folded(rows, size, unfolded)) <= room)
    return _opened(list(_folded(rows, sizes[min(at, len(sizes) - 1)], unfolded)), room) if sizes else rows


def _in_order(context: CallContext, unfolded: Collection[str]) -> Iterator[ContextRow]:
    gone: dict[int, list[Item]] = {}
    for each in context.cuts:
        gone.setdefault(each.after, []).append(each.item)
    waiting: list[Item] = []
    for number in range(-1, len(context.items)):
        item = context.items[number] if number >= 0 else None
        if waiting and (item is None or item.part.kind != "tools" or item.mark != waiting[0].mark):
            yield from _tools(waiting, unfolded)
            waiting = []
        if item is not None and item.part.kind == "tools":
            waiting.append(item)
        elif item is not None:
            yield ContextRow(item)
        is_last = 0 <= number == context.same - 1 and context.before is not None
        cut = tuple(gone.get(number, ()))
        if waiting and (is_last or cut or number == len(context.items) - 1):
            yield from _tools(waiting, unfolded)
            waiting = []
        if is_last:
            yield ContextRow(is_rule=True)
        name = f"cut{number}"
        if len(cut) >= _LEAST_FOLDED and name not in unfolded:
            yield ContextRow(folded=cut, is_cut=True, name=name)
        else:
            yield from (ContextRow(item, is_cut=True) for item in cut)


def _tools(tools: Sequence[Item], unfolded: Collection[str]) -> Iterator[ContextRow]:
    """Tools that are offered, in one row where there are several."""
    name = f"tools{tools[0].number}"
    if len(tools) >= _LEAST_FOLDED and name not in unfolded:
        yield ContextRow(folded=tuple(tools), name=name)
    else:
        yield from map(ContextRow, tools)


def _folded(rows: Sequence[ContextRow], small: int, unfolded: Collection[str]) -> Iterator[ContextRow]:
    waiting: list[ContextRow] = []
    for row in (*rows, None):
        item = None if row is None or row.is_cut else row.item
        folds = item is not None and item.mark == "same" and item.tokens < small
        if folds and item is not None and row is not None and item.part.kind not in ("system", "tools"):
            waiting.append(row)
            continue
        name = f"{_SMALL}{waiting[0].item.number}" if waiting and waiting[0].item is not None else ""
        if len(waiting) >= _LEAST_FOLDED and name not in unfolded:
            yield ContextRow(folded=tuple(each for one in waiting for each in one.items), name=name)
        else:
            yield from waiting
        waiting = []
        if row is not None:
            yield row


def _opened(rows: list[ContextRow], room: int) -> list[ContextRow]:
    """Show of the longest fold as much of its beginning and its end as there are rows left for."""
    spare = room - len(rows)
    at = max(range(len(rows)), key=lambda index: len(rows[index].folded) if rows[index].name.startswith(_SMALL) else 0)
    folded = rows[at].folded
    if spare < 1 or len(folded) - spare < _LEAST_FOLDED or not rows[at].name.startswith(_SMALL):
        return rows
    first, last = spare // 2, len(folded) - (spare - spare // 2)
    middle = ContextRow(folded=folded[first:last], name=rows[at].name)
    shown = (*map(ContextRow, folded[:first]), middle, *map(ContextRow, folded[last:]))
    return [*rows[:at], *shown, *rows[at + 1 :]]
