"""Reading JSON that may be anything: each of these gives what was meant, or the empty form of it, and never raises."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_tt.providers.shapes import Json

__all__ = [
    "amount", "boolean", "count", "dicts", "first_line", "items", "mapping", "parse", "parse_arguments", "size", "text",
    "without",
]  # fmt: skip

_MOST_ARGUMENTS = 1_000_000
"""Characters; longer text of arguments stays text."""

_MOST_COUNT = 10**15
"""No honest count is larger; and what is larger than 64 bits, no database keeps."""


def parse(body: bytes | str) -> Json:
    """JSON text as a value; None where it is not valid JSON."""
    try:
        value: Json = json.loads(body)
    except (ValueError, RecursionError):  # UnicodeDecodeError is a ValueError; so is an integer of too many digits
        return None
    return value


def parse_arguments(given: Json) -> Json:
    """The arguments of a tool call: parsed where they come as JSON text, else as they are."""
    if not isinstance(given, str) or len(given) > _MOST_ARGUMENTS:
        return given
    if not given.strip():
        return {}
    parsed = parse(given)
    return given if parsed is None else parsed


def mapping(value: Json) -> dict[str, Json]:
    """The dict that `value` is, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Json) -> list[Json]:
    """The list that `value` is, else an empty one."""
    return value if isinstance(value, list) else []


def dicts(value: Json) -> list[dict[str, Json]]:
    """The dicts in a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) and value else []


def text(value: Json) -> str:
    """The text that `value` is, else an empty one."""
    return value if isinstance(value, str) else ""


def boolean(value: Json) -> bool:
    """Whether `value` is exactly true."""
    return value is True


def count(value: Json) -> int | None:
    """The whole number from 0 that `value` is, else None; also for a number that counts nothing, being too large."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_COUNT else None


def amount(value: Json) -> float | None:
    """The finite number from 0 that `value` is, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST_COUNT:
        return None
    return float(value)


def without(body: dict[str, Json], *names: str) -> dict[str, Json]:
    """`body` without some keys and without what is null."""
    return {name: value for name, value in body.items() if name not in names and value is not None}


def first_line(value: str, most: int = 300) -> str:
    """The first line of a text that has words, shortened to `most` characters."""
    line = next((line.strip() for line in value[: 4 * most].splitlines() if line.strip()), "")
    return line if len(line) <= most else line[: most - 1] + "…"


def size(characters: int) -> str:
    """How large something is that is written in base 64: `12 kB`."""
    amount = characters * 3 // 4
    return f"{amount:,} B" if amount < 1000 else f"{amount // 1000:,} kB"
