"""The link that answers calls from somewhere else than the world: a recording, or answers that are made up.

What answers is known only by its shape, `Answers`. While it takes part every call of the process is put to it first: it
serves it, lets it run, or raises. `Divergence` derives from `BaseException`, so that no `except Exception` of an agent
hides it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from agent_tt.model.facts import CallFacts
from agent_tt.recording.calls.answers import question_of
from agent_tt.recording.links import Link, Place, Reply

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.model import NewCall
    from agent_tt.recording.calls.answers import Question, Served
    from agent_tt.recording.open_run import OpenCall

__all__ = ["Answers", "HoldsBack", "KeepsKeys", "MockResponses", "RecordedResponses", "ReplayedResponses"]


class Answers(Protocol):
    """Serves the calls of a process."""

    def ask(self, question: Question) -> Served | None:
        """Serve a call; None when it is to run for real.

        Raises:
            Divergence: nothing recorded answers it, or the replay has failed before.
        """


@runtime_checkable
class KeepsKeys(Protocol):
    """Answers that know with which idempotency key an earlier try of a call was sent."""

    def key_of(self, question: Question) -> Wire:
        """The key to send a call with that is made for real, in place of its own; None where it keeps that."""


@runtime_checkable
class HoldsBack(Protocol):
    """Answers that let nothing run for real before they have given out all that they have."""

    async def until_live(self, question: Question) -> None:
        """Wait until a call may be made for real that a coroutine asks for; others wait in `Answers.ask`.

        Raises:
            Divergence: the replay has failed meanwhile.
        """


@runtime_checkable
class HoldsJobs(Protocol):
    """Answers that know in which order jobs of worker processes returned."""

    def job_returns(self, run_id: str, lane: str) -> None:
        """Wait until a job may return."""


class RecordedResponses(Link):
    """Puts every call to what answers from a recording."""

    place: ClassVar[Place] = Place.RECORDED
    serves = True

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._keys = answers if isinstance(answers, KeepsKeys) else None
        self._holds_back = answers if isinstance(answers, HoldsBack) else None
        self._holds_jobs = answers if isinstance(answers, HoldsJobs) else None

    @property
    def goes_live(self) -> bool:
        """Whether what answers lets calls be made for real once its recording is used up: not that of a replay."""
        return self._holds_back is not None

    def answer_call(self, call: OpenCall, new: NewCall) -> Reply | None:
        """Serve a call, or say how it is to be made."""
        can_wait = call.spec.can_wait
        question = question_of(new, call.step_number, can_wait=can_wait)
        served = self._answers.ask(question)
        if served is not None:
            return Reply(served)
        key = (
            self._keys.key_of(question)
            if self._keys is not None and CallFacts.idempotency_key.is_in(new.meta)
            else None
        )
        holds = self._holds_back if can_wait else None
        if key is None and holds is None:
            return None
        return Reply(key=key, later=None if holds is None else partial(holds.until_live, question))

    def answer_draw(self, new: NewCall) -> Served | None:
        """Serve a draw."""
        return self._answers.ask(question_of(new))

    def unrecorded_call(self, new: NewCall, *, is_own_doing: bool) -> Served | None:  # noqa: ARG002  all are put to it
        """Serve a call that no recording reaches."""
        return self._answers.ask(question_of(new))

    def job_returns(self, run_id: str, lane: str) -> None:
        """Let a job return in its turn."""
        if self._holds_jobs is not None:
            self._holds_jobs.job_returns(run_id, lane)

    def kept_headers(self) -> frozenset[str] | None:
        """Name the headers that counted when the run was recorded."""
        found: frozenset[str] | None = getattr(self._answers, "kept_headers", None)
        return found


class ReplayedResponses(RecordedResponses):
    """The same for a replay whose run is kept: of each call that is not made, that run says so.

    Args:
        answers: what answers.
        makes_calls: whether it lets calls be made for real; then only an answer tells which are not.
    """

    def __init__(self, answers: Answers, *, makes_calls: bool) -> None:
        super().__init__(answers)
        self._makes_calls = makes_calls

    def before_call(self, _call: OpenCall, facts: dict[str, Wire]) -> None:
        """Say that no call is made, where none is."""
        if not self._makes_calls:
            facts.update(CallFacts.replayed.true())

    def answer_call(self, call: OpenCall, new: NewCall) -> Reply | None:
        """Serve a call, and say so."""
        reply = super().answer_call(call, new)
        if not self._makes_calls or reply is None or reply.served is None:
            return reply
        return replace(reply, facts={**reply.facts, **CallFacts.replayed.true()})


class MockResponses(RecordedResponses):
    """Puts what no recording answers to what makes answers up."""

    place: ClassVar[Place] = Place.MOCK
