"""What rows of the log appended, told from their bytes: a list is joined without reading what else changed with it.

A row's text is cut behind its last operation that appends, and the texts of many rows are read as one. Where a text was
cut in the wrong place its brackets do not match, and nothing outside of it could make up for them: then, and where
parts of a row are blobs, the row has to be read in full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.errors import Damaged
from agent_tt.history.payloads.payload import unpack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.history.changes.ops import Op

__all__ = ["appends_in"]

# Between quotes there is a backslash before each quote, so that none of these stands in a text or key.
_APPENDS: Final = b'["a",['
_FIRST: Final = b"[" + _APPENDS
_NEXT: Final = b']],["'
"""Where an operation that appends ends, and another one begins; or the middle of a value."""
_CODES: Final = frozenset(b"sdaxtom")
_FEW: Final = 16


def appends_in(rows: Sequence[bytes]) -> list[list[Op] | None]:
    """Of each row its operations up to the last one that appends; None where it has to be read in full.

    Args:
        rows: the operations of rows, as JSON.
    """
    found: list[list[Op] | None] = [None] * len(rows)
    cut: list[bytes] = []
    numbers: list[int] = []
    for number, plain in enumerate(rows):
        if plain.startswith(_FIRST):  # as a rule it is the only one
            end = _end(plain, len(_FIRST))
            if end >= 0 and plain.find(_APPENDS, end) >= 0:
                end = _end(plain, plain.rfind(_APPENDS, end))
        elif plain.startswith(b"["):
            begin = plain.rfind(_APPENDS)
            if begin < 0:
                found[number] = []
                continue
            end = _end(plain, begin)
        else:
            continue
        cut.append(plain if end < 0 else plain[:end] + b"]")
        numbers.append(number)
    if cut:
        for number, ops in zip(numbers, _read(cut), strict=True):
            found[number] = ops
    return found


def _end(plain: bytes, begin: int) -> int:
    """Where the operation that begins there ends; -1 where it is the last."""
    looked = 0
    while True:
        looked += 1
        # A single byte is found in a tenth of the time, where there are few of them.
        begin = plain.find(b"]" if looked < _FEW else _NEXT, begin)
        if begin < 0:
            return -1
        if plain.startswith(_NEXT, begin) and plain[begin + 5] in _CODES and plain.startswith(b'",[', begin + 6):
            return begin + 2
        begin += 1


def _read(cut: list[bytes]) -> list[list[Op] | None]:
    """The operations in each of some texts, None for what are none."""
    try:
        read = unpack(b"[%b]" % b",".join(cut), "a stretch of rows")
    except Damaged:
        read = None
    if not isinstance(read, list) or len(read) != len(cut):
        return [None] * len(cut)
    return [ops if _ends_with_append(ops) else None for ops in read]  # type: ignore[misc]  # it looks at them


def _ends_with_append(ops: object) -> bool:
    """Whether a value is a list of operations of which the last one appends."""
    if type(ops) is not list or not ops:
        return False
    for op in ops:
        if type(op) is not list or len(op) < 2 or type(op[0]) is not str or type(op[1]) is not list:
            return False
    return op[0] == "a" and len(op) == 4
