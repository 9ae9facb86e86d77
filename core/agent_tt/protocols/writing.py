"""Recording runs: a store, the open end of one run, and a question that it asks."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from agent_tt.errors import Refused, RunNotFound, UsageError
from agent_tt.protocols.marks import MarkedRuns

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import (
        CallEnd,
        Deletion,
        DeliveryKind,
        ErrorInfo,
        Hold,
        Judged,
        NewCall,
        NewFork,
        NewRun,
        NewStep,
        Output,
        Owner,
        Replay,
        Run,
        RunStatus,
        StepEnd,
        Sweep,
    )
    from agent_tt.model.facts import Place
    from agent_tt.model.once import Holder
    from agent_tt.questions import Decision, NewQuestion


class Store(MarkedRuns):
    """A `RunSource` that also writes. Each method is one durable commit; many processes may write at once."""

    @abstractmethod
    def begin_run(self, new: NewRun, state: Wire | object, *, run_id: str | None = None) -> RunWriter:
        """Start a run: its row is committed before this returns, with `state` as checkpoint 0.

        Args:
            new: what is said of it.
            state: what its agent begins with; `NO_STATE` is kept as null until a step brings a state.
            run_id: its id, where it was drawn before; no run of the store may have it.
        """

    @abstractmethod
    def begin_fork(self, fork: NewFork) -> str:
        """Make the row of a fork with its edited checkpoint; give its id.

        Its status is `running` from now on, and this process owns it until it is adopted.

        Raises:
            RunNotFound: no such parent.
            StepNotFound: the parent has no such step.
            Damaged: the parent's checkpoint cannot be read in full.
        """

    @abstractmethod
    def adopt_run(self, run_id: str, new: NewRun, state: Wire | object) -> RunWriter:
        """Take over a fork's row in the process that runs its agent, which is its owner from now on.

        Numbering goes on after `fork_step`. `state` is what the agent starts from; where it differs from the edited
        checkpoint, the difference is part of the first step's changes.
        """

    @abstractmethod
    def join_run(self, run_id: str) -> RunWriter:
        """Write into a run that another process began and will end; to finish the writer ends nothing of the run.

        Raises:
            RunNotFound: no such run.
        """

    @abstractmethod
    def reopen_run(self, run_id: str) -> None:
        """Let a run that broke off (crashed, interrupted) go on: it is running, and waits to be adopted.

        Steps that were open stay open; they and the numbers of answers are continued by who adopts it.

        Raises:
            UsageError: it runs, or has ended by itself.
        """

    @abstractmethod
    def set_run_status(self, run_id: str, status: RunStatus, error: ErrorInfo | None = None) -> None:
        """Write down how a run ended that cannot say it itself (crashed, stopped before it began)."""

    @abstractmethod
    def keep_output(self, run_id: str, output: Output) -> None:
        """Write down what the process of a run printed, in place of what was written down of it before."""

    @abstractmethod
    def keep_replay(self, replay: Replay) -> Replay:
        """Write down what came of a replay, with its run; give it with its number and the time.

        Raises:
            RunNotFound: the run is not there any more.
        """

    @abstractmethod
    def answer_question(self, question: int, decision: Decision) -> None:
        """Write down what somebody decides of a call that waits; its process goes on with it.

        Raises:
            QuestionNotFound: there is no such question.
            QuestionClosed: it was answered already, or the process that asked is gone.
        """

    @abstractmethod
    def stop_questions(self, run_id: str) -> None:
        """Let every call of a run that waits know that the run is stopped: nobody decides any more."""

    def hold_run(self, run_id: str, *, when: str = "", by: str = "program") -> Hold:  # noqa: ARG002  see below
        """Let the agent of a run wait before its next calls, as long as this process and this open store are there.

        It waits only where it was recorded with `attach`; each call that waits is a question.

        Args:
            run_id: the run.
            when: an expression; only calls wait where it holds. "" for all.
            by: where it is held from: `command`, `app` or `program`.

        Raises:
            RunNotFound: no such run.
            UsageError: the run is over, or a run of this store cannot be held.
        """
        raise UsageError("a run of this store cannot be held", hint="it is a store that keeps no holds")

    def let_go(self, run_id: str, hold: int | None = None) -> int:  # noqa: ARG002  see above
        """Let an agent go on: what waits because of a hold goes out as it is.

        Args:
            run_id: the run.
            hold: the hold that ends; None for all of the run, whoever holds it.

        Returns:
            How many ended.

        Raises:
            RunNotFound: no such run.
        """
        return 0

    @abstractmethod
    def plan_deletion(self, run_ids: Sequence[str], *, with_forks: bool = False) -> list[Run]:
        """List what `delete_runs` would delete, forks after what they were forked from; raise what it would raise."""

    @abstractmethod
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

    def prune_runs(
        self,
        run_ids: Sequence[str],
        report: Callable[[int, int], None],
        *,
        is_gentle: bool = False,  # noqa: ARG002  one after another is
    ) -> list[str]:
        """Delete runs one after another, and leave those that have to stay; give the ids of those that are gone.

        Args:
            run_ids: the runs, forks before what they were forked from.
            report: told (runs done, in all).
            is_gentle: whether others are held up as little as can be, and the file may stay larger for it.
        """
        gone: list[str] = []
        for done, run_id in enumerate(run_ids, 1):
            with suppress(Refused, RunNotFound):
                gone += [run.id for run in self.delete_runs([run_id]).runs]
            report(done, len(run_ids))
        return gone

    def sample_out(self, run_id: str, slow_us: int | None) -> bool:  # noqa: ARG002  for who counts
        """Delete a run that succeeded, and count it, unless there is a reason to keep it; give whether it is gone.

        A store that cannot count those that are gone keeps all.

        Args:
            run_id: the run, which is over.
            slow_us: it is kept where it took as long, in microseconds; None where that is no reason.
        """
        return False

    def settle_key(self, run_id: str, places: Collection[Place], answer: Wire, *, happened: bool) -> None:  # noqa: ARG002  see below
        """Write down whether a call happened that is done once for its key, and of which nobody knew.

        Args:
            run_id: its run.
            places: the calls there that may have the key.
            answer: what it answered, where it happened.
            happened: whether it did; else the next call with its key is made.

        Raises:
            UsageError: it has no key, or what became of it is known; or this store keeps no keys.
        """
        raise UsageError("this store keeps no keys of what is done once")

    def restore_file(self, run_id: str) -> None:  # a store that is not one file has nothing to put back
        """Make the store's file again where somebody removed it, with what this open store still sees of a run."""

    # ---------------------------------------------------------------- sweeps

    @abstractmethod
    def begin_sweep(self, run_id: str, step: int, definition: Mapping[str, Wire], *, driven: bool = True) -> Sweep:
        """Write a new sweep of a run.

        Args:
            run_id: the run.
            step: the step after which its runs begin to differ.
            definition: what is varied.
            driven: whether this process drives it from now on; else nobody does.

        Raises:
            RunNotFound: the run is not there any more.
        """

    @abstractmethod
    def claim_sweep(self, sweep_id: str, definition: Mapping[str, Wire] | None = None) -> None:
        """Let this process drive a sweep that nobody drives.

        Args:
            sweep_id: the sweep.
            definition: what takes the place of its definition; None keeps that.

        Raises:
            IsRunning: somebody drives it.
            RunNotFound: it is not there any more.
        """

    @abstractmethod
    def beat_sweep(self, sweep_id: str) -> None:
        """Write down that this process still drives a sweep."""

    @abstractmethod
    def release_sweep(self, sweep_id: str) -> None:
        """Let others drive a sweep that this process drove."""

    @abstractmethod
    def settle_run(self, run_id: str) -> Owner | None:
        """Give the process that records a run; a run without one is marked as crashed.

        The process that was to fill it may be gone, before it took the run over even: then the run is written down as
        crashed in the same transaction, and a process that comes too late finds it over.

        Returns:
            The process that records it; None where it is over.

        Raises:
            RunNotFound: the run is not there any more.
        """


class OpenQuestion(Protocol):
    """A question that this process has asked. Safe to use from several threads."""

    def decision(self) -> Decision | None:
        """What was decided, None as long as nothing was; cheap enough to ask ten times a second."""

    def withdraw(self) -> None:
        """Withdraw the question: nobody waits for a decision any more."""


class RunWriter(Protocol):
    """The open end of one run. Safe to use from several threads."""

    @property
    def run_id(self) -> str:
        """The run that it writes."""

    def open_step(self, new: NewStep) -> int:
        """Commit a step as running; give its number (order of starting)."""

    def close_step(self, number: int, end: StepEnd, state: object, *, track: str = "main") -> None:
        """Commit a step's end and, unless `state` is `NO_STATE`, a checkpoint of `state`.

        `state` is any Python object; only its changes are stored.
        """

    def take_checkpoint(self, number: int, state: object, *, track: str = "main") -> None:
        """Commit a checkpoint of a step that has ended without one; nothing where it has one.

        No later step of that track has a checkpoint yet.
        """

    def begin_call(self, step: int, new: NewCall) -> int:
        """Commit the intent of a call, before it is made; give its number within the step."""

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

    def deliver(self, step: int, call: int, kind: DeliveryKind, data: Wire | Judged = None) -> int:
        """Commit a piece of an answer that comes in several, before the agent sees it; give its run-wide number.

        From one that is not `Judged`, secrets are taken out as from a value that stands alone. The end of such an
        answer is committed by `end_call`, whose `CallEnd.stream` says how it ended.

        Raises:
            StepNotFound: no such call.
        """

    def ask(self, step: int, call: int, new: NewQuestion) -> OpenQuestion:
        """Commit that a call, whose intent is committed, waits for somebody's decision."""

    def holds(self) -> Sequence[Hold]:
        """List the holds of the run that stand; asked before each call, so it takes next to nothing where none does."""

    def last_answer(self) -> int:
        """The number of the last answer, or piece of one, that was committed."""

    def claim_key(self, step: int, call: int, tool: str, key: str, *, is_decided: bool = False) -> Holder | None:
        """Let a call whose intent is committed have a key, over all runs of the store, unless another one has it.

        Args:
            step: the step of the call.
            call: its number in there.
            tool: what the key is one of: each tool has its own.
            key: the key.
            is_decided: whether it may be made although an earlier one may have happened.

        Returns:
            The call that has the key, with its answer where it is done; None where this one has it now.

        Raises:
            StoreUnreadable: this cannot be said; the call must not be made.
        """

    def end_call(self, step: int, number: int, end: CallEnd) -> None:
        """Commit what came back, before the agent sees it. The answer takes the next run-wide number."""

    def finish(self, status: RunStatus, error: ErrorInfo | None = None) -> None:
        """End the run: flush indexes, write status and end time, let go of the file."""


def check_running(run_id: str, status: str) -> None:
    """Refuse to hold a run that is over.

    Args:
        run_id: the run.
        status: its status as it is shown.

    Raises:
        UsageError: it is over.
    """
    if status != "running":
        raise UsageError(f"run {run_id} cannot be held: it is {status}", hint="only a running agent can wait")


class _NoState:
    """The class of `NO_STATE`."""

    def __repr__(self) -> str:
        return "NO_STATE"


NO_STATE = _NoState()
"""Given to `close_step` by a step that has no state of its own."""
