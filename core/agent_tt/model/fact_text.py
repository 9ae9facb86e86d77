"""Facts that people give runs and checkpoints as `KEY=VALUE`; the values of some keys are always texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from agent_tt.codec.parse import parse_value
from agent_tt.errors import InvalidValue, UsageError
from agent_tt.model.facts import UserFacts

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire

__all__ = ["TEXT_FACTS", "format_fact", "parse_fact"]

TEXT_FACTS: Final = tuple(fact.key for fact in UserFacts.every())
"""What a run is for, which ticket or issue it belongs to, and how long it is kept."""


def parse_fact(text: str) -> tuple[str, Wire]:
    """Read `KEY=VALUE`: the value is JSON, except that `purpose`, `ticket` and `retention` are texts as they are typed.

    Raises:
        UsageError: there is no `=`, or nothing before it.
        InvalidValue: the value is not JSON; the hint shows how to quote a text.
    """
    key, separator, value = text.partition("=")
    key = key.strip()
    if not separator or not key:
        raise UsageError(f"{text!r} is not KEY=VALUE", hint="For example ticket=OPS-12, or budget=3.")
    if key in TEXT_FACTS:
        return key, value.strip()
    try:
        return key, parse_value(value)
    except InvalidValue as error:
        raise InvalidValue(f"{key}: {error}", line=error.line, column=error.column, hint=error.hint) from error


def format_fact(key: str, value: Wire) -> str:
    """A fact as it may be typed: what `parse_fact` reads as the same."""
    if key in TEXT_FACTS and isinstance(value, str):
        return f"{key}={value}"
    return f"{key}={orjson.dumps(value).decode()}"
