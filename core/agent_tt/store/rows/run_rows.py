"""Rows of `runs`, `tags` and `notes` as the model's objects."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

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
    from collections.abc import Mapping, Sequence

    from agent_tt.model import RunStatus
    from agent_tt.store.tables.asking import Rows, SqlValue

__all__ = ["LABEL", "OUTPUT", "QUESTION", "REPLAY", "RunRows", "descendants", "label_of", "shown_status"]

LABEL: Final = "label"
"""What `notes.kind` is in a row that labels a checkpoint."""

QUESTION: Final = "question"
"""What `notes.kind` is in a row that asks about a call; see `agent_tt.store.rows.questions`."""

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
_PARENT, _FORK_STEP, _ENDED, _META, _PROOF, _LAST, _PARENT_ENDED = 6, 7, 9, 14, 15, 17, 18
_UNREADABLE: Final = "(damaged)"
_FROM: Final = "FROM runs r LEFT JOIN runs p ON p.run = r.parent"
_NEWEST_FIRST: Final = "ORDER BY r.started_us DESC, r.run DESC"
_DESCENDANTS: Final = """WITH RECURSIVE below(run) AS (
  SELECT run FROM runs WHERE parent = ? UNION SELECT r.run FROM below JOIN runs r ON r.parent = below.run)
  SELECT run FROM below"""


class RunRows:
    """Reads runs with what belongs to them, in a few queries however many they are.

    What was read of a run that is over is kept for as long as its row stays the same: a screen asks for all runs again
    whenever one of them has changed.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._known: dict[int, tuple[Sequence[Any], Run]] = {}

    def all(self, *, archived: bool = False, limit: int | None = None) -> list[Run]:
        """Runs, newest first: those that are listed, or archived ones too; at most `limit`."""
        where = "" if archived else "WHERE NOT r.hidden"
        if limit is None:
            return self._runs(f"{where} {_NEWEST_FIRST}", (), every=True)
        return self._runs(f"{where} {_NEWEST_FIRST} LIMIT ?", (limit,))

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
            self._rows, "run = ? AND kind NOT IN (?, ?, ?, ?) ORDER BY note", (number, LABEL, QUESTION, OUTPUT, REPLAY)
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

    def _runs(self, rest: str, parameters: Sequence[SqlValue], *, every: bool = False) -> list[Run]:
        """The runs that the rest of a statement picks; `every` says that they are about all there are."""
        statement = f"SELECT {_COLUMNS} {_FROM} {rest}"  # constants of ours
        found = columns.fitted(self._rows.query(statement, parameters), _KINDS)
        tags = self._tags(None if every else [row[0] for row in found])
        self._read([row for row in found if not self._is_known(row)])
        return [self._with_tags(row[0], tags.get(row[0], ())) for row in found]

    def _is_known(self, row: Sequence[Any]) -> bool:
        """Whether a run was read before and nothing about it can have changed since."""
        known = self._known.get(row[0])
        return known is not None and known[0] == row and row[_ENDED] is not None and row[_PARENT_ENDED] is not None

    def _read(self, rows: Sequence[Sequence[Any]]) -> None:
        if not rows:
            return
        facts = {row[0]: RunMeta(columns.mapping_from_text(row[_META])) for row in rows}
        own = {number: usage for number, of in facts.items() if (usage := usage_from_wire(of.usage)) is not None}
        silent = [number for number in facts if number not in own]
        own |= usage_of_runs(self._rows, silent) if silent else {}
        forks = [row[0] for row in rows if row[_PARENT] is not None]
        shared = inherited_usage(self._rows, forks) if forks else {}
        certain = self._with_certain_ends(facts, rows)
        for row in rows:
            number = row[0]
            usage = shared.get(number, NO_USAGE) + own.get(number, NO_USAGE)
            sound = row if number in certain else self._with_last(row)
            proven = RUNS.holds(tuple(row[: _PROOF + 1]))
            self._known[number] = (row, _run(sound, facts[number], usage) if proven else _damaged(sound))

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
        row, run = self._known[number]
        if run.tags != tags:
            run = replace(run, tags=tags)
            self._known[number] = (row, run)
        return run

    def _tags(self, numbers: Sequence[int] | None) -> Mapping[int, tuple[str, ...]]:
        """The tags of some runs, or of all."""
        if numbers is None:
            found = TAGS.read(self._rows, "1 ORDER BY run, tag")
        else:
            found = TAGS.read(
                self._rows, "run IN (SELECT value FROM json_each(?)) ORDER BY run, tag", (json.dumps(numbers),)
            )
        tags: defaultdict[int, list[str]] = defaultdict(list)
        for row in found:
            if TAGS.holds(row):
                tags[row[0]].append(row[1])
        return {run: tuple(those) for run, those in tags.items()}


def _run(row: Sequence[Any], facts: RunMeta, usage: Usage) -> Run:
    _, run_id, name, status, _, _, parent, fork_step, started, ended, error, owner, beat, hidden, *rest = row
    _, _, parent_id, last, *_ = rest
    shared = 0 if parent is None or fork_step is None else fork_step
    return Run(
        id=run_id,
        name=name,
        status=shown_status(status, owner, beat),
        started_us=started,
        ended_us=ended,
        code=facts.code,
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
        metadata=facts.metadata.raw,
        edits=facts.edits,
        way_back_in=facts.way_back_in,
        policy=facts.policy,
        origin=facts.origin,
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
