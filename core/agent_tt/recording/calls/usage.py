"""Tokens and money, as agents and model providers report them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from agent_tt.codec.looking import seen
from agent_tt.model.facts import CallFacts

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire

_IN, _OUT, _COST = CallFacts.tokens_in.key, CallFacts.tokens_out.key, CallFacts.cost_usd.key

# Ours first, then OpenAI's and Anthropic's words for the same.
_TOKENS_IN = (_IN, "prompt_tokens", "input_tokens")
_TOKENS_OUT = (_OUT, "completion_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class Usage:
    """What something cost; None where nobody said.

    Attributes:
        tokens_in: tokens read by the model.
        tokens_out: tokens written by the model.
        cost_usd: US dollars.
    """

    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            _sum(self.tokens_in, other.tokens_in),
            _sum(self.tokens_out, other.tokens_out),
            self.cost_usd if other.cost_usd is None else (self.cost_usd or 0.0) + other.cost_usd,
        )

    def to_meta(self) -> dict[str, Wire]:
        """The figures that are known, by name."""
        figures: dict[str, Wire] = {
            _IN: self.tokens_in,
            _OUT: self.tokens_out,
            _COST: self.cost_usd,
        }
        return {name: figure for name, figure in figures.items() if figure is not None}


NOTHING = Usage()


def usage_in(facts: Mapping[str, Wire]) -> Usage:
    """What the facts of a call say that it cost; see `Usage.to_meta`."""
    return Usage(_first_count(facts, (_IN,)), _first_count(facts, (_OUT,)), _amount(_field(facts, _COST)))


def usage_of(answer: object) -> Usage:
    """What an answer says of its own cost under `usage` (a key or an attribute), `NOTHING` where it says nothing.

    Both the answer and its `usage` may be mappings or objects. Counts that are no whole numbers from 0 are ignored.
    """
    usage = _field(answer, "usage")
    if usage is None:
        return NOTHING
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


def _sum(a: int | None, b: int | None) -> int | None:
    return b if a is None else a + (b or 0)
