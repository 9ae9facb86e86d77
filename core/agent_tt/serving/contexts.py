"""The tool that shows what a model was sent, and where each message came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.errors import StepNotFound
from agent_tt.querying.provenance.context import Sent
from agent_tt.serving.pages import Item, page, record
from agent_tt.serving.references import below, call_at, part_of_call, reference
from agent_tt.serving.tool import BUDGET, CURSOR, Parameter, Tool

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.model import Run
    from agent_tt.querying.provenance.context import Brought, SentMessage
    from agent_tt.serving.pages import Where
    from agent_tt.serving.tool import Asked
    from agent_tt.shapes.records import Shape

__all__ = ["CONTEXTS"]

_MOST: Final = 600
_MOST_TOOLS: Final = 40


def _context(asked: Asked) -> Shape:
    from agent_tt.codec.paths import parse_path
    from agent_tt.providers.provider_call import provider_call, tool_line

    run, call = call_at(asked.source, asked.text("at"), kind="llm")
    sent = Sent(asked.source, run.id, call, cancelled=asked.cancelled)
    if not sent.messages:
        raise StepNotFound(
            f"{reference(run.id, call.step, call.number)} ({call.name[:80]}) holds no messages that can be read",
            hint="call shows what it was asked.",
        )
    facts = call.facts
    head: Shape = {
        "at": reference(run.id, call.step, call.number),
        "model": call.name,
        "tokens_in": facts.tokens_in,
        "characters": sum(len(each.message.text) for each in sent.messages),
    }
    asked_of = provider_call(call)
    if asked_of is not None and asked_of.tools:
        head["tools"] = [tool_line(each)[0] for each in asked_of.tools[:_MOST_TOOLS]]
    numbered = list(enumerate(sent.messages))

    def item(entry: tuple[int, SentMessage], most: int) -> Item:
        number, each = entry
        message = each.message
        place = None if each.path is None else below(part_of_call(run.id, call, "args"), parse_path(each.path))
        shape: Shape = {
            "message": number,
            "role": message.role,
            "characters": len(message.text),
            "path": each.path,
            "from": _from(run, sent.brought(each)),
        }
        values: dict[str, tuple[Wire, Where]] = {"text": (message.text, place)} if message.text else {}
        if message.calls:
            values["asks_for"] = [str(one) for one in message.calls], place
        made = record(min(most, _MOST), {key: part for key, part in shape.items() if key != "from"}, values)
        whole = made.shape if isinstance(made.shape, dict) else {}
        return Item({**whole, "from": shape["from"]}, made.left_out)

    return page(head, "messages", numbered, item, cursor=asked.cursor, budget=asked.budget)


def _from(run: Run, brought: Brought | None) -> Wire:
    if brought is None:
        return "not known"
    from agent_tt.serving.fitting import LEAST, fit

    told: Shape = {
        "at": reference(run.id, brought.step, brought.call),
        "name": brought.name,
        "path": brought.path,
        "why": brought.why,
    }
    return {key: fit(part, LEAST)[0] for key, part in told.items() if part != ""}


CONTEXTS: Final = (
    Tool(
        "context",
        "What a model was sent, message by message in brief, and where each came from as far as that is known: the call"
        " whose result it is, the model's earlier answer, the input.",
        (
            Parameter("at", "text", "RUN@STEP#CALL of a model call; without #CALL where the step has one."),
            CURSOR,
            BUDGET,
        ),
        _context,
    ),
)
"""The tools of this module."""
