"""Reading runs: a source of them, and a cursor that moves along one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from pathlib import Path as FilePath

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.ops import Op
    from agent_tt.model import Call, Delivery, Label, Note, Output, Problem, Run, Step
    from agent_tt.questions import CallQuestion


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
        """Notes, bookmarks, watches and unrecorded effects of a run."""
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


@runtime_checkable
class HoldsOutput(Protocol):
    """A `RunSource` that holds what runs printed; of others that is not known."""

    def output(self, run_id: str) -> Output | None:
        """What a run printed on standard output, without what it has of its parent; None where that was not kept."""
        ...


@runtime_checkable
class PagesCalls(Protocol):
    """A `RunSource` that can give the calls of many steps at once; others are asked for them step by step."""

    def call_page(self, run_id: str, start: int, stop: int) -> list[Call]:
        """The calls of steps start..stop-1 in order: arguments (of models signatures), results and errors, no more."""
        ...

    def digest_page(self, run_id: str, start: int, stop: int) -> dict[int, bytes]:
        """What `digest` gives for steps start..stop-1; those that took no checkpoint of their own may be missing."""
        ...
