"""The first argument of a step's first tool, as a short text: it tells steps of the same name apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.codec.text import summary

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt.model import Call

__all__ = ["first_argument", "first_tool"]

_COLUMNS: Final = 60
_NO_TOOLS: Final = frozenset({"llm", "clock", "rng", "id", "env"})
"""Kinds of calls that are of no tool."""


def first_tool(calls: Iterable[Call]) -> Call | None:
    """Give the first call of a tool, of the calls of one step."""
    return next((call for call in calls if call.kind not in _NO_TOOLS), None)


def first_argument(call: Call | None) -> str:
    """Write the only or first argument of a call, by value alone; "" where it has none."""
    if call is None or not isinstance(call.args, dict) or not call.args:
        return ""
    return summary(next(iter(call.args.values())), _COLUMNS)
