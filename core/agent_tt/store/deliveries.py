"""What reached the agent, in order: each answer takes a number of its run, over all lanes.

A call answered in one piece keeps its number in `calls.delivered` and has no row here. Each piece of a stream, and its
end, is a row of `deliveries`: `id` is `run << 32 | number`; `data` is the JSON of a wire value, as a BLOB below 4 KiB,
else the hash of the blob that holds it, as TEXT in hex; NULL where nothing came. Numbers of a run begin with 1, those
of a fork after the last one of the steps that it shares with its ancestors; a run's own have no gaps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.errors import Damaged
from agent_tt.history.damage import placeholder
from agent_tt.history.large_parts import LARGE_TEXT
from agent_tt.history.payload import hash_of, pack, unpack
from agent_tt.history.rows import SEQ_BITS, row_key
from agent_tt.model import Delivery
from agent_tt.store.columns import integer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.codec.wire import Wire
    from agent_tt.history.blobs import Blobs
    from agent_tt.history.rows import Rows, Transaction
    from agent_tt.model import DeliveryKind

__all__ = ["NUMBER_MASK", "blob_of", "insert", "keys_of", "last_number", "numbers_out_of_order", "read", "unreadable"]

NUMBER_MASK: Final = (1 << SEQ_BITS) - 1
_KINDS: Final[dict[object, DeliveryKind]] = {"chunk": "chunk", "end": "end", "error": "error", "closed": "closed"}


def keys_of(run: int) -> tuple[int, int]:
    """The smallest and the largest id that a delivery of a run can have."""
    return row_key(run, 0), row_key(run, NUMBER_MASK)


def last_number(rows: Rows, run: int, last_step: int | None = None) -> int:
    """The largest number that a run's own rows hold, of steps up to `last_step` where given; 0 for none."""
    low, high = keys_of(run)
    if last_step is None:
        ((calls, pieces),) = rows.query(
            "SELECT (SELECT max(delivered) FROM calls WHERE run = ? AND delivered IS NOT NULL),"
            " (SELECT max(id) FROM deliveries WHERE id BETWEEN ? AND ?)",
            (run, low, high),
        )
    else:
        ((calls, pieces),) = rows.query(
            "SELECT (SELECT max(delivered) FROM calls WHERE run = ? AND step <= ?),"
            " (SELECT max(id) FROM deliveries WHERE id BETWEEN ? AND ? AND step <= ?)",
            (run, last_step, low, high, last_step),
        )
    return max(integer(calls) or 0, (pieces or 0) & NUMBER_MASK)


def insert(tx: Transaction, blobs: Blobs, delivery: Delivery, *, run: int, step: int, call: int) -> None:
    """Writes the row of a piece, or of a stream's end."""
    data: bytes | str | None = None
    if delivery.data is not None:
        data = pack(delivery.data)
        if len(data) >= LARGE_TEXT:
            data = blobs.put(tx, data).hex()
    tx.execute(
        "INSERT INTO deliveries(id, step, call, kind, at_us, data) VALUES(?, ?, ?, ?, ?, ?)",
        (row_key(run, delivery.number), step, call, delivery.kind, delivery.at_us, data),
    )


def read(rows: Rows, blobs: Blobs, run: int, step: int, call: int) -> list[Delivery]:
    """What reached the agent of one call that answers in pieces; what cannot be read is a placeholder."""
    found = rows.query(
        "SELECT id, kind, at_us, data FROM deliveries WHERE step = ? AND call = ? AND id BETWEEN ? AND ? ORDER BY id",
        (step, call, *keys_of(run)),
    )
    return [
        Delivery(key & NUMBER_MASK, _KINDS.get(kind, "chunk"), integer(at_us), _data_or_placeholder(blobs, data))
        for key, kind, at_us, data in found
    ]


def _data_or_placeholder(blobs: Blobs, data: object) -> Wire:
    try:
        return _data(blobs, data)
    except Damaged as error:
        return placeholder(error.message)


def _data(blobs: Blobs, data: object) -> Wire:
    if data is None:
        return None
    name = blob_of(data)
    plain = data if name is None else blobs.get(name)
    if not isinstance(plain, bytes):
        raise Damaged("a piece of a stream is damaged: it is not JSON")
    return unpack(plain, "a piece of a stream")


def blob_of(data: object) -> bytes | None:
    """The hash of the blob that a `data` column names, None where it names none.

    Raises:
        Damaged: it is a text, but no hash.
    """
    return hash_of(data) if isinstance(data, str) else None


def unreadable(rows: Rows, blobs: Blobs, run: int, last_step: int) -> Iterator[tuple[int, str]]:
    """Pieces of a run's streams that cannot be read or belong to no call: the step, and what is wrong."""
    for step, call, known, data in rows.query(
        "SELECT d.step, d.call, c.call, d.data FROM deliveries d LEFT JOIN calls c ON c.run = ? AND c.step = d.step"
        " AND c.call = d.call WHERE d.id BETWEEN ? AND ? AND d.step <= ? ORDER BY d.id",
        (run, *keys_of(run), last_step),
    ):
        if known is None:
            yield step, f"a piece of call {call} of step {step} is there, but not the call"
        try:
            _data(blobs, data)
        except Damaged as error:
            yield step, f"call {call} of step {step}: {error.message}"


def numbers_out_of_order(rows: Rows, run: int) -> str | None:
    """What is wrong with the numbers of a run's own answers, None if they follow one another."""
    ((count, distinct, first, last),) = rows.query(
        "SELECT count(n), count(DISTINCT n), min(n), max(n) FROM (SELECT CAST(delivered AS INTEGER) AS n"
        " FROM calls WHERE run = ? AND delivered IS NOT NULL"
        " UNION ALL SELECT id & ? FROM deliveries WHERE id BETWEEN ? AND ?)",
        (run, NUMBER_MASK, *keys_of(run)),
    )
    if not count or (first > 0 and count == distinct == last - first + 1):
        return None
    return f"its answers are numbered {first} to {last}, but {count} of them ({distinct} different) are there"
