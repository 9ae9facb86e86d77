"""Values so that a browser reads them as they are.

`JSON.parse` puts keys that look like numbers first, and rounds long integers. So a dict is `[0, key, value, key, value,
…]`, a list `[1, item, …]`, a number that is no integer or too long for a browser `[2, "text of it"]`; all else is
itself. `values.js` reads them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt.codec.wire import Wire
    from agent_tt.history.changes.ops import Op

__all__ = ["pack", "pack_ops"]

_SAFE: Final = 2**53 - 1
"""The largest integer that every browser tells from its neighbours (`Number.MAX_SAFE_INTEGER`)."""

_VALUES: Final = {"s": 2, "a": 3, "x": 4}
"""Where an operation has a value, by its code."""


def pack(value: Wire) -> Wire:
    """Pack a value."""
    if isinstance(value, dict):
        return [0, *(part for key, item in value.items() for part in (key, pack(item)))]
    if isinstance(value, list):
        return [1, *map(pack, value)]
    if isinstance(value, float) or (isinstance(value, int) and not -_SAFE <= value <= _SAFE):
        return [2, json.dumps(value)]
    return value


def pack_ops(ops: Iterable[Op]) -> list[Wire]:
    """Pack the values of operations."""
    return [
        [*op[:at], pack(op[at])] if (at := _VALUES.get(str(op[0]))) is not None and at < len(op) else op for op in ops
    ]
