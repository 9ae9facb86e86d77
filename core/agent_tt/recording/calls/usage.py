"""Tokens and money, as agents and model providers report them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from agent_tt.codec.looking import seen
from agent_tt.model import NO_USAGE, Usage
from agent_tt.model.facts import CallFacts

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire

_IN, _OUT, _COST = CallFacts.tokens_in.key, CallFacts.tokens_out.key, CallFacts.cost_usd.key

# Ours first, then OpenAI's and Anthropic's words for the same.
_TOKENS_IN = (_IN, "prompt_tokens", "input_tokens")
_TOKENS_OUT = (_OUT, "completion_tokens", "output_tokens")


def usage_facts(usage: Usage) -> dict[str, Wire]:
    """What the facts of a call say of its cost: the figures that are known, by name."""
    figures: dict[str, Wire] = {_IN: usage.tokens_in, _OUT: usage.tokens_out, _COST: usage.cost_usd}
    return {name: figure for name, figure in figures.items() if figure is not None}


def usage_in(facts: Mapping[str, Wire]) -> Usage:
    """Read tokens and cost from the facts of a call, as `usage_facts` wrote them."""
    return Usage(_first_count(facts, (_IN,)), _first_count(facts, (_OUT,)), _amount(_field(facts, _COST)))


def usage_of(answer: object) -> Usage:
    """What an answer says of its own cost under `usage` (a key or an attribute), `NO_USAGE` where it says nothing.

    Both the answer and its `usage` may be mappings or objects. Counts that are no whole numbers from 0 are ignored.
    """
    usage = _field(answer, "usage")
    if usage is None:
        return NO_USAGE
    return Usage(
        tokens_in=_first_count(usage, _TOKENS_IN),
        tokens_out=_first_count(usage, _TOKENS_OUT),
        cost_usd=_amount(_field(usage, _COST)),
    )


def is_refusal(answer: object) -> bool:
    """Whether what a provider answered is an error, which costs nothing; see `ModelAnswer.to_meta`."""
    return isinstance(answer, Mapping) and _field(_field(answer, "usage"), CallFacts.answer_error.key) is not None


def _field(holder: object, name: str) -> object:
    # Asked by type alone: a `__class__` may be a property. One that raises tells us nothing.
    if issubclass(type(holder), Mapping):
        return seen(lambda: cast("Mapping[str, object]", holder).get(name), None)
    return seen(lambda: getattr(holder, name, None), None)


def _first_count(usage: object, names: tuple[str, ...]) -> int | None:
    for name in names:
        count = _field(usage, name)
        if type(count) is int and count >= 0:
            return count
    return None


def _amount(value: object) -> float | None:
    if type(value) in (int, float) and 0 <= cast("float", value) < float("inf"):
        return float(cast("float", value))
    return None
