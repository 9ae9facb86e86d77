"""Content-addressed values: each is stored once, however many steps, runs and forks hold it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from agent_tt.errors import Damaged
from agent_tt.history.hashing import content_hash

if TYPE_CHECKING:
    from agent_tt.history.payloads.frames import Frames
    from agent_tt.history.rows import LogRows, LogTransaction, Row

__all__ = ["Blobs"]

_HINT: Final = "Run `agent-tt verify` to see which checkpoints hold it."


class Blobs:
    """The blobs of one backend."""

    def __init__(self, rows: LogRows, frames: Frames) -> None:
        self._rows = rows
        self._frames = frames

    def put(self, tx: LogTransaction, plain: bytes, form: Literal["json", "raw"] = "json") -> bytes:
        """Store `plain` unless it is there already, and give its hash."""
        digest = content_hash(plain)
        tx.put_blob(digest, lambda: (form, len(plain), self._frames.compress(plain)))
        return digest

    def copy(self, tx: LogTransaction, digest: bytes) -> None:
        """Store one of these blobs elsewhere, byte for byte, unless it is there already.

        Raises:
            Damaged: it is missing here.
        """
        tx.put_blob(digest, lambda: self._row(digest))

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
        found = self._rows.blob(digest)
        if found is None:
            raise Damaged(f"{_name(digest)} is missing", hint=_HINT)
        return found


def _name(digest: bytes) -> str:
    return f"blob {digest.hex()[:12]}"
