"""The items of a request from top to bottom, with what was cut between them."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from agent_tt.context.words import came_from, item_words
from agent_tt_tui import format as fmt
from agent_tt_tui.text import clean, fit, show, width

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from agent_tt.context.shown import CallContext, Item
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.viewmodel.values.pieces import Piece, PieceRole

__all__ = ["ContextRow", "heading", "row_pieces", "rows_of"]

_ROLE: Final = 10
_FROM: Final = 25
_TOKENS: Final = 9
_SHARE: Final = 16
_WITH_SHARE: Final = 100
_WITH_FROM: Final = 62
_LEAST_FOLDED: Final = 3


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
    return list(_folded(rows, sizes[min(at, len(sizes) - 1)], unfolded)) if sizes else rows


def _in_order(context: CallContext, unfolded: Collection[str]) -> Iterator[ContextRow]:
    for number in range(-1, len(context.items)):
        if number >= 0:
            yield ContextRow(context.items[number])
        if 0 <= number == context.same - 1 and context.before is not None:
            yield ContextRow(is_rule=True)
        cut = tuple(each.item for each in context.cuts if each.after == number)
        name = f"cut{number}"
        if len(cut) >= _LEAST_FOLDED and name not in unfolded:
            yield ContextRow(folded=cut, is_cut=True, name=name)
        else:
            yield from (ContextRow(item, is_cut=True) for item in cut)


def _folded(rows: Sequence[ContextRow], small: int, unfolded: Collection[str]) -> Iterator[ContextRow]:
    waiting: list[ContextRow] = []
    for row in (*rows, None):
        item = None if row is None or row.is_cut else row.item
        if item is not None and row is not None and item.mark == "same" and item.tokens < small:
            waiting.append(row)
            continue
        name = f"small{waiting[0].item.number}" if waiting and waiting[0].item is not None else ""
        if len(waiting) >= _LEAST_FOLDED and name not in unfolded:
            yield ContextRow(folded=tuple(each for one in waiting for each in one.items), name=name)
        else:
            yield from waiting
        waiting = []
        if row is not None:
            yield row


def heading(context: CallContext, columns: int, *, by_size: bool) -> tuple[Piece, ...]:
    """The titles of the columns."""
    title = "BY SIZE" if by_size else "FROM TOP TO BOTTOM"
    counted = f"  {fmt.counted(len(context.items), 'item')}"
    left: list[Piece] = [(f" {title}", "title"), (counted, "muted")]
    used = sum(width(text) for text, _ in left)
    words = _words(columns)
    left.append((" " * max(2, 2 + _ROLE + words + 2 - used), "text"))
    if columns >= _WITH_FROM:
        left.append((f"{'came from':<{_FROM}}  ", "faint"))
    left.append((f"{'tokens':>{_TOKENS}}", "faint"))
    if columns >= _WITH_SHARE:
        left.append(("  share", "faint"))
    return tuple(left)


def row_pieces(row: ContextRow, context: CallContext, columns: int, glyphs: Glyphs) -> tuple[Piece, ...]:
    """Draw a row."""
    if row.is_rule:
        return _rule(context, columns, glyphs)
    words = _words(columns)
    mark, role_name, text, came, tokens = _cells(row, glyphs)
    told: PieceRole = "removed" if row.is_cut else "strong" if row.item is not None and _is_new(row.item) else "text"
    said = show(text, words, glyphs.cut)
    pieces: list[Piece] = [mark, (" ", "text"), (fit(role_name, _ROLE, glyphs.cut), "muted"), (said, told)]
    pieces.append((" " * (words - width(said) + 2), "text"))
    if columns >= _WITH_FROM:
        pieces += [(fit(came, _FROM, glyphs.cut), "muted"), ("  ", "text")]
    pieces.append((f"{tokens:>{_TOKENS}}", "removed_mark" if row.is_cut else "text"))
    if columns >= _WITH_SHARE and not row.is_cut and context.tokens:
        share = sum(item.tokens for item in row.items) / max(_largest(context), 1)
        pieces += [("  ", "text"), (glyphs.busy * max(1, round(min(share, 1) * (_SHARE - 2))), "model")]
    return tuple(pieces)


def _cells(row: ContextRow, glyphs: Glyphs) -> tuple[Piece, str, str, str, str]:
    """Mark, role, words, where from, tokens."""
    total = sum(item.tokens for item in row.items)
    sign = glyphs.removed if row.is_cut else ""
    tokens = f"{sign}{total:,}"
    mark: Piece = (glyphs.removed, "removed_mark") if row.is_cut else (" ", "text")
    if row.folded:
        steps = sorted({origin.step for item in row.folded for origin in item.origins[:1] if origin.step})
        came = (
            ""
            if not steps
            else f"step {steps[0]}"
            if steps[0] == steps[-1]
            else f"steps {steps[0]}{glyphs.span}{steps[-1]}"
        )
        if row.is_cut:
            return mark, "", f"{fmt.counted(len(row.folded), 'item')} gone: {_kinds(row.folded)}", came, tokens
        most = max(item.tokens for item in row.folded)
        return mark, "", f"{glyphs.alike} {len(row.folded)} more of at most {most:,} tokens each", came, tokens
    item = row.items[0]
    if not row.is_cut and item.mark == "new":
        mark = glyphs.added, "added_mark"
    elif not row.is_cut and item.mark != "same":
        mark = glyphs.changed, "changed_mark"
    words = item_words(item)
    if item.part.kind == "call":
        words = f"{glyphs.to} {words}"
    if item.mark == "shortened" and item.tokens_before is not None:
        words = f"{item.tokens:,} of {item.tokens_before:,} tokens kept: {words}"
    return mark, role_of(item), words, came_from(item) or "not known", tokens


def role_of(item: Item) -> str:
    """Who speaks, as the list says it."""
    if item.is_summary:
        return "summary"
    return "thought" if item.part.kind == "thinking" else clean(item.part.role)


def _is_new(item: Item) -> bool:
    return item.mark != "same"


def _kinds(items: Sequence[Item]) -> str:
    """What they are, with how many of each: `1 of yours, 3 files, 9 commands, 2 answers`."""
    counts: dict[str, int] = {}
    for item in items:
        said = {"call": "call", "text": "answer", "thinking": "thought"}.get(item.part.kind, "part")
        word = item.kind if item.kind in ("file", "command", "result", "user") else said
        counts[word] = counts.get(word, 0) + 1
    return ", ".join(f"{n} of yours" if word == "user" else fmt.counted(n, word) for word, n in counts.items())


def _rule(context: CallContext, columns: int, glyphs: Glyphs) -> tuple[Piece, ...]:
    whole = context.same == len(context.items)
    cached = ", and from the cache" if context.cached else ""
    words = "all of it is the same as in the last call" if whole else "the same as in the last call down to here"
    parts = [words, cached, "" if whole else "; below it is new or has moved"]
    while len(parts) > 1 and width("".join(parts)) + len("-- = ") + 1 > columns:
        parts.pop()
    said = show(f"{glyphs.line * 2} {glyphs.same} {''.join(parts)} ", columns, glyphs.cut)
    return ((said + glyphs.line * max(0, columns - width(said)), "well"),)


def _largest(context: CallContext) -> int:
    return max((item.tokens for item in context.items), default=0)


def _words(columns: int) -> int:
    taken = 2 + _ROLE + 2 + _TOKENS
    taken += _FROM + 2 if columns >= _WITH_FROM else 0
    taken += _SHARE if columns >= _WITH_SHARE else 0
    return max(8, columns - taken)
