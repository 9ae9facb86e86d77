"""The texts of a wire value: what a search looks at."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from agent_tt.codec.typed_text import half_pairs
from agent_tt.codec.wire import VALUE, envelope_type, is_envelope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.codec.wire import Path, Wire

_UNREADABLE: Final = frozenset({"bytes", "bytearray", "ndarray", "numpy"})
"""Envelopes whose text is base64: a hit in it would mean nothing."""


def texts(value: Wire, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Walk over the texts of a value in the order in which they stand: keys, strings, and numbers as they are written.

    Of typed values the payload is given, of opaque ones their repr, of bytes nothing.

    Args:
        value: the value.
        path: where it is; the paths that come out begin with it.
    """
    stack: list[tuple[Path, Wire, str | None]] = [(path, value, None)]
    while stack:
        where, node, key = stack.pop()
        if key is not None:
            yield where, key
        if isinstance(node, str):
            yield where, node
        elif isinstance(node, list):
            stack += [((*where, index), node[index], None) for index in range(len(node) - 1, -1, -1)]
        elif is_envelope(node):
            if envelope_type(node) == "opaque":
                stack.append((where, node.get("repr"), None))
            elif envelope_type(node) == "str":
                yield where, half_pairs(node)
            elif envelope_type(node) not in _UNREADABLE and "dtype" not in node:
                stack.append(((*where, VALUE), node.get(VALUE), None))
        elif isinstance(node, dict):
            stack += [((*where, name), node[name], name) for name in reversed(node)]
        elif node is not None:
            yield where, json.dumps(node)
