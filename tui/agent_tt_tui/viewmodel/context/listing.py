"""The rows of a request's items as they are drawn: who speaks, what it says, where it came from, tokens, share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.context.words import came_from, item_words
from agent_tt_tui import format as fmt
from agent_tt_tui.text import clean, fit, show, width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.context.shown import CallContext, Item
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.viewmodel.context.folds import ContextRow
    from agent_tt_tui.viewmodel.values.pieces import Piece, PieceRole

__all__ = ["heading", "role_of", "row_pieces"]

_ROLE: Final = 10
_FROM: Final = 25
_TOKENS: Final = 9
_SHARE: Final = 16
_WITH_SHARE: Final = 100
_WITH_FROM: Final = 62


def heading(context: CallContext, columns: int, glyphs: Glyphs, *, by_size: bool) -> tuple[Piece, ...]:
    """The titles of the columns; what one part has of the tokens is by its length, and so marked."""
    title = "BY SIZE" if by_size else "FROM TOP TO BOTTOM"
    counted = f"  {fmt.counted(len(context.items), 'item')}"
    left: list[Piece] = [(f" {title}", "title"), (counted, "muted")]
    used = sum(width(text) for text, _ in left)
    words = _words(columns)
    left.append((" " * max(2, 2 + _ROLE + words + 2 - used), "text"))
    if columns >= _WITH_FROM:
        left.append((f"{'came from':<{_FROM}}  ", "faint"))
    left.append((f"{f'{glyphs.about} tokens':>{_TOKENS}}", "faint"))
    if columns >= _WITH_SHARE:
        left.append(("  share", "faint"))
    return tuple(left)


def row_pieces(row: ContextRow, context: CallContext, columns: int, glyphs: Glyphs) -> tuple[Piece, ...]:
    """Draw a row."""
    if row.is_rule:
        return _rule(context, columns, glyphs)
    words = _words(columns)
    mark, role_name, text, came, tokens = _cells(row, words, glyphs, "only there" if context.is_chosen else "gone")
    told: PieceRole = "removed" if row.is_cut else "strong" if row.item is not None and _is_new(row.item) else "text"
    said = show(text, words, glyphs.cut)
    pieces: list[Piece] = [mark, (" ", "text"), (fit(role_name, _ROLE, glyphs.cut), "muted"), (said, told)]
    pieces.append((" " * (words - width(said) + 2), "text"))
    if columns >= _WITH_FROM:
        pieces += [(fit(came, _FROM, glyphs.cut), "muted"), ("  ", "text")]
    pieces.append((f"{tokens:>{_TOKENS}}", "removed_mark" if row.is_cut else "text"))
    # A bar is one item's beside the largest one's: several together have none.
    if columns >= _WITH_SHARE and not row.is_cut and not row.folded and context.tokens:
        share = sum(item.tokens for item in row.items) / max(_largest(context), 1)
        pieces += [("  ", "text"), (glyphs.busy * max(1, round(min(share, 1) * (_SHARE - 2))), "model")]
    return tuple(pieces)


def _cells(row: ContextRow, columns: int, glyphs: Glyphs, gone: str) -> tuple[Piece, str, str, str, str]:
    """Mark, role, words, where from, tokens."""
    if row.folded:
        return _fold_cells(row, columns, glyphs, gone)
    item = row.items[0]
    words = item_words(item)
    if item.part.kind == "call":
        words = f"{glyphs.to} {words}"
    if item.mark == "shortened" and item.tokens_before is not None:
        words = f"{item.tokens:,} of {item.tokens_before:,} tokens kept: {words}"
    came = clean(came_from(item)) or "not known"
    if row.is_cut:
        return (glyphs.removed, "removed_mark"), role_of(item), words, came, f"{glyphs.removed}{item.tokens:,}"
    return _mark(item, glyphs), role_of(item), words, came, f"{item.tokens:,}"


def _fold_cells(row: ContextRow, columns: int, glyphs: Glyphs, gone: str) -> tuple[Piece, str, str, str, str]:
    items = row.folded
    total = f"{sum(item.tokens for item in items):,}"
    if items[0].part.kind == "tools" and not row.is_cut:
        words = f"{len(items)} offered: {', '.join(item.part.name for item in items)}"
        return _mark(items[0], glyphs), "tools", words, clean(came_from(items[0])) or "not known", total
    steps = sorted({item.origins[0].step for item in items if item.origins and item.origins[0].step})
    came = f"steps {steps[0]}{glyphs.span}{steps[-1]}" if steps else ""
    if steps and steps[0] == steps[-1]:
        came = f"step {steps[0]}"
    if row.is_cut:
        words = f"{fmt.counted(len(items), 'item')} {gone}: {_kinds(items)}"
        return (glyphs.removed, "removed_mark"), "", words, came, f"{glyphs.removed}{total}"
    most = max(item.tokens for item in items)
    count = f"{glyphs.alike} {len(items)} more"
    said = (f"{count} of at most {most:,} tokens each", f"{count} of at most {most:,} each", count)
    words = next((each for each in said if len(each) <= columns), count)  # the column beside it counts tokens
    return (" ", "text"), "", words, came, total


def _mark(item: Item, glyphs: Glyphs) -> Piece:
    if item.mark == "same":
        return " ", "text"
    return (glyphs.added, "added_mark") if item.mark == "new" else (glyphs.changed, "changed_mark")


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
    # What is not recorded, such as a system prompt, may stand before all of this, and come from the cache first.
    same = context.rest + sum(item.tokens for item in context.items[: context.same])
    cached = ", and from the cache" if context.cached and context.cached >= same else ""
    other = "the last call"
    if context.is_chosen and context.before is not None:
        other = f"the call of step {context.before[0]}"
    words = f"all of it is the same as in {other}" if whole else f"the same as in {other} down to here"
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
