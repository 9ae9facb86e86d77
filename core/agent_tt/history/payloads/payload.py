"""JSON payloads whose large parts are blobs: what columns hold, and back.

| payload | without blobs | with blobs |
|---|---|---|
| operations | `[operation, ...]` | `{"o": [operation, ...], "r": [reference, ...]}` |
| arguments, a result | the value | `{"v": value, "r": [reference, ...]}` |

A reference is `[place, "b", hash in hex]`. Null stands at the place: a path inside the value, for operations the number
of the operation and then the path inside its last item. Blobs never name blobs. A plain object with just the keys `v`
and `r` is kept in the second form too, so that the two never look alike. In the second line a reference may also be
`[["headers"], "t", hash in hex]`, of a template: see `history.payloads.templates`; or `[place, "l", hashes in hex]`, of
a list whose stretches are blobs: so an imported run keeps the conversations that models were shown. What a piece of a
stream brought, and the facts of a call, are kept as arguments are.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, TypeAlias

import orjson

from agent_tt.errors import Damaged
from agent_tt.history.changes.large_parts import move_out, place
from agent_tt.history.hashing import HASH_SIZE
from agent_tt.history.payloads.damage import placeholder
from agent_tt.history.payloads.frames import MOST_PLAIN
from agent_tt.history.payloads.templates import HEADERS, filled

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from agent_tt.codec.wire import Wire
    from agent_tt.history.changes.large_parts import PutBlob, Reference
    from agent_tt.history.changes.ops import Op
    from agent_tt.history.payloads.shared_lists import SharedLists
    from agent_tt.history.payloads.templates import Templates

__all__ = [
    "GetBlob",
    "blob_value",
    "bounded",
    "hash_of",
    "join",
    "names_of",
    "pack",
    "pack_call_value",
    "pack_ops",
    "place_part",
    "too_much",
    "unpack",
    "unpack_call_value",
]

GetBlob: TypeAlias = "Callable[[bytes], bytes]"
"""Gives the plain bytes that a hash names, or raises `Damaged`."""

_WRAPPER_KEYS: Final = {"v", "r"}
_OPS_WITH_VALUES: Final = frozenset("sax")
_WITH_PARTS: Final = frozenset({str, dict, list})
_HINT: Final = "Run `agent-tt verify` to see what else is affected."

_SMALL: Final = 8 * 1024 * 1024
_MOST_MEMORY: Final = 1024 * 1024 * 1024
_VALUE: Final = 64
"""Bytes that a value takes in memory at least, beside its text; `[],` takes three in a file."""


def pack(value: Wire) -> bytes:
    """`value` as JSON: UTF-8, no spaces. Deeply nested values take a slower way to the same text."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def unpack(plain: object, what: str) -> Wire:
    """The value of a JSON text from a file.

    Raises:
        Damaged: it is not JSON, or JSON that takes far more memory than bytes.
    """
    if not isinstance(plain, bytes | str):
        raise Damaged(f"{what} is damaged: it is not text", hint=_HINT)
    if len(plain) > _SMALL and _memory(plain) > _MOST_MEMORY:
        raise Damaged(f"{what} is damaged: it holds more values than any does", hint=_HINT)
    try:
        value: Wire = orjson.loads(plain)
    except orjson.JSONDecodeError as error:
        raise Damaged(f"{what} is damaged: {error}", hint=_HINT) from error
    return value


def _memory(plain: bytes | str) -> int:
    """About how many bytes the values of a JSON text take, at most."""
    raw = plain.encode() if isinstance(plain, str) else plain
    return len(raw) + _VALUE * (raw.count(b",") + raw.count(b"[") + raw.count(b"{"))


def bounded(get: GetBlob) -> GetBlob:
    """`get` for the parts of one value: a blob can be named any number of times, and so be most of all memory.

    Parts that are too much cannot be read, like damaged ones.
    """
    left = MOST_PLAIN

    def get_within(digest: bytes) -> bytes:
        nonlocal left
        if left > 0:
            plain = get(digest)
            left -= len(plain)
            if left >= 0:
                return plain
        raise too_much()

    return get_within


def too_much() -> Damaged:
    """What is said of a value that names its parts so often that they would be most of all memory."""
    return Damaged("a value is damaged: its parts are more than any are", hint=_HINT)


def pack_ops(ops: list[Op], put: PutBlob) -> bytes:
    """The plain bytes of a checkpoint's operations: an array, or `{"o": operations, "r": references}` with blobs.

    Args:
        ops: the operations; they are left as they are.
        put: stores a blob.
    """
    refs: list[Reference] = []
    kept: list[Wire] = []
    for number, op in enumerate(ops):
        if op[0] in _OPS_WITH_VALUES and type(op[-1]) in _WITH_PARTS:
            kept.append([*op[:-1], _move_out(op[-1], number, refs, put)])
        else:
            kept.append(op)
    return pack({"o": kept, "r": _wire(refs)} if refs else kept)


def pack_call_value(
    value: Wire, put: PutBlob, templates: Templates | None = None, lists: SharedLists | None = None
) -> str:
    """Arguments or a result as the text of their column.

    Plain JSON where nothing was taken out, else `{"v": value, "r": references}`. A plain object with exactly these two
    keys is wrapped as well, so that the two never look alike.

    Args:
        value: the value; it is left as it is.
        put: stores a blob.
        templates: makes templates of its headers; None keeps them in it.
        lists: shares its long lists with other values; None keeps them in it.
    """
    refs: list[Reference] = []
    if lists is not None:
        value = lists.move_out(value, refs, put)
    if templates is not None and type(value) is dict and HEADERS in value:
        split = templates.split(value[HEADERS])
        if split is not None:
            value = {**value, HEADERS: split[1]}
            refs.append([[HEADERS], "t", put(split[0])])
    kept = _move_out(value, None, refs, put)
    if refs or (isinstance(value, dict) and value.keys() == _WRAPPER_KEYS):
        kept = {"v": kept, "r": _wire(refs)}
    return pack(kept).decode()


def unpack_call_value(
    text: object, what: str, get: GetBlob, unread: list[str] | None = None, without: Collection[str] = ()
) -> Wire:
    """The value of a column that `pack_call_value` made; what cannot be read is a placeholder in its place.

    Args:
        text: the column.
        what: names it where it is damaged.
        get: reads a blob.
        unread: a sentence is added to it where something is a placeholder.
        without: names of what need not be read: null stands for it where it is a blob of its own.
    """
    if text is None:
        return None
    unread = [] if unread is None else unread
    if not isinstance(text, str):
        unread.append(f"{what} is damaged: it is not text")
        return placeholder(unread[-1])
    try:
        value = unpack(text, what)
        if not isinstance(value, dict) or value.keys() != _WRAPPER_KEYS:
            return value
        value, whole = join(value["v"], value["r"], get, without)
    except Damaged as error:
        unread.append(error.message)
        return placeholder(error.message)
    if not whole:
        unread.append(f"{what} cannot be read in full: a blob that holds a part of it is damaged")
    return value


def join(root: Wire, refs: Wire, get: GetBlob, without: Collection[str] = ()) -> tuple[Wire, bool]:
    """Put all parts of kind `b` back, in place; also say whether all of them could be read.

    Parts whose first or second name is in `without` are left out.

    Raises:
        Damaged: a reference itself makes no sense.
    """
    if not isinstance(refs, list):
        raise _not_a_reference(refs)
    whole, get = True, bounded(get)
    for ref in refs:
        if not isinstance(ref, list) or len(ref) != 3 or not (ref[1] in ("b", "l") or ref[:2] == [[HEADERS], "t"]):
            raise _not_a_reference(ref)
        if without and isinstance(ref[0], list) and not {*without}.isdisjoint(map(str, ref[0][:2])):
            continue
        part, readable = joined_list(ref[2], get) if ref[1] == "l" else blob_value(ref[2], get)
        whole &= readable
        if ref[1] == "t" and readable:
            if not isinstance(root, dict) or HEADERS not in root:
                raise _not_a_reference(ref)
            part = filled(part, root[HEADERS], _not_a_reference)
        root = place_part(root, ref[0], part)
    return root, whole


def blob_value(name: Wire, get: GetBlob) -> tuple[Wire, bool]:
    """The value that a reference names, and whether it could be read; else a placeholder."""
    try:
        return unpack(get(hash_of(name)), "a blob"), True
    except Damaged as error:
        return placeholder(error.message), False


def joined_list(names: Wire, get: GetBlob) -> tuple[Wire, bool]:
    """The list whose stretches a reference names, and whether all could be read; else with placeholders."""
    if not isinstance(names, list):
        raise _not_a_reference(names)
    items: list[Wire] = []
    whole = True
    for name in names:
        part, readable = blob_value(name, get)
        items += part if isinstance(part, list) else [part]
        whole &= readable
    return items, whole


def names_of(refs: Wire) -> list[bytes]:
    """The hashes of all blobs that references name.

    Raises:
        Damaged: one of them is none.
    """
    named = [ref[2] for ref in refs if isinstance(ref, list) and len(ref) == 3] if isinstance(refs, list) else []
    return [hash_of(name) for each in named for name in (each if isinstance(each, list) else [each])]


def hash_of(name: Wire) -> bytes:
    """The hash that a reference names in hex.

    Raises:
        Damaged: it is none.
    """
    try:
        digest = bytes.fromhex(name) if isinstance(name, str) else b""
    except ValueError:
        digest = b""
    if len(digest) != HASH_SIZE:
        raise _not_a_reference(name)
    return digest


def place_part(root: Wire, at: Wire, part: Wire) -> Wire:
    """Put a part back where a reference says; give the new root.

    Raises:
        Damaged: there is no such place.
    """
    if not isinstance(at, list):
        raise _not_a_reference(at)
    return place(root, tuple(step for step in at if isinstance(step, str | int)), part)


def _move_out(value: Wire, number: int | None, refs: list[Reference], put: PutBlob) -> Wire:
    before = len(refs)
    try:
        return move_out(value, () if number is None else (number,), refs, put)
    except orjson.JSONEncodeError:  # nested too deeply for the fast encoder: kept whole, `pack` can write it
        del refs[before:]
        return value


def _wire(refs: list[Reference]) -> Wire:
    return [*refs]


def _not_a_reference(found: Wire) -> Damaged:
    return Damaged(f"a reference to a blob is damaged: {str(found)[:60]!r} is none", hint=_HINT)
