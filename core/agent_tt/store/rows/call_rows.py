"""Rows of `calls` as the model's objects: whole, or without what they carried, however large that is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from agent_tt.history.payloads.damage import placeholder
from agent_tt.history.payloads.payload import unpack_call_value
from agent_tt.model import Call
from agent_tt.store.rows import columns
from agent_tt.store.rows.columns import ANY, COUNT, NAME, TEXT, WHOLE
from agent_tt.store.rows.deliveries import NUMBER_MASK, keys_of
from agent_tt.store.tables.definitions import CALLS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.history.payloads.blobs import Blobs
    from agent_tt.history.rows import Row
    from agent_tt.model import CallKind
    from agent_tt.store.rows.lineage import Lineage
    from agent_tt.store.tables.asking import Rows

__all__ = ["CallRows", "damaged_call"]

_LIGHT: Final = CALLS.selected.replace("args, result, error,", "NULL, NULL, NULL,")
_HEADS: Final = f"SELECT {_LIGHT} FROM calls WHERE run = ? AND step BETWEEN ? AND ? ORDER BY step, call"  # noqa: S608
_DELIVERED: Final = (
    "CASE WHEN delivered IS NULL AND status <> 'pending' THEN (SELECT max(id) & ? FROM deliveries d"
    " WHERE d.step = c.step AND d.call = c.call AND d.id BETWEEN ? AND ?) ELSE delivered END"
)
_OF_STEP: Final = f"SELECT {_DELIVERED}, {CALLS.selected} FROM calls c WHERE run = ? AND step = ? ORDER BY call"  # noqa: S608
_NO_REQUESTS: Final = CALLS.selected.replace("args,", "CASE kind WHEN 'llm' THEN NULL ELSE args END,")
_PAGE: Final = f"SELECT {_NO_REQUESTS} FROM calls WHERE run = ? AND step BETWEEN ? AND ? ORDER BY step, call"  # noqa: S608
_ARGUMENTS: Final = "SELECT args, meta FROM calls WHERE run = ? AND step = ? AND call = ?"
_KINDS: Final = (
    *(WHOLE, WHOLE, WHOLE, NAME, WHOLE, NAME, TEXT, TEXT, ANY, ANY, ANY, ANY, ANY, ANY, COUNT, COUNT, COUNT, ANY, ANY),
)
"""What the columns of `CALLS.selected` hold."""
_TIMES: Final = slice(14, 16)
"""Where a call's beginning and end stand in a row."""
_LAST: Final = 1 << 62
_LARGE: Final = '"…"'.encode()
"""Stands in place of a large part of an answer, which is not read."""
_MOST_TEMPLATES: Final = 256
_UNNAMED: Final = "(damaged)"


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
        self._templates: dict[bytes, bytes] = {}

    def of_step(self, run: int, step: int) -> list[Call]:
        """The calls of a step in order of starting."""
        holder = self._lineage.holder(run, step)
        found = self._rows.query(_OF_STEP, (NUMBER_MASK, *keys_of(holder), holder, step))
        calls = self._calls([row[1:] for row in found], self._whole)
        delivered = {row[3]: row[0] for row in found if type(row[0]) is int}
        return [replace(call, delivered=delivered.get(call.number)) if call.damaged is None else call for call in calls]

    def heads(self, run: int, start: int, stop: int | None = None) -> list[Call]:
        """The calls of steps start..stop-1 (None: to the end) in order, without arguments, results and errors."""
        return self._between(run, start, _LAST if stop is None else stop - 1, _HEADS, self._head)

    def page(self, run: int, start: int, stop: int) -> list[Call]:
        """The calls of steps start..stop-1 in order, with what they carried: what comparing two long runs reads.

        What models were asked is left out, as it is the whole conversation each time; its signature is there instead.
        So are times and facts for display.
        """
        return self._between(run, start, stop - 1, _PAGE, self._on_page)

    def _between(self, run: int, start: int, stop: int, statement: str, make: Callable[[Row], Call]) -> list[Call]:
        calls: list[Call] = []
        for stretch in self._lineage.stretches(run):
            first, last = max(stretch.first, start), stop if stretch.last is None else min(stretch.last, stop)
            if first <= last:
                calls += self._calls(self._rows.query(statement, (stretch.run, first, last)), make)
        return calls

    def _calls(self, rows: Sequence[Row], make: Callable[[Row], Call]) -> list[Call]:
        """Rows as calls; those that are not as they were written are placeholders. One without a number is left out."""
        found = columns.fitted(rows, _KINDS)
        if found is rows:
            return [make(row) for row in rows]
        return [
            make(row) if fit == tuple(row) else damaged_call(row[1], row[2])
            for row, fit in zip(rows, found, strict=True)
            if type(row[1]) is int and type(row[2]) is int
        ]

    def with_values(self, run: int, head: Call) -> Call:
        """A call with its arguments and error, and with its result, in which `…` stands for each large part."""
        holder, what = self._lineage.holder(run, head.step), f"call {head.number} of step {head.step}"
        for row in CALLS.read(self._rows, "run = ? AND step = ? AND call = ?", (holder, head.step, head.number)):
            if not CALLS.holds(row):
                (call,) = self._calls([row], self._whole)
                return call
            unread: list[str] = []
            return replace(
                head,
                args=self.value(row[_ARGS], f"the arguments of {what}", unread),
                result=unpack_call_value(row[_RESULT], f"the result of {what}", lambda _: _LARGE, unread),
                error=columns.error_from_text(row[_ERROR]),
                damaged=next(iter(unread), head.damaged),
            )
        return head

    def outline(self, run: int, head: Call, without: Collection[str]) -> Call:
        """A call with its facts and its arguments, but for large parts of these that are named so."""
        holder, what = self._lineage.holder(run, head.step), f"call {head.number} of step {head.step}"
        ((args, meta),) = self._rows.query(_ARGUMENTS, (holder, head.step, head.number))
        facts = unpack_call_value(meta, f"the facts of {what}", self._template)
        asked = unpack_call_value(args, f"the arguments of {what}", self._template, None, without)
        return replace(head, args=asked, meta=facts if isinstance(facts, dict) else {})

    def value(self, column: object, what: str, unread: list[str] | None = None) -> Wire:
        """What a column of arguments or results holds; `what` names it where it is damaged, in `unread` too."""
        return unpack_call_value(column, what, self._blobs.get, unread)

    # ---------------------------------------------------------------- one row

    def _head(self, row: Row) -> Call:
        if not CALLS.holds_without(row):
            return damaged_call(row[1], row[2])
        unread: list[str] = []
        facts, (started, ended) = self._facts(row, unread), row[_TIMES]
        return self._bare(row, meta=facts, damaged=next(iter(unread), None), started_us=started, ended_us=ended)

    def _bare(self, row: Row, **more: Any) -> Call:
        """A call without what it carried and what numbers it."""
        _, step, number, lane, _, kind, name, effect, status, *_ = row
        return Call(
            step,
            number,
            cast("CallKind", kind),
            name or "",
            columns.call_status(status),
            columns.effect(effect),
            lane,
            **more,
        )

    def _on_page(self, row: Row) -> Call:
        unread = row[_KIND] == "llm"
        if not unread:
            if not CALLS.holds(row):
                return self._partly(row)
            return self._bare(row, **self._values(row, _VALUES))
        is_whole = CALLS.holds_without(row) and not set(CALLS.wrong_parts(row)) - {"args"}
        if not is_whole:
            return self._partly(row, unread=("args",))
        return self._bare(row, **self._values(row, _VALUES[1:]), signature=_hex(row[_SIGNATURE]))

    def _whole(self, row: Row) -> Call:
        return self._with_parts(row) if CALLS.holds(row) else self._partly(row)

    def _partly(self, row: Row, unread: Sequence[str] = ()) -> Call:
        """A call of which something is damaged: what it carried, or all of it."""
        if not CALLS.holds_without(row):
            return damaged_call(row[1], row[2])
        wrong = [name for name in CALLS.wrong_parts(row) if name not in unread]
        why = f"the {' and the '.join(wrong)} of {_what(row)} is not what was recorded"
        call = self._with_parts(
            [None if at in map(CALLS.columns.index, wrong) else value for at, value in enumerate(row)]
        )
        return replace(
            call,
            args=placeholder(why) if "args" in wrong else call.args,
            result=placeholder(why) if {"result", "error"} & {*wrong} else call.result,
            damaged=why,
        )

    def _values(
        self, row: Row | Sequence[Any], named: Sequence[tuple[str, int, str]], *, facts: bool = False
    ) -> dict[str, Any]:
        """Some of what a call carried, its error, its facts if asked for, and what of these cannot be read."""
        unread: list[str] = []
        values = {name: self.value(row[at], f"the {said} of {_what(row)}", unread) for name, at, said in named}
        more = {"meta": self._facts(row, unread)} if facts else {}
        error = columns.error_from_text(row[_ERROR])
        return {**values, **more, "error": error, "damaged": next(iter(unread), None)}

    def _with_parts(self, row: Row | Sequence[Any]) -> Call:
        _, step, number, lane, lane_seq, kind, name, effect, status, signature, _, _, _, _, *rest = row
        started, ended, delivered, *_ = rest
        return Call(
            step=step,
            number=number,
            kind=cast("CallKind", kind),
            name=name or "",
            status=columns.call_status(status),
            effect=columns.effect(effect),
            lane=lane,
            lane_seq=lane_seq,
            signature=_hex(signature),
            started_us=started,
            ended_us=ended,
            delivered=delivered,
            **self._values(row, _VALUES, facts=True),
        )

    def _facts(self, row: Row | Sequence[Any], unread: list[str]) -> dict[str, Wire]:
        facts = unpack_call_value(row[-2], f"the facts of {_what(row)}", self._template, unread)
        return facts if isinstance(facts, dict) else {}

    def _template(self, name: bytes) -> bytes:
        """A blob that facts name: a template of headers most of the time, which many calls share."""
        known = self._templates.get(name)
        if known is None:
            known = self._blobs.get(name)
            if len(self._templates) < _MOST_TEMPLATES:
                self._templates[name] = known
        return known


def damaged_call(step: int, number: int) -> Call:
    """What stands for a call whose row is not as it was written."""
    why = f"call {number} of step {step} is damaged: its row is not what was recorded"
    shown = placeholder(why)
    return Call(step, number, "tool", _UNNAMED, "pending", args=shown, result=shown, damaged=why)


def _hex(signature: object) -> str | None:
    return signature.hex() if isinstance(signature, bytes) and signature else None


def _what(row: Row | Sequence[Any]) -> str:
    return f"call {row[2]} of step {row[1]}"


_KIND, _SIGNATURE, _ARGS, _RESULT, _ERROR = map(CALLS.columns.index, ("kind", "signature", "args", "result", "error"))
_VALUES: Final = (("args", _ARGS, "arguments"), ("result", _RESULT, "result"))
"""What a call carried: the field, its column, and what it is called."""
