"""Reading runs, steps, calls and states: the `RunSource` half of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.errors import RunNotFound
from agent_tt.history.log.index import PathIndex
from agent_tt.history.log.log import StateLog
from agent_tt.history.log.states import load
from agent_tt.history.log.values import is_there, value_at
from agent_tt.model import Problem
from agent_tt.model.facts import RunFacts
from agent_tt.model.facts.stored import RunMeta
from agent_tt.protocols import Capabilities, RunSource
from agent_tt.protocols.derived import StateCursor
from agent_tt.store.checking.damage_watch import DamageWatch
from agent_tt.store.rows import columns, deliveries, ids
from agent_tt.store.rows.call_rows import CallRows
from agent_tt.store.rows.lineage import Lineage
from agent_tt.store.rows.run_rows import RunRows
from agent_tt.store.rows.step_rows import StepRows
from agent_tt.store.seen import Seen, TrackStates
from agent_tt.store.tables.definitions import CALLS, DELIVERIES, DELTAS, RUNS, STEPS, TRACKS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path as FilePath

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.ops import Op
    from agent_tt.model import Call, Delivery, Hold, Label, Note, Output, Replay, Run, Step, Sweep
    from agent_tt.model.statistics import CallGroup, CallGroups, Chosen, RunGroup, RunGroups, Statistics
    from agent_tt.questions import CallQuestion
    from agent_tt.store.file.connection import Database

__all__ = ["StoreReader"]

_OWN_ROW: Final = (
    f"SELECT {', '.join(f'd.{column}' for column in (*DELTAS.columns, 'proof'))}"  # noqa: S608  # our own
    " FROM steps s JOIN deltas d ON d.id = (s.track << 32) + s.seq WHERE s.run = ? AND s.step = ?"
)
"""The row of the log that a step of the run itself ends with: scrubbing asks for it at every key."""

_CALL_COLUMNS: Final = ("kind", "name", "effect", "status", "lane")
"""What calls can be looked up by without reading what was asked."""

_USED: Final = (RUNS, TRACKS, STEPS, CALLS, DELIVERIES)
"""Tables of what a replay or a fork uses of a run, beside its states, which are checked as they are read."""

_ABILITIES: Final = Capabilities(pages=True, indexes=True, records=True, redacted=True)


class StoreReader(RunSource):
    """Reads one store file. Safe to use from several threads.

    Attributes:
        database: the open file.
        log: its states' histories.
        lineage: where runs' steps and checkpoints lie.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self.log = StateLog(database)
        self._index = PathIndex(self.log)
        self.lineage = Lineage(database, self.log)
        self._seen: tuple[int | None, Seen] = (None, Seen(self.log, self.lineage))
        self._runs = RunRows(database)
        self._steps = StepRows(database, self.lineage, self._runs)
        self._calls = CallRows(database, self.lineage, self.log.blobs)
        self._damage = DamageWatch(self.log, self.lineage)

    @property
    def capabilities(self) -> Capabilities:
        """All but anchors: numbers of runs and steps never change here."""
        return _ABILITIES

    @property
    def path(self) -> FilePath:
        """The file."""
        return self.database.path

    @property
    def read_only(self) -> bool:
        """True for a store opened to read."""
        return self.database.read_only

    def close(self) -> None:
        """Let go of the file. Further calls are errors."""
        self.database.close()

    def version(self) -> int:
        """Give a number that differs after anyone changed the file."""
        return self.database.version()

    # ---------------------------------------------------------------- runs and steps

    def runs(self, *, archived: bool = False, limit: int | None = None) -> list[Run]:
        """List runs, newest first: with `archived` also those that are, with `limit` no more than so many."""
        return self._runs.all(archived=archived, limit=limit)

    def threads(self) -> list[Run]:
        """List the runs that a checkpointer of LangGraph's writes, newest first, archived ones too."""
        named = self._runs.naming(RunFacts.langgraph_thread.key)
        return [run for run in named if run.facts.langgraph_thread is not None]

    def forks(self, run_id: str, *, deep: bool = False) -> list[Run]:
        """List the runs that were forked from a run, oldest first; with `deep` also what was forked from those."""
        return self._runs.forks(self.lineage.number(run_id), deep=deep)

    def run(self, ref: str) -> Run:
        """Find the run that `ref` names: id, `latest`, name, `NAME~2`, or the unique beginning of an id.

        Raises:
            RunNotFound: nothing, or several, fit.
        """
        return self._runs.one(ids.resolve(self.database, ref))

    def run_id(self, run: int) -> str:
        """The id of a run by its row number.

        Raises:
            RunNotFound: it was deleted.
        """
        for (run_id,) in self.database.query("SELECT id FROM runs WHERE run = ?", (run,)):
            return str(run_id)
        raise RunNotFound("the run was deleted meanwhile", hint="`agent-tt runs` lists what there is.")

    def run_facts(self, run: int) -> RunFacts:
        """The metadata of a run by its row number; empty where it was deleted."""
        rows = self.database.query("SELECT meta FROM runs WHERE run = ?", (run,))
        return RunMeta.metadata.of(columns.mapping_from_text(rows[0][0] if rows else None))

    def step_number(self, run: Run, ref: str) -> int:
        """Find the step that `ref` names: a number (0: the input), `~1` (last but one), `@error` (the first failed).

        Raises:
            StepNotFound: out of range, or no step failed.
        """
        return self._steps.number(self.lineage.number(run.id), ref)

    def step_count(self, run_id: str) -> int:
        """Give the number of the last step, 0 when there is none."""
        return self.lineage.count(self.lineage.number(run_id))

    def steps(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Step]:
        """List steps start..stop-1 in order (stop None: to the end)."""
        return self._steps.page(self.lineage.number(run_id), start, stop)

    def calls(self, run_id: str, step: int) -> list[Call]:
        """List the calls of one step in order of starting.

        Raises:
            StepNotFound: no such step.
        """
        self.check_step(run_id, step)
        run = self.lineage.number(run_id)
        if step == 0:
            return []
        return self._calls.of_step(run, step)

    def call_heads(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Call]:
        """List the calls of steps start..stop-1 (None: to the end), without arguments, results and errors."""
        return self._calls.heads(self.lineage.number(run_id), start, stop)

    def with_values(self, run_id: str, head: Call) -> Call:
        """Read a call with arguments, error and result; in that `…` stands for each large part, which is not read."""
        return self._calls.with_values(self.lineage.number(run_id), head)

    def outline(self, run_id: str, head: Call, without: Collection[str]) -> Call:
        """Read a call of `call_page` with arguments and facts; large parts of those, named in `without`, may lack."""
        return self._calls.outline(self.lineage.number(run_id), head, without)

    def call_page(self, run_id: str, start: int, stop: int) -> list[Call]:
        """List the calls of steps start..stop-1: arguments (of models the signature), results and errors, no more."""
        return self._calls.page(self.lineage.number(run_id), start, stop)

    def digest_page(self, run_id: str, start: int, stop: int) -> dict[int, bytes]:
        """Give what `digest` gives for steps start..stop-1; those that took no checkpoint of their own are missing."""
        return self._steps.digests(self.lineage.number(run_id), start, stop)

    def deliveries(self, run_id: str, step: int, call: int) -> list[Delivery]:
        """List what reached the agent of a call that answers in pieces, in order; also of one that is still pending.

        Raises:
            StepNotFound: no such step.
        """
        self.check_step(run_id, step)
        run = self.lineage.number(run_id)
        holder = self.lineage.holder(run, step) if step else run
        return deliveries.read(self.database, self.log.blobs, holder, step, call)

    # ---------------------------------------------------------------- states

    def state(self, run_id: str, step: int) -> Wire:
        """Read the state after `step`, the caller's own copy.

        Raises:
            StepNotFound: no such step.
            Damaged: it cannot be rebuilt at all.
        """
        position = self.lineage.position(self.lineage.number(run_id), step)
        return load(self.log, position.track, position.seq).value

    def value(self, run_id: str, step: int, path: Path) -> Wire:
        """Read one value of a state; of a scalar only the rows that wrote it are read.

        Raises:
            StepNotFound: no such step.
            PathNotFound: the state has nothing there.
            Damaged: the state cannot be rebuilt at all.
        """
        position = self.lineage.position(self.lineage.number(run_id), step)
        return value_at(self.log, position.track, position.seq, path)

    def has_value(self, run_id: str, step: int, path: Path) -> bool:
        """Say whether a state has a value at a place, which is not read.

        Raises:
            StepNotFound: no such step.
            Damaged: the state cannot be rebuilt at all.
        """
        position = self.lineage.position(self.lineage.number(run_id), step)
        return is_there(self.log, position.track, position.seq, path)

    def states(self, run_id: str, one: int, other: int) -> tuple[Wire, Wire]:
        """Read two states to compare them; the items of lists that only grew are the same objects in both.

        Raises:
            StepNotFound: no such step.
            Damaged: one cannot be rebuilt at all.
        """
        run = self.lineage.number(run_id)
        first, second = self.lineage.position(run, one), self.lineage.position(run, other)
        return (
            load(self.log, first.track, first.seq, shared=True).value,
            load(self.log, second.track, second.seq, shared=True).value,
        )

    def cursor(self, run_id: str, step: int) -> StateCursor:
        """Make a cursor that stands at `step`.

        Raises:
            StepNotFound: no such step.
            Damaged: its state cannot be rebuilt at all.
        """
        states = TrackStates(self.log, self.lineage, self.lineage.number(run_id))
        return StateCursor(states.at, step, may_change=True)

    def base_step(self, run_id: str, step: int) -> int | None:
        """Find the checkpoint that `changes(step)` are against; None for the first of its track."""
        position = self.lineage.position(self.lineage.number(run_id), step)
        if not position.own:
            return self.lineage.step_of(position.track, position.seq)
        return self.lineage.step_of(position.track, position.seq - 1) if position.seq else None

    def changes(self, run_id: str, step: int) -> list[Op]:
        """List the operations that turned checkpoint `base_step` into `step`."""
        run = self.lineage.number(run_id)
        for row in self.database.query(_OWN_ROW, (run, step)):
            if not self.log.begins_with(row[0]):
                return self.log.decode(DELTAS.judged(row)).ops
        return self._changes_at(run, step)

    def _changes_at(self, run: int, step: int) -> list[Op]:
        """The same for any step: one without a checkpoint, an ancestor's, or the edit that a fork begins with."""
        position = self.lineage.position(run, step)
        if not position.own:
            return []
        return [
            op
            for segment in self.log.segments(position.track, position.seq)
            if segment.first <= position.seq <= segment.last
            for row in self.log.operations(segment.track, position.seq, position.seq)
            for op in row.ops
        ]

    def digest(self, run_id: str, step: int) -> bytes | None:
        """Give 16 bytes that are equal exactly when the states are (key order apart)."""
        position = self.lineage.position(self.lineage.number(run_id), step)
        return self.log.head(position.track, position.seq).digest

    def last_write(self, run_id: str, step: int, path: Path) -> int | None:
        """Find the step that wrote the value now at `path` in checkpoint `step`, followed through list shifts."""
        found = self.written_at(run_id, step, path)
        return None if found is None else found[0]

    def written_at(self, run_id: str, step: int, path: Path) -> tuple[int, Path] | None:
        """Find the step that `last_write` gives, and where the value was just after it."""
        with self.database.moment() as version:
            seen = self._seen_at(version)
            position = seen.position(self.lineage.number(run_id), step)
            found = seen.index.written_at(position.track, position.seq, path)
            wrote = None if found is None else self.lineage.step_of(*found[:2])
        return None if found is None or wrote is None else (wrote, found[2])

    def _seen_at(self, version: int | None) -> Seen:
        """What was read of the file as it is now, to be read once; of one that is being changed nothing."""
        if version is None or self._seen[0] != version:
            self._seen = version, Seen(self.log, self.lineage)
        return self._seen[1]

    def next_write(self, run_id: str, step: int, path: Path) -> int | None:
        """Find the first later step that changed the value at `path`."""
        with self.database.moment() as version:
            run = self.lineage.number(run_id)
            seen = self._seen_at(version)
            position = seen.position(run, step)
            track = self.lineage.continuation(run, position.track)
            last = self.lineage.last_seq(run, track)
            found = seen.index.next_write(track, position.seq, last, path)
            return None if found is None else self.lineage.step_of(track, found)

    def steps_touching(self, run_id: str, first: int, last: int, path: Path) -> set[int]:
        """Find steps first..last at whose end something else may lie at a place of the state; perhaps too many.

        Args:
            run_id: the run.
            first: the first step.
            last: the last one.
            path: the place as people write it; only what leads to it counts, not the value that was there.
        """
        run = self.lineage.number(run_id)
        _, fork_step = self.lineage.origin(run)
        found: set[int] = {step for step in (0, fork_step) if first <= step <= last}
        taken: dict[int, dict[int, int]] = {}
        for stretch in self.lineage.stretches(run):
            high = last if stretch.last is None else min(last, stretch.last)
            for step, track, seq in self.database.query(
                "SELECT step, track, seq FROM steps WHERE run = ? AND step BETWEEN ? AND ?",
                (stretch.run, max(first, stretch.first), high),
            ):
                if isinstance(track, int) and isinstance(seq, int):
                    taken.setdefault(track, {})[seq] = step
        for track, steps in taken.items():
            touched = self._index.touching(track, min(steps), max(steps), path)
            found.update(steps[seq] for seq in touched if seq in steps)
        return found

    def steps_calling(self, run_id: str, first: int, last: int, wanted: Mapping[str, str]) -> set[int]:
        """Find steps of first..last with a call that is as `wanted`: `kind`, `name`, `effect`, `status`, `lane`."""
        named = [name for name in _CALL_COLUMNS if name in wanted]
        condition = "".join(f" AND {name} = ?" for name in named)
        found: set[int] = set()
        for stretch in self.lineage.stretches(self.lineage.number(run_id)):
            high = last if stretch.last is None else min(last, stretch.last)
            rows = self.database.query(
                f"SELECT DISTINCT step FROM calls WHERE run = ? AND step BETWEEN ? AND ?{condition}",  # noqa: S608  # words of ours
                (stretch.run, max(first, stretch.first), high, *(wanted[name] for name in named)),
            )
            found.update(int(step) for (step,) in rows if isinstance(step, int))
        return found

    # ---------------------------------------------------------------- around them

    def damaged_steps(self, run_id: str) -> list[int]:
        """List steps that are damaged: their rows, their calls (not what these carried), or what their states need."""
        run = self.lineage.number(run_id)
        damaged = {step.number for step in self._steps.page(run, 1, None) if step.damaged is not None}
        damaged.update(call.step for call in self._calls.heads(run, 1) if call.damaged is not None)
        return sorted({*damaged, *self._damage.steps(run)})

    def notes(self, run_id: str) -> list[Note]:
        """List notes, bookmarks, watches and unrecorded effects of a run, oldest first."""
        return self._runs.notes(self.lineage.number(run_id))

    def output(self, run_id: str) -> Output | None:
        """Read what a run printed; None where that was not kept."""
        from agent_tt.store.rows.outputs import output_of

        return output_of(self.database, self.lineage.number(run_id))

    def replays(self, run_id: str | None = None) -> list[Replay]:
        """List kept replays, newest first: of one run, or of all; those that are damaged are left out."""
        from agent_tt.store.rows.replays import kept_replays

        return kept_replays(self.database, None if run_id is None else self.lineage.number(run_id))

    def questions(self, run_id: str | None = None) -> list[CallQuestion]:
        """List calls that wait for somebody's decision, the oldest question first: of one run, or of all."""
        from agent_tt.store.rows.questions import open_questions

        run = None if run_id is None else self.lineage.number(run_id)
        return open_questions(self.database, self._calls.value, run)

    def holds(self, run_id: str | None = None) -> list[Hold]:
        """List the holds that stand, the oldest first: of one run, or of all."""
        from agent_tt.store.rows.holds import standing

        return standing(self.database, None if run_id is None else self.lineage.number(run_id))

    def sweeps(self) -> list[Sweep]:
        """List all sweeps, newest first; those that are damaged are left out."""
        from agent_tt.store.rows.sweeps import all_sweeps

        return all_sweeps(self.database)

    def labels(self, run_id: str) -> dict[int, Label]:
        """Give names and metadata of checkpoints of a run, by step."""
        return self._runs.labels(self.lineage.number(run_id))

    def damage(self, run_id: str, last: int | None = None) -> Problem | None:
        """Find the first thing wrong with the rows of a run that a replay or a fork would use; None for nothing.

        Args:
            run_id: the run.
            last: leave out what is wrong with later steps than this.
        """
        from agent_tt.store.checking.verify_rows import verify_rows

        stretches = self.lineage.stretches(self.lineage.number(run_id))
        for stretch in stretches:
            end = min((step for step in (stretch.last, last) if step is not None), default=None)
            for problem in verify_rows(self.database.path, (stretch.run,), _USED):
                if end is None or problem.step is None or problem.step <= end:
                    return problem
            hidden = deliveries.strayed(self.database, stretch.run)
            if hidden is not None and (end is None or hidden[0] <= end):
                return Problem(run_id, *hidden)
        return None

    def statistics(self, chosen: Chosen) -> Statistics:
        """Count what there is of the chosen runs; rows are counted as they stand."""
        from agent_tt.store import statistics

        if not self.database.is_file:
            return statistics.with_sampled(self.database.path, super().statistics(chosen), chosen)
        return statistics.count_everything(self.database.path, chosen)

    def run_groups(self, chosen: Chosen, by: RunGroups) -> list[RunGroup]:
        """Count the chosen runs by what they have in common."""
        from agent_tt.store import statistics

        if not self.database.is_file:
            return statistics.groups_with_sampled(self.database.path, super().run_groups(chosen, by), chosen, by)
        return statistics.count_runs(self.database.path, chosen, by)

    def call_groups(self, chosen: Chosen, by: CallGroups) -> list[CallGroup]:
        """Count the calls of the chosen runs by tool, or those of models by model."""
        if not self.database.is_file:
            return super().call_groups(chosen, by)
        from agent_tt.store import statistics

        return statistics.count_calls(self.database.path, chosen, by)

    def growth(self, chosen: Chosen) -> Mapping[str | None, int] | None:
        """Give the bytes that the chosen runs brought into the file, by the day on which they began."""
        if not self.database.is_file:
            return super().growth(chosen)
        from agent_tt.store import statistics

        return statistics.measure_growth(self.database.path, chosen)

    def verify(self, run_id: str | None = None) -> list[Problem]:
        """Check chain, digests and blobs of a run, or everything."""
        from agent_tt.store.checking.verify import verify_file, verify_run

        if run_id is not None:
            return verify_run(self.log, self.lineage, run_id, self.database.path)
        return verify_file(self.log, self.lineage, self.database.path)
