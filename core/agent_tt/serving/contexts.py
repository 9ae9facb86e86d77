"""The tools that show what a model was sent, where each part came from, and which steps fed which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from agent_tt.context.shown import JOINED
from agent_tt.errors import StepNotFound
from agent_tt.model.shown import step_ranges
from agent_tt.providers.loose import items, mapping
from agent_tt.serving.pages import Item, page, record
from agent_tt.serving.references import below, call_at, part_of_call, reference, state_at
from agent_tt.serving.tool import BUDGET, CURSOR, Parameter, Tool

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.context.shown import CallContext, JoinKind, Needed
    from agent_tt.context.shown import Item as Sent
    from agent_tt.model import Run
    from agent_tt.serving.pages import Where
    from agent_tt.serving.tool import Asked
    from agent_tt.shapes.records import Shape

__all__ = ["CONTEXTS"]

_MOST: Final = 600
_MOST_ORIGINS: Final = 4
_MOST_GONE: Final = 8
_MOST_WORDS: Final = 160
_KNOWN: Final = ("recorded", "inferred", "perhaps")


def _context(asked: Asked) -> Shape:
    from agent_tt.context.reading import read_contexts

    run, call = call_at(asked.source, asked.text("at"), kind="llm")
    at = reference(run.id, call.step, call.number)
    found = read_contexts(asked.source, run.id, cancelled=asked.cancelled)
    context = found.at((call.step, call.number))
    if context is None or not context.items:
        why = "it asks a model through another call" if context is None else context.why_empty
        through = [reference(run.id, *each.place) for each in found.calls if each.step == call.step]
        hint = f"The calls of the step that ask one: {', '.join(through[:_MOST_GONE])}." if context is None else ""
        raise StepNotFound(f"{at} ({call.name[:80]}): {why}", hint=hint or "call shows what it was asked.")

    def item(each: Sent, most: int) -> Item:
        part = each.part
        place = None if part.path is None else below(part_of_call(run.id, call, "args"), part.path)
        shape: Shape = {
            "message": each.number,
            "role": part.role,
            "kind": part.kind,
            "mark": None if each.mark == "same" else each.mark,
            "tokens": each.tokens,
            "characters": len(part.text),
            "path": part.where,
        }
        values: dict[str, tuple[Wire, Where]] = {"text": (part.text, place)} if part.text else {}
        made = record(min(most, _MOST), shape, values)
        whole = made.shape if isinstance(made.shape, dict) else {}
        return Item({**whole, "from": _from(run, context, each)}, made.left_out)

    head = _head(run, context)
    return page(head, "messages", context.items, item, cursor=asked.cursor, budget=asked.budget)


def _links(asked: Asked) -> Shape:
    from agent_tt.shapes.answers import links_answer

    run, number = state_at(asked.source, asked.text("at"))
    answer = links_answer(asked.source, run, number, asked.cancelled)
    head: Shape = {"at": reference(run.id, number)}
    joins: list[Wire] = []
    for key, said in (("from", "fed_by"), ("to", "fed")):
        side = mapping(answer[key])
        for kind in _KNOWN:
            if side[kind]:
                head[said if kind == "recorded" else f"{said}_{kind}"] = ", ".join(
                    step_ranges((int(str(each)) for each in items(side[kind])), "..")
                )
        joins += items(side["joins"])
    if not joins:
        head["note"] = "nothing that was recorded says what fed it, or what it fed"

    def join(each: Wire, _most: int) -> Item:
        told = mapping(each)
        shape: Shape = {
            "at": _place(run, told["step"], told["call"]),
            "fed": _place(run, told["fed"], told["fed_call"]),
            "why": JOINED[cast("JoinKind", told["kind"])],
            "known": "recorded" if told["recorded"] else "inferred from equal texts",
        }
        return Item(shape if told["one_of"] == 1 else {**shape, "one_of": told["one_of"]}, [])

    return page(head, "links", joins, join, cursor=asked.cursor, budget=asked.budget)


def _place(run: Run, step: Wire, call: Wire) -> str:
    return reference(run.id, int(str(step)), None if call is None else int(str(call)))


def _head(run: Run, context: CallContext) -> Shape:
    from agent_tt.context.words import cut_words

    head: Shape = {
        "at": reference(run.id, context.step, context.call),
        "model": context.model,
        "tokens_in": context.tokens,
        "counted_by": "length" if context.is_counted else "the provider",
        "characters": sum(len(each.part.text) for each in context.items),
        "made_of": {share.kind: share.tokens for share in context.shares},
        "not_recorded": context.rest or None,
        "since": None if context.before is None else reference(run.id, *context.before),
        "added": context.added,
        "removed": context.removed,
        "same_from_the_top": context.same,
        "cut": cut_words(context) or None,
        "gone": [gone.words[:_MOST_WORDS] for gone in context.gone[:_MOST_GONE]] or None,
        "needed_later": [_needed(run, each) for each in context.needed[:_MOST_GONE]] or None,
    }
    return {key: value for key, value in head.items() if value is not None}


def _needed(run: Run, needed: Needed) -> Shape:
    return {
        "what": needed.what[:_MOST_WORDS],
        "at": reference(run.id, needed.step, needed.call),
        "why": needed.why,
    }


def _from(run: Run, context: CallContext, item: Sent) -> Wire:
    from agent_tt.serving.fitting import LEAST, fit

    origins = [origin for origin in item.origins if not (origin.is_request and origin.place == context.place)]
    if not origins:  # nothing before this call has it
        return "not known"
    first, *others = origins
    told: Shape = {
        "at": reference(run.id, first.step, first.call or None),
        "kind": first.kind,
        "name": first.name,
        "why": "first sent here" if first.is_request else "",
        "or": [reference(run.id, other.step, other.call or None) for other in others[:_MOST_ORIGINS]],
        "or_more": max(len(others) - _MOST_ORIGINS, 0),
    }
    return {key: fit(part, LEAST)[0] for key, part in told.items() if part}


CONTEXTS: Final = (
    Tool(
        "context",
        "What a model was sent, part by part in brief: its size, what is new, cut or shortened since the last call, and"
        " where each came from: the call whose result it is, the model's earlier answer, the input. Names words of the"
        " user that a compaction dropped, and facts that a later answer needed.",
        (
            Parameter("at", "text", "RUN@STEP#CALL of a model call; without #CALL where the step has one."),
            CURSOR,
            BUDGET,
        ),
        _context,
    ),
    Tool(
        "links",
        "Which steps fed a step, and which it fed: `fed_by` and `fed` where the recording says so, with `_inferred`"
        " where a request or an argument has text that only that step brought, with `_perhaps` where several steps"
        " brought the same. `links` lists each with the calls and how that is known.",
        (
            Parameter("at", "text", "RUN@STEP; 0 is the input."),
            CURSOR,
            BUDGET,
        ),
        _links,
    ),
)
"""The tools of this module."""
