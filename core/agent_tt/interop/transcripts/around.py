"""Agents in traces: which of them are around a span, and whether what they say is a conversation of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["AgentWork", "Around", "Inside", "Nested"]


@dataclass(frozen=True, slots=True)
class AgentWork:
    """An agent of that name was at work.

    Attributes:
        is_apart: whether its conversation is none of the main one, although no other agent is around it.
    """

    name: str
    is_apart: bool = False


class Inside(NamedTuple):
    """The agents around a span.

    Attributes:
        name: the innermost; empty where there is none.
        outermost: the one that is in no other; None where there is none.
        is_lane: whether its conversation is none of the main one.
        is_apart: whether one of them is apart, see `AgentWork`.
    """

    name: str = ""
    outermost: str | None = None
    is_lane: bool = False
    is_apart: bool = False


class Nested(Protocol):
    """A span, or what is known of one."""

    @property
    def parent(self) -> str:
        """The id of the span around it; empty at the root."""

    @property
    def agent(self) -> AgentWork | None:
        """The agent that it is."""


class Around:
    """Which agents are around a span. The way up is gone once, however deep spans are nested."""

    def __init__(self, spans: Mapping[str, Nested]) -> None:
        self._spans = spans
        self._known: dict[str, Inside] = {"": Inside()}

    def of(self, span: str) -> Inside:
        """The agents around what stands in a span, by its id; ones that lead round in a circle are gone once."""
        known = self._known.get(span)
        if known is not None:
            return known
        way: dict[str, Nested] = {}
        while span not in self._known and span not in way and span in self._spans:
            way[span] = self._spans[span]
            span = way[span].parent
        inside = self._known.get(span, self._known[""])
        for name, each in reversed(way.items()):
            agent = each.agent
            if agent is not None:
                outermost = agent.name if inside.outermost is None else inside.outermost
                is_apart = inside.is_apart or agent.is_apart
                inside = Inside(agent.name, outermost, is_apart or agent.name != outermost, is_apart)
            self._known[name] = inside
        return inside
