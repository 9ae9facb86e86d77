"""Chat messages on one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.providers.chat import calls_in, message_of
from agent_tt_tui.text import clean

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire

_MOST_CALLS: Final = 8
_MOST_ROLE: Final = 40
_LONG_LINE: Final = 1_000
"""What one line shows of a message at most: calls, characters of its role, and of what it says."""


def line_of(value: Wire) -> tuple[str | None, str] | None:
    """A message on one line: who speaks and what is said; None for a value that is not a message.

    Returns:
        Both as safe text, the second cut to some length. Where an assistant calls tools, nobody is said to speak and
        the calls stand for what is said.
    """
    said = message_of(value)
    if said is None:
        return None
    if said.calls:
        return None, clean(", ".join(str(call) for call in said.calls[:_MOST_CALLS])[:_LONG_LINE])
    return clean(said.role[:_MOST_ROLE]), clean(said.text[:_LONG_LINE])


def line_at(path: str, value: Wire) -> tuple[str | None, str] | None:
    """A message on one line, as `line_of` says it; also the calls that are at a path to a message's `tool_calls`."""
    if path.rpartition(".")[2].partition("[")[0] == "tool_calls":
        listed: list[Wire] = [*value] if isinstance(value, list) else [value]
        calls = calls_in(listed) if len(listed) <= _MOST_CALLS else ()
        if calls and len(calls) == len(listed):
            return None, clean(", ".join(map(str, calls))[:_LONG_LINE])
    return line_of(value)
