"""The row of facts about a model call, and which of the run's calls it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.context.words import cut_words
from agent_tt.model import shown
from agent_tt_tui import format as fmt
from agent_tt_tui.text import clean, width

if TYPE_CHECKING:
    from agent_tt.context.shown import CallContext, RunContexts
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.viewmodel.values.pieces import Piece

__all__ = ["facts_of", "short_model", "tokens_words", "which_call"]

_NARROW = 100


def tokens_words(context: CallContext, glyphs: Glyphs) -> str:
    """How many tokens, marked where nobody but us counted."""
    return f"{glyphs.about} {context.tokens:,}" if context.is_counted else f"{context.tokens:,}"


def short_model(name: str) -> str:
    """A model's name without its vendor: `sonnet-4-5`."""
    return clean(name.rpartition("/")[2].removeprefix("claude-"))


def facts_of(contexts: RunContexts, context: CallContext, columns: int, glyphs: Glyphs) -> tuple[Piece, ...]:
    """Model, tokens, what came and went since the last call, and what came from the cache."""
    name = clean(context.model) if columns >= _NARROW else short_model(context.model)
    pieces: list[Piece] = [(f" {glyphs.model} ", "model"), (name, "strong")]
    if not context.items:
        return (*pieces, ("  ", "text"), (clean(context.why_empty), "note"))
    pieces += [("   ", "text"), (tokens_words(context, glyphs), "strong"), (" tokens", "muted")]
    if context.before is not None:
        number = contexts.numbers[context.before] + 1
        pieces += [("   ", "text"), (f"+{context.added:,}", "added_mark"), (" ", "text")]
        since = "against" if context.is_chosen else "since"
        pieces += [(f"{glyphs.removed}{context.removed:,}", "removed_mark"), (f" {since} call {number}", "muted")]
    if context.cuts and not context.is_chosen:
        became = context.summary is not None
        pieces += [("   ", "text"), ("compacted here" if became else "cut here", "changed_mark")]
    if context.cached:
        pieces += [("  ", "text"), (f"{context.cached:,} from cache", "muted")]
    note = "there may be more that is not recorded"
    if not context.is_whole and sum(width(text) for text, _ in pieces) + 3 + len(note) <= columns:
        pieces += [("   ", "text"), (note, "note")]
    return tuple(pieces)


def which_call(contexts: RunContexts, number: int) -> tuple[Piece, ...]:
    """`model call 22 of 31 at step 34`, of the call with a number, from 0."""
    return (
        ("model call ", "muted"),
        (str(number + 1), "strong"),
        (f" of {len(contexts.calls)}", "strong"),
        (" at step ", "muted"),
        (str(contexts.calls[number].step), "strong"),
    )


def beside_history(contexts: RunContexts, context: CallContext) -> list[Piece]:
    """What stands at the right of the chart: the fullest call, and what the one that is shown cost."""
    fullest = max(range(len(contexts.calls)), key=lambda at: contexts.calls[at].tokens)
    rows: list[Piece] = [
        (f"fullest  {fmt.short(contexts.calls[fullest].tokens)}", "muted"),
        (f"at call  {fullest + 1}", "muted"),
    ]
    if context.cost_usd is not None:
        rows.append((f"cost  {shown.cost(context.cost_usd)}", "muted"))
    return rows


def drop_words(context: CallContext, glyphs: Glyphs) -> str:
    """What was cut, to be written beside its bar; empty where nothing was."""
    words = cut_words(context)
    return f"{glyphs.removed} {words}" if words else ""
