"""Rows of `steps` as the model's objects, across a fork and its ancestors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from agent_tt._pattern import lazy_re
from agent_tt.codec.collector import collector_paused
from agent_tt.errors import StepNotFound, StoreUnreadable
from agent_tt.history.payloads.parts import PartCache
from agent_tt.history.rows import whole
from agent_tt.model import Step
from agent_tt.model.facts.stored import StepMeta
from agent_tt.store.rows import columns
from agent_tt.store.rows.columns import ANY, COUNT, NAME, NUMBER, TEXT, WHOLE
from agent_tt.store.tables.definitions import DELTAS, STEPS
from agent_tt.store.tables.proofs import hashed_all, part_digest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.store.rows.lineage import Lineage, Stretch
    from agent_tt.store.rows.run_rows import RunRows
    from agent_tt.store.tables.asking import Rows, SqlValue

__all__ = ["StepRows"]

_NUMBER: Final = lazy_re(r"\d{1,18}")
_FROM_END: Final = lazy_re(r"~(\d{1,18})")
_ERROR: Final = "@error"

_SPAN: Final = " FROM steps WHERE run = ? AND step BETWEEN ? AND ?"
_BY_ROW: Final = f"SELECT '{STEPS.name}', {STEPS.selected}{_SPAN} ORDER BY step"
_IN_JSON: Final = ", ".join("NULL" if column == "cost_usd" else column for column in STEPS.columns)
_AS_JSON: Final = (
    f"SELECT json_group_array(json_array('{STEPS.name}', {_IN_JSON})), group_concat(hex(proof), ''), count(cost_usd)"
    + _SPAN
)
_COSTS: Final = f"SELECT step, cost_usd{_SPAN} AND cost_usd IS NOT NULL"
_TRACKS: Final = "SELECT track, ifnull(name, 'main') FROM tracks WHERE track IN (SELECT value FROM json_each(?))"
_STEP_KINDS: Final = (
    *(ANY, WHOLE, WHOLE, COUNT, TEXT, NAME, TEXT, NAME, ANY, COUNT, COUNT, COUNT, COUNT, NUMBER, ANY, COUNT, COUNT),
    ANY,
)
_COST_AT: Final = 1 + STEPS.columns.index("cost_usd")
_ERROR_AT: Final = 1 + STEPS.columns.index("error")
_TRACK_AT: Final = 1 + STEPS.columns.index("track")
_META_AT: Final = 1 + STEPS.columns.index("meta")
_NUMBER_AT: Final = 2
_STATUS_AT: Final = 8
_OVER: Final = frozenset({"ok", "error"})
"""Statuses of steps that have ended."""

_MOST_KEPT: Final = 16 << 20
_STEP_SIZE: Final = 400
"""Bytes that a step which is kept takes, beside twice its text."""

_UNNAMED: Final = "(damaged)"
_DIGESTS: Final = (
    f"SELECT s.step, {', '.join(f'd.{column}' for column in (*DELTAS.columns, 'proof'))}"  # noqa: S608  # our own
    " FROM steps s JOIN deltas d ON d.id = (s.track << 32) + s.seq WHERE s.run = ? AND s.step BETWEEN ? AND ?"
)
_Draft: Final = columns.draft_of(Step)


class _Facts(NamedTuple):
    """What stands in the `meta` of a step; many steps of a run have the same."""

    calls: int
    decision: str | None
    repeat_of: int | None
    extra: Mapping[str, Wire]

    @classmethod
    def of(cls, meta: object) -> _Facts:
        facts = StepMeta(columns.mapping_from_text(meta))
        return cls(facts.calls or 0, facts.decision, facts.repeat_of, facts.extra.raw)


class _Told(NamedTuple):
    """The rows of some steps as one text: all that is said of them, to be compared with what was said before.

    Attributes:
        text: JSON of the rows, each of them the name of the table and its columns, without the costs.
        proofs: their proofs.
        costs: SQLite writes a fraction into JSON with 15 digits, so that they come apart, by step.
    """

    text: str
    proofs: str
    costs: list[tuple[SqlValue, SqlValue]]


def _rows_in(told: _Told) -> list[list[Any]] | None:
    """The rows of a text; None where they are not in order, which within an aggregate is SQLite's own business."""
    try:
        rows: list[list[Any]] = orjson.loads(told.text)
    except orjson.JSONDecodeError:
        return None
    numbers = [row[_NUMBER_AT] for row in rows]
    if not {int}.issuperset(map(type, numbers)) or numbers != sorted(numbers):
        return None
    if told.costs:
        costs = dict(told.costs)
        for row in rows:
            row[_COST_AT] = costs.get(row[_NUMBER_AT])
    return rows


def _proven_forms(rows: Iterable[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    """What the proofs of rows are made of."""
    known: dict[object, bytes | None] = {None: None}
    for row in rows:
        meta, error = row[_META_AT], row[_ERROR_AT]
        if meta is None and error is None:
            yield tuple(row)
            continue
        part = known.get(meta)
        if part is None and meta is not None:
            part = known[meta] = part_digest(meta)
        yield (*row[:_ERROR_AT], part_digest(error), *row[_ERROR_AT + 1 : _META_AT], part)


def _damaged(number: int, why: str, *, inherited: bool) -> Step:
    """What stands for a step that is missing, or whose row is not as it was written."""
    return Step(number, _UNNAMED, "interrupted", inherited=inherited, damaged=f"step {number} is damaged: {why}")


class StepRows:
    """Reads steps; a page of them is a range query in each run that it lies in."""

    def __init__(self, rows: Rows, lineage: Lineage, runs: RunRows) -> None:
        self._rows = rows
        self._lineage = lineage
        self._runs = runs
        self._kept = PartCache(_MOST_KEPT)

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
            return self._read(stretch.run, first, last, end, inherited=inherited)

    def _read(self, run: int, first: int, last: int, end: int, *, inherited: bool) -> list[Step]:
        """The steps first..last; those that are over, and as they were written, are made once.

        Not those of a run, up to step `end`, that is too long to be kept whole: who looks through all of it would find
        each page forgotten, and Python's collector would look through those that are kept, again and again.
        """
        told = self._told(run, first, last)
        if told is not None:
            key = (run, first, last, inherited)
            kept: tuple[_Told, list[Step]] | None = self._kept.get(key)
            if kept is not None and kept[0] == told:
                return [*kept[1]]
            rows = _rows_in(told)
            if rows is not None and b"".join(hashed_all(_proven_forms(rows))).hex() == told.proofs.lower():
                steps = self._whole(self._steps(rows, run, inherited=inherited), first, last, inherited=inherited)
                size = 2 * len(told.text) + _STEP_SIZE * len(steps)
                if _OVER.issuperset([step.status for step in steps]) and size * end <= _MOST_KEPT * len(steps):
                    self._kept.put(key, (told, [*steps]), size)
                return steps
        found = self._rows.query(_BY_ROW, (run, first, last))
        damaged = {number for number, row in enumerate(found) if not STEPS.holds(row[1:])}
        steps = self._steps([row[:-1] for row in found], run, inherited=inherited, damaged=damaged)
        return self._whole(steps, first, last, inherited=inherited)

    def _told(self, run: int, first: int, last: int) -> _Told | None:
        """The rows of some steps as one text, which comes twice as fast as row by row, where each column costs a call.

        None where a row holds what JSON has no form for (bytes, a text that is not UTF-8): none that we wrote does.
        """
        try:
            ((text, proofs, costs),) = self._rows.query(_AS_JSON, (run, first, last))
        except StoreUnreadable:
            return None
        return _Told(text, proofs or "", self._rows.query(_COSTS, (run, first, last)) if costs else [])

    def _whole(self, steps: list[Step], first: int, last: int, *, inherited: bool) -> list[Step]:
        """Steps with a placeholder for each of first..last whose row is missing."""
        numbers = [step.number for step in steps]
        if numbers == [*range(first, last + 1)]:
            return steps
        known = dict(zip(reversed(numbers), reversed(steps), strict=True))
        return [
            known.get(number) or _damaged(number, "its row is missing", inherited=inherited)
            for number in range(first, last + 1)
        ]

    def _steps(
        self, rows: Sequence[Sequence[Any]], run: int, *, inherited: bool, damaged: Collection[int] = ()
    ) -> list[Step]:
        """Each row as a step. Written for speed: lists of long runs come through here.

        Args:
            rows: the name of the table and its columns.
            run: whose they are.
            inherited: whether they are an ancestor's.
            damaged: which of the rows, counted from 0, are not as they were written.
        """
        fitted = columns.fitted(rows, _STEP_KINDS)
        is_over = any(row[_STATUS_AT] == "running" for row in fitted) and self._runs.status(run) != "running"
        tracks = self._tracks({row[_TRACK_AT] for row in fitted})
        known: dict[object, _Facts] = {}
        steps: list[Step] = []
        draft, statuses = _Draft, columns.step_status
        for at, fit in enumerate(fitted):
            if at in damaged:
                steps.append(_damaged(fit[_NUMBER_AT], "its row is not what was recorded", inherited=inherited))
                continue
            step: Any = draft()
            (_, _, step.number, step.parent, step.kind, step.name, step.agent, step.lane, status,
             step.started_us, step.ended_us, step.tokens_in, step.tokens_out, step.cost_usd, error, track, step.seq,
             meta) = fit  # fmt: skip
            facts = known.get(meta)
            if facts is None:
                facts = known[meta] = _Facts.of(meta)
            calls, step.decision, step.repeat_of, step.extra = facts
            status = statuses(status)
            if status != "ok":
                if status == "running" or (status == "interrupted" and meta is None):  # nobody has said how it ended
                    calls = self._count_calls(run, step.number)
                if status == "running" and is_over:
                    status = "interrupted"
            step.status = status
            step.error = None if error is None else columns.error_from_text(error)
            step.track = tracks[track]
            step.inherited = inherited
            step.calls = calls
            step.damaged = None
            step.__class__ = Step
            steps.append(step)
        return steps

    def _tracks(self, numbers: set[int | None]) -> dict[int | None, str]:
        """The names of tracks by their numbers; `main` for those that are not there."""
        found: dict[Any, Any] = dict(self._rows.query(_TRACKS, (orjson.dumps([*numbers]).decode(),)))
        names = {number: found.get(number, "main") for number in numbers}
        return {number: name if isinstance(name, str) else "" for number, name in names.items()}

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
    import difflib

    near = difflib.get_close_matches(ref, [_ERROR], n=1)
    hint = f"Did you mean {near[0]}?" if near else f"Give a number from 0 to {last}, ~1 from the end, or {_ERROR}."
    return StepNotFound(f"{ref!r} names no step", hint=hint, nearest=near)
