"""What a model was shown, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.context.causes import Causes, Fed
    from agent_tt.context.shown import CallContext, Cut, Item, Join, Needed, Origin, RunContexts, Tile
    from agent_tt.model import Run
    from agent_tt.shapes.records import Shape

__all__ = ["causes_shape", "context_answer", "contexts_answer", "origin_shape"]


def causes_shape(causes: Causes, step: int) -> Shape:
    """`{from, to}`, each with the steps `recorded`, `inferred`, `perhaps`, and its `joins`, call by call."""
    found = causes.of(step)
    sources, fed = causes.joins(step)
    return {"from": _fed_shape(found.sources, sources), "to": _fed_shape(found.fed, fed)}


def _fed_shape(fed: Fed, joins: Sequence[Join]) -> Shape:
    return {
        "recorded": [*fed.recorded],
        "inferred": [*fed.inferred],
        "perhaps": [*fed.perhaps],
        "joins": [
            {
                "step": join.source[0],
                "call": join.source[1] or None,
                "fed": join.fed[0],
                "fed_call": join.fed[1] or None,
                "kind": join.kind,
                "recorded": join.is_recorded,
                "one_of": join.one_of,
            }
            for join in joins
        ],
    }


def contexts_answer(run: Run, contexts: RunContexts) -> Shape:
    """`{run, calls: [{step, call, lane, model, tokens, counted, added, removed, same, cached, shares, …}]}`."""
    return {"run": run.id, "calls": [_head(context) for context in contexts.calls]}


def context_answer(run: Run, context: CallContext) -> Shape:
    """The same of one call, with its `items`, `cuts`, and what is `gone` and was `needed`."""
    return {
        "run": run.id,
        **_head(context),
        "items": [_item(item) for item in context.items],
        "cuts": [_cut(cut) for cut in context.cuts],
        "gone": [{"words": gone.words, "item": gone.cut.number} for gone in context.gone],
        "needed": [_needed(needed) for needed in context.needed],
    }


def origin_shape(origin: Origin) -> Shape:
    """`{kind, step, call, name, first}`: `first` where the request of that call is the first that has it."""
    return {
        "kind": origin.kind,
        "step": origin.step,
        "call": origin.call or None,
        "name": origin.name or None,
        "first": origin.is_request,
    }


def _head(context: CallContext) -> Shape:
    before = context.before
    return {
        "step": context.step,
        "call": context.call,
        "lane": context.lane,
        "model": context.model,
        "tokens": context.tokens,
        "counted": context.is_counted,
        "whole": context.is_whole,
        "rest": context.rest,
        "before": None if before is None else {"step": before[0], "call": before[1]},
        "added": context.added,
        "removed": context.removed,
        "same": context.same,
        "cached": context.cached,
        "shares": [
            {"kind": share.kind, "tokens": share.tokens, "cost_usd": share.cost_usd} for share in context.shares
        ],
        "answer_tokens": context.answer_tokens,
        "answer_cost_usd": context.answer_cost_usd,
        "cost_usd": context.cost_usd,
        "compaction": context.compaction,
        "why_empty": context.why_empty or None,
    }


def _item(item: Item) -> Shape:
    part = item.part
    return {
        "number": item.number,
        "role": part.role,
        "kind": part.kind,
        "name": part.name or None,
        "path": part.where,
        "mark": item.mark,
        "summary": item.is_summary,
        "tokens": item.tokens,
        "tokens_before": item.tokens_before,
        "text": part.text,
        "tiles": _tiles(item.tiles),
    }


def _tiles(tiles: Sequence[Tile]) -> list[Wire]:
    return [
        {"start": tile.start, "end": tile.end, "from": [origin_shape(origin) for origin in tile.origins]}
        for tile in tiles
    ]


def _cut(cut: Cut) -> Shape:
    part = cut.item.part
    return {
        "after": None if cut.after < 0 else cut.after,
        "was": cut.item.number,
        "role": part.role,
        "kind": part.kind,
        "tokens": cut.item.tokens,
        "text": part.text,
    }


def _needed(needed: Needed) -> Shape:
    return {
        "what": needed.what,
        "was": needed.cut.number,
        "step": needed.step,
        "call": needed.call,
        "why": needed.why,
    }
