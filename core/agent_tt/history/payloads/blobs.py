"""Content-addressed values: each is stored once, however many steps, runs and forks hold it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from agent_tt.errors import Damaged
from agent_tt.history.hashing import content_hash, row_id
from agent_tt.history.proofs import BLOBS

if TYPE_CHECKING:
    from agent_tt.history.payloads.frames import Frames
    from agent_tt.history.rows import Row, Rows, Transaction

__all__ = ["Blobs"]

_HINT: Final = "Run `agent-tt verify` to see which checkpoints hold it."


class Blobs:
    """The blobs of one file. A row number comes from its hash; where that is taken, the next one is used."""

    def __init__(self, rows: Rows, frames: Frames) -> None:
        self._rows = rows
        self._frames = frames

    def put(self, tx: Transaction, plain: bytes, form: Literal["json", "raw"] = "json") -> bytes:
        """Store `plain` unless it is there already, and give its hash."""
        digest = content_hash(plain)
        number = _free_number(tx, digest)
        if number is not None:
            BLOBS.insert(tx, (number, digest, form, len(plain), self._frames.compress(plain)))
        return digest

    def copy(self, tx: Transaction, digest: bytes) -> None:
        """Store one of these blobs in another file, byte for byte, unless it is there already.

        Raises:
            Damaged: it is missing here.
        """
        number = _free_number(tx, digest)
        if number is not None:
            form, size, data = self._row(digest)
            BLOBS.insert(tx, (number, digest, form, size, data))

    def get(self, digest: bytes) -> bytes:
        """The content that `digest` names.

        Raises:
            Damaged: it is missing, or not what its hash says.
        """
        what = _name(digest)
        _, size, data = self._row(digest)
        plain = self._frames.decompress(data, size, what)
        if content_hash(plain) != digest:
            raise Damaged(f"{what} is damaged: its content is not what its hash says", hint=_HINT)
        return plain

    def _row(self, digest: bytes) -> Row:
        number = row_id(digest)
        while found := self._rows.query("SELECT hash, form, size, data FROM blobs WHERE id = ?", (number,)):
            if found[0][0] == digest:
                return found[0][1:]
            number += 1
        raise Damaged(f"{_name(digest)} is missing", hint=_HINT)


def _free_number(tx: Transaction, digest: bytes) -> int | None:
    """The row number for a new blob; None if it is stored already."""
    number = row_id(digest)
    while found := tx.query("SELECT hash FROM blobs WHERE id = ?", (number,)):
        if found[0][0] == digest:
            return None
        number += 1
    return number


def _name(digest: bytes) -> str:
    return f"blob {digest.hex()[:12]}"
