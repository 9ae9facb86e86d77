"""What a wire value holds by name, whatever was recorded as it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.codec.wire import VALUE, envelope_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire

__all__ = ["fields_of", "thought_in"]

_THOUGHTS: Final = frozenset({"thinking", "reasoning", "reasoning_content"})
_WITH_FIELDS: Final = frozenset({"dataclass", "made", "pydantic"})


def fields_of(wire: Wire) -> Mapping[str, Wire] | None:
    """The fields of a model or dataclass, the keywords of a constructor, a plain dict itself; None for all others."""
    if not isinstance(wire, dict):
        return None
    kind = envelope_type(wire)
    if kind is None:
        return wire
    payload = wire.get(VALUE)
    if kind == "made" and isinstance(payload, list) and len(payload) == 2:  # arguments and keywords
        payload = payload[1]
    return payload if isinstance(payload, dict) and kind in _WITH_FIELDS else None


def thought_in(block: Mapping[str, Wire]) -> str:
    """What a model thought, in a content block of a message as LangChain or a provider writes it; "" in any other."""
    kind = block.get("type")
    if kind == "redacted_thinking":
        return "[redacted thinking]"
    found = block.get(str(kind)) if kind in _THOUGHTS else None
    if isinstance(found, dict):  # Bedrock's
        found = found.get("text")
    parts = found if found is not None or kind != "reasoning" else block.get("text") or block.get("summary")
    if isinstance(parts, list):  # OpenAI's
        texts = [part.get("text") for part in parts if isinstance(part, dict)]
        return "\n".join(text for text in texts if isinstance(text, str))
    return parts if isinstance(parts, str) else ""
