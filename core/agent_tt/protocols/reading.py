"""Reading runs: a source of them, and a cursor that moves along one.

A source of runs answers six questions: where it is (`path`), whether it changed (`version`), its `runs`, and of a run
the `steps`, `calls` and `state`. `RunSource` derives all the rest from these; a source overrides what it knows itself,
or can find out faster, and says so in `capabilities`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TypeAlias

from agent_tt.codec.paths import get
from agent_tt.errors import PathNotFound, RunNotFound, StepNotFound
from agent_tt.history.digest import digest
from agent_tt.protocols import derived, references
from agent_tt.protocols.capabilities import Capabilities

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path as FilePath

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.ops import Op
    from agent_tt.model import Call, Delivery, Hold, Label, Note, Output, Problem, Replay, Run, Step, Sweep
    from agent_tt.model.statistics import CallGroup, CallGroups, Chosen, RunGroup, RunGroups, Statistics
    from agent_tt.questions import CallQuestion

__all__ = ["Cursor", "Needed", "RunSource"]

Needed: TypeAlias = "str | list[Needed] | None"
"""What a text has to hold: a folded literal; `["AND", …]` all of several, `["OR", …]` one of them; None for nothing."""


class Cursor(Protocol):
    """A state that moves along one run's checkpoints, cheaply between neighbours.

    The state is the cursor's own: read it, never change it.
    """

    @property
    def step(self) -> int:
        """The checkpoint that `state` is."""

    @property
    def state(self) -> Wire:
        """The state after `step`. Damaged parts are `{"$type": "damaged", "why": …, "$v": null}`."""

    def seek(self, step: int) -> Wire:
        """Move to checkpoint `step` and give its state.

        Raises:
            StepNotFound: the run has no such checkpoint.
            Damaged: the checkpoint cannot be rebuilt at all.
        """


class RunSource(ABC):
    """Runs that can be read.

    Every method may be called from any thread; none holds a lock or transaction when it returns.

    A subclass answers the six abstract methods. Here a text file is a run, and each of its lines a step:

    ```python
    class Lines(RunSource):
        def __init__(self, path):
            self._path, self._lines = path, path.read_text().splitlines()

        @property
        def path(self):
            return self._path

        def version(self):
            return self._path.stat().st_mtime_ns

        def runs(self, *, archived=False, limit=None):
            return [Run("lines", self._path.stem, "succeeded", 0, steps=len(self._lines), read_only=True)][:limit]

        def steps(self, run_id, start=1, stop=None):
            every = [Step(number, line, "ok", seq=number) for number, line in enumerate(self._lines, 1)]
            return every[max(start - 1, 0) : None if stop is None else max(stop - 1, 0)]

        def calls(self, run_id, step):
            self.check_step(run_id, step)
            return []

        def state(self, run_id, step):
            self.check_step(run_id, step)
            return self._lines[:step]
    ```

    `tests/core/conformance/reading.py` checks what every source must do.
    """

    @property
    def capabilities(self) -> Capabilities:
        """What this source can do beyond what every source can."""
        return Capabilities()

    # ---------------------------------------------------------------- what every source answers itself

    @property
    @abstractmethod
    def path(self) -> FilePath:
        """The file; of a server's database its address (`agent_tt.addresses.Address`)."""

    @abstractmethod
    def version(self) -> int:
        """Give a number that differs after anyone changed the file; cheap enough to ask ten times a second."""

    @abstractmethod
    def runs(self, *, archived: bool = False, limit: int | None = None) -> list[Run]:
        """List the runs, newest first.

        Args:
            archived: those that were archived too.
            limit: at most so many; a page of many runs costs what it returns.
        """

    @abstractmethod
    def steps(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Step]:
        """List steps start..stop-1 (stop None: to the end); a page costs what it returns, wherever it lies."""

    @abstractmethod
    def calls(self, run_id: str, step: int) -> list[Call]:
        """List the calls of one step in order of starting, with arguments and results.

        Raises:
            StepNotFound: no such step.
        """

    @abstractmethod
    def state(self, run_id: str, step: int) -> Wire:
        """Read the state after `step`, the caller's own copy.

        A step without a checkpoint gives the newest earlier one of its track.

        Raises:
            StepNotFound: no such step.
            Damaged: it cannot be rebuilt at all (single damaged values are placeholders instead).
        """

    # ---------------------------------------------------------------- the file

    @property
    def read_only(self) -> bool:
        """True for files of other systems and for stores opened to read."""
        return True

    def close(self) -> None:  # noqa: B027  # a source that holds nothing open has nothing to do
        """Let go of the file. Further calls are errors."""

    # ---------------------------------------------------------------- runs and steps

    def forks(self, run_id: str, *, deep: bool = False) -> list[Run]:
        """List the runs that were forked from a run, oldest first, archived ones too.

        Args:
            run_id: the run.
            deep: also what was forked from those, each after what it was forked from.
        """
        return derived.forks(self.runs(archived=True), run_id, deep=deep)

    def run(self, ref: str) -> Run:
        """Find the run that `ref` names.

        That is a whole id, a name (its newest root run; `NAME/fork-N` too), a name that it had before it was renamed, a
        unique prefix of an id, `latest`, or `NAME~2` for the one before the one before. Of several runs of one name
        those that are archived come last; they are never `latest`.

        Raises:
            RunNotFound: nothing, or several, fit; `nearest` offers names.
        """
        runs = self.runs(archived=True)
        known = {run.id: run for run in runs}
        return references.find_run(
            runs, ref, lambda word: known[references.resolve_run(word, list(known), str(self.path))]
        )

    def step_number(self, run: Run, ref: str) -> int:
        """Find the step that `ref` names: a number (0: the input), `~1` (last but one), `@error` (the first failed).

        The name of a checkpoint will do too.

        Raises:
            StepNotFound: out of range, or no step failed.
        """
        named = [label.step for label in self.labels(run.id).values() if label.name == ref]
        return named[0] if named else references.resolve_step(ref, self.step_count(run.id), lambda: self._failed(run))

    def _failed(self, run: Run) -> int | None:
        return next((step.number for step in self.steps(run.id) if step.status == "error"), None)

    def step_count(self, run_id: str) -> int:
        """Give the number of the last step, 0 when there is none."""
        return len(self.steps(run_id))

    def check_step(self, run_id: str, step: int) -> None:
        """Refuse a step that a run does not have.

        Raises:
            StepNotFound: there is no such step.
        """
        last = self.step_count(run_id)
        if not 0 <= step <= last:
            raise StepNotFound(f"there is no step {step}: the last one is {last}")

    # ---------------------------------------------------------------- calls

    def call_page(self, run_id: str, start: int, stop: int) -> list[Call]:
        """List the calls of steps start..stop-1: arguments (of models signatures), results and errors, no more."""
        steps = self.steps(run_id, start, stop)
        return [call for step in steps if step.calls for call in self.calls(run_id, step.number)]

    def call_heads(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Call]:
        """List the calls of steps start..stop-1 (None: to the end) in order, without arguments, results and errors."""
        whole = self.call_page(run_id, start, self.step_count(run_id) + 1 if stop is None else stop)
        return [replace(call, args=None, result=None, error=None) for call in whole]

    def with_values(self, run_id: str, head: Call) -> Call:
        """Read a call of `call_heads` with arguments, error and result; in that `…` may stand for each large part."""
        return next((call for call in self.calls(run_id, head.step) if call.number == head.number), head)

    def outline(self, run_id: str, head: Call, without: Collection[str]) -> Call:  # noqa: ARG002  # of what overrides it
        """Read a call of `call_page` with arguments and facts; large parts of those, named in `without`, may lack.

        A name counts at the top of the arguments and one below: `messages` leaves out `body.messages` too.
        """
        return self.with_values(run_id, head)

    def deliveries(self, run_id: str, step: int, call: int) -> list[Delivery]:  # noqa: ARG002  # of what overrides it
        """List what reached the agent of a call that answers in pieces, in order; also of one that is pending.

        Empty for a call answered in one piece (`Call.delivered` is its number) and where no such call is known.

        Raises:
            StepNotFound: no such step.
        """
        self.check_step(run_id, step)
        return []

    def output(self, run_id: str) -> Output | None:  # noqa: ARG002  # of what overrides it
        """Read what a run printed on standard output, without what its parent did; None where that was not kept."""
        return None

    # ---------------------------------------------------------------- states

    def pending_state(self, run_id: str, step: int) -> Wire:
        """Read the state after `step` with what was written in it that no checkpoint has taken in yet.

        Of a source that keeps no such writes, and of a step without any, it is the state.
        """
        return self.state(run_id, step)

    def value(self, run_id: str, step: int, path: Path) -> Wire:
        """Read one value of a state, without handing out the rest.

        Raises:
            PathNotFound: the state has nothing there.
        """
        return get(self.state(run_id, step), path)

    def has_value(self, run_id: str, step: int, path: Path) -> bool:
        """Say whether a state has a value at a place.

        Raises:
            StepNotFound: no such step.
            Damaged: the state cannot be rebuilt at all.
        """
        try:
            self.value(run_id, step, path)
        except PathNotFound:
            return False
        return True

    def states(self, run_id: str, one: int, other: int) -> tuple[Wire, Wire]:
        """Read two states to compare them: what they have in common may be the same objects. They must not be changed.

        Raises:
            StepNotFound: no such step.
            Damaged: one cannot be rebuilt at all.
        """
        return self.state(run_id, one), self.state(run_id, other)

    def cursor(self, run_id: str, step: int) -> Cursor:
        """Make a cursor that stands at `step`. One cursor belongs to one thread at a time."""
        return derived.StateCursor(lambda at: self.state(run_id, at), step, lasts=True)

    def base_step(self, run_id: str, step: int) -> int | None:
        """Find the checkpoint that `changes(step)` are against: the previous one on the track; None for the first."""
        return derived.base_step(self, run_id, step)

    def changes(self, run_id: str, step: int) -> list[Op]:
        """List the operations that turned checkpoint `base_step` into `step`. Empty when nothing changed."""
        return derived.changes(self, run_id, step)

    def digest(self, run_id: str, step: int) -> bytes | None:
        """Give 16 bytes that are equal exactly when the states are (key order apart); None where it is not known."""
        return digest(self.state(run_id, step))

    def digest_page(self, run_id: str, start: int, stop: int) -> dict[int, bytes]:
        """Give the digests of steps start..stop-1; those that took no checkpoint of their own may be missing."""
        numbers = [step.number for step in self.steps(run_id, start, stop) if step.seq is not None]
        return {number: found for number in numbers if (found := self.digest(run_id, number)) is not None}

    # ---------------------------------------------------------------- who wrote what

    def last_write(self, run_id: str, step: int, path: Path) -> int | None:
        """Find the step that wrote the value now at `path` in checkpoint `step`; None when none did.

        The value is followed through shifts of the lists that it is in.
        """
        found = self.written_at(run_id, step, path)
        return None if found is None else found[0]

    def written_at(self, run_id: str, step: int, path: Path) -> tuple[int, Path] | None:
        """Find the step that `last_write` gives, and where the value was just after it."""
        return derived.written_at(
            step, path, lambda at: self.base_step(run_id, at), lambda at: self.changes(run_id, at)
        )

    def next_write(self, run_id: str, step: int, path: Path) -> int | None:
        """Find the first later step that changed the value at `path`; None when none did."""
        later = derived.later_steps(self, run_id, step)
        return derived.next_write(step, path, later, lambda at: self.state(run_id, at))

    def steps_touching(self, run_id: str, first: int, last: int, path: Path) -> set[int]:  # noqa: ARG002  # of what overrides it
        """Find the steps of first..last that may have changed a place of the state; perhaps too many.

        Args:
            run_id: the run.
            first: the first step.
            last: the last one.
            path: the place as people write it; only what leads to it counts, not the value that was there.
        """
        return set(range(first, last + 1))

    def steps_calling(self, run_id: str, first: int, last: int, wanted: Mapping[str, str]) -> set[int]:
        """Find steps of first..last with a call that is as `wanted`: `kind`, `name`, `effect`, `status`, `lane`."""
        calls = self.call_page(run_id, max(first, 1), last + 1)
        return {call.step for call in calls if all(getattr(call, name) == word for name, word in wanted.items())}

    # ---------------------------------------------------------------- what people wrote down

    def notes(self, run_id: str) -> list[Note]:  # noqa: ARG002  # of what overrides it
        """List notes, bookmarks, watches and unrecorded effects of a run."""
        return []

    def labels(self, run_id: str) -> dict[int, Label]:  # noqa: ARG002  # of what overrides it
        """Give the labels of checkpoints of a run, by step: names, which `step_number` knows, and metadata."""
        return {}

    def replays(self, run_id: str | None = None) -> list[Replay]:  # noqa: ARG002  # of what overrides it
        """List the replays that were kept, newest first: of one run, or of all.

        Raises:
            RunNotFound: no such run.
        """
        return []

    def questions(self, run_id: str | None = None) -> list[CallQuestion]:  # noqa: ARG002  # of what overrides it
        """List the calls that wait for somebody's decision, the oldest question first: of one run, or of all."""
        return []

    def holds(self, run_id: str | None = None) -> list[Hold]:  # noqa: ARG002  # of what overrides it
        """List the holds that stand, the oldest first: of one run, or of all."""
        return []

    def anchor(self, run_id: str, step: int | None) -> tuple[str, str | None]:  # noqa: ARG002  # of what overrides it
        """Give the names that stay: the thread of a run, and the id of its checkpoint `step` (None, 0: its last).

        Where numbers stay themselves, that is the run and no id.

        Raises:
            StepNotFound: the run has no such step.
        """
        return run_id, None

    def anchored_at(self, run_id: str, checkpoint: str, *, own: bool) -> int | None:  # noqa: ARG002  # of what overrides it
        """Find the step of a run that an id of `anchor` names; None where the run has none.

        Args:
            run_id: the run.
            checkpoint: the id.
            own: only if it is none of those that the run shares with the one that it left.
        """
        return None

    # ---------------------------------------------------------------- sweeps

    def sweeps(self) -> list[Sweep]:
        """List all sweeps, newest first; those that are damaged are left out, and `verify` names them."""
        return []

    def sweep(self, ref: str) -> Sweep:
        """Find the sweep that `ref` names: its id or the unique beginning of it, `RUN/sweep-1`, or `latest`.

        An old name of the run will do.

        Raises:
            RunNotFound: nothing, or several, fit; or the source can hold none.
        """
        if not self.capabilities.records:
            raise RunNotFound(f"{self.path} holds no sweeps", hint="they are kept in a store of agent-tt")
        return references.find_sweep(self.sweeps(), ref, lambda name: self.run(name).id)

    # ---------------------------------------------------------------- statistics

    def statistics(self, chosen: Chosen) -> Statistics:
        """Count what there is of the chosen runs. What the source does not know is None, and never zero."""
        from agent_tt.protocols import counted

        return counted.count_everything(self, chosen)

    def run_groups(self, chosen: Chosen, by: RunGroups) -> list[RunGroup]:
        """Count the chosen runs by what they have in common, most runs first; days in their order (UTC).

        A run with several tags is in the group of each.
        """
        from agent_tt.protocols import counted

        return counted.count_runs(self, chosen, by)

    def call_groups(self, chosen: Chosen, by: CallGroups) -> list[CallGroup]:
        """Count the calls of the chosen runs by tool, or those of models by model, most calls first.

        Tokens and dollars are those of calls that made no other model call: a function that asks a model often gives on
        what the provider said.
        """
        from agent_tt.protocols import counted

        return counted.count_calls(self, chosen, by)

    def growth(self, chosen: Chosen) -> Mapping[str | None, int] | None:  # noqa: ARG002  # of what overrides it
        """Give the bytes that the chosen runs brought into the file, by the day on which they began (UTC).

        That are those of states, calls and pieces of answers, without values that are kept once for all that name them.
        None where the source does not know.
        """
        return None

    # ---------------------------------------------------------------- damage

    def damage(self, run_id: str, last: int | None = None) -> Problem | None:  # noqa: ARG002  # of what overrides it
        """Find the first thing wrong with the rows of a run and its ancestors; None where nothing is known to be.

        Args:
            run_id: the run.
            last: leave out what is wrong with later steps than this.
        """
        return None

    def one_moment(self) -> AbstractContextManager[None]:
        """Answer what this thread asks meanwhile as of one moment, where a source is asked much faster that way.

        For many questions in a row. Other threads are not kept waiting, and see what changes.
        """
        return nullcontext()

    def ahead(self, run_ids: Sequence[str]) -> AbstractContextManager[None]:  # noqa: ARG002  # of what overrides it
        """Fetch at once what is asked of some runs meanwhile, where a source is asked faster that way."""
        return nullcontext()

    def may_hold(
        self,
        needed: Iterable[Needed],  # noqa: ARG002  # of what overrides it
        cancelled: Callable[[], bool] = lambda: False,  # noqa: ARG002
    ) -> list[str] | None:
        """List the runs, the newest first, that may have texts with what is needed, or parts that cannot be read.

        None where nothing tells that faster than reading. A source that answers is never indexed as a whole.

        Args:
            needed: of each of these a run has to have a text; none of them is the mark of personal data.
            cancelled: asked now and then; when it says yes, runs that were not looked at by then are listed too.
        """
        return None

    def fingerprint(self) -> str | None:
        """Say what the file looks like from outside: equal in every process as long as nobody changes it.

        None where that cannot be told.
        """
        return None

    def damaged_steps(self, run_id: str) -> list[int]:  # noqa: ARG002  # of what overrides it
        """List the checkpoints that hold, or need, something damaged.

        Empty when all is well, or when nothing is known yet to be wrong.
        """
        return []

    def verify(self, run_id: str | None = None) -> list[Problem]:
        """Check all that is stored of a run, or of every run; an empty list means whole."""
        chosen = [run.id for run in self.runs(archived=True)] if run_id is None else [run_id]
        return [problem for each in chosen for problem in derived.unreadable(self, each)]
