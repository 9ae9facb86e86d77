"""How far a fork may go: numbers that are kept with it, and their words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.model.facts import LimitFacts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire

__all__ = ["LimitReached", "Limits", "memory_is_up", "shown_dollars", "shown_duration", "shown_memory", "time_is_up"]


class LimitReached(KeyboardInterrupt):
    """A fork has come to one of its limits; the message says which.

    It stops the agent as Ctrl-C would: no `except Exception` swallows it, and it leaves an event loop at once. Runs
    keep its name, `agent_tt.intercepting.limits:LimitReached`.
    """


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a fork may go; None where nothing limits it.

    Attributes:
        stop_at: number of the last step that is taken.
        seconds: how long its process may run.
        tokens: tokens that models read and wrote; the call that passes it is the last one.
        cost_usd: US dollars, likewise.
        memory: bytes of memory that its process may hold, with those that it starts.
        breaks: expressions, as `querying.expressions` reads them; the first step after which one of them begins to hold
            is the last one.
    """

    stop_at: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    memory: int | None = None
    breaks: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        numbers = (self.stop_at, self.seconds, self.tokens, self.cost_usd, self.memory)
        return bool(self.breaks) or any(limit is not None for limit in numbers)

    def words(self) -> list[str]:
        """Each limit in words: `after step 5`, `5 m`, `1,000 tokens`, `$0.50`, `2,048 MB of memory`, `when error`."""
        return [
            *([f"after step {self.stop_at}"] if self.stop_at is not None else []),
            *([shown_duration(self.seconds)] if self.seconds is not None else []),
            *([f"{self.tokens:,} tokens"] if self.tokens is not None else []),
            *([shown_dollars(self.cost_usd)] if self.cost_usd is not None else []),
            *([f"{shown_memory(self.memory)} of memory"] if self.memory is not None else []),
            *(f"when {where}" for where in self.breaks),
        ]

    def to_mapping(self) -> dict[str, Wire]:
        """Those that are set, by name."""
        named: dict[str, Wire] = {
            LimitFacts.stop_at.key: self.stop_at,
            LimitFacts.seconds.key: self.seconds,
            LimitFacts.tokens.key: self.tokens,
            LimitFacts.cost_usd.key: self.cost_usd,
            LimitFacts.memory.key: self.memory,
            LimitFacts.breaks.key: list(self.breaks) or None,
        }
        return {name: limit for name, limit in named.items() if limit is not None}

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Wire]) -> Limits:
        """What `to_mapping` wrote; what is not a number from 0, or no text, limits nothing."""
        said = LimitFacts(mapping)
        return cls(
            stop_at=_whole(said.stop_at),
            seconds=_amount(said.seconds),
            tokens=_whole(said.tokens),
            cost_usd=_amount(said.cost_usd),
            memory=_whole(said.memory),
            breaks=said.breaks,
        )


def time_is_up(seconds: float) -> str:
    """What is said of a fork whose time is over."""
    return f"its time limit of {shown_duration(seconds)} is reached"


def memory_is_up(limit: int, held: int) -> str:
    """What is said of a fork that has held more memory than it may, both in bytes."""
    return f"its memory limit of {shown_memory(limit)} is reached: it held {shown_memory(held)}"


def shown_memory(size: int) -> str:
    """`500 MB`, `2,048 MB`."""
    return f"{size // 1_000_000:,} MB"


def shown_duration(seconds: float) -> str:
    """`1 h 30 m`, `5 m`, `0.5 s`."""
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    parts = [f"{hours:.0f} h"] * bool(hours) + [f"{minutes:.0f} m"] * bool(minutes)
    return " ".join([*parts, *([f"{rest:g} s"] if rest or not parts else [])])


def shown_dollars(amount: float) -> str:
    """`$0.50`, `$0.0125`."""
    return f"${amount:,.2f}" if round(amount, 2) == round(amount, 6) else f"${amount:,.4g}"


def _whole(limit: int | None) -> int | None:
    return limit if limit is not None and limit >= 0 else None


def _amount(limit: float | None) -> float | None:
    return float(limit) if limit is not None and 0 <= limit < float("inf") else None
