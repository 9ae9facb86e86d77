"""A LangGraph database, wherever it lies, behind the `RunSource` protocol."""

from __future__ import annotations

import copy
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from agent_tt.addresses import Address
from agent_tt.codec.collector import collector_paused
from agent_tt.codec.paths import format_path, get
from agent_tt.config import load
from agent_tt.errors import RunNotFound, StepNotFound
from agent_tt.history.changes.diff import diff
from agent_tt.history.digest import digest
from agent_tt.history.payloads.damage import find_placeholder
from agent_tt.interop.kept import Kept
from agent_tt.interop.langgraph.anchors import anchor_at, anchored_steps, step_of_anchor
from agent_tt.interop.langgraph.connection import DatabaseFile
from agent_tt.interop.langgraph.detect import tables_of
from agent_tt.interop.langgraph.opening import open_database
from agent_tt.interop.langgraph.runs import last_checkpoints, read_branches, run_of
from agent_tt.interop.langgraph.sieve import Sieve, Stopped
from agent_tt.interop.langgraph.steps import StepMaker
from agent_tt.interop.langgraph.values import Values
from agent_tt.model import Problem
from agent_tt.protocols import Capabilities, RunSource
from agent_tt.protocols.derived import StateCursor, next_write, written_at
from agent_tt.protocols.references import resolve_run, resolve_step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path as FilePath

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.ops import Op
    from agent_tt.interop.langgraph.database import Database
    from agent_tt.interop.langgraph.layout import Layout, Row
    from agent_tt.interop.langgraph.runs import Branch
    from agent_tt.model import Call, Run, Step
    from agent_tt.protocols import Needed

__all__ = ["LangGraphSource"]

_SQLITE_MAGIC: Final = b"SQLite format 3\0"
_RUNS_AT_ONCE: Final = 500
_ROWS_KEPT: Final = 200_000
"""Rows of layouts: those of 20,000 short threads are made once, whoever lists, searches or imports them."""

_FEWEST_SIFTED: Final = 5_000
_LEAST_SIFTED: Final = 4 * 1024 * 1024
"""Checkpoints, or bytes, from which on it is sifted which runs may hold a word: fewer are indexed as fast."""

_FETCHED: Final = 100
"""Checkpoints of a thread up to which all of them are fetched at once."""

_ANCHORED_KEPT: Final = 64
_CHANGES_KEPT: Final = 512
_DIGESTS_KEPT: Final = 20_000
_STEPS_KEPT: Final = 20_000


class _Contents:
    """What one version of the database holds. The source's lock guards it."""

    def __init__(self, database: Database, version: int, before: _Contents | None) -> None:
        self.version = version
        known = before.branches.values() if before is not None else ()
        with collector_paused():  # it would take half of the time of many threads
            self.branches: dict[str, Branch] = read_branches(database.threads(), known)
        self.values = Values(database)
        self.empty: Wire = {}
        self.layouts: Kept[Mapping[str, Layout]] = Kept(_ROWS_KEPT, _rows_of)
        self.anchored: Kept[Mapping[str, int]] = Kept(_ANCHORED_KEPT)
        self.changes: Kept[list[Op]] = Kept(_CHANGES_KEPT)
        self.digests: Kept[bytes] = Kept(_DIGESTS_KEPT)
        self.steps: Kept[Step] = Kept(_STEPS_KEPT)
        self.runs: dict[str, Run] = {}
        self.effects = load().effects

    def branch(self, run_id: str) -> Branch:
        branch = self.branches.get(run_id)
        if branch is None:
            raise RunNotFound(f"there is no run {run_id!r} any more", hint="List what there is with `agent-tt runs`.")
        return branch

    def layout(self, run_id: str) -> Layout:
        branch = self.branch(run_id)
        of_thread = self.layouts.get(branch.thread.rows.thread, branch.thread.layouts)
        return of_thread[branch.tip.id if branch.tip is not None else ""]

    def row(self, run_id: str, step: int) -> Row:
        layout = self.layout(run_id)
        if not 1 <= step <= len(layout):
            raise StepNotFound(f"run {run_id} has no step {step}", hint=f"Steps go from 0 to {len(layout)}.")
        (row,) = layout.rows(step, step + 1)
        return row

    def state_row(self, run_id: str, step: int) -> Row | None:
        """The row whose checkpoint is the state after `step`; None for the empty state."""
        number = self.row(run_id, step).state if step else 0
        return self.row(run_id, number) if number else None

    def state(self, run_id: str, step: int) -> Wire:
        """Read the state after `step`, shared."""
        row = self.state_row(run_id, step)
        if row is None or row.checkpoint is None:
            return self.empty
        return self.values.state(self.branch(run_id).thread, row.checkpoint)

    def fresh_state(self, run_id: str, step: int) -> Wire:
        """The state after `step`, the caller's own."""
        row = self.state_row(run_id, step)
        if row is None or row.checkpoint is None:
            return {}
        return self.values.fresh_state(self.branch(run_id).thread, row.checkpoint)

    def pending_state(self, run_id: str, step: int) -> Wire:
        """The state after `step` with what was written since, the caller's own."""
        state, row = self.fresh_state(run_id, step), self.row(run_id, step) if step else None
        checkpoint = (row.checkpoint or row.before) if row is not None else None
        thread = self.branch(run_id).thread
        if row is None or checkpoint is None or thread.trees[checkpoint.namespace].ran_on(checkpoint):
            return state
        tasks = thread.tasks(checkpoint)
        if row.checkpoint is None:
            above = {
                task.id
                for each in self.layout(run_id).rows(stop=step + 1)
                if each.before is checkpoint
                for task in each.tasks
            }
            tasks = tuple(task for task in tasks if task.id in above)
        return copy.deepcopy(self.values.applied(thread, checkpoint, state, tasks))

    def base(self, run_id: str, step: int) -> int | None:
        """The step that `changes_of` are against; None for the empty state and the first of a subgraph."""
        return self.row(run_id, step).base if step else None

    def later(self, run_id: str, step: int) -> Iterator[int]:
        """The steps that went on from one, each from the one before."""
        for row in self.layout(run_id).rows(step + 1):
            if row.checkpoint is not None and row.base == step:
                step = row.number
                yield step

    def changes_of(self, run_id: str, step: int) -> list[Op]:
        """What turned the base of `step` into it, shared."""
        row = self.row(run_id, step) if step else None
        if row is None or row.base is None:
            return []
        base = row.base
        return self.changes.get((run_id, step), lambda: diff(self.state(run_id, base), self.state(run_id, step)))

    def maker(self, run_id: str) -> StepMaker:
        branch = self.branch(run_id)
        fork = self.layout(run_id).fork
        return StepMaker(branch.thread, self.values, lambda number: self._owner(run_id, number), fork, self.effects)

    def _owner(self, run_id: str, number: int) -> str:
        """The branch that a step first belonged to."""
        branch, layout = self.branch(run_id), self.layout(run_id)
        while branch.parent is not None and layout.before is not None and number <= layout.fork:
            branch, layout = self.branch(branch.parent), layout.before
        return branch.id


class _Held(threading.local):
    """The contents that a thread is to be told of, for as long as it asks as of one moment."""

    contents: _Contents | None = None


class LangGraphSource(RunSource):
    """The runs in a LangGraph database, one for each branch of each thread. See `layout` for what its steps are.

    Args:
        path: the database file, or the address of the database.

    Raises:
        StoreNotFound: there is no such file or database.
        NotAStore, NewerFormat: it is not a LangGraph database of a layout that can be read.
        StoreUnreadable: it cannot be read.
    """

    def __init__(self, path: FilePath) -> None:
        self._database = open_database(path)
        self._lock = threading.RLock()
        self._known: _Contents | None = None
        self._held = _Held()

    @classmethod
    def detect(cls, path: FilePath, head: bytes) -> LangGraphSource | None:
        """The source of a file if it is a LangGraph database, None if it is another; of an address in any case.

        Args:
            path: the file, or the address of a database.
            head: its first bytes. After a kill there may be none: everything may be in the log.

        Raises:
            StoreNotFound: there is no database of that address.
            NotAStore, NewerFormat: it is one of a layout that cannot be read; or there is none at the address.
            StoreUnreadable: it cannot be read.
        """
        if isinstance(path, Address):
            return cls(path)
        if head and not head.startswith(_SQLITE_MAGIC):
            return None
        file = DatabaseFile(path)
        try:
            known = file.read(tables_of) is not None
        finally:
            file.close()
        return cls(path) if known else None

    @property
    def capabilities(self) -> Capabilities:
        """Runs and numbers move as a thread grows, but ids of checkpoints stay."""
        return Capabilities(anchors=True)

    @property
    def path(self) -> FilePath:
        """The file, or the address."""
        return self._database.path

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def version(self) -> int:
        """Give a number that differs after the database changed."""
        return self._database.version()

    @contextmanager
    def one_moment(self) -> Iterator[None]:
        """Answer what this thread asks meanwhile as of now, without a look at the files for each answer."""
        before = self._held.contents
        if before is None:
            with self._lock:
                self._held.contents = self._contents()
        try:
            yield
        finally:
            self._held.contents = before

    def may_hold(self, needed: Iterable[Needed], cancelled: Callable[[], bool] = lambda: False) -> list[str] | None:
        """List the runs that may have texts with what is needed; None in a small database."""
        with self.one_moment(), collector_paused():
            branches = self._contents().branches
            threads = {each.thread.rows.thread: each.thread.rows for each in branches.values()}
            count = sum(len(rows.checkpoints) for rows in threads.values())
            if count < _FEWEST_SIFTED and self._database.size() < _LEAST_SIFTED:
                return None
            sieve = Sieve(needed, cancelled)
            try:
                if sieve.tells:
                    sieve.take_rows(threads)
                    self._database.sift(sieve)
            except Stopped:
                return [*branches]
            return [run for run, each in branches.items() if sieve.holds(each.thread.rows.thread)]

    @contextmanager
    def ahead(self, run_ids: Sequence[str]) -> Iterator[None]:
        """Fetch at once what is stored of the threads of some runs, but for those with very many checkpoints."""
        with self._lock:
            contents = self._contents()
            known = [contents.branches[run_id] for run_id in run_ids if run_id in contents.branches]
            threads = {each.thread.rows.thread: each.thread.rows for each in known}
            few = [rows for rows in threads.values() if len(rows.checkpoints) <= _FETCHED]
            writes = [write for rows in few for each in rows.writes.values() for write in each]
            contents.values.fetch([row for rows in few for row in rows.checkpoints.values()], writes)
        try:
            yield
        finally:
            with self._lock:
                contents.values.fetch((), ())

    def fingerprint(self) -> str | None:
        """Say what the file and its logs look like from outside; None while they may still be written to."""
        return self._database.fingerprint()

    def runs(self, *, archived: bool = False, limit: int | None = None) -> list[Run]:  # noqa: ARG002  # none is archived
        """List all branches of all threads, the newest first; at most `limit` where that is given."""
        with self._lock, collector_paused():
            contents = self._contents()
            chosen = [*contents.branches][:limit]
            # Thread by thread: each is laid out once.
            missing = [run_id for run_id in chosen if run_id not in contents.runs]
            missing.sort(key=lambda run_id: contents.branches[run_id].thread.rows.thread)
            for start in range(0, len(missing), _RUNS_AT_ONCE):
                some = missing[start : start + _RUNS_AT_ONCE]
                with contents.values.ahead(last_checkpoints(contents.branch(run_id) for run_id in some)):
                    for run_id in some:
                        self._run(contents, run_id)
            return [contents.runs[run_id] for run_id in chosen]

    def run(self, ref: str) -> Run:
        """Find the run that `ref` names: a thread, `THREAD@TIP`, a unique prefix, `latest`, or `ID~2`."""
        with self._lock:
            contents = self._contents()
            known = ref if ref in contents.branches else resolve_run(ref, list(contents.branches), str(self.path))
            return self._run(contents, known)

    def step_number(self, run: Run, ref: str) -> int:
        """Find the step that `ref` names: a number (0 is the empty state), `~1`, or `@error`."""
        return resolve_step(ref, self.step_count(run.id), lambda: self._first_error(run.id))

    def step_count(self, run_id: str) -> int:
        """Give the number of the last step."""
        with self._lock:
            return len(self._contents().layout(run_id))

    def steps(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Step]:
        """List steps start..stop-1 in order."""
        with self._lock:
            contents = self._contents()
            maker = contents.maker(run_id)
            rows = contents.layout(run_id).rows(start, stop)
            return [self._step(contents, maker, run_id, row) for row in rows]

    def calls(self, run_id: str, step: int) -> list[Call]:
        """List the model answers, tool results and questions to people of one step."""
        with self._lock:
            contents = self._contents()
            return contents.maker(run_id).calls(contents.row(run_id, step)) if step else []

    def state(self, run_id: str, step: int) -> Wire:
        """Read the state after `step`, the caller's own copy; a placeholder where it cannot be read."""
        with self._lock:
            return self._contents().fresh_state(run_id, step)

    def pending_state(self, run_id: str, step: int) -> Wire:
        """Read the state after `step` with what tasks wrote whose superstep has not ended, as LangGraph's `get_state`.

        Of a task: with its own writes, and those of the tasks above it. How writes are combined is not in the file:
        where other steps of the thread do not show it, an opaque value stands in the place of what was there.
        """
        with self._lock:
            return self._contents().pending_state(run_id, step)

    def value(self, run_id: str, step: int, path: Path) -> Wire:
        """Read one value of a state."""
        with self._lock:
            return copy.deepcopy(get(self._contents().state(run_id, step), path))

    def cursor(self, run_id: str, step: int) -> StateCursor:
        """Make a cursor that stands at `step`."""
        return StateCursor(lambda at: self._shared_state(run_id, at), step, lasts=True)

    def base_step(self, run_id: str, step: int) -> int | None:
        """Find the step of the checkpoint that this one went on from; None for the first of a subgraph."""
        with self._lock:
            return self._contents().base(run_id, step)

    def changes(self, run_id: str, step: int) -> list[Op]:
        """List the operations that turned checkpoint `base_step` into `step`."""
        with self._lock:
            return copy.deepcopy(self._contents().changes_of(run_id, step))

    def digest(self, run_id: str, step: int) -> bytes | None:
        """Give 16 bytes that are equal exactly when two states are."""
        with self._lock:
            contents = self._contents()
            return contents.digests.get((run_id, step), lambda: digest(contents.state(run_id, step)))

    def written_at(self, run_id: str, step: int, path: Path) -> tuple[int, Path] | None:
        """Find the step that wrote the value now at `path`, and where it was then; None for the empty state."""
        with self._lock:
            contents = self._contents()
            row = contents.state_row(run_id, step)
            if row is None:
                return None
            found = written_at(
                row.number, path, lambda at: contents.base(run_id, at), lambda at: contents.changes_of(run_id, at)
            )
            return found if found[0] else None

    def next_write(self, run_id: str, step: int, path: Path) -> int | None:
        """Find the first later step that changed the value at `path`."""
        with self._lock:
            contents = self._contents()
            row = contents.state_row(run_id, step)
            number = row.number if row else 0
            return next_write(number, path, contents.later(run_id, number), lambda at: contents.state(run_id, at))

    def damaged_steps(self, run_id: str) -> list[int]:
        """List steps whose metadata is damaged, and those whose state could not be read when somebody asked for it."""
        with self._lock:
            contents = self._contents()
            known = contents.values.damaged
            own = ((row.number, row.checkpoint) for row in contents.layout(run_id).rows())
            return [at for at, row in own if row is not None and (row.flaw or (row.thread, *row.key) in known)]

    def anchor(self, run_id: str, step: int | None) -> tuple[str, str | None]:
        """Give the thread of a run, and what names its checkpoint `step`, or its last one."""
        with self._lock:
            contents = self._contents()
            return anchor_at(contents.branch(run_id), contents.row(run_id, step) if step else None)

    def anchored_at(self, run_id: str, checkpoint: str, *, own: bool) -> int | None:
        """Find the step of a run that `checkpoint` names; with `own` None where the branch shares it with another."""
        with self._lock:
            contents = self._contents()
            steps = contents.anchored.get(run_id, lambda: anchored_steps(contents.layout(run_id)))
            number = step_of_anchor(steps, checkpoint)
            shared = contents.layout(run_id).fork if own else 0
            return number if number is not None and number > shared else None

    def verify(self, run_id: str | None = None) -> list[Problem]:
        """Read every checkpoint and written value, and follow every parent."""
        with self._lock:
            contents = self._contents()
            chosen = [run_id] if run_id is not None else list(contents.branches)
            return [problem for each in chosen for problem in _problems(contents, each, skip_shared=run_id is None)]

    def _shared_state(self, run_id: str, step: int) -> Wire:
        with self._lock:
            return self._contents().state(run_id, step)

    def _contents(self) -> _Contents:
        """What the database holds now, or held at the moment that this thread asks about."""
        if self._held.contents is not None:
            return self._held.contents
        version = self._database.version()
        if self._known is None or self._known.version != version:
            self._known = _Contents(self._database, version, self._known)
        return self._known

    def _run(self, contents: _Contents, run_id: str) -> Run:
        if run_id not in contents.runs:
            branch = contents.branch(run_id)
            extent = branch.thread.plain_extent() or contents.layout(run_id).extent
            contents.runs[run_id] = run_of(branch, extent, contents.values, self.path)
        return contents.runs[run_id]

    def _step(self, contents: _Contents, maker: StepMaker, run_id: str, row: Row) -> Step:
        return contents.steps.get((run_id, row.number), lambda: maker.step(row))

    def _first_error(self, run_id: str) -> int | None:
        """The first failed step. Only tasks without a checkpoint fail, and their rows say so without being read."""
        with self._lock:
            for row in self._contents().layout(run_id).rows():
                failed = any(task.error is not None and (row.attempt or not task.results) for task in row.tasks)
                if row.checkpoint is None and failed:
                    return row.number
            return None


def _rows_of(layouts: Mapping[str, Layout]) -> int:
    """How many rows the layouts of a thread hold, and one: a thread without any is not kept for nothing."""
    return 1 + sum(len(layout.own) for layout in layouts.values())


def _problems(contents: _Contents, run_id: str, *, skip_shared: bool) -> list[Problem]:
    branch = contents.branch(run_id)
    layout = contents.layout(run_id)
    found: list[Problem] = []
    for row in layout.rows(layout.fork + 1 if skip_shared else 1):
        for task in row.tasks:
            for write in task.results:
                if find_placeholder(contents.values.written(write)) is not None:
                    what = f"a value written to {write.channel} cannot be read"
                    found.append(Problem(run_id, row.number, what))
        checkpoint = row.checkpoint
        if checkpoint is None:
            continue
        if checkpoint.flaw:
            found.append(Problem(run_id, row.number, f"checkpoint {checkpoint.id}: {checkpoint.flaw}"))
        tree = branch.thread.trees[checkpoint.namespace]
        if checkpoint.id in tree.cut:
            found.append(Problem(run_id, row.number, f"checkpoint {checkpoint.id} is an ancestor of itself"))
        elif checkpoint.parent is not None and tree.parent(checkpoint) is None:
            found.append(Problem(run_id, row.number, f"its parent {checkpoint.parent} is not in the database"))
        damaged = find_placeholder(contents.state(run_id, row.number))
        if damaged is not None:
            where = f"{format_path(damaged)} cannot be read" if damaged else "it cannot be read"
            found.append(Problem(run_id, row.number, f"checkpoint {checkpoint.id}: {where}"))
    return found
