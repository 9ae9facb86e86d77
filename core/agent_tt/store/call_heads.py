"""Calls without what they carried: enough to count them and to say what became of them, however large their answers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from agent_tt.history.payload import unpack_call_value
from agent_tt.model import Call
from agent_tt.store import columns
from agent_tt.store.columns import ANY, NAME, TEXT, WHOLE
from agent_tt.store.step_rows import EFFECTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.history.blobs import Blobs
    from agent_tt.history.rows import Rows
    from agent_tt.model import CallKind
    from agent_tt.store.lineage import Lineage

__all__ = ["call_heads", "with_values"]

_HEADS: Final = (
    "SELECT step, call, lane, kind, name, effect, status, meta FROM calls"
    " WHERE run = ? AND step BETWEEN ? AND ? ORDER BY step, call"
)
_KINDS: Final = (WHOLE, WHOLE, NAME, NAME, TEXT, TEXT, ANY, ANY)
_VALUES: Final = "SELECT args, result, error FROM calls WHERE run = ? AND step = ? AND call = ?"
_LAST: Final = 1 << 62
_LARGE: Final = '"…"'.encode()
"""Stands in place of a large part of an answer, which is not read."""


def call_heads(rows: Rows, lineage: Lineage, run: int, start: int) -> Iterator[Call]:
    """The calls of all steps from `start` on, in order, without arguments, results and errors.

    Args:
        rows: the file.
        lineage: where the run's steps lie.
        run: its number.
        start: the first step.
    """
    for stretch in lineage.stretches(run):
        first, last = max(stretch.first, start), _LAST if stretch.last is None else stretch.last
        if first <= last:
            found = rows.query(_HEADS, (stretch.run, first, last))
            yield from (_head(row) for row in columns.fitted(found, _KINDS))


def _head(row: Sequence[Any]) -> Call:
    step, number, lane, kind, name, effect, status, meta = row
    return Call(
        step=step,
        number=number,
        kind=cast("CallKind", kind),
        name=name or "",
        status=columns.call_status(status),
        effect=EFFECTS.get(effect),
        lane=lane,
        meta=columns.mapping_from_text(meta),
    )


def with_values(rows: Rows, lineage: Lineage, blobs: Blobs, run: int, head: Call) -> Call:
    """A call with its arguments and error, and with its result, in which `…` stands for each large part."""
    holder, what = lineage.holder(run, head.step), f"call {head.number} of step {head.step}"
    for args, result, error in rows.query(_VALUES, (holder, head.step, head.number)):
        return replace(
            head,
            args=unpack_call_value(args, f"the arguments of {what}", blobs.get),
            result=unpack_call_value(result, f"the result of {what}", lambda _: _LARGE),
            error=columns.error_from_text(error),
        )
    return head
