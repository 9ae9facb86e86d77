"""What reached the agent, in order: each answer takes a number of its run, over all lanes.

A call answered in one piece keeps its number in `calls.delivered` and has no row here. Each piece of a stream, and its
end, is a row of `deliveries`: `id` is `run << 32 | number`; `data` and `refs` are what came, kept as the arguments of a
call are, NULL where nothing did. Numbers of a run begin with 1, those of a fork after the last one of the steps that it
shares with its ancestors; a run's own have no gaps. A piece whose end may be the beginning of a secret is
`{"held_back": …}` until the next pieces tell; of a recording that broke off there what it brought is not known.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from agent_tt.errors import Damaged
from agent_tt.history.payloads.damage import placeholder
from agent_tt.history.payloads.payload import unpack_call_value
from agent_tt.history.rows import MOST_RUNS, SEQ_BITS, row_key
from agent_tt.model import Delivery
from agent_tt.store.rows.columns import integer
from agent_tt.store.tables.definitions import DELIVERIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.history.payloads.blobs import Blobs
    from agent_tt.history.rows import Row
    from agent_tt.model import DeliveryKind
    from agent_tt.store.file.transaction import Transaction
    from agent_tt.store.tables.asking import Rows

__all__ = [
    "NUMBER_MASK",
    "insert",
    "keys_of",
    "last_before",
    "last_number",
    "read",
    "settle",
    "strayed",
    "unreadable",
]

NUMBER_MASK: Final = (1 << SEQ_BITS) - 1
_MOST_ANCESTORS: Final = 256
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


def last_before(rows: Rows, run: int) -> int:
    """The largest number of the answers that a run shares with its ancestors; 0 for none."""
    largest, limit, seen = 0, (1 << 62), set[int]()
    while run not in seen and len(seen) < _MOST_ANCESTORS:
        seen.add(run)
        found = rows.query("SELECT parent, fork_step FROM runs WHERE run = ? AND parent IS NOT NULL", (run,))
        if not found or type(found[0][0]) is not int or not 0 <= found[0][0] < MOST_RUNS:
            break
        run, fork_step = found[0]
        limit = min(limit, integer(fork_step) or 0)
        largest = max(largest, last_number(rows, run, limit))
    return largest


def insert(
    tx: Transaction, delivery: Delivery, data: str | None, refs: bytes | None, *, run: int, step: int, call: int
) -> None:
    """Write the row of a piece, or of a stream's end; `data` and `refs` are what it brought, as they are kept."""
    number = row_key(run, delivery.number)
    DELIVERIES.insert(tx, (number, step, call, delivery.kind, delivery.at_us, data, refs))


def settle(
    tx: Transaction, place: int, data: str | None, refs: bytes | None, *, run: int, step: int, call: int
) -> None:
    """Write what is kept of a piece that was held back, which has this place among those of its call, from 0."""
    rows = tx.query(
        f"SELECT {DELIVERIES.selected} FROM deliveries WHERE step = ? AND call = ? AND id BETWEEN ? AND ?"  # noqa: S608  # our own
        " ORDER BY id LIMIT 1 OFFSET ?",
        (step, call, *keys_of(run), place),
    )
    for row in rows:
        if not DELIVERIES.holds(row):
            raise Damaged(f"a piece of call {call} of step {step} is damaged, and cannot be settled")
        DELIVERIES.rewrite(tx, DELIVERIES.with_digests(row[:-1]), {"data": data, "refs": refs})


def read(rows: Rows, blobs: Blobs, run: int, step: int, call: int) -> list[Delivery]:
    """What reached the agent of one call that answers in pieces; what cannot be read is a placeholder."""
    found = rows.query(
        f"SELECT {DELIVERIES.selected} FROM deliveries WHERE step = ? AND call = ? AND id BETWEEN ? AND ? ORDER BY id",  # noqa: S608  # our own
        (step, call, *keys_of(run)),
    )
    return [_delivery(row, blobs) for row in found]


def _delivery(row: Row, blobs: Blobs) -> Delivery:
    key, step, call, kind, at_us, data, _, _ = row
    number = key & NUMBER_MASK
    if not DELIVERIES.holds(row):
        why = f"answer {number} of call {call} of step {step} is damaged: its row is not as it was written"
        return Delivery(number, "chunk", None, placeholder(why), damaged=why)
    unread: list[str] = []
    data = unpack_call_value(data, f"answer {number} of call {call} of step {step}", blobs.get, unread)
    return Delivery(number, _KINDS.get(kind, "chunk"), integer(at_us), data, damaged=next(iter(unread), None))


def unreadable(rows: Rows, run: int, last_step: int) -> Iterator[tuple[int, str]]:
    """Pieces of a run's streams that belong to no call: the step, and what is wrong."""
    for step, call in rows.query(
        "SELECT d.step, d.call FROM deliveries d LEFT JOIN calls c ON c.run = ? AND c.step = d.step"
        " AND c.call = d.call WHERE d.id BETWEEN ? AND ? AND d.step <= ? AND c.call IS NULL ORDER BY d.id",
        (run, *keys_of(run), last_step),
    ):
        yield step, f"a piece of call {call} of step {step} is there, but not the call"


def strayed(rows: Rows, run: int) -> tuple[int, str] | None:
    """The first call of a run whose pieces cannot all be found by its number, as a replay looks for them; its step.

    An index that is damaged hides rows that are there.
    """
    by_call: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    low, high = keys_of(run)
    for key, step, call in rows.query(
        "SELECT id, step, call FROM deliveries NOT INDEXED WHERE id BETWEEN ? AND ? ORDER BY id", (low, high)
    ):
        by_call[step, call].append(key)
    for (step, call), keys in by_call.items():
        found = rows.query(_KEYS, (step, call, low, high))
        if [key for (key,) in found] != keys:
            return step, f"the pieces of call {call} of step {step} cannot all be found: an index is damaged"
    return None


_KEYS: Final = "SELECT id FROM deliveries WHERE step = ? AND call = ? AND id BETWEEN ? AND ? ORDER BY id"
