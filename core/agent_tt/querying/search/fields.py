"""The names of what a search can be kept to; a command lists them without loading what searches."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

__all__ = ["FIELDS", "MESSAGES", "Where"]

Where: TypeAlias = Literal["name", "agent", "decision", "error", "call", "arguments", "result", "state"]
"""Where a text stands."""

MESSAGES: Final = "messages"
"""What is in a message, in the state and among arguments."""

FIELDS: Final[tuple[str, ...]] = (*get_args(Where), MESSAGES)
