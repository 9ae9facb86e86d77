"""Rows of `steps` as the model's objects, across a fork and its ancestors."""

from __future__ import annotations

import difflib
import re
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from agent_tt.codec.collector import collector_paused
from agent_tt.errors import StepNotFound, StoreUnreadable
from agent_tt.history.rows import whole
from agent_tt.model import Step
from agent_tt.model.facts.stored import StepMeta
from agent_tt.store.rows import columns
from agent_tt.store.rows.columns import ANY, COUNT, NAME, NUMBER, TEXT, WHOLE
from agent_tt.store.tables.definitions import DELTAS, STEPS
from agent_tt.store.tables.proofs import PartDigest, hashed, part_digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.store.rows.lineage import Lineage, Stretch
    from agent_tt.store.rows.run_rows import RunRows
    from agent_tt.store.tables.asking import Rows, SqlValue

__all__ = ["StepRows"]

_NUMBER: Final = re.compile(r"\d{1,18}")
_FROM_END: Final = re.compile(r"~(\d{1,18})")
_ERROR: Final = "@error"

_COLUMNS: Final = ", ".join(f"s.{column}" for column in (*STEPS.columns, "proof"))
_COST: Final = STEPS.columns.index("cost_usd")
_ERROR_AT: Final = STEPS.columns.index("error")
_FROM: Final = " FROM steps s LEFT JOIN tracks t ON t.track = s.track WHERE s.run = ? AND s.step BETWEEN ? AND ?"
_BY_ROW: Final = f"SELECT ifnull(t.name, 'main'), {_COLUMNS}{_FROM} ORDER BY s.step"
_IN_JSON: Final = _COLUMNS.replace("s.cost_usd", "NULL").replace("s.proof", "hex(s.proof)")
_AS_JSON: Final = f"SELECT json_group_array(json_array(ifnull(t.name, 'main'), {_IN_JSON})){_FROM}"
_COSTS: Final = "SELECT step, cost_usd FROM steps WHERE run = ? AND step BETWEEN ? AND ? AND cost_usd IS NOT NULL"
_STEP_KINDS: Final = (
    *(NAME, WHOLE, WHOLE, COUNT, TEXT, NAME, TEXT, NAME, ANY, COUNT, COUNT, COUNT, COUNT, NUMBER, ANY, COUNT, COUNT),
    *(ANY, ANY),
)
_NUMBER_AT: Final = 2
_STATUS_AT: Final = 8
_UNNAMED: Final = "(damaged)"
_DIGESTS: Final = (
    f"SELECT s.step, {', '.join(f'd.{column}' for column in (*DELTAS.columns, 'proof'))}"  # noqa: S608  # our own
    " FROM steps s JOIN deltas d ON d.id = (s.track << 32) + s.seq WHERE s.run = ? AND s.step BETWEEN ? AND ?"
)
_Draft: Final = columns.draft_of(Step)


class _Facts(NamedTuple):
    """What stands in the `meta` of a step, and its digest; many steps of a run have the same."""

    part: SqlValue
    calls: int
    decision: str | None
    repeat_of: int | None
    extra: Mapping[str, Wire]

    @classmethod
    def of(cls, meta: object) -> _Facts:
        facts = StepMeta(columns.mapping_from_text(meta))
        part = part_digest(meta) if isinstance(meta, str) else None
        return cls(
            None if part is None else PartDigest(part),
            facts.calls or 0,
            facts.decision,
            facts.repeat_of,
            facts.extra.raw,
        )


def _is_proven(row: Sequence[Any], part: SqlValue) -> bool:
    """Whether a row is as it was written; `part` is what stands in its proof for `meta`."""
    if row[1 + _ERROR_AT] is None:  # all that is left has no parts: what `STEPS.proof` gives, without looking for them
        return bool(hashed((STEPS.name, *row[1:-2], part)) == row[-1])
    return bool(STEPS.proof([*row[1:-2], part]) == row[-1])


def _damaged(number: int, why: str, *, inherited: bool) -> Step:
    """What stands for a step that is missing, or whose row is not as it was written."""
    return Step(number, _UNNAMED, "interrupted", inherited=inherited, damaged=f"step {number} is damaged: {why}")


class StepRows:
    """Reads steps; a page of them is a range query in each run that it lies in."""

    def __init__(self, rows: Rows, lineage: Lineage, runs: RunRows) -> None:
        self._rows = rows
        self._lineage = lineage
        self._runs = runs

    def page(self, run: int, start: int, stop: int | None) -> list[Step]:
        """Steps start..stop-1 of a run, those of its ancestors marked as inherited."""
        steps: list[Step] = []
        for stretch in self._lineage.stretches(run):
            first = max(stretch.first, start)
            last = stretch.last if stop is None else stop - 1 if stretch.last is None else min(stretch.last, stop - 1)
            if last is None or first <= last:
                steps += self._stretch(stretch, first, last, inherited=stretch.run != run)
        return steps

    def digests(self, run: int, start: int, stop: int) -> dict[int, bytes]:
        """The digests of the checkpoints that steps start..stop-1 ended with, by step.

        Steps that took no checkpoint are left out, and so are those whose checkpoint is damaged, and the one that a
        fork begins at: its checkpoint may be edited.
        """
        digests: dict[int, bytes] = {}
        for stretch in self._lineage.stretches(run):
            first = max(stretch.first, start)
            last = stop - 1 if stretch.last is None else min(stretch.last - 1, stop - 1)
            if first <= last:
                found = self._rows.query(_DIGESTS, (stretch.run, first, last))
                digests.update((step, row[1]) for step, *row in found if DELTAS.holds(tuple(row)))
        return digests

    def _stretch(self, stretch: Stretch, first: int, last: int | None, *, inherited: bool) -> list[Step]:
        """Steps that lie in one run; one whose row is missing, or not as it was written, is a placeholder."""
        end = self._lineage.own_last(stretch.run)
        last = end if last is None else min(last, end)
        with collector_paused():
            return self._read(stretch.run, first, last, inherited=inherited)

    def _read(self, run: int, first: int, last: int, *, inherited: bool) -> list[Step]:
        found = self._rows_of(run, first, last)
        fitted = columns.fitted(found, _STEP_KINDS)
        is_over = any(row[_STATUS_AT] == "running" for row in fitted) and self._runs.status(run) != "running"
        steps: list[Step] = []
        for step in self._steps(found, fitted, run, inherited=inherited, is_over=is_over):
            while first < step.number:
                steps.append(_damaged(first, "its row is missing", inherited=inherited))
                first += 1
            if first == step.number:
                first += 1
                steps.append(step)
        steps += [_damaged(number, "its row is missing", inherited=inherited) for number in range(first, last + 1)]
        return steps

    def _rows_of(self, run: int, first: int, last: int) -> Sequence[Sequence[Any]]:
        """The rows of some steps, in order: the name of the track, the columns, the proof.

        As one JSON text they come twice as fast as row by row, where each column costs a call. Costs come beside it:
        SQLite writes a float into JSON with 15 digits. What JSON has no form for (bytes, a text that is not UTF-8)
        stands in no row that we wrote: then they come row by row.
        """
        try:
            ((text,),) = self._rows.query(_AS_JSON, (run, first, last))
            rows: list[list[SqlValue]] = orjson.loads(text)
            rows.sort(key=itemgetter(_NUMBER_AT))  # the order within an aggregate is SQLite's own business
            for row in rows:
                row[-1] = bytes.fromhex(str(row[-1]))
        except (StoreUnreadable, ValueError, TypeError):
            return self._rows.query(_BY_ROW, (run, first, last))
        costs: dict[SqlValue, SqlValue] = dict(self._rows.query(_COSTS, (run, first, last)))
        if costs:
            for row in rows:
                row[1 + _COST] = costs.get(row[_NUMBER_AT])
        return rows

    def _steps(
        self,
        found: Sequence[Sequence[Any]],
        fitted: Sequence[Sequence[Any]],
        run: int,
        *,
        inherited: bool,
        is_over: bool,
    ) -> Iterator[Step]:
        """Each row as a step. Written for speed: lists of long runs come through here."""
        known: dict[object, _Facts] = {}
        draft, statuses = _Draft, columns.step_status
        for row, fit in zip(found, fitted, strict=True):
            meta = fit[-2]
            facts = known.get(meta)
            if facts is None:
                facts = known[meta] = _Facts.of(meta)
            part, calls, decision, repeat_of, extra = facts
            if not _is_proven(row, row[-2] if part is None else part):
                yield _damaged(fit[_NUMBER_AT], "its row is not what was recorded", inherited=inherited)
                continue
            step: Any = draft()
            (step.track, _, step.number, step.parent, step.kind, step.name, step.agent, step.lane, status,
             step.started_us, step.ended_us, step.tokens_in, step.tokens_out, step.cost_usd, error, _, step.seq,
             _, _) = fit  # fmt: skip
            status = statuses(status)
            if status != "ok":
                if status == "running" or (status == "interrupted" and meta is None):  # nobody has said how it ended
                    calls = self._count_calls(run, step.number)
                if status == "running" and is_over:
                    status = "interrupted"
            step.status = status
            step.error = None if error is None else columns.error_from_text(error)
            step.inherited = inherited
            step.calls, step.decision, step.repeat_of, step.extra = calls, decision, repeat_of, extra
            step.damaged = None
            step.__class__ = Step
            yield step

    def _count_calls(self, run: int, step: int) -> int:
        ((count,),) = self._rows.query("SELECT count(*) FROM calls WHERE run = ? AND step = ?", (run, step))
        return int(count)

    def number(self, run: int, ref: str) -> int:
        """The step that `ref` names.

        Raises:
            StepNotFound: out of range, no step failed, or not a step at all.
        """
        last = self._lineage.count(run)
        if ref == _ERROR:
            return self._first_error(run)
        back = _FROM_END.fullmatch(ref)
        if back is None and _NUMBER.fullmatch(ref) is None:
            named = next((step for step, label in self._runs.labels(run).items() if label.name == ref), None)
            if named is None or named > last:
                raise _no_such_word(ref, last)
            return named
        number = int(ref) if back is None else last - int(back[1])
        if not 0 <= number <= last:
            raise StepNotFound(
                f"there is no step {ref}: the run has {last}", hint=f"Steps go from 0 (the input) to {last}."
            )
        return number

    def _first_error(self, run: int) -> int:
        for stretch in self._lineage.stretches(run):
            ((found,),) = self._rows.query(
                "SELECT min(step) FROM steps WHERE run = ? AND status = 'error' AND step <= ?",
                (stretch.run, (1 << 62) if stretch.last is None else stretch.last),
            )
            if found is not None:
                return whole(found, f"a step of run number {stretch.run}")
        raise StepNotFound("no step of the run failed", hint="Name a step by its number, or ~1 from the end.")


def _no_such_word(ref: str, last: int) -> StepNotFound:
    near = difflib.get_close_matches(ref, [_ERROR], n=1)
    hint = f"Did you mean {near[0]}?" if near else f"Give a number from 0 to {last}, ~1 from the end, or {_ERROR}."
    return StepNotFound(f"{ref!r} names no step", hint=hint, nearest=near)
