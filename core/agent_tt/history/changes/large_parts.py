"""Large parts of operations and keyframes, kept as blobs once for all steps, runs and forks.

A part that went elsewhere leaves null in its place and a reference `[place, kind, what]`, where `place` is the path to
it. A string of 4 KiB or more goes out, and a container of 16 KiB or more that has no such part in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import orjson

from agent_tt.errors import Damaged

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.codec.wire import Path, Wire

__all__ = ["LARGE_CONTAINER", "LARGE_TEXT", "PutBlob", "Reference", "move_out", "place"]

LARGE_TEXT: Final = 4096
"""Bytes, as JSON, from which a string is a blob."""

LARGE_CONTAINER: Final = 4 * LARGE_TEXT
"""Bytes, as JSON, from which a container is a blob."""

PutBlob: TypeAlias = "Callable[[bytes], str]"
"""Stores plain bytes and gives their hash in hex."""

_DEEPEST: Final = 48
"""Levels down to which parts are looked for: each of them is measured, which writes all that is in it."""

Reference: TypeAlias = "list[Wire]"
"""`[place, kind, what]`: `b` a blob's hash · `l` hashes of lists to join · `g` hashes of dicts to merge · `a` a seq."""


def move_out(wire: Wire, at: Path, references: list[Reference], put_blob: PutBlob) -> Wire:
    """A copy of `wire` without its large parts, which are put into blobs and named in `references`.

    Args:
        wire: the value; it is left as it is, and small parts of it are shared with the result.
        at: path of `wire` itself, the beginning of every place.
        references: receives one reference for each part.
        put_blob: stores a blob.
    """
    if type(wire) is str:
        if len(wire) * 6 < LARGE_TEXT:  # no character takes more than six bytes of JSON
            return wire
        raw = orjson.dumps(wire)
        if len(raw) < LARGE_TEXT:
            return wire
        references.append([list(at), "b", put_blob(raw)])
        return None
    if (type(wire) is not dict and type(wire) is not list) or len(at) > _DEEPEST:
        return wire
    size = len(orjson.dumps(wire))  # not kept meanwhile: each level around this one holds all of it once more
    if size < LARGE_TEXT:
        return wire
    before = len(references)
    kept: Wire
    if type(wire) is dict:
        kept = {key: move_out(item, (*at, key), references, put_blob) for key, item in wire.items()}
    else:
        kept = [move_out(item, (*at, index), references, put_blob) for index, item in enumerate(wire)]
    if len(references) == before and size >= LARGE_CONTAINER:
        references.append([list(at), "b", put_blob(orjson.dumps(wire))])
        return None
    return kept


def place(root: Wire, at: Path, part: Wire) -> Wire:
    """Put a part back where null was left, in place, and give the root.

    Raises:
        Damaged: there is no such place.
    """
    if not at:
        return part
    parent = root
    for step in at[:-1]:
        parent = _step(parent, step)
    _step(parent, at[-1])
    parent[at[-1]] = part  # type: ignore[index]  # the line above went there
    return root


def _step(parent: Wire, step: str | int) -> Wire:
    if type(parent) is dict and type(step) is str and step in parent:
        return parent[step]
    if type(parent) is list and type(step) is int and 0 <= step < len(parent):
        return parent[step]
    raise Damaged(f"a part belongs at {step!r}, where there is nothing", hint="Run `agent-tt verify` on the store.")
