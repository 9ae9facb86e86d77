"""One replay of a run: every call is put to it, and gets the recorded answer or halts the agent.

`matching` has the rules by which a call is found, `divergence` the kinds of what may differ. A failure stays: whatever
swallowed the exception, each later call raises it again, and `finish` reports it.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

from agent_tt.recording.calls.kept_headers import headers_of
from agent_tt.recording.lanes.hooks import HOOKS
from agent_tt.recording.runs.child_process import is_beside_jobs
from agent_tt.recording.runs.kept_patterns import use_rules_of
from agent_tt.recording.scope import here
from agent_tt.redaction.keyed import KEYED
from agent_tt.replaying.answers.answer import Answer
from agent_tt.replaying.answers.turns import Turns
from agent_tt.replaying.answers.waiters import TrioLoop, running_loop
from agent_tt.replaying.divergence import HALTING, Divergence, Finding
from agent_tt.replaying.findings.findings import (
    as_extra,
    changed_order,
    effect,
    missing,
    not_rebuildable,
    past_the_end,
    sent_otherwise,
    unanswered,
    unmatched,
)
from agent_tt.replaying.findings.notes import Notes
from agent_tt.replaying.tape.matching import Matching
from agent_tt.replaying.tape.tape import DRAWN

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.errors import NotRebuildable
    from agent_tt.model import Call
    from agent_tt.recording.calls.answers import Question, Served
    from agent_tt.recording.links import Link
    from agent_tt.replaying.clock.timeline import Timeline, Upcoming
    from agent_tt.replaying.divergence import DivergenceKind
    from agent_tt.replaying.report import LivePart, ReplayReport
    from agent_tt.replaying.tape.matching import Match
    from agent_tt.replaying.tape.tape import Tape, TapeCall, TapeLane

__all__ = ["Replay"]

_PATIENT_SLICES: Final = 4
_SLICE_SECONDS: Final = 0.5
"""Nobody sees when nothing else can happen once calls are made for real, so after two seconds an answer comes early."""

_BESIDE_JOBS: Final = (
    "a pool's processes made calls beside its jobs (in an initializer, say): how many it starts, and which of them does"
    " which job, is a race, so what differs there and behind it may be no change of the program"
)


class Onlooker(Protocol):
    """Looks at a replay as it goes on, and may stop the agent: a debugger."""

    def asked(self, question: Question) -> bool:
        """A call is about to be answered; whether it is the onlooker's own, and not the replay's."""

    def step_opened(self, number: int) -> None:
        """A step begins."""


class Replay:
    """Answers the calls of this process from a tape.

    Attributes:
        tape: the recorded run.
        is_observing: whether it goes on after a changed request, with the answer that stands at that place.
        is_in_place: whether a changed request is also a question to the same tool that has nothing in common with the
            recorded one in its place.
        turns: the order in which answers are given out.
        notes: what is worth knowing and no divergence.
        served: how many questions have been answered.
        drawn: how many of these were of the clock, random numbers, ids or the environment.
        at_end: what differs in the last state and in what was printed; it halts nothing.
        state_compared: whether the last state was compared with the recorded one.
        output_compared: whether what the agent printed was compared with what it printed then.
        on_served: told that number each time.
        debugger: what looks at each question before it is answered; None in an ordinary replay.
        failure: what the replay failed with; None while it has not.
        is_halted: whether it failed while the agent ran, and not only by what the agent left out.
        is_amended: whether an edit of a fork has been applied.
        asked_elsewhere: names of the calls that worker processes have asked.
        goes_live: called once, before a call is made for real; see `agent_tt.replaying.live_replay`.
        live_part: what was made for real; None where nothing may be.
        links: what else takes part while it answers.
        makes_calls: whether some calls may be made for real.
    """

    live_part: LivePart | None = None
    links: tuple[Link, ...] = ()
    makes_calls: bool = False

    def __init__(self, tape: Tape, *, observe: bool = False, whole: bool = True, any_order: bool = False) -> None:
        """Begin.

        Args:
            tape: the run; a tape is replayed once.
            observe: see `is_observing`.
            whole: whether calls that are left at the end are missing; not for a block of code that is only a part.
            any_order: whether a call that comes after one that it came before is answered all the same.
        """
        self.tape = tape
        self._lets_pass: frozenset[DivergenceKind] = frozenset({"changed order"}) if any_order else frozenset()
        self.is_observing = observe
        self.is_in_place = False
        self.notes = Notes()
        questions = tape.questions_before() if whole else None
        self.turns = Turns(tape.turns(), self.relaxed, questions, tape.timers())
        self.served = 0
        self.drawn = 0
        self.at_end: list[Finding] = []
        self.state_compared = False
        self.output_compared = False
        self._has_begun = True
        self.on_served: Callable[[int], None] | None = None
        self.debugger: Onlooker | None = None
        self.failure: Finding | None = None
        self.is_halted = False
        self.is_amended = False
        self.asked_elsewhere: set[str] = set()
        self.goes_live: Callable[[], None] = lambda: None
        self._whole = whole
        use_rules_of(tape.run.metadata, tape.place, tape.marks_brought())
        self._matching = Matching(tape)
        self._lock = threading.RLock()  # reentrant: the garbage collector may finish an agent's generators inside it
        self._findings: list[Finding] = []
        self._changed: defaultdict[tuple[str, str], deque[tuple[int, TapeCall]]] = defaultdict(deque)
        self._is_over = False

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The divergences so far, in the order in which they were found."""
        return tuple(self._findings)

    @property
    def kept_headers(self) -> frozenset[str]:
        """Names of request headers that counted as part of a question when the run was recorded."""
        return headers_of(self.tape.run.metadata)

    # ------------------------------------------------------------ questions

    def ask(self, question: Question) -> Served | None:
        """Serve a call; see `agent_tt.intercepting.recorded_responses.Answers`."""
        if self.debugger is not None and self.failure is None and self.debugger.asked(question):
            return None
        with self._lock:
            if not question.site:
                question = replace(question, site=_created_at())
            self.check()
            if self._is_over:
                raise Divergence(unanswered("extra call", question, where="the end of the replay"))
            self.turns.progressed()
            if (question.kind in DRAWN or question.kind == "subprocess") and not self.tape.knows_kind(question.kind):
                return None  # drawn anew; a process is the guard's to stop
            if not question.lane:
                raise self._halt(unanswered("unrecorded effect", question, where="no lane of the run"))
            match = self._matching.find(question.lane, question.signature)
            if match.call is None and (again := self._beside_jobs(question, match.lane)) is not None:
                return Answer(self, again)
            if match.call is None:
                entry = self._unmatched(question, match.lane)
            else:
                entry = match.call
                self._check_order(question, match)
            entry.served = True
            self.served += 1
            self.drawn += question.kind in DRAWN
            if self.on_served is not None:
                self.on_served(self.served)
            if question.kind not in DRAWN:
                self.turns.asked(entry.lasted(), entry.after())
        return Answer(self, entry)

    def _beside_jobs(self, question: Question, lane: TapeLane) -> TapeCall | None:
        """What is answered once more where a pool started more processes than it did; it waits for nothing."""
        known = self.tape.answered_beside_jobs(question.signature) if is_beside_jobs(question.lane) else None
        if known is None or any(entry.signature == question.signature for entry in lane.calls):  # it asks once more
            return None
        self.notes.add("unreliable", _BESIDE_JOBS)
        again = copy(known)
        again.turns = (None,) * len(known.turns)
        return again

    def _check_order(self, question: Question, match: Match) -> None:
        """Note how a question was matched; halt where a call comes after one that it came before."""
        entry = match.call
        if entry is None:
            return
        if match.moved and match.lane.calls:
            self.notes.add("lane moved", f"{question.lane} goes along {match.lane.id} of the recording")
        if match.how == "sibling":
            self.notes.add("taken from sibling", f"{question.lane} was answered from {entry.lane.id}")
        self._check_lane(question, match, entry)
        for skipped in match.skipped:
            if skipped.skipped_for is None:
                skipped.skipped_for = entry
                self.turns.drop(*_numbers(skipped))
        if entry.skipped_for is not None and match.how != "sibling":  # of a sibling: the work went to another worker
            self._found(changed_order(entry, question))

    def _check_lane(self, question: Question, match: Match, entry: TapeCall) -> None:
        """Note where another's answer may have been given: one question of several lanes that cannot be told apart."""
        is_guess = match.alternatives > 0 and (match.how == "sibling" or match.moved)
        why = question.unsure or entry.call.facts.lane_unsure or ""
        if not is_guess and not (why and self._is_asked_beside(entry, is_of_all=bool(HOOKS.unfit))):
            return
        self.notes.add(
            "unreliable",
            f"several lanes asked {question.name} the same: which answer is whose cannot be told"
            f"{f' ({why})' if why else ''}; name them with `with agent_tt.lane(key):`",
        )

    def _is_asked_beside(self, entry: TapeCall, *, is_of_all: bool) -> bool:
        """Whether the question of a call was asked in another lane; or asked again, where no lane can be told."""
        tape, signature = self.tape, entry.signature
        return tape.is_asked_beside(entry.lane, signature) or (is_of_all and tape.times_asked(signature) > 1)

    def _unmatched(self, question: Question, lane: TapeLane) -> TapeCall:
        """What to do with a question that nothing recorded answers: raises, unless this replay only observes.

        Raises:
            Divergence: it halts.
        """
        key = (lane.id, question.signature)
        if self._changed[key]:
            # The question that was taken for this one, changed, was an extra one: this is the recorded one itself.
            index, entry = self._changed[key].popleft()
            self._findings[index] = as_extra(self._findings[index])
            return entry
        self._report_gaps(lane)
        finding, expected = unmatched(self.tape, lane, question, in_place=self.is_in_place)
        self._found(finding)
        if expected is None:  # pragma: no cover  such a finding halts
            raise Divergence(finding)
        self._changed[lane.id, expected.signature].append((len(self._findings) - 1, expected))
        return expected

    def _report_gaps(self, lane: TapeLane) -> None:
        for entry in lane.unserved():
            if entry.skipped_for is not None and not entry.is_reported:
                entry.is_reported = True
                self._findings.append(missing(entry))

    # ------------------------------------------------------------ failures

    def not_begun(self) -> None:
        """The program did not come to the recording that is replayed."""
        self._has_begun = False

    def check(self) -> None:
        """Raise what the replay failed with, if it did.

        Raises:
            Divergence: it did.
        """
        if self.failure is not None:
            raise Divergence(self.failure)

    def _found(self, finding: Finding) -> None:
        """Keep a divergence, and halt where it is not only to be observed."""
        with self._lock:
            if finding.kind in self._lets_pass or (self.is_observing and finding.kind not in HALTING):
                self._findings.append(finding)
                return
            raise self._halt(finding)

    def _halt(self, finding: Finding) -> Divergence:
        """Fail with the first divergence of all that are known; from now on every call raises it."""
        with self._lock:
            if self.failure is None:
                self._findings.append(finding)
                self.failure = finding if self.is_observing else self._first_failing(finding)
                self.is_halted = True
                self.turns.end()
            return Divergence(self.failure)

    def fail(self, finding: Finding) -> Divergence:
        """Fail because of what was found elsewhere in this process; what to raise."""
        return self._halt(finding)

    def read_past(self, entry: TapeCall, why: str) -> Divergence:
        """Fail because the agent wants more of an answer than was recorded."""
        return self._halt(past_the_end(entry, why))

    def gone(self, entry: TapeCall) -> Divergence:
        """What is raised where an answer that never came is still waited for when the replay is over."""
        return Divergence(past_the_end(entry, "the recorded run ended before this call was answered"))

    def cannot_rebuild(self, entry: TapeCall, why: NotRebuildable) -> Divergence:
        """Fail because a recorded value cannot be made again."""
        return self._halt(not_rebuildable(entry, why))

    def unrecorded_effect(self, what: str, target: str, site: Mapping[str, Wire]) -> Divergence:
        """Fail because the agent reaches for the world past everything that is served; what to raise into it.

        Args:
            what: the kind of event: `socket.connect`.
            target: what it reaches for.
            site: `file` and `line` of the agent's code.
        """
        return self._halt(effect(what, target, site or _created_at(), _step_here()))

    def next_call(self, lane: str, signature: str) -> Call | None:
        """Give the recorded call that answers the next one of the lane that asks; None where none is left for it.

        Args:
            lane: its id.
            signature: of what it asks. Nothing is served, and the lane is bound to none.
        """
        with self._lock:
            along = self._matching.along(lane, signature)
            return next((entry.call for entry in along.unserved() if entry.skipped_for is None), None)

    def next_denied(self, lane: str, signature: str) -> Call | None:
        """What stands next for a lane that asks this, if it was denied: by the guard of a fork, whose run it is."""
        with self._lock:
            upcoming = self._matching.along(lane, signature).next()
        return upcoming.call if upcoming is not None and upcoming.call.status == "denied" else None

    def refuse_edit(self, message: str, step: int | None) -> Divergence:
        """Fail because what a fork changes cannot be changed."""
        return self._halt(Finding("edit does not apply", message, step=step, name="edit"))

    def passed(self) -> None:
        """An edit of a fork has been applied."""
        self.is_amended = True

    def check_sent(self, entry: TapeCall, index: int, recorded: Wire, value: Wire) -> None:
        """Compare what the agent sends into a recorded generator with what it sent when it was recorded."""
        finding = sent_otherwise(entry, index, recorded, value)
        if finding is not None:
            self._found(finding)

    def cancelled(self, entry: TapeCall) -> None:
        """The agent stopped waiting for an answer that it waited for when it was recorded."""
        self.notes.add("cancelled before its answer", f"{entry.call.name} in lane {entry.lane.id}")

    @property
    def progress(self) -> int:
        """Another number whenever an answer was given out, or something else happened."""
        return self.turns.progress

    @property
    def is_waited_for(self) -> bool:
        """Whether somebody waits for an answer, be it one that never comes."""
        return self.turns.is_waited_for or self.turns.hangs

    def follow(self, line: Timeline | None) -> None:
        """Give answers out when `line` says so; None: as soon as it is their turn."""
        self.turns.follow(line)

    def upcoming(self) -> Upcoming | None:
        """The answer that may come next; None where nobody waits for the one whose turn it is."""
        return self.turns.upcoming()

    def relax(self) -> bool:
        """Let something happen where nothing else can; whether there was anything that could.

        The earliest answer that is waited for is given out before its turn. Where only answers are waited for that
        never came, and no timer is left, the recorded agent stopped waiting and this one does not: the replay fails.
        """
        if self.turns.relax():
            return True
        if not self.turns.hangs or _has_timers():
            return False
        with self._lock:
            waiting = [entry for entry in self.tape.calls if entry.served and entry.never_came]
            self._halt(past_the_end(waiting[-1], "the recorded agent stopped waiting for this call; this one does not"))
        return True

    def relax_patiently(self) -> None:
        """Until it is over, let an answer come before its turn where the one before it is waited for in vain.

        For a thread of its own, once calls are made for real.
        """
        seen, slices, pause = self.turns.progress, 0, threading.Event()
        while not self._is_over and self.failure is None:
            pause.wait(_SLICE_SECONDS)
            slices = slices + 1 if self.turns.progress == seen and self.turns.is_waited_for else 0
            seen = self.turns.progress
            if slices >= _PATIENT_SLICES:
                slices = 0
                self.turns.relax()

    def passes(self) -> bool:
        """Whether this code may reach for the world past all that is recorded. Called inside audit hooks."""
        return False

    def relaxed(self, number: float = 0) -> None:  # noqa: ARG002  told under a lock: say only what needs no other
        """Note that something was given out before its turn."""
        self.notes.add("order relaxed", "an answer was given out before others that had come before it")

    # ------------------------------------------------------------ the end

    def report(self) -> ReplayReport:
        """What was found so far, for people and programs."""
        from agent_tt.replaying.report import report_of

        return report_of(self)

    def finish(self) -> None:
        """Look at what was not asked. Afterwards `failure` and `findings` are final."""
        with self._lock:
            if self._is_over:
                return
            self._is_over = True
            if KEYED.has_guessed:
                self.notes.add(
                    "no key",
                    "the key of its marks is not here: personal data that the program brought was taken for that which"
                    " was recorded, by kind and length, in the order of appearance",
                )
            if self.failure is None:
                beside = {entry.call.name for entry in self.tape.calls if entry.served and entry.lane.is_beside_jobs}
                for entry in self.tape.calls:
                    self._look_back(entry, beside)
                if self._findings and not self.is_observing:
                    self.failure = self._findings[0]
            if self._findings and any(lane.is_beside_jobs for lane in self.tape.lanes.values()):
                self.notes.add("unreliable", _BESIDE_JOBS)
            self.turns.end()

    def _first_failing(self, halted_by: Finding) -> Finding:
        return next((each for each in self._findings if each.kind not in self._lets_pass), halted_by)

    def _look_back(self, entry: TapeCall, beside_jobs: Container[str]) -> None:
        """Say that a call is missing; of what other processes of a pool called, too (`beside_jobs`), that is a race."""
        wanted = self._whole or entry.skipped_for is not None
        is_open_end = entry.call.status == "pending" and self.tape.is_unfinished
        if wanted and not entry.served and not entry.is_reported and not is_open_end:
            entry.is_reported = True
            if entry.lane.is_beside_jobs and entry.skipped_for is None and entry.call.name in beside_jobs:
                self.notes.add("unreliable", _BESIDE_JOBS)
                return
            self._findings.append(missing(entry, has_begun=self._has_begun))


def _numbers(entry: TapeCall) -> list[int]:
    return [number for number in entry.turns if number is not None]


def _has_timers() -> bool:
    """Whether the event loop of this thread has something to do later."""
    loop = running_loop()
    return loop.has_timers if isinstance(loop, TrioLoop) else bool(getattr(loop, "_scheduled", None))


def _step_here() -> int | None:
    """The number of the step that the code that asks is in."""
    scope = here()
    return scope.step.number if scope is not None and scope.step is not None else None


def _created_at() -> Mapping[str, Wire]:
    """Where the lane of the code that asks was created: no frame of the agent's may be on its stack."""
    scope = here()
    return {} if scope is None else scope.recording.lanes.current().site
