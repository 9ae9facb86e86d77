"""Tokens and dollars: of a call, a step, a run."""

from __future__ import annotations

from typing import Final, TypeVar

from agent_tt._dataclass import dataclass

__all__ = ["NO_USAGE", "Usage"]

_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True, slots=True)
class Usage:
    """What something cost; None where nobody said.

    Attributes:
        tokens_in: tokens read by the model.
        tokens_out: tokens written by the model.
        cost_usd: US dollars.
        unpriced: how many model calls have no known price.
    """

    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    unpriced: int | None = None

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            _sum(self.tokens_in, other.tokens_in),
            _sum(self.tokens_out, other.tokens_out),
            _sum(self.cost_usd, other.cost_usd),
            _sum(self.unpriced, other.unpriced),
        )


NO_USAGE: Final = Usage()


def _sum(one: _Number | None, other: _Number | None) -> _Number | None:
    return other if one is None else one if other is None else one + other
