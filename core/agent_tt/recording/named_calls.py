"""In the metadata of a run: the functions that were named from outside, and what is known of their calls."""

from __future__ import annotations

from typing import Final

__all__ = ["CALLS", "CALLS_NAMED", "HELD", "UNMATCHED"]

CALLS: Final = "calls"
"""Effects (`read`, `write`, `llm`) by dotted path."""

CALLS_NAMED: Final = "calls_named"
"""The names under which they are recorded, by dotted path."""

UNMATCHED: Final = "calls_unmatched"
"""The dotted paths of which no call was made."""

HELD: Final = "calls_held"
"""By dotted path, in words: what keeps a function written in C where it cannot be replaced."""
