"""The calls, and the digests of the states, of many steps at once: what comparing two long runs reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from agent_tt.model import Call
from agent_tt.store import columns
from agent_tt.store.columns import ANY, NAME, TEXT, WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.history.rows import Rows
    from agent_tt.store.lineage import Lineage

__all__ = ["call_page", "digest_page"]

_CALLS: Final = (
    "SELECT step, call, lane, kind, name, effect, status, CASE kind WHEN 'llm' THEN NULL ELSE args END, result, error"
    " FROM calls WHERE run = ? AND step BETWEEN ? AND ? ORDER BY step, call"
)
_KINDS: Final = (WHOLE, WHOLE, NAME, NAME, TEXT, TEXT, ANY, ANY, ANY, ANY)
_DIGESTS: Final = (
    "SELECT s.step, d.digest FROM steps s JOIN deltas d ON d.id = (s.track << 32) + s.seq"
    " WHERE s.run = ? AND s.step BETWEEN ? AND ?"
)


def call_page(
    rows: Rows, lineage: Lineage, run: int, start: int, stop: int, read_value: Callable[[object, str], Wire]
) -> Iterator[Call]:
    """The calls of steps start..stop-1 in order, with what they carried: arguments, results, errors.

    What models were asked is left out: it is the whole conversation each time, and their answers tell two runs apart.
    So are times and facts for display.

    Args:
        rows: the file.
        lineage: where the run's steps lie.
        run: its number.
        start: the first step.
        stop: the first step behind them.
        read_value: reads the columns of arguments and results.
    """
    for stretch in lineage.stretches(run):
        first, last = max(stretch.first, start), stop - 1 if stretch.last is None else min(stretch.last, stop - 1)
        if first <= last:
            found = rows.query(_CALLS, (stretch.run, first, last))
            yield from (_call(row, read_value) for row in columns.fitted(found, _KINDS))


def digest_page(rows: Rows, lineage: Lineage, run: int, start: int, stop: int) -> dict[int, bytes]:
    """The digests of the checkpoints that steps start..stop-1 ended with, by step.

    Steps that took no checkpoint are left out, and so is the one that a fork begins at: its checkpoint may be edited.
    """
    digests: dict[int, bytes] = {}
    for stretch in lineage.stretches(run):
        first, last = max(stretch.first, start), stop - 1 if stretch.last is None else min(stretch.last - 1, stop - 1)
        if first <= last:
            found = rows.query(_DIGESTS, (stretch.run, first, last))
            digests.update((step, digest) for step, digest in found if type(digest) is bytes)
    return digests


class _Draft:
    """A call whose fields are being filled in, as `agent_tt.store.step_rows` does it for steps, and for its reasons."""

    __slots__ = Call.__slots__


def _call(row: Sequence[Any], read_value: Callable[[object, str], Wire]) -> Call:
    call: Any = _Draft()
    call.step, call.number, call.lane, call.kind, name, effect, status, args, result, error = row
    call.name = name or ""
    call.effect = columns.effect(effect)
    call.status = columns.call_status(status)
    call.args = None if args is None else read_value(args, f"the arguments of call {call.number} of step {call.step}")
    call.result = (
        None if result is None else read_value(result, f"the result of call {call.number} of step {call.step}")
    )
    call.error = None if error is None else columns.error_from_text(error)
    call.lane_seq = 0
    call.signature = call.started_us = call.ended_us = call.delivered = None
    call.meta = {}
    call.__class__ = Call
    return cast("Call", call)
