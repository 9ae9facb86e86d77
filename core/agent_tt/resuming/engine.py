"""Answering the calls of a run that goes on: from its recording while there is some left, then for real.

Who writes the run asks first, because a call that is only given again has its row already. Both are told the same of
one question, by its number in its lane.

Nothing is made for real before all that was recorded has been given out, in every lane: none of that can depend on what
had no answer yet. So the answers to come stand behind those that were there, as a replay will give them out. Where a
lane does not come to the end of its part, the others go on without it, and it is still served and guarded; so they do
for a plain function that an event loop's own thread calls, because nothing else could happen there meanwhile.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.recording.calls.answers import question_of
from agent_tt.recording.scope import here
from agent_tt.replaying.answers.answer import Answer
from agent_tt.replaying.answers.waiters import running_loop
from agent_tt.replaying.divergence import Divergence
from agent_tt.replaying.engine import Replay
from agent_tt.replaying.findings.findings import unanswered
from agent_tt.replaying.guard.guard_events import WORKER_STARTS
from agent_tt.replaying.tape.repeats import place_of
from agent_tt.replaying.tape.tape import DRAWN, lay_out

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, NewCall
    from agent_tt.recording.calls.answers import Question, Served
    from agent_tt.replaying.tape.repeats import Place
    from agent_tt.replaying.tape.tape import TapeCall, TapeLane
    from agent_tt.resuming.past import Past
    from agent_tt.resuming.plan import Happened

__all__ = ["Claim", "Resumption"]

_CLAIM_SLICES, _CLAIM_SECONDS = 20, 0.025


@dataclass(frozen=True, slots=True)
class Claim:
    """What becomes of one question.

    Attributes:
        call: the recorded call that it is; None for a new one.
        is_live: whether it is made for real. Neither this nor a call: the agent halts.
        lane: the recorded lane that it was looked for in, where it halts.
    """

    call: TapeCall | None = None
    is_live: bool = False
    lane: TapeLane | None = None

    @property
    def halts(self) -> bool:
        """Whether nothing may answer it."""
        return self.call is None and not self.is_live


class _Said(Answer):
    """The answer to a call that was in flight, as a person said it: it comes after all that were recorded."""

    def __init__(self, resumption: Resumption, entry: TapeCall) -> None:
        super().__init__(resumption, entry)
        self._turns = resumption.turns

    def wait(self, index: int = 0) -> None:
        """Block until everything that was recorded has been given out."""
        if running_loop() is None:
            self._turns.wait_for_all()
        super().wait(index)

    async def turn(self, index: int = 0) -> None:
        """As `wait`, for a coroutine."""
        await self._turns.turn_after_all()
        await super().turn(index)


class Resumption(Replay):
    """Answers the calls of this process from what was recorded; lets them run where that is used up.

    Attributes:
        is_live: whether a call has been made for real.
    """

    def __init__(
        self,
        past: Past,
        happened: Mapping[Place, Happened],
        went_live: Callable[[int | None], None],
        *,
        redo_unrecorded: bool = False,
    ) -> None:
        """Begin.

        Args:
            past: what was recorded.
            happened: of calls that were in flight, those that are known to have happened, with their results.
            went_live: told, once, before the first call that is made for real, and in which step.
            redo_unrecorded: let the agent do again what it does without it being recorded.
        """
        super().__init__(lay_out(past.run, [*past.calls, *past.nested], past.place))
        self.is_live = False
        self._open = past.open
        self._happened = dict(happened)
        self._went_live = went_live
        self._redo_unrecorded = redo_unrecorded
        self._closed = past.closed
        self._claims: dict[tuple[str, int], Claim] = {}
        self._keys: dict[tuple[str, int], Wire] = {}
        for entry in self.tape.calls:
            if self._is_open(entry.call):
                self._open_again(entry)

    def _is_open(self, call: Call) -> bool:
        return place_of(call) in self._open

    def _open_again(self, entry: TapeCall) -> None:
        """A call in flight: what reached the agent of it is not given again, and nobody waits for that."""
        self.turns.drop(*(number for number in entry.turns if number is not None))
        entry.is_reported = True  # not to have asked it again is not a divergence
        known = self._happened.get(place_of(entry.call))
        result, entry.pieces, entry.turns = None if known is None else known.wire, (), (None,)
        entry.call = replace(entry.call, status="pending" if known is None else "ok", result=result, error=None)

    # ------------------------------------------------------------ questions

    def claim(self, new: NewCall, step: int) -> Claim:
        """What becomes of a call that is about to be written down.

        Threads that take their work from one queue take other pieces of it this time, and one may be first with a new
        piece while another has not asked yet what it took before. So a thread waits a moment before it is halted.
        """
        question = question_of(new, step)
        claim, pause, seen, slices = self._claim(question), threading.Event(), self.turns.progress, 0
        while (
            claim.lane is not None
            and slices < _CLAIM_SLICES
            and running_loop() is None
            and self._has_beside(claim.lane)
        ):
            pause.wait(_CLAIM_SECONDS)
            slices = slices + 1 if self.turns.progress == seen else 0
            seen = self.turns.progress
            with self._lock:
                self._claims.pop((question.lane, question.lane_seq))
                claim = self._claim(question)
        return claim

    def _has_beside(self, lane: TapeLane) -> bool:
        """Whether lanes beside it were recorded, which may do what it was to do."""
        return bool(lane.parent) and any(
            other is not lane and other.parent == lane.parent for other in self.tape.lanes.values()
        )

    def ask(self, question: Question) -> Served | None:
        """Serve a call, or let it run: see `agent_tt.intercepting.recorded_responses.Answers`."""
        with self._lock:
            self.check()
            self.turns.progressed()
            if self._is_over:
                return None
            if not question.lane:
                self._check_outside(question)
                return None
            claim = self._claim(question)
            self.check()
            if claim.halts:
                lane = claim.lane
                raise self._halt(unanswered("extra call", question)) if lane is None else self._diverged(question, lane)
            if claim.call is not None and question.kind not in DRAWN:
                self.turns.asked(claim.call.lasted(), claim.call.after())
            if claim.call is not None and claim.call.call.status != "pending":
                return (_Said if self._is_open(claim.call.call) else Answer)(self, claim.call)
            if claim.call is not None:
                self._keys[question.lane, question.lane_seq] = claim.call.call.facts.idempotency_key
        if question.kind not in DRAWN and not question.can_wait:
            self._until_live_here(question)
        return None

    def _until_live_here(self, question: Question) -> None:
        if not self.is_live and running_loop() is None:
            self.turns.wait_for_all()
        self._go_live(question.step)

    async def until_live(self, question: Question) -> None:
        """Wait until a coroutine may make a call for real: see `agent_tt.intercepting.recorded_responses.HoldsBack`."""
        if not self.is_live:
            await self.turns.turn_after_all()
        self._go_live(question.step)

    def passes(self) -> bool:
        """Whether this code may reach for the world past all that is recorded: its lane's recorded part is used up.

        Called inside audit hooks, so it takes no lock.
        """
        if self._closed is not None and not self.tape.calls:  # a fork at its input
            return True
        if not self.is_live or self.failure is not None:
            return self._redo_unrecorded
        scope = here()
        lane = None if scope is None else self._matching.bound(scope.recording.lanes.current().id)
        return lane is None or lane.next() is None or self._redo_unrecorded

    def forbids(self, event: str, _target: str) -> bool:
        """Whether something is refused although other things that were not recorded may be done again.

        A worker process that begins while recorded answers are left would not be given its own, and do again what it
        did: nothing of a run that goes on is told to another process.
        """
        return event in WORKER_STARTS and bool(self.tape.calls) and not self.is_live

    def key_of(self, question: Question) -> Wire:
        """The idempotency key of a call that was in flight, once: see `recorded_responses.KeepsKeys`."""
        return self._keys.pop((question.lane, question.lane_seq), None)

    def _diverged(self, question: Question, lane: TapeLane) -> BaseException:
        try:
            self._unmatched(question, lane)
        except Divergence as error:
            return error
        raise AssertionError("a resumption observes nothing")  # pragma: no cover

    def _check_outside(self, question: Question) -> None:
        """A call that no recording reaches: it was not recorded, so nothing says whether it was made before."""
        is_over = all(entry.served or self._is_open(entry.call) for entry in self.tape.calls)
        if not is_over and not self._redo_unrecorded:
            raise self._halt(unanswered("unrecorded effect", question, where="no lane of the run"))

    def _claim(self, question: Question) -> Claim:
        key = (question.lane, question.lane_seq)
        with self._lock:
            known = self._claims.pop(key, None)
            if known is None:
                known = self._claims[key] = self._in_fork(question, self._find(question))
            return known

    def _in_fork(self, question: Question, claim: Claim) -> Claim:
        """What becomes of a question in a fork that is re-entered, where some of its parent's calls are left out."""
        if self._closed is None or self.failure is not None or question.kind in DRAWN:
            return claim
        if claim.halts and claim.lane is not None and _is_used_up(claim.lane):
            claim = Claim(is_live=True)
        if claim.is_live and question.step in self._closed:
            return Claim(lane=self._matching.along(question.lane, question.signature))
        return claim

    def finish(self) -> None:
        """Look at what was not asked: beyond a fork's step its agent need not ask what it asked."""
        if self._closed is not None and (self.is_live or self.is_amended):
            for entry in self.tape.calls:
                entry.is_reported = True
        super().finish()

    @property
    def left_out(self) -> list[str]:
        """What was recorded and not asked again, although later calls were."""
        return [
            f"{entry.call.name} of step {entry.call.step} was not called again"
            for entry in self.tape.calls
            if entry.skipped_for is not None and not entry.served
        ]

    def _find(self, question: Question) -> Claim:
        if self.failure is not None:
            return Claim()
        if question.kind in DRAWN and not self.tape.knows_kind(question.kind):
            return Claim(is_live=True)
        match = self._matching.find(question.lane, question.signature)
        if match.call is None:
            return Claim(is_live=True) if match.lane.next() is None else Claim(lane=match.lane)
        try:
            self._check_order(question, match)
        except Divergence:  # it stays, and is raised when the call is asked
            return Claim()
        match.call.served = True
        self.served += not self._is_open(match.call.call)
        return Claim(match.call)

    # ------------------------------------------------------------ going live

    def _go_live(self, step: int | None) -> None:
        with self._lock:
            self.check()
            if self.is_live:
                return
            self.is_live = True
            self._went_live(step)
        threading.Thread(target=self.relax_patiently, name="agent-tt resume", daemon=True).start()


def _is_used_up(lane: TapeLane) -> bool:
    """Whether only calls are left of a recorded lane that it has gone past."""
    return all(entry.skipped_for is not None for entry in lane.unserved())
