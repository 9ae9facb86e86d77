"""Rows of `runs`, `tags` and `notes` as the model's objects."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from agent_tt.history.rows import whole
from agent_tt.model import Note, Run
from agent_tt.store import columns
from agent_tt.store.columns import ANY, COUNT, NAME, NUMBER, TEXT, WHOLE
from agent_tt.store.liveness import Owner, is_alive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.history.rows import Rows
    from agent_tt.model import RunStatus
    from agent_tt.store.lineage import Lineage

__all__ = ["NO_USAGE", "RunRows", "Usage", "shown_status", "usage_of_steps"]

_Number = TypeVar("_Number", int, float)
_COLUMNS: Final = (
    "r.run, r.id, r.name, r.status, r.parent, r.fork_step, r.started_us, r.ended_us, r.error, r.owner, r.beat_us,"
    " r.meta, p.id, (SELECT max(step) FROM steps s WHERE s.run = r.run)"
)
_KINDS: Final = (*(WHOLE, NAME, NAME, ANY, COUNT, COUNT, WHOLE, COUNT, ANY, ANY, ANY, ANY, TEXT, ANY),)
_NOTE_KINDS: Final = (WHOLE, ANY, COUNT, NAME, WHOLE)
_TAG_KINDS: Final = (WHOLE, NAME)
_USAGE_KINDS: Final = (COUNT, COUNT, NUMBER)
_FROM: Final = "FROM runs r LEFT JOIN runs p ON p.run = r.parent"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and dollars of a stretch of steps; None where no step said anything."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            _sum(self.tokens_in, other.tokens_in),
            _sum(self.tokens_out, other.tokens_out),
            _sum(self.cost_usd, other.cost_usd),
        )

    def to_wire(self) -> Wire:
        """As `runs.meta` keeps the usage of a run that is over."""
        return [self.tokens_in, self.tokens_out, self.cost_usd]

    @staticmethod
    def from_wire(found: Wire) -> Usage | None:
        """What `to_wire` gave, None if it is not that."""
        if not isinstance(found, list) or len(found) != 3:
            return None
        tokens_in, tokens_out, cost = found
        cost_usd = cost if isinstance(cost, int | float) else None
        return Usage(columns.integer(tokens_in), columns.integer(tokens_out), cost_usd)


NO_USAGE: Final = Usage()


def _sum(one: _Number | None, other: _Number | None) -> _Number | None:
    return other if one is None else one if other is None else one + other


def usage_of_steps(rows: Rows, run: int, last: int | None = None) -> Usage:
    """The usage of a run's own steps, up to `last` where given."""
    found = rows.query(
        "SELECT sum(tokens_in), sum(tokens_out), sum(cost_usd) FROM steps WHERE run = ? AND step <= ?",
        (run, (1 << 62) if last is None else last),
    )
    ((tokens_in, tokens_out, cost),) = columns.fitted(found, _USAGE_KINDS)
    return Usage(tokens_in, tokens_out, cost)


class RunRows:
    """Reads runs with what belongs to them."""

    def __init__(self, rows: Rows, lineage: Lineage) -> None:
        self._rows = rows
        self._lineage = lineage

    def all(self) -> list[Run]:
        """All runs that are not hidden, newest first."""
        found = self._rows.query(
            f"SELECT {_COLUMNS} {_FROM} WHERE NOT r.hidden ORDER BY r.started_us DESC, r.run DESC"
        )  # constants of ours
        tags: defaultdict[int, list[str]] = defaultdict(list)
        for run, tag in columns.fitted(self._rows.query("SELECT run, tag FROM tags ORDER BY run, tag"), _TAG_KINDS):
            tags[run].append(tag)
        return [self._run(row, tags[row[0]]) for row in columns.fitted(found, _KINDS)]

    def one(self, number: int) -> Run:
        """The run of a row number."""
        found = self._rows.query(f"SELECT {_COLUMNS} {_FROM} WHERE r.run = ?", (number,))  # constants of ours
        (row,) = columns.fitted(found, _KINDS)
        tagged = self._rows.query("SELECT run, tag FROM tags WHERE run = ? ORDER BY tag", (number,))
        tags = [tag for _, tag in columns.fitted(tagged, _TAG_KINDS)]
        return self._run(row, tags)

    def status(self, number: int) -> RunStatus:
        """A run's status as it is shown: `crashed` where its process is gone without a word."""
        ((status, owner, beat_us),) = self._rows.query(
            "SELECT status, owner, beat_us FROM runs WHERE run = ?", (number,)
        )
        return shown_status(status, owner, beat_us)

    def notes(self, number: int) -> list[Note]:
        """Notes and bookmarks of a run, oldest first."""
        found = self._rows.query(
            "SELECT note, kind, step, body, created_us FROM notes WHERE run = ? ORDER BY note", (number,)
        )
        return [
            Note(note, "bookmark" if kind == "bookmark" else "note", step, body, created_us)
            for note, kind, step, body, created_us in columns.fitted(found, _NOTE_KINDS)
        ]

    def _run(self, row: Sequence[Any], tags: Sequence[str]) -> Run:
        number, run_id, name, status, parent, fork_step, started, ended, error, owner, beat, meta, parent_id, last = row
        facts = columns.mapping_from_text(meta)
        metadata = facts.get("metadata")
        usage = Usage.from_wire(facts.get("usage")) or usage_of_steps(self._rows, number)
        if parent is not None:
            usage = self._usage_before(number) + usage
        return Run(
            id=run_id,
            name=name,
            status=shown_status(status, owner, beat),
            started_us=started,
            ended_us=ended,
            code=columns.code_from_wire(facts.get("code")),
            model=columns.model_from_wire(facts.get("model")),
            user_id=columns.text(facts.get("user_id")),
            parent=parent_id,
            fork_step=fork_step,
            steps=self._lineage.count(number) if last is None else whole(last, f"a step of {run_id}"),
            tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out,
            cost_usd=usage.cost_usd,
            error=columns.error_from_text(error),
            tags=tuple(tags),
            metadata=metadata if isinstance(metadata, dict) else {},
            edits=columns.edits_from_wire(facts.get("edits")),
            policy=columns.strings_of(facts.get("policy")),
            origin=columns.strings_of(facts.get("origin")),
        )

    def _usage_before(self, number: int) -> Usage:
        """The usage of the steps that a fork shares with its ancestors."""
        usage = NO_USAGE
        for stretch in self._lineage.stretches(number)[:-1]:
            usage += usage_of_steps(self._rows, stretch.run, stretch.last)
        return usage


def shown_status(status: object, owner: object, beat_us: object) -> RunStatus:
    """A run's status as it is shown, from the columns of its row."""
    shown = columns.run_status(status)
    if shown == "running" and not is_alive(Owner.from_json(owner), columns.integer(beat_us)):
        return "crashed"
    return shown
