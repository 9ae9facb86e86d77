r"""Answers as text: JSON that no reader takes for anything but data.

What an agent recorded may hold control codes, marks that turn the direction of writing, and tags that a program or a
model takes for its own. In the text of an answer each of these is an escape (`\u001b`, `\u202e`, `\u003c`), and a line
never ends within a value. It is JSON still: whoever parses it has every name and value exactly as it was recorded.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire

__all__ = ["length", "written"]

_MARKUP: Final = "<>"
_ODD: Final = re.compile(rf"[^ -~]|[{_MARKUP}]")


def written(value: Wire) -> str:
    """Write a value as JSON on one line, without anything that is drawn, obeyed or taken for a tag."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:  # only a damaged figure is neither a number nor JSON
        text = json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":"))
    return _ODD.sub(_escaped, text)


def length(value: Wire, most: int) -> int:
    """How many characters `written` would take, counted no further than a little over `most`."""
    total = 0
    todo: list[Wire] = [value]
    while todo and total <= most:
        part = todo.pop()
        if isinstance(part, str):
            total += len(part) + 2 if len(part) > most else len(written(part))
        elif isinstance(part, list):
            total += 2 + max(0, len(part) - 1)
            todo += part[: most + 1]
        elif isinstance(part, dict):
            total += 2 + max(0, len(part) - 1)
            for key, item in part.items():
                total += 1 + (len(key) + 2 if len(key) > most else len(written(key)))
                todo.append(item)
                if total > most:
                    break
        else:
            total += len(written(part))
    return total


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    if character in _MARKUP:
        return f"\\u{ord(character):04x}"
    return character if character.isprintable() else json.dumps(character)[1:-1]


def _finite(value: Wire) -> Wire:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return value
