"""Byte forms that live objects are compared with, at the speed of memory.

The canonical form (`agent_tt.codec.tlv`, marshal version 2) is the same for equal values, but copies every text anew. A
*live* form is what marshal version 4 gives for the very object: several times faster, without end for no object, and
as exact, because bytes that are equal read back as equal values. It is not the same for all equal values (it shows
which objects are shared), so it can only ever say yes; where it does not, the canonical form decides.
"""

from __future__ import annotations

import marshal
from operator import is_
from typing import TYPE_CHECKING, Final

from agent_tt.codec.plain import is_tree_of_json_types
from agent_tt.codec.tlv import tlv

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


__all__ = ["LIST_HEAD", "Form", "list_head"]

_LIVE_VERSION: Final = 4
"""The first version in which a container that holds itself ends, and in which ASCII text is copied as it is."""

_ENVELOPE_MARK: Final = b"$type"


LIST_HEAD: Final = 5
"""Bytes before the first element in the byte form of a list: `[` and a uint32 count."""


def list_head(count: int) -> bytes:
    """What stands before the elements of a list in its byte form."""
    return b"[" + count.to_bytes(LIST_HEAD - 1, "little")


class Form:
    """The form of a dict or list at the last checkpoint.

    Args:
        raw: its canonical bytes; None where they are those of the parts.
        parts: of a list that grows, the forms of the lists that it consists of, each with the number of its elements.
            They are compared one by one: what was compared before is known by its live form, and only the newest part
            takes the slow way.

    Attributes:
        given: those of the live elements, where something else is kept of them; b"" where that is not known.
        parts: as given.
        is_plain: whether it holds no envelope, so that live objects can be compared without encoding them.
        wires: of a list, the wire values that it is the form of, where they are known; never changed.
    """

    __slots__ = ("_live", "_raw", "given", "is_plain", "parts", "wires")

    def __init__(self, raw: bytes | None, parts: Sequence[tuple[int, Form]] = ()) -> None:
        self._raw = raw
        self.given = b""
        self.parts = parts
        self.is_plain: bool = (
            all(part.is_plain for _, part in parts) if parts or raw is None else _ENVELOPE_MARK not in raw
        )
        self._live: bytes | None = None
        self.wires: Sequence[object] | None = None

    @property
    def raw(self) -> bytes:
        """The canonical bytes."""
        if self._raw is not None:
            return self._raw
        return list_head(sum(size for size, _ in self.parts)) + b"".join([part.body for _, part in self.parts])

    @property
    def body(self) -> bytes:
        """Of a list, the canonical bytes of its elements."""
        return self.raw[LIST_HEAD:]

    @property
    def size(self) -> int:
        """How many the canonical bytes are, about."""
        return sum(part.size for _, part in self.parts) if self._raw is None else len(self._raw)

    def is_of_same(self, wires: Sequence[object]) -> bool:
        """Whether the elements of a list are the very wire values that were compared last: those never change."""
        return self.wires is not None and len(wires) == len(self.wires) and all(map(is_, wires, self.wires))

    def is_of(self, value: object) -> bool:
        """Whether a live object is this dict or list still, or what this is kept of.

        The same types, texts, signs of zero and order of keys.

        False for every form that is not plain.
        """
        if not self.is_plain:
            return False
        if self.parts:
            return type(value) is list and self._is_of_parts(value)
        try:
            live = marshal.dumps(value, _LIVE_VERSION)  # type: ignore[arg-type]  # trying any object is meant
        except ValueError:  # something in it is not a plain value
            return False
        if live == self._live:
            return True
        # Another thread may be changing the object: what is kept must be the form of exactly what is compared.
        seen = _read(live)
        # Every element is at least a byte of the canonical form: with more of them it cannot be equal.
        most = max(len(self.raw), len(self.given))
        if not is_tree_of_json_types(seen, most=most) or tlv(seen) not in (self.raw, self.given):
            return False
        self._live = live
        return True

    def snapshot(self, value: object) -> object:
        """A copy of a live dict or list that is plain data as this one is, which nobody can change; else None."""
        if not self.is_plain or self.parts:
            return None
        try:
            live = marshal.dumps(value, _LIVE_VERSION)  # type: ignore[arg-type]  # trying any object is meant
        except ValueError:
            return None
        seen = _read(live)
        return seen if is_tree_of_json_types(seen, most=len(live)) else None

    def read(self, items: Sequence[object]) -> tuple[bytes, list[object]] | None:
        """The live form of elements and what it is the form of; None where they are not plain, or this form is not.

        Nobody can change what is given, so that it can be compared in another way than by `is_of`.
        """
        if not self.is_plain or self.parts:
            return None
        try:
            live = marshal.dumps(items, _LIVE_VERSION)  # type: ignore[arg-type]  # trying any object is meant
        except ValueError:
            return None
        seen = _read(live)
        return (live, seen) if isinstance(seen, list) and is_tree_of_json_types(seen, most=len(live)) else None

    def hold(self, live: bytes, seen: Sequence[object]) -> None:
        """Take what has this live form for the same from now on: what may be kept of it has this form.

        Args:
            live: the live form, as `read` gave it.
            seen: what it is the form of.
        """
        self._live = live
        self.taken_from(tlv(seen))

    def taken_from(self, given: bytes) -> None:
        """Take elements with these canonical bytes for the same: this form is what may be kept of them."""
        if given != self.raw and _ENVELOPE_MARK not in given:
            self.given = given

    def _is_of_parts(self, items: list[object]) -> bool:
        at = 0
        for size, part in self.parts:
            if not part.is_of(items[at : at + size]):
                return False
            at += size
        return at == len(items)


_read: Final[Callable[[bytes], object]] = marshal.loads
"""Only ever called with bytes that this process has just made."""
