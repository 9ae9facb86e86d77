"""Answering the calls of a run that goes on: from its recording while a lane has some left, then for real.

Who writes the run asks first, because a call that is only given again has its row already. Both are told the same of
one question, by its number in its lane.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from agent_tt.recording.answers import question_of
from agent_tt.recording.calls import KEY
from agent_tt.replaying.answer import Answer
from agent_tt.replaying.divergence import Divergence
from agent_tt.replaying.engine import Replay
from agent_tt.replaying.findings import unanswered
from agent_tt.replaying.repeats import place_of
from agent_tt.replaying.tape import DRAWN, lay_out

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, NewCall
    from agent_tt.recording.answers import Question, Served
    from agent_tt.replaying.repeats import Place
    from agent_tt.replaying.tape import TapeCall, TapeLane
    from agent_tt.resuming.past import Past
    from agent_tt.resuming.plan import Happened

__all__ = ["Claim", "Resumption"]

_PATIENT_SLICES: Final = 4
_SLICE_SECONDS: Final = 0.5
"""Nobody sees when nothing else can happen once calls are made for real, so after two seconds an answer comes early."""


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


class Resumption(Replay):
    """Answers the calls of this process from what was recorded; lets them run where that is used up.

    Attributes:
        is_live: whether a call has been made for real.
    """

    def __init__(self, past: Past, happened: Mapping[Place, Happened], went_live: Callable[[int | None], None]) -> None:
        """Begin.

        Args:
            past: what was recorded.
            happened: of calls that were in flight, those that are known to have happened, with their results.
            went_live: told, once, before the first call that is made for real, and in which step.
        """
        super().__init__(lay_out(past.run, past.calls))
        self.is_live = False
        self._open = past.open
        self._happened = dict(happened)
        self._went_live = went_live
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
        entry.is_reported = True  # not to have asked it again is no divergence
        known = self._happened.get(place_of(entry.call))
        result, entry.pieces, entry.turns = None if known is None else known.wire, (), (None,)
        entry.call = replace(entry.call, status="pending" if known is None else "ok", result=result, error=None)

    # ------------------------------------------------------------ questions

    def claim(self, new: NewCall, step: int) -> Claim:
        """What becomes of a call that is about to be written down."""
        return self._claim(question_of(new, step))

    def ask(self, question: Question) -> Served | None:
        """Serve a call, or let it run: see `agent_tt.recording.answers.Answers`."""
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
                self.turns.asked()
            if claim.call is None or claim.call.call.status == "pending":
                if question.kind not in DRAWN:
                    self._go_live(question.step)
                if claim.call is not None:
                    self._keys[question.lane, question.lane_seq] = claim.call.call.meta.get(KEY)
                return None
            return Answer(self, claim.call)

    def key_of(self, question: Question) -> Wire:
        """The idempotency key of a call that was in flight, once: see `agent_tt.recording.answers.KeepsKeys`."""
        return self._keys.pop((question.lane, question.lane_seq), None)

    def _diverged(self, question: Question, lane: TapeLane) -> BaseException:
        try:
            self._unmatched(question, lane)
        except Divergence as error:
            return error
        raise AssertionError("a resumption observes nothing")  # pragma: no cover

    def _check_outside(self, question: Question) -> None:
        """A call that no recording reaches: it was not recorded, so nothing says whether it was made before."""
        if any(not entry.served and not self._is_open(entry.call) for entry in self.tape.calls):
            raise self._halt(unanswered("unrecorded effect", question, where="no lane of the run"))

    def _claim(self, question: Question) -> Claim:
        key = (question.lane, question.lane_seq)
        with self._lock:
            known = self._claims.pop(key, None)
            if known is None:
                known = self._claims[key] = self._find(question)
            return known

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
        if self.is_live:
            return
        self.is_live = True
        self._went_live(step)
        threading.Thread(target=self._be_patient, name="agent-tt resume", daemon=True).start()

    def _be_patient(self) -> None:
        """Let an answer be given before its turn where the one before it is waited for in vain."""
        seen, slices, pause = self.turns.progress, 0, threading.Event()
        while not self._is_over and self.failure is None:
            pause.wait(_SLICE_SECONDS)
            slices = slices + 1 if self.turns.progress == seen and self.turns.is_waited_for else 0
            seen = self.turns.progress
            if slices >= _PATIENT_SLICES:
                slices = 0
                self.turns.relax()
