"""Stored bytes to values. Typed values stay `Extension`s until someone wants them on the wire.

`type` says how bytes are written: `null` (none), `bytes`, `bytearray`, `msgpack`, `json`; `pickle` is never unpickled,
and `<type>+<cipher>` is encrypted. msgpack extensions wrap msgpack of their own:

| code | holds |
|---|---|
| 0, 1, 2, 3 | module, name and one argument, positional arguments, keyword arguments, an argument and a method |
| 4, 5 | module, name and the fields of a pydantic model (version 1, 2) |
| 6 | dtype, shape, order and buffer of a numpy array |
| 7 | the value of a delta channel at a snapshot |
"""

from __future__ import annotations

import json
from typing import Final

from agent_tt._dataclass import dataclass
from agent_tt.errors import Damaged

__all__ = ["Constructor", "Extension", "Sealed", "read_value", "unpack_extension"]

_PICKLE: Final = b"\x80"
"""How a pickle begins: the first LangGraph wrote such, without saying so."""

MSGPACK_LEVELS: Final = 64
"""Extensions inside each other; deeper ones stay as bytes, because each level copies what lies below it."""


@dataclass(frozen=True, slots=True)
class Extension:
    """A typed value of a msgpack document, not looked into yet.

    Attributes:
        code: what kind of typed value.
        data: its bytes, msgpack again.
        level: how many extensions it lies in.
    """

    code: int
    data: bytes
    level: int = 0


@dataclass(frozen=True, slots=True)
class Constructor:
    """An object as LangChain writes it in JSON: `{"lc": 1, "type": "constructor", "id": […], "kwargs": {…}}`.

    Attributes:
        names: its module's parts and its class.
        arguments: positional ones.
        keywords: arguments by name.
        method: of its class, which made it; None for the class itself.
    """

    names: list[object]
    arguments: list[object]
    keywords: dict[str, object]
    method: str | None = None


@dataclass(frozen=True, slots=True)
class Sealed:
    """A value that cannot be read, and is not to be: encrypted or pickled.

    Attributes:
        encoding: what the database calls it, `msgpack+aes` or `pickle`.
        size: how many bytes there are.
    """

    encoding: str
    size: int


def read_value(encoding: str, blob: bytes | None) -> object:
    """The value of stored bytes: plain Python data with `Extension`s and `Constructor`s in it, or one `Sealed`.

    Raises:
        Damaged: the bytes are not what the database calls them.
    """
    if encoding == "null" or (blob is None and not encoding):
        return None
    if blob is None:
        raise Damaged("there is no value")
    if "+" in encoding or encoding == "pickle" or (not encoding and blob.startswith(_PICKLE)):
        return Sealed(encoding or "pickle", len(blob))
    if encoding == "bytes":
        return blob
    if encoding == "bytearray":
        return bytearray(blob)
    if encoding == "msgpack" and blob[:1] != b"{":
        return _unpack(blob, 0)
    # LangGraph.js writes JSON throughout, and at least one version of it names it otherwise. 0x7B, which opens a JSON
    # object, is the number 123 in msgpack: no document of LangGraph is that and goes on.
    try:
        return json.loads(blob, object_hook=_constructor)
    except (ValueError, RecursionError) as error:
        if encoding == "msgpack":
            return _unpack(blob, 0)
        raise Damaged(f"it is not readable as {encoding or 'JSON'}") from error


def unpack_extension(extension: Extension) -> object:
    """What a typed value holds, with further `Extension`s in it.

    Raises:
        Damaged: its bytes are not msgpack, or it lies too deep.
    """
    if extension.level >= MSGPACK_LEVELS:
        raise Damaged(f"typed values lie more than {MSGPACK_LEVELS} deep")
    return _unpack(extension.data, extension.level + 1)


def _constructor(value: dict[str, object]) -> object:
    """A JSON object, or what it says was constructed. Within msgpack the same keys are only data."""
    names, arguments, keywords = value.get("id"), value.get("args"), value.get("kwargs")
    if value.get("type") != "constructor" or "lc" not in value or not isinstance(names, list) or not names:
        return value
    method = value.get("method")
    return Constructor(
        names,
        arguments if isinstance(arguments, list) else [],
        keywords if isinstance(keywords, dict) else {},
        method if isinstance(method, str) else None,
    )


def _unpack(blob: bytes, level: int) -> object:
    import ormsgpack

    try:
        value: object = ormsgpack.unpackb(
            blob, ext_hook=lambda code, data: Extension(code, data, level), option=ormsgpack.OPT_NON_STR_KEYS
        )
    except (ValueError, RecursionError) as error:
        raise Damaged(f"its msgpack cannot be read ({error})") from error
    return value
