"""What becomes of a call in a fork: the rule that its policy has for it, carried out.

A call that is not made for real is answered in the way in which a replay answers: by something `Served`. Who makes such
answers stands a floor above (`StandIns`); in a process without one nothing but `live` and `deny` can be carried out.

Calls of kinds `http`, `subprocess` and `socket` that a running call makes are that call's own doing, and so is asking a
model inside a call that asks one: of the rules only those are asked by which a person denies something. (A function
that asks a model and its request are one question, so a rule for `*llm` is asked once.)
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from agent_tt.codec.decode import decode
from agent_tt.errors import NotRebuildable, ToolDenied, UsageError
from agent_tt.model import OWN_DOING
from agent_tt.model.error_text import error_from_text
from agent_tt.model.facts import CallFacts, PolicyFacts
from agent_tt.questions import NewQuestion
from agent_tt.recording.adoption import process_policy
from agent_tt.recording.asking import ask_somebody, ask_somebody_async
from agent_tt.recording.policy import denied, effect_of
from agent_tt.redaction.values import asked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model import CallKind, ErrorInfo
    from agent_tt.questions import Decision
    from agent_tt.recording.answers import Question, Served
    from agent_tt.recording.call_spec import CallSpec
    from agent_tt.recording.calls import RecordedCall
    from agent_tt.recording.policy import Rule
    from agent_tt.recording.recorder import Recording

__all__ = [
    "Deciding",
    "Given",
    "NotRecorded",
    "Outcome",
    "StandIns",
    "answering",
    "check_halted",
    "halted_here",
    "is_own_doing",
    "rule_for",
    "told",
]


class NotRecorded(BaseException):
    """Raised into a forked agent: a call is to be answered as it was recorded, and nothing recorded answers it.

    No `except Exception` of an agent hides it. Whoever catches it all the same meets it again at the next call.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class StandIns(Protocol):
    """Makes the answers of calls that a fork does not make. Safe to use from several threads."""

    def recorded(self, question: Question) -> tuple[Served, Mapping[str, Wire]] | None:
        """What the parent's next call that asked the same was answered, and where that is; None where none is left."""
        ...

    def not_recorded(self, question: Question) -> NotRecorded:
        """What to raise where none is left: it names the call, and the recorded one that is nearest."""
        ...

    def given(self, question: Question, value: Wire, error: ErrorInfo | None) -> Served:
        """An answer that a person gave, in the form in which such a call is answered.

        Raises:
            UsageError: such a call cannot be answered so.
        """
        ...

    def value(self, wire: Wire) -> object:
        """The Python value of a wire value.

        Raises:
            NotRebuildable: its class is not loaded.
        """
        ...


class _Desk:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.stand_ins: StandIns | None = None
        self.halted: NotRecorded | None = None


_DESK = _Desk()


@contextmanager
def answering(stand_ins: StandIns) -> Iterator[None]:
    """Let `stand_ins` make the answers of this process while the block lasts."""
    with _DESK.lock:
        before = _DESK.stand_ins, _DESK.halted
        _DESK.stand_ins, _DESK.halted = stand_ins, None
    try:
        yield
    finally:
        with _DESK.lock:
            _DESK.stand_ins, _DESK.halted = before


def check_halted() -> None:
    """Halt an agent again that goes on although it was halted.

    Raises:
        NotRecorded: it was.
    """
    if _DESK.halted is not None:
        raise NotRecorded(_DESK.halted.message, _DESK.halted.hint)


def halted_here() -> NotRecorded | None:
    """What the agent of this process was halted by; None where it was not."""
    return _DESK.halted


def rule_for(spec: CallSpec, model: str | None, around: RecordedCall | None) -> Rule | None:
    """The rule that the policy of this process has for a call; None where it simply runs.

    Args:
        spec: what is called.
        model: the model of the recording, which is asked where the call does not know better.
        around: the call that makes it.
    """
    policy = process_policy()
    if policy is None:
        return None
    asked, effect = (spec.model or model) if spec.kind == "llm" else None, effect_of(spec.kind, spec.name, spec.effect)
    if around is not None and not around.is_over and is_own_doing(spec.kind, around.asks_a_model):
        return policy.forbids(spec.kind, spec.name, effect, model=asked, by_name=spec.kind == "llm")
    return policy.decide(spec.kind, spec.name, effect, model=asked)


def is_own_doing(kind: CallKind, in_model_call: bool) -> bool:  # noqa: FBT001  the second half of the question
    """Whether a call is the doing of the call that makes it.

    Args:
        kind: its kind.
        in_model_call: whether a model call makes it.
    """
    return kind in OWN_DOING or (kind == "llm" and in_model_call)


def told(rule: Rule | None) -> dict[str, Wire]:
    """What a call's facts say of the rule that decides about it."""
    if rule is None or (rule.word == "live" and rule.source == "default"):
        return {}
    facts = PolicyFacts.word.entry(rule.word) | PolicyFacts.source.entry(rule.source)
    return {CallFacts.policy.key: facts | PolicyFacts.place.entry(rule.place) if rule.place else facts}


class Given(Protocol):
    """What a call goes out with, where a person may change that."""

    def editable(self, named: Mapping[str, Wire]) -> tuple[str, ...]:
        """Names of the arguments that may be changed."""
        ...

    def edited(
        self, named: Mapping[str, Wire], changed: Mapping[str, Wire], decode: Callable[[Wire], object]
    ) -> object:
        """What goes out in its place; a `(args, kwargs)` where a function is called.

        Args:
            named: all arguments by name, as the person saw them.
            changed: those that are others now.
            decode: makes Python values.

        Raises:
            NotRebuildable: a value cannot become a Python object.
            UsageError: it cannot go out like this.
        """
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What becomes of one call.

    Attributes:
        served: what answers it; None where it is made.
        edited: its arguments by name as they go out, where a person changed them.
        sent: what goes out then; see `Given.edited`.
        refusal: what is raised in place of making it.
        facts: what its row says of that.
    """

    served: Served | None = None
    edited: Mapping[str, Wire] | None = None
    sent: object = None
    refusal: BaseException | None = None
    facts: Mapping[str, Wire] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Deciding:
    """A call about which something is to be decided.

    Attributes:
        rule: the rule for it.
        question: the call.
        recording: what records it.
        step, number: where it stands.
        named: its arguments by name, without secrets.
        given: what it goes out with; None where nothing of that can be changed.
    """

    rule: Rule
    question: Question
    recording: Recording
    step: int
    number: int
    named: Mapping[str, Wire]
    given: Given | None

    @property
    def may_ask(self) -> bool:
        """Whether it may come to asking somebody."""
        return self.rule.word == "ask" or (self.rule.word == "recorded" and self.rule.otherwise == "ask")

    def now(self) -> Outcome:
        """What becomes of it; waits in this thread for whoever is asked."""
        known, trouble = self._without_asking(), ""
        while known is None:
            known, trouble = self._as_decided(
                ask_somebody(self.recording, self.step, self.number, self._asked(trouble))
            )
        return known

    async def soon(self) -> Outcome:
        """As `now`, for a coroutine: the event loop goes on meanwhile."""
        known, trouble = self._without_asking(), ""
        while known is None:
            known, trouble = self._as_decided(
                await ask_somebody_async(self.recording, self.step, self.number, self._asked(trouble))
            )
        return known

    def _asked(self, trouble: str) -> NewQuestion:
        can_give = _DESK.stand_ins is not None and self.question.kind in ("tool", "llm", "http")
        editable = () if self.given is None else self.given.editable(self.named)
        return NewQuestion(editable=editable, can_give=can_give, trouble=trouble)

    def _without_asking(self) -> Outcome | None:
        """What becomes of it, None where somebody must be asked."""
        rule, name, stand_ins = self.rule, self.question.name, _DESK.stand_ins
        if rule.word == "deny":
            return Outcome(refusal=denied(name, rule, self.question.kind, self.question.site))
        if rule.word in ("recorded", "stub") and stand_ins is None:
            why = f"{name} was not run: its policy is {rule.text}, which a process of the agent's cannot give"
            return Outcome(refusal=ToolDenied(why, tool=name, hint="let the agent's own process call it"))
        if rule.word == "recorded" and stand_ins is not None:
            found = stand_ins.recorded(self.question)
            if found is not None:
                served, place = found
                return Outcome(
                    served, facts={CallFacts.policy.key: {**self._policy(), PolicyFacts.taken_from.key: dict(place)}}
                )
            if rule.otherwise == "ask":
                return None
            halt = stand_ins.not_recorded(self.question)
            with _DESK.lock:
                _DESK.halted = _DESK.halted or halt
            return Outcome(refusal=halt)
        if rule.word == "stub" and stand_ins is not None:
            return self._stubbed(stand_ins)
        return None

    def _stubbed(self, stand_ins: StandIns) -> Outcome:
        name, rule = self.question.name, self.rule
        try:
            error = None if rule.error is None else error_from_text(rule.error)
            return Outcome(stand_ins.given(self.question, rule.value, error))
        except UsageError as wrong:
            return Outcome(refusal=ToolDenied(f"{name} was not run: {wrong.message}", tool=name, hint=wrong.hint))

    def _policy(self) -> dict[str, Wire]:
        return dict(CallFacts.policy.of(told(self.rule)).raw)

    def _as_decided(self, decision: Decision) -> tuple[Outcome | None, str]:
        """What becomes of it as a person has decided; else why that cannot be carried out."""
        facts: dict[str, Wire] = {CallFacts.answered.key: decision.to_facts()}
        name, stand_ins = self.question.name, _DESK.stand_ins
        if decision.word == "refuse":
            why = f": {decision.why}" if decision.why else ""
            return Outcome(refusal=ToolDenied(f"{name} was not run: it was refused{why}", tool=name), facts=facts), ""
        try:
            if decision.word in ("give", "raise"):
                if stand_ins is None:
                    return None, "nothing can be given for it in this process"
                return Outcome(stand_ins.given(self.question, decision.value, decision.error), facts=facts), ""
            if not decision.args:
                return Outcome(facts=facts), ""
            CallFacts.args_asked.put(facts, {key: self.named.get(key) for key in decision.args})
            return replace(self._edited(decision.args), facts=facts), ""
        except (NotRebuildable, UsageError) as error:
            return None, error.message

    def _edited(self, changed: Mapping[str, Wire]) -> Outcome:
        """The call with other arguments.

        Raises:
            NotRebuildable, UsageError: they cannot be made into what is sent.
        """
        edited = {**self.named, **{name: asked(value, name) for name, value in changed.items()}}
        stand_ins, given = _DESK.stand_ins, self.given
        if given is None:
            raise UsageError(f"nothing of {self.question.name} can be changed", hint="run it as it is, or refuse it")
        return Outcome(
            edited=edited, sent=given.edited(self.named, changed, decode if stand_ins is None else stand_ins.value)
        )
