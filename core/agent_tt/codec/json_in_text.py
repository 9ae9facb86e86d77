"""JSON inside the texts of a state: results of tools in a conversation are mostly written so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, cast

from agent_tt.codec.wire import TYPE

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire

__all__ = ["JSON_SPACE", "read_json_text"]

JSON_SPACE: Final = " \t\n\r"
"""What JSON counts as blank."""


def read_json_text(text: str) -> list[Wire] | dict[str, Wire] | None:
    """Read an object or a list that is written in a text.

    Returns:
        What it says; None where it is neither, or has keys that stand for typed values in a state.
    """
    if text.lstrip(JSON_SPACE)[:1] not in ("{", "["):
        return None
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return None if _has_marks(said) else cast("list[Wire] | dict[str, Wire]", said)


def _has_marks(said: object) -> bool:
    """Whether it has keys that stand for typed values in a state."""
    waiting = [said]
    for node in waiting:
        if isinstance(node, dict):
            if TYPE in node:
                return True
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)
    return False
