"""The two protocols behind which every store lies: `RunSource` reads, `Store` also writes.

Everything above (recorder, forks, comparison, commands, screens) speaks only these. A conformance suite in
`tests/core/conformance` is run on every implementation. What is only read takes `Marks` as well: they lie elsewhere.

Numbers: steps count from 1; checkpoint k is the state after step k and checkpoint 0 the initial input. In a fork, steps
up to `fork_step` are its parent's (`Step.inherited`), and checkpoint `fork_step` is the *edited* state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path as FilePath

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.ops import Op
    from agent_tt.model import (
        Call,
        CallEnd,
        Deletion,
        Delivery,
        DeliveryKind,
        Edit,
        ErrorInfo,
        Label,
        NewCall,
        NewRun,
        NewStep,
        Note,
        Problem,
        Run,
        RunStatus,
        Step,
        StepEnd,
        WayBackIn,
    )
    from agent_tt.questions import CallQuestion, Decision, NewQuestion


class Cursor(Protocol):
    """A state that moves along one run's checkpoints, cheaply between neighbours.

    The state is the cursor's own: read it, never change it.
    """

    @property
    def step(self) -> int:
        """The checkpoint that `state` is."""
        ...

    @property
    def state(self) -> Wire:
        """The state after `step`. Damaged parts are `{"$type": "damaged", "why": …, "$v": null}`."""
        ...

    def seek(self, step: int) -> Wire:
        """Move to checkpoint `step` and give its state.

        Raises:
            StepNotFound: the run has no such checkpoint.
            Damaged: the checkpoint cannot be rebuilt at all.
        """
        ...


@runtime_checkable
class RunSource(Protocol):
    """Runs that can be read.

    Every method may be called from any thread; none holds a lock or transaction when it returns.
    """

    @property
    def path(self) -> FilePath:
        """The file."""
        ...

    @property
    def read_only(self) -> bool:
        """True for files of other systems and for stores opened to read."""
        ...

    def close(self) -> None:
        """Let go of the file. Further calls are errors."""
        ...

    def version(self) -> int:
        """A number that differs after anyone changed the file; cheap enough to ask ten times a second."""
        ...

    def runs(self, *, archived: bool = False, limit: int | None = None) -> list[Run]:
        """Runs, newest first.

        Args:
            archived: those that were archived too.
            limit: at most so many; a page of many runs costs what it returns.
        """
        ...

    def forks(self, run_id: str, *, deep: bool = False) -> list[Run]:
        """The runs that were forked from a run, oldest first, archived ones too.

        Args:
            run_id: the run.
            deep: also what was forked from those, each after what it was forked from.
        """
        ...

    def run(self, ref: str) -> Run:
        """The run that `ref` names.

        That is a whole id, a name (its newest root run; `NAME/fork-N` too), a name that it had before it was renamed, a
        unique prefix of an id, `latest`, or `NAME~2` for the one before the one before. Of several runs of one name
        those that are archived come last; they are never `latest`.

        Raises:
            RunNotFound: nothing, or several, fit; `nearest` offers names.
        """
        ...

    def step_number(self, run: Run, ref: str) -> int:
        """The step that `ref` names: a number (0 is the input), `~1` (the last but one), `@error` (the first failed).

        Raises:
            StepNotFound: out of range, or no step failed.
        """
        ...

    def step_count(self, run_id: str) -> int:
        """Number of the last step, 0 when there is none."""
        ...

    def steps(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Step]:
        """Steps start..stop-1 in order (stop None: to the end); a page costs what it returns, wherever it lies."""
        ...

    def calls(self, run_id: str, step: int) -> list[Call]:
        """The calls of one step in order of starting, with arguments and results."""
        ...

    def deliveries(self, run_id: str, step: int, call: int) -> list[Delivery]:
        """What reached the agent of a call that answers in pieces, in order; also of one that is still pending.

        Empty for a call answered in one piece (`Call.delivered` is its number) and where no such call is known.

        Raises:
            StepNotFound: no such step.
        """
        ...

    def state(self, run_id: str, step: int) -> Wire:
        """The state after `step`, the caller's own copy.

        A step without a checkpoint gives the newest earlier one of its track.

        Raises:
            StepNotFound: no such step.
            Damaged: it cannot be rebuilt at all (single damaged values are placeholders instead).
        """
        ...

    def value(self, run_id: str, step: int, path: Path) -> Wire:
        """One value of a state, without handing out the rest.

        Raises:
            PathNotFound: the state has nothing there.
        """
        ...

    def cursor(self, run_id: str, step: int) -> Cursor:
        """A cursor that stands at `step`. One cursor belongs to one thread at a time."""
        ...

    def base_step(self, run_id: str, step: int) -> int | None:
        """The checkpoint that `changes(step)` are against: the previous one on the same track; None for the first."""
        ...

    def changes(self, run_id: str, step: int) -> list[Op]:
        """The operations that turned checkpoint `base_step` into `step`. Empty when nothing changed."""
        ...

    def digest(self, run_id: str, step: int) -> bytes | None:
        """16 bytes that are equal exactly when the states are (key order apart); None where it is not known."""
        ...

    def last_write(self, run_id: str, step: int, path: Path) -> int | None:
        """The step that wrote the value now at `path` in checkpoint `step`; None when none did.

        The value is followed through shifts of the lists that it is in.
        """
        ...

    def next_write(self, run_id: str, step: int, path: Path) -> int | None:
        """The first later step that changed the value at `path`, None when none does."""
        ...

    def damaged_steps(self, run_id: str) -> list[int]:
        """Checkpoints that hold, or need, something damaged.

        Empty when all is well, or when nothing is known yet to be wrong.
        """
        ...

    def notes(self, run_id: str) -> list[Note]:
        """Notes and bookmarks of a run."""
        ...

    def questions(self, run_id: str | None = None) -> list[CallQuestion]:
        """The calls that wait for somebody's decision, the oldest question first: of one run, or of all."""
        ...

    def labels(self, run_id: str) -> dict[int, Label]:
        """Names and metadata that people gave to checkpoints of a run, by step; a name is good for `step_number`."""
        ...

    def verify(self, run_id: str | None = None) -> list[Problem]:
        """Check chain, digests and blobs of a run, or everything; an empty list means whole."""
        ...


@runtime_checkable
class ListsCalls(Protocol):
    """A `RunSource` that can list calls without reading what they carried; others are asked for them step by step."""

    def call_heads(self, run_id: str, start: int = 1) -> list[Call]:
        """The calls of all steps from `start` on, in order, without arguments, results and errors."""
        ...

    def with_values(self, run_id: str, head: Call) -> Call:
        """One of them with arguments, error and result; `…` stands for each large part of a result."""
        ...


class Marks(Protocol):
    """What people may write down about runs and checkpoints. Each method is one durable commit."""

    def add_note(self, run_id: str, step: int | None, kind: str, body: str) -> Note:
        """Write a note or bookmark."""
        ...

    def delete_note(self, note_id: int) -> None:
        """Remove a note or bookmark."""
        ...

    def set_tags(self, run_id: str, tags: Sequence[str]) -> None:
        """Replace a run's tags."""
        ...

    def set_metadata(
        self, run_id: str, metadata: Mapping[str, Wire], *, remove: Sequence[str] = (), step: int | None = None
    ) -> None:
        """Merge into the metadata of a run, or of one of its checkpoints.

        Args:
            run_id: the run.
            metadata: facts by name.
            remove: names of facts to take away; those that are not there stay away.
            step: the checkpoint; None for the run.

        Raises:
            UsageError: `purpose` or `ticket` is no text.
            StepNotFound: the run has no such step.
        """
        ...

    def rename_run(self, run_id: str, name: str) -> None:
        """Give a run another name; forks called after it (`NAME/fork-N`, and theirs) are renamed with it.

        What it was called names it still, unless another run is called that.

        Raises:
            UsageError: another run has that name, or it could not be told from something else that names a run.
        """
        ...

    def name_checkpoint(self, run_id: str, step: int, name: str | None) -> None:
        """Give a checkpoint a name, or take it away.

        Raises:
            UsageError: another checkpoint of the run has that name, or it reads as a number.
            StepNotFound: the run has no such step.
        """
        ...

    def set_pinned(self, run_ids: Sequence[str], *, pinned: bool) -> None:
        """Pin runs, which are then neither archived nor deleted, or unpin them; what is pinned is listed."""
        ...

    def set_archived(self, run_ids: Sequence[str], *, archived: bool) -> None:
        """Leave runs out of lists, or bring them back; all of them, or none.

        Raises:
            IsPinned: a run to be archived is pinned.
        """
        ...


@runtime_checkable
class Anchored(Protocol):
    """A `RunSource` whose runs and numbers move as its file grows, and whose checkpoints have ids that stay.

    So that what is written down about a checkpoint stays with it.
    """

    def anchor(self, run_id: str, step: int | None) -> tuple[str, str | None]:
        """What stays: the thread of a run and the id of its checkpoint `step`; of its last one for None and 0.

        Raises:
            StepNotFound: the run has no such step.
        """
        ...

    def anchored_at(self, run_id: str, checkpoint: str, *, own: bool) -> int | None:
        """The step of a run that an id of `anchor` names; None where the run has none.

        Args:
            run_id: the run.
            checkpoint: the id.
            own: only if it is none of those that the run shares with the one that it left.
        """
        ...


class MarkedRuns(RunSource, Marks, Protocol):
    """Runs that can be read, and about which something can be written down."""


@runtime_checkable
class Store(MarkedRuns, Protocol):
    """A `RunSource` that also writes. Each method is one durable commit; many processes may write at once."""

    def begin_run(self, new: NewRun, state: Wire | object) -> RunWriter:
        """Start a run: its row is committed before this returns, with `state` as checkpoint 0."""
        ...

    def begin_fork(
        self,
        parent_id: str,
        step: int,
        *,
        state: Wire,
        new: NewRun,
        edits: Sequence[Edit] = (),
        policy: Mapping[str, Wire] | None = None,
        way_back_in: WayBackIn = "restore",
    ) -> str:
        """Make the row of a fork with its edited checkpoint (`state`, a wire value); give its id.

        Its status is `running` from now on.

        The name is `PARENT/fork-N`, unless `new.name` is not empty.
        """
        ...

    def adopt_run(self, run_id: str, new: NewRun, state: Wire | object) -> RunWriter:
        """Take over a fork's row in the process that runs its agent, which is its owner from now on.

        Numbering goes on after `fork_step`. `state` is what the agent starts from; where it differs from the edited
        checkpoint, the difference is part of the first step's changes.
        """
        ...

    def join_run(self, run_id: str) -> RunWriter:
        """Write into a run that another process began and will end; to finish the writer ends nothing of the run.

        Raises:
            RunNotFound: no such run.
        """
        ...

    def reopen_run(self, run_id: str) -> None:
        """Let a run that broke off (crashed, interrupted) go on: it is running, and waits to be adopted.

        Steps that were open stay open; they and the numbers of answers are gone on with by who adopts it.

        Raises:
            UsageError: it runs, or has ended by itself.
        """
        ...

    def set_run_status(self, run_id: str, status: RunStatus, error: ErrorInfo | None = None) -> None:
        """Write down how a run ended that cannot say it itself (crashed, stopped before it began)."""
        ...

    def answer_question(self, question: int, decision: Decision) -> None:
        """Write down what somebody decides of a call that waits; its process goes on with it.

        Raises:
            QuestionNotFound: there is no such question.
            QuestionClosed: it was answered already, or the process that asked is gone.
        """
        ...

    def stop_questions(self, run_id: str) -> None:
        """Let every call of a run that waits know that the run is stopped: nobody decides any more."""
        ...

    def plan_deletion(self, run_ids: Sequence[str], *, with_forks: bool = False) -> list[Run]:
        """What `delete_runs` would delete now, forks after what they were forked from; raises what it would raise."""
        ...

    def delete_runs(self, run_ids: Sequence[str], *, with_forks: bool = False) -> Deletion:
        """Delete runs with everything that belongs to them alone, all of them or none.

        Args:
            run_ids: the runs.
            with_forks: also what was forked from them, and from that.

        Raises:
            HasForks: something was forked from one of them that is not to be deleted.
            IsRunning: one of them is running.
            IsPinned: one of them is pinned.
        """
        ...


class OpenQuestion(Protocol):
    """A question that this process has asked. Safe to use from several threads."""

    def decision(self) -> Decision | None:
        """What was decided, None as long as nothing was; cheap enough to ask ten times a second."""
        ...

    def withdraw(self) -> None:
        """Nobody waits for a decision any more."""
        ...


class RunWriter(Protocol):
    """The open end of one run. Safe to use from several threads."""

    @property
    def run_id(self) -> str:
        """The run that it writes."""
        ...

    @property
    def first_step(self) -> int:
        """The number that the next first step gets: 1, or `fork_step + 1`."""
        ...

    def open_step(self, new: NewStep) -> int:
        """Commit a step as running; give its number (order of starting)."""
        ...

    def close_step(self, number: int, end: StepEnd, state: object, *, track: str = "main") -> None:
        """Commit a step's end and, unless `state` is `NO_STATE`, a checkpoint of `state`.

        `state` is any Python object; only its changes are stored.
        """
        ...

    def take_checkpoint(self, number: int, state: object, *, track: str = "main") -> None:
        """Commit a checkpoint of a step that has ended without one; nothing where it has one.

        No later step of that track has a checkpoint yet.
        """
        ...

    def begin_call(self, step: int, new: NewCall) -> int:
        """Commit the intent of a call, before it is made; give its number within the step."""
        ...

    def amend_call(self, step: int, number: int, meta: Mapping[str, Wire], *, args: Wire = None) -> None:
        """Commit what has been decided of a call that is pending, before it goes out.

        Args:
            step: the step of the call.
            number: the call.
            meta: facts to merge into its own.
            args: its arguments as they go out, where a person changed them; None where nobody did. Its signature
                stays that of the question as the agent asked it.

        Raises:
            StepNotFound: no such call.
        """
        ...

    def deliver(self, step: int, call: int, kind: DeliveryKind, data: Wire = None) -> int:
        """Commit a piece of an answer that comes in several, before the agent sees it; give its run-wide number.

        The end of such an answer is committed by `end_call`, whose `CallEnd.stream` says how it ended.

        Raises:
            StepNotFound: no such call.
        """
        ...

    def ask(self, step: int, call: int, new: NewQuestion) -> OpenQuestion:
        """Commit that a call, whose intent is committed, waits for somebody's decision."""
        ...

    def end_call(self, step: int, number: int, end: CallEnd) -> None:
        """Commit what came back, before the agent sees it. The answer takes the next run-wide number."""
        ...

    def finish(self, status: RunStatus, error: ErrorInfo | None = None) -> None:
        """End the run: flush indexes, write status and end time, let go of the file."""
        ...


class _NoState:
    """The class of `NO_STATE`."""

    def __repr__(self) -> str:
        return "NO_STATE"


NO_STATE = _NoState()
"""Given to `close_step` by a step that has no state of its own."""
