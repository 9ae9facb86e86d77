"""Rows of `calls` as the model's objects: whole, or without what they carried, however large that is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from agent_tt.history.payload import unpack_call_value
from agent_tt.model import Call
from agent_tt.store import columns
from agent_tt.store.columns import ANY, COUNT, NAME, TEXT, WHOLE
from agent_tt.store.deliveries import NUMBER_MASK, keys_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.history.blobs import Blobs
    from agent_tt.history.rows import Rows
    from agent_tt.model import CallKind
    from agent_tt.store.lineage import Lineage

__all__ = ["CallRows"]

_HEAD: Final = "step, call, lane, kind, name, effect, status, meta"
_HEAD_KINDS: Final = (WHOLE, WHOLE, NAME, NAME, TEXT, TEXT, ANY, ANY)
_HEADS: Final = f"SELECT {_HEAD} FROM calls WHERE run = ? AND step BETWEEN ? AND ? ORDER BY step, call"  # noqa: S608
_DELIVERED: Final = (
    "CASE WHEN delivered IS NULL AND status <> 'pending' THEN (SELECT max(id) & ? FROM deliveries d"
    " WHERE d.step = c.step AND d.call = c.call AND d.id BETWEEN ? AND ?) ELSE delivered END"
)
_OF_STEP: Final = (
    f"SELECT {_HEAD}, lane_seq, lower(hex(signature)), started_us, ended_us, {_DELIVERED}, args, result, error"  # noqa: S608
    " FROM calls c WHERE run = ? AND step = ? ORDER BY call"
)
_KINDS: Final = (*_HEAD_KINDS, WHOLE, TEXT, COUNT, COUNT, COUNT, ANY, ANY, ANY)
_PAGE: Final = (
    "SELECT step, call, lane, kind, name, effect, status, CASE kind WHEN 'llm' THEN NULL ELSE args END, result, error,"
    " CASE kind WHEN 'llm' THEN lower(hex(signature)) END"
    " FROM calls WHERE run = ? AND step BETWEEN ? AND ? ORDER BY step, call"
)
_PAGE_KINDS: Final = (WHOLE, WHOLE, NAME, NAME, TEXT, TEXT, ANY, ANY, ANY, ANY, TEXT)
_VALUES: Final = "SELECT args, result, error FROM calls WHERE run = ? AND step = ? AND call = ?"
_LAST: Final = 1 << 62
_LARGE: Final = '"…"'.encode()
"""Stands in place of a large part of an answer, which is not read."""
_Draft: Final = columns.draft_of(Call)


class CallRows:
    """Reads the calls of runs.

    Args:
        rows: the file.
        lineage: where the steps of its runs lie.
        blobs: what the large parts of arguments and results are.
    """

    def __init__(self, rows: Rows, lineage: Lineage, blobs: Blobs) -> None:
        self._rows = rows
        self._lineage = lineage
        self._blobs = blobs

    def of_step(self, run: int, step: int) -> list[Call]:
        """The calls of a step in order of starting."""
        holder = self._lineage.holder(run, step)
        found = self._rows.query(_OF_STEP, (NUMBER_MASK, *keys_of(holder), holder, step))
        return [self._whole(row) for row in columns.fitted(found, _KINDS)]

    def heads(self, run: int, start: int) -> list[Call]:
        """The calls of all steps from `start` on, in order, without arguments, results and errors."""
        heads: list[Call] = []
        for stretch in self._lineage.stretches(run):
            first, last = max(stretch.first, start), _LAST if stretch.last is None else stretch.last
            if first <= last:
                found = self._rows.query(_HEADS, (stretch.run, first, last))
                heads += map(_call, columns.fitted(found, _HEAD_KINDS))
        return heads

    def page(self, run: int, start: int, stop: int) -> list[Call]:
        """The calls of steps start..stop-1 in order, with what they carried: what comparing two long runs reads.

        What models were asked is left out, as it is the whole conversation each time; its signature is there instead.
        So are times and facts for display.
        """
        calls: list[Call] = []
        for stretch in self._lineage.stretches(run):
            first, last = max(stretch.first, start), stop - 1 if stretch.last is None else min(stretch.last, stop - 1)
            if first <= last:
                found = self._rows.query(_PAGE, (stretch.run, first, last))
                calls += map(self._on_page, columns.fitted(found, _PAGE_KINDS))
        return calls

    def with_values(self, run: int, head: Call) -> Call:
        """A call with its arguments and error, and with its result, in which `…` stands for each large part."""
        holder, what = self._lineage.holder(run, head.step), f"call {head.number} of step {head.step}"
        for args, result, error in self._rows.query(_VALUES, (holder, head.step, head.number)):
            return replace(
                head,
                args=self.value(args, f"the arguments of {what}"),
                result=unpack_call_value(result, f"the result of {what}", lambda _: _LARGE),
                error=columns.error_from_text(error),
            )
        return head

    def value(self, column: object, what: str) -> Wire:
        """What a column of arguments or results holds; `what` names it where it is damaged."""
        return unpack_call_value(column, what, self._blobs.get)

    def _on_page(self, row: Sequence[Any]) -> Call:
        call: Any = _Draft()
        call.step, call.number, call.lane, call.kind, name, effect, status, args, result, error, signature = row
        what = f"call {call.number} of step {call.step}"
        call.name = name or ""
        call.effect = columns.effect(effect)
        call.status = columns.call_status(status)
        call.args = None if args is None else self.value(args, f"the arguments of {what}")
        call.result = None if result is None else self.value(result, f"the result of {what}")
        call.error = None if error is None else columns.error_from_text(error)
        call.lane_seq = 0
        call.signature = signature or None
        call.started_us = call.ended_us = call.delivered = None
        call.meta = {}
        call.__class__ = Call
        return cast("Call", call)

    def _whole(self, row: Sequence[Any]) -> Call:
        lane_seq, signature, started, ended, delivered, args, result, error = row[8:]
        what = f"call {row[1]} of step {row[0]}"
        return _call(
            row[:8],
            lane_seq=lane_seq,
            signature=signature or None,
            started_us=started,
            ended_us=ended,
            delivered=delivered,
            args=self.value(args, f"the arguments of {what}"),
            result=self.value(result, f"the result of {what}"),
            error=columns.error_from_text(error),
        )


def _call(head: Sequence[Any], **more: Any) -> Call:
    step, number, lane, kind, name, effect, status, meta = head
    return Call(
        step=step,
        number=number,
        kind=cast("CallKind", kind),
        name=name or "",
        status=columns.call_status(status),
        effect=columns.effect(effect),
        lane=lane,
        meta=columns.mapping_from_text(meta),
        **more,
    )
