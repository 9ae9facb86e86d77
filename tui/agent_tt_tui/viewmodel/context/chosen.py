"""One item in full: its text, where each part of it came from, and what became of what was cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.context.index import LEAST
from agent_tt.context.words import from_words
from agent_tt_tui import format as fmt
from agent_tt_tui.text import clean
from agent_tt_tui.viewmodel.context.listing import role_of
from agent_tt_tui.viewmodel.values.pieces import TextLine, wrap, wrap_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.context.shown import CallContext, Gone, Item, Origin, RunContexts
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.viewmodel.context.standing import Standing
    from agent_tt_tui.viewmodel.values.pieces import Piece

__all__ = ["chosen_lines", "chosen_title"]

_MOST_TEXT: Final = 200_000
_STEP: Final = ", step "
_MOST_ORIGINS: Final = 4
_MOST_SAID: Final = 6
_MOST_CALLS: Final = 8


def chosen_title(item: Item, *, is_cut: bool, is_chosen: bool = False) -> tuple[Piece, ...]:
    """Its role and size, and that it is gone; beside a call that somebody chose, that only that one has it."""
    title: list[Piece] = [(f" {role_of(item).upper()}", "title"), (f"  {item.tokens:,} tokens", "muted")]
    if item.part.name and item.part.kind != "text":
        title.append((f"  {clean(item.part.name)}", "strong"))
    if is_cut:
        title.append(("  only in the other call" if is_chosen else "  gone since the last call", "removed_mark"))
    return tuple(title)


def chosen_lines(
    contexts: RunContexts, context: CallContext, item: Item, standing: Standing | None, columns: int, glyphs: Glyphs
) -> list[TextLine]:
    """What is certain about what was cut first, then where the item came from, then its text."""
    lines = list(_dropped(context, item, columns))
    lines += _wrapped("FROM  ", _came_from(item), columns)
    if standing is not None:
        lines += _wrapped("ALSO  ", _stands(contexts, context, item, standing, glyphs), columns)
    for row in wrap_text(item.part.text or "(empty)", columns - 1, "text", glyphs.cut, limit=_MOST_TEXT):
        lines.append(TextLine(row, lead=((" ", "text"),)))
    return lines


def _dropped(context: CallContext, item: Item, columns: int) -> Iterator[TextLine]:
    """Of a summary, and of an item that is gone: words of the user that nothing says any more, and what was needed."""
    for gone in context.gone[:_MOST_SAID] if item.is_summary else [g for g in context.gone if _is_of(g, item)]:
        where = "" if context.summary is None else ", and not in the summary"
        said: list[Piece] = [(f"your words that are gone{where}: ", "muted"), (clean(gone.words), "strong")]
        at = gone.cut.origins[0].step if gone.cut.origins else None
        if at:
            said.append((f", at step {at}", "muted"))
        yield from _marked(said, columns)
    for needed in context.needed[:_MOST_SAID] if item.is_summary else [n for n in context.needed if n.cut is item]:
        said = [(f"step {needed.step} needed ", "muted"), (clean(" ".join(needed.what.split()))[:200], "strong")]
        yield from _marked([*said, (f": {clean(needed.why)}", "muted")], columns)
    left = max(len(context.gone) - _MOST_SAID, 0) if item.is_summary else 0
    if left:
        yield TextLine(
            ((f"   {fmt.counted(left, 'sentence')} more of yours {'is' if left == 1 else 'are'} gone", "note"),)
        )


def _is_of(gone: Gone, item: Item) -> bool:
    """Whether words went with an item: it is gone, or shorter than it was."""
    return gone.cut is item or (item.mark == "shortened" and gone.cut.part.text[:LEAST] == item.part.text[:LEAST])


def _marked(said: Sequence[Piece], columns: int) -> Iterator[TextLine]:
    for number, row in enumerate(wrap(said, columns - 3)):
        yield TextLine(row, lead=((" ! ", "changed_mark") if number == 0 else ("   ", "text"),))


def _came_from(item: Item) -> list[Piece]:
    """Each origin with its share of the text, the largest first; of several that hold the same all are named."""
    sizes: dict[tuple[Origin, ...], int] = {}
    for tile in item.tiles:
        sizes[tile.origins] = sizes.get(tile.origins, 0) + tile.end - tile.start
    whole = sum(sizes.values())
    if not whole:
        return [("there is no text", "note")]
    parts: list[Piece] = []
    for origins, size in sorted(sizes.items(), key=lambda pair: -pair[1]):
        if parts:
            parts.append((" + ", "faint"))
        share = "" if len(sizes) == 1 else f"{fmt.percent(size / whole)} "
        parts += [(share, "muted"), *_named(origins)]
    return parts


def _named(origins: tuple[Origin, ...]) -> list[Piece]:
    if not origins:
        return [("not known", "note")]
    named: list[Piece] = [(clean(from_words(origins[0])), "strong")]
    if origins[0].is_request:
        named.append((", first sent there", "muted"))
    before = from_words(origins[0]).rpartition(_STEP)[0]
    for origin in origins[1:_MOST_ORIGINS]:
        source, _, step = from_words(origin).rpartition(_STEP)
        # Of who said it elsewhere, too, only the step is said.
        named += [(" or ", "muted"), (clean(step if source == before else from_words(origin)), "text")]
        before = source
    if len(origins) > _MOST_ORIGINS:
        named.append((f" or {fmt.counted(len(origins) - _MOST_ORIGINS, 'other')}", "muted"))
    return named


def _stands(contexts: RunContexts, context: CallContext, item: Item, standing: Standing, glyphs: Glyphs) -> list[Piece]:
    """In how many other calls it stands, and at which steps."""
    steps = [contexts.calls[at].step for at in standing.of(item) if contexts.calls[at].place != context.place]
    if not steps:
        return [("in no other call", "muted")]
    listed = steps if len(steps) <= _MOST_CALLS else [*steps[: _MOST_CALLS - 1], steps[-1]]
    words = [str(step) for step in listed]
    if len(steps) > _MOST_CALLS:
        words.insert(-1, glyphs.cut)
    place = "word for word at steps " if len(steps) > 1 else "word for word at step "
    count = f" ({fmt.counted(len(steps), 'call')})"
    return [(place, "muted"), (" ".join(words), "text"), (count, "muted")]


def _wrapped(title: str, said: Sequence[Piece], columns: int) -> Iterator[TextLine]:
    for number, row in enumerate(wrap(said, columns - len(title) - 1)):
        yield TextLine(row, lead=((f" {title}" if number == 0 else " " * (len(title) + 1), "title"),))
