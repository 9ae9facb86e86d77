"""Why one envelope is not rebuilt, and what the rules may ask of the decoder that calls them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire

__all__ = ["NeedsClass", "Refusal", "Rule", "Walk"]


class Refusal(Exception):  # never leaves the codec: the decoder adds the path and raises NotRebuildable
    """An envelope cannot be rebuilt; says why."""


class NeedsClass(Refusal):
    """A well-formed envelope that only its own class could rebuild."""


class Walk(Protocol):
    """The decoder as rules see it. Its path already names the payload (`$v`)."""

    types: Mapping[str, type]

    def decode(self, wire: Wire) -> object:
        """Decode a value at the same place."""

    def part(self, wire: Wire, *steps: str | int) -> object:
        """Decode something that lies `steps` below."""

    def items(self, wire: Wire) -> list[object]:
        """Decode a list of values."""

    def pairs(self, wire: Wire) -> list[tuple[object, object]]:
        """Decode a list of `[key, value]`."""

    def offered(self, envelope: dict[str, Wire]) -> type:
        """The class that the envelope names; raises `NeedsClass` where it is not offered."""


class Rule(Protocol):
    """Rebuilds one type of envelope from the envelope, its payload and the decoder."""

    def __call__(self, envelope: dict[str, Wire], payload: Wire, walk: Walk, /) -> object:
        """The rebuilt value; raises `Refusal` (or anything that a constructor raises) where that cannot be."""
