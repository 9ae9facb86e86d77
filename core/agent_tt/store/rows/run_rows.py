"""Rows of `runs`, `tags` and `notes` as the model's objects."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar

from agent_tt.codec.tlv import tlv
from agent_tt.errors import RunNotFound
from agent_tt.model import NO_USAGE, Label, Note, Run, Usage
from agent_tt.model.facts.stored import RunMeta
from agent_tt.store.liveness import Owner, is_alive
from agent_tt.store.rows import columns
from agent_tt.store.rows.columns import ANY, COUNT, NAME, TEXT, WHOLE
from agent_tt.store.rows.lineage import last_own_step
from agent_tt.store.rows.usage import inherited_usage, usage_from_wire, usage_of_runs
from agent_tt.store.tables.definitions import NOTES, RUNS, STEPS, TAGS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_tt.model import RunStatus
    from agent_tt.store.tables.asking import Rows, SqlValue

__all__ = ["HOLD", "LABEL", "OUTPUT", "QUESTION", "REPLAY", "RunRows", "descendants", "label_of", "shown_status"]

LABEL: Final = "label"
"""What `notes.kind` is in a row that labels a checkpoint."""

QUESTION: Final = "question"
"""What `notes.kind` is in a row that asks about a call; see `agent_tt.store.rows.questions`."""

HOLD: Final = "hold"
"""What `notes.kind` is in a row that asks an agent to wait; see `agent_tt.store.rows.holds`."""

OUTPUT: Final = "output"
"""What `notes.kind` is in a row that holds what a run printed; see `agent_tt.store.rows.outputs`."""

REPLAY: Final = "replay"
"""What `notes.kind` is in a row that keeps what came of a replay; see `agent_tt.store.rows.replays`."""

_COLUMNS: Final = (
    f"{', '.join(f'r.{column}' for column in (*RUNS.columns, 'proof'))}, p.id,"  # noqa: S608  # our own
    " (SELECT max(step) FROM steps s WHERE s.run = r.run), CASE WHEN r.parent IS NULL THEN 1 ELSE p.ended_us END"
)
_KINDS: Final = (
    *(WHOLE, NAME, NAME, ANY, ANY, ANY, COUNT, COUNT, WHOLE, COUNT, ANY, ANY, ANY, ANY, ANY, ANY, TEXT, ANY, ANY),
)
_PARENT, _FORK_STEP, _STARTED, _ENDED, _META, _PROOF, _LAST, _PARENT_ENDED = 6, 7, 8, 9, 14, 15, 17, 18
T = TypeVar("T")

_UNREADABLE: Final = "(damaged)"
_FROM: Final = "FROM runs r LEFT JOIN runs p ON p.run = r.parent"
_NEWEST_FIRST: Final = "ORDER BY r.started_us DESC, r.run DESC"
_AT_ONCE: Final = 10_240
"""Rows that are held at once while all runs are read: each takes three times what is kept of it."""

_MOST_SHARED: Final = 4_096
"""Names of runs and codes of agents that are kept once, however many runs have them."""

_NOTHING: Final[Mapping[str, Any]] = {}
"""What most runs say of themselves, the same for all of them."""

_BEFORE_ALL: Final = -(1 << 63)
_DESCENDANTS: Final = """WITH RECURSIVE below(run) AS (
  SELECT run FROM runs WHERE parent = ? UNION SELECT r.run FROM below JOIN runs r ON r.parent = below.run)
  SELECT run FROM below"""


class RunRows:
    """Reads runs with what belongs to them, in a few queries however many they are.

    What was read of a run that is over is kept for as long as its row stays the same: a screen asks for all runs again
    whenever one of them has changed. Of the row a hash is kept, not its texts.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._known: dict[int, tuple[int, Run]] = {}
        self._shared: dict[object, Any] = {}

    def all(self, *, archived: bool = False, limit: int | None = None) -> list[Run]:
        """Runs, newest first: those that are listed, or archived ones too; at most `limit`."""
        if limit is not None:
            where = "" if archived else "WHERE NOT r.hidden"
            return self._runs(f"{where} {_NEWEST_FIRST} LIMIT ?", (limit,))
        listed = "" if archived else "AND NOT r.hidden"
        found: list[tuple[int, int, Run]] = []
        last = _BEFORE_ALL
        while True:
            page = self._found(f"WHERE r.run > ? {listed} ORDER BY r.run LIMIT ?", (last, _AT_ONCE))
            found += [(row[_STARTED], row[0], run) for row, run in page]
            if len(page) < _AT_ONCE:
                break
            last = page[-1][0][0]
        found.sort(key=itemgetter(0, 1), reverse=True)
        return [run for _, _, run in found]

    def naming(self, key: str) -> list[Run]:
        """The runs in whose metadata a key stands anywhere, newest first, archived ones too."""
        return self._runs(f"WHERE instr(r.meta, ?) {_NEWEST_FIRST}", (f'"{key}"',))

    def one(self, number: int) -> Run:
        """The run of a row number.

        Raises:
            RunNotFound: it was deleted just now.
        """
        found = self._runs("WHERE r.run = ?", (number,))
        if not found:
            raise RunNotFound("the run is not there any more", hint="`agent-tt runs` lists what there is.")
        return found[0]

    def several(self, numbers: Sequence[int]) -> list[Run]:
        """The runs of row numbers, in the order in which they were made."""
        return self._runs("WHERE r.run IN (SELECT value FROM json_each(?)) ORDER BY r.run", (json.dumps(numbers),))

    def forks(self, number: int, *, deep: bool = False) -> list[Run]:
        """What was forked from a run, and with `deep` from that: in the order in which they were made."""
        if not deep:
            return self._runs("WHERE r.parent = ? ORDER BY r.run", (number,))
        return self.several(descendants(self._rows, number))

    def status(self, number: int) -> RunStatus:
        """A run's status as it is shown: `crashed` where its process is gone without a word."""
        ((status, owner, beat_us),) = self._rows.query(
            "SELECT status, owner, beat_us FROM runs WHERE run = ?", (number,)
        )
        return shown_status(status, owner, beat_us)

    def notes(self, number: int) -> list[Note]:
        """Notes, bookmarks, watches and unrecorded effects of a run, oldest first; one that is damaged says so."""
        found = NOTES.read(
            self._rows,
            "run = ? AND kind NOT IN (?, ?, ?, ?, ?) ORDER BY note",
            (number, LABEL, QUESTION, HOLD, OUTPUT, REPLAY),
        )
        return [
            Note(note, kind if kind in ("bookmark", "watch", "effect") else "note", step, body or "", created_us)
            if NOTES.holds((note, run, step, kind, body, created_us, proof))
            else Note(note, "note", None, f"{_UNREADABLE} note {note} is not what was written", 0)
            for note, run, step, kind, body, created_us, proof in found
        ]

    def labels(self, number: int) -> dict[int, Label]:
        """Names and metadata of a run's checkpoints, by step."""
        found = NOTES.read(self._rows, "run = ? AND kind = ? AND step IS NOT NULL ORDER BY step", (number, LABEL))
        return {row[2]: label_of(row[2], row[4]) for row in found if NOTES.holds(row) and type(row[2]) is int}

    # ---------------------------------------------------------------- inside

    def _runs(self, rest: str, parameters: Sequence[SqlValue]) -> list[Run]:
        """The runs that the rest of a statement picks."""
        return [run for _, run in self._found(rest, parameters)]

    def _found(self, rest: str, parameters: Sequence[SqlValue]) -> list[tuple[Sequence[Any], Run]]:
        """The rows that the rest of a statement picks, each with its run."""
        statement = f"SELECT {_COLUMNS} {_FROM} {rest}"  # constants of ours
        found = columns.fitted(self._rows.query(statement, parameters), _KINDS)
        tags = self._tags([row[0] for row in found])
        signs = [hash(tlv(row)) for row in found]
        self._read([(row, sign) for row, sign in zip(found, signs, strict=True) if not self._is_known(row, sign)])
        return [(row, self._with_tags(row[0], tags.get(row[0], ()))) for row in found]

    def _is_known(self, row: Sequence[Any], sign: int) -> bool:
        """Whether a run was read before and nothing about it can have changed since."""
        known = self._known.get(row[0])
        return known is not None and known[0] == sign and row[_ENDED] is not None and row[_PARENT_ENDED] is not None

    def _read(self, signed: Sequence[tuple[Sequence[Any], int]]) -> None:
        if not signed:
            return
        rows = [row for row, _ in signed]
        facts = {row[0]: RunMeta(columns.mapping_from_text(row[_META])) for row in rows}
        own = {number: usage for number, of in facts.items() if (usage := usage_from_wire(of.usage)) is not None}
        silent = [number for number in facts if number not in own]
        own |= usage_of_runs(self._rows, silent) if silent else {}
        forks = [row[0] for row in rows if row[_PARENT] is not None]
        shared = inherited_usage(self._rows, forks) if forks else {}
        certain = self._with_certain_ends(facts, rows)
        for row, sign in signed:
            number = row[0]
            usage = shared.get(number, NO_USAGE) + own.get(number, NO_USAGE)
            sound = row if number in certain else self._with_last(row)
            proven = RUNS.holds(tuple(row[: _PROOF + 1]))
            run = _run(sound, facts[number], usage, self._same) if proven else _damaged(sound)
            self._known[number] = (sign, run)

    def _same(self, value: T) -> T:
        """The value that was kept before, where one is equal."""
        known: T | None = self._shared.get(value)
        if known is None:
            known = value
            if len(self._shared) < _MOST_SHARED:
                self._shared[value] = value
        return known

    def _with_certain_ends(self, facts: Mapping[int, RunMeta], rows: Sequence[Sequence[Any]]) -> set[int]:
        """The runs whose last step is the one that their end counted, or that is proven where none was counted."""
        certain, uncounted = set[int](), list[int]()
        for row in rows:
            number, counted = row[0], facts[row[0]].counts[0]
            if row[_LAST] is None or (counted is not None and row[_LAST] == _shared(row) + counted):
                certain.add(number)
            elif counted is None:
                uncounted.append(number)
        if uncounted:
            last = "SELECT run, max(step) FROM steps WHERE run IN (SELECT value FROM json_each(?)) GROUP BY run"
            found = STEPS.read(self._rows, f"(run, step) IN ({last})", (json.dumps(uncounted),))
            certain.update(row[0] for row in found if STEPS.holds(row))
        return certain

    def _with_last(self, row: Sequence[Any]) -> Sequence[Any]:
        """A row whose number of the last step is one that can be."""
        shared = _shared(row)
        return (*row[:_LAST], last_own_step(self._rows, row[0], shared), *row[_LAST + 1 :])

    def _with_tags(self, number: int, tags: tuple[str, ...]) -> Run:
        sign, run = self._known[number]
        if run.tags != tags:
            run = replace(run, tags=tags)
            self._known[number] = (sign, run)
        return run

    def _tags(self, numbers: Sequence[int]) -> Mapping[int, tuple[str, ...]]:
        """The tags of some runs."""
        found = TAGS.read(
            self._rows, "run IN (SELECT value FROM json_each(?)) ORDER BY run, tag", (json.dumps(numbers),)
        )
        tags: defaultdict[int, list[str]] = defaultdict(list)
        for row in found:
            if TAGS.holds(row):
                tags[row[0]].append(row[1])
        return {run: tuple(those) for run, those in tags.items()}


def _run(row: Sequence[Any], facts: RunMeta, usage: Usage, same: Callable[[Any], Any]) -> Run:
    _, run_id, name, status, _, _, parent, fork_step, started, ended, error, owner, beat, hidden, *rest = row
    _, _, parent_id, last, *_ = rest
    shared = 0 if parent is None or fork_step is None else fork_step
    return Run(
        id=run_id,
        name=same(name),
        status=shown_status(status, owner, beat),
        started_us=started,
        ended_us=ended,
        code=same(facts.code),
        model=facts.model,
        user_id=facts.user_id,
        parent=parent_id,
        fork_step=fork_step,
        steps=last if last is not None and last >= 0 else shared,
        tokens_in=usage.tokens_in,
        tokens_out=usage.tokens_out,
        cost_usd=usage.cost_usd,
        unpriced=usage.unpriced or 0,
        error=columns.error_from_text(error),
        metadata=facts.metadata.raw or _NOTHING,
        edits=facts.edits,
        way_back_in=facts.way_back_in,
        policy=facts.policy or _NOTHING,
        origin=facts.origin or _NOTHING,
        pinned=facts.pinned,
        archived=bool(hidden),
        former_names=facts.former_names,
    )


def _shared(row: Sequence[Any]) -> int:
    """How many steps a run shares with its parent."""
    return row[_FORK_STEP] if row[_PARENT] is not None and row[_FORK_STEP] is not None else 0


def _damaged(row: Sequence[Any]) -> Run:
    """What stands for a run whose row is not as it was written: what names it, and nothing that could be false."""
    run_id, name = row[1] or f"run-{row[0]}", f"{row[2]} {_UNREADABLE}".strip()
    why = f"run {run_id} is damaged: its row is not what was recorded"
    return Run(run_id, name, "interrupted", 0, steps=row[_LAST] or 0, archived=bool(row[13]), damaged=why)


def descendants(rows: Rows, number: int) -> list[int]:
    """The row numbers of all runs that descend from a run, in the order in which they were made."""
    return sorted(run for (run,) in rows.query(_DESCENDANTS, (number,)) if run != number)


def label_of(step: int, body: object) -> Label:
    """The label that a row of `notes` holds."""
    facts = columns.mapping_from_text(body)
    metadata = facts.get("metadata")
    return Label(step, columns.text(facts.get("name")), metadata if isinstance(metadata, dict) else {})


def shown_status(status: object, owner: object, beat_us: object) -> RunStatus:
    """A run's status as it is shown, from the columns of its row."""
    shown = columns.run_status(status)
    if shown == "running" and not is_alive(Owner.from_json(owner), columns.integer(beat_us)):
        return "crashed"
    return shown
