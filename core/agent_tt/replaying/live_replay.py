"""A replay that lets some calls be made for real: those that are named, or those that nothing recorded answers.

It is for whoever asks for it, and each call goes only where the policy lets it. A tool of which nobody says that it
reads is taken for one that writes, which goes only where somebody's rule says so. All else is answered from the
recording, or halts the agent, as in any replay; so does what the policy holds back. An answer that was recorded is
given again wherever its question comes again, also behind calls that were made.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.errors import ToolDenied
from agent_tt.intercepting.policy import effect_of, is_about_network
from agent_tt.intercepting.policy_enforcement import PolicyEnforcement
from agent_tt.intercepting.rules import Rule
from agent_tt.model import NO_USAGE
from agent_tt.recording.lanes.guard_bypass import is_passing
from agent_tt.recording.links import Reply
from agent_tt.replaying.answers.answer import Answer
from agent_tt.replaying.engine import Replay
from agent_tt.replaying.report import LiveCall, LivePart, usage_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt.codec.wire import Wire
    from agent_tt.intercepting.policy import ToolPolicy
    from agent_tt.model import NewCall
    from agent_tt.recording.calls.answers import Question, Served
    from agent_tt.recording.open_run import OpenCall
    from agent_tt.replaying.tape.matching import Match
    from agent_tt.replaying.tape.tape import Tape, TapeCall

__all__ = ["LivePolicy", "LiveReplay", "Lively"]

_MAY_GO: Final = frozenset({"llm", "tool", "http"})
"""Kinds of calls that may be made for real: what goes over connections and what programs do is not seen as a whole."""

_PROGRAMS: Final = ("*subprocess", "subprocess ")


@dataclass(frozen=True, slots=True)
class Lively:
    """Which calls of a replay are made for real, where the policy lets them.

    Attributes:
        names: names of calls that always are, patterns of them, `*llm` and `*http`.
        changed: whether those are that nothing recorded answers.
    """

    names: tuple[str, ...] = ()
    changed: bool = False

    def names_it(self, question: Question) -> bool:
        """Whether a call always is."""
        return any(name == f"*{question.kind}" or fnmatchcase(question.name, name) for name in self.names)


class LivePolicy(PolicyEnforcement):
    """Carries out the policy for calls that are made for real, and for what these do.

    Of a call that is answered from the recording nothing is said: the policy did not decide about it.
    """

    def before_call(self, call: OpenCall, facts: dict[str, Wire]) -> None:
        """Look which rule is for a call; say so of what another one makes."""
        said: dict[str, Wire] = {}
        super().before_call(call, said)
        if is_passing():
            facts.update(said)

    def answer_call(self, call: OpenCall, new: NewCall) -> Reply | None:
        """Refuse a call that another one makes, where the rule for it is any but to make it: nobody can be asked."""
        rule = call.by_link.get(self)
        if not isinstance(rule, Rule) or rule.word == "live":
            return None
        why = f"{new.name} was not made: its policy is {rule.text} ({rule.where})"
        return Reply(refusal=ToolDenied(why, tool=new.name, hint=f"a rule lets it: {new.name} = live"))


class LiveReplay(Replay):
    """Answers calls from a tape, but for those that are made for real.

    Args:
        tape: the run.
        lively: which are.
        policy: what they may do.
        earlier: runs that were answered before where `tape` has no answer: those answers are given again.
    """

    makes_calls = True

    def __init__(self, tape: Tape, lively: Lively, policy: ToolPolicy, earlier: Iterable[Tape] = ()) -> None:
        super().__init__(tape, any_order=True)
        self.links = (LivePolicy(policy),)
        self._policy = policy
        self._lively = lively
        self._made: list[LiveCall] = []
        self._held_back: dict[str, None] = {}
        self._usage = NO_USAGE
        self._earlier: dict[str, deque[TapeCall]] = {}
        for before in earlier:
            for signature, entries in _beyond(before, tape).items():
                self._earlier.setdefault(signature, entries)
        denied = [name for name, _ in policy.denials]
        self._closes_all = any(name.startswith("socket ") for name in denied)
        self._closes_tools = any(is_about_network(name) or name.startswith(_PROGRAMS) for name in denied)

    def passes(self) -> bool:
        """Whether this code belongs to a call that is made for real."""
        return is_passing()

    def ask(self, question: Question) -> Served | None:
        """Serve a call, or let it be made; see `agent_tt.intercepting.recorded_responses.Answers`."""
        with self._lock:
            self.check()
            if is_passing():  # its own doing; the policy rules it
                return None
            if question.lane and question.kind in _MAY_GO and not self._is_over:
                match = self._matching.find(question.lane, question.signature)
                if match.call is None and (known := self._known_earlier(question)) is not None:
                    return Answer(self, known)
                if self._goes(question, is_recorded=match.call is not None):
                    self._go(question, match)
                    return None
        served = super().ask(question)
        if served is not None:
            with self._lock:
                self._usage += usage_of(served.call)
        return served

    def _known_earlier(self, question: Question) -> TapeCall | None:
        """The call of an earlier run that answers what this recording does not; it waits for nothing."""
        known = self._earlier.get(question.signature)
        if not known or self._lively.names_it(question):
            return None
        entry = known.popleft()
        entry.turns, entry.served = (None,) * len(entry.turns), True
        self.served += 1
        self._usage += usage_of(entry.call)
        return entry

    def _goes(self, question: Question, *, is_recorded: bool) -> bool:
        if not (self._lively.names_it(question) or (self._lively.changed and not is_recorded)):
            return False
        if not self._may_go(question):
            self._held_back[question.name] = None
            return False
        return True

    def _may_go(self, question: Question) -> bool:
        kind, name, is_tool = question.kind, question.name, question.kind == "tool"
        # A person denies connections, requests or programs, and which a call makes is not known before.
        if self._closes_all or (is_tool and self._closes_tools):
            return False
        effect = question.effect or ("write" if is_tool else effect_of(kind, name, None))
        return self._policy.decide(kind, name, effect, model=question.model).word == "live"

    def _go(self, question: Question, match: Match) -> None:
        """Let a call be made: nobody waits for the recorded answer that its own comes in place of."""
        if not self._made:
            self.goes_live()
            threading.Thread(target=self.relax_patiently, name="agent-tt live", daemon=True).start()
        self._made.append(LiveCall(question.kind, question.name, question.step))
        stands_for = match.call or next(
            (entry for entry in match.lane.unserved() if entry.call.name == question.name), None
        )
        if stands_for is not None:
            self.turns.drop(*(number for number in stands_for.turns if number is not None))
        if match.call is not None:
            match.call.served = True
        self.turns.progressed()

    @property
    def live_part(self) -> LivePart:  # type: ignore[override]  # of others it is None
        """What was made for real so far, and what was not."""
        return LivePart(tuple(self._made), tuple(self._held_back), self.served - self.drawn, self._usage)


def _beyond(before: Tape, tape: Tape) -> dict[str, deque[TapeCall]]:
    """The calls of a run, by what they ask, that ask it once more than `tape` does, and were answered."""
    found: dict[str, deque[TapeCall]] = {}
    times = Counter[str]()
    for entry in before.calls:
        times[entry.signature] += 1
        if times[entry.signature] > tape.times_asked(entry.signature) and entry.call.status == "ok":
            found.setdefault(entry.signature, deque()).append(entry)
    return found
