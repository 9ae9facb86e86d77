"""The link that carries out the policy of a fork: each call goes by the rule that is for it.

A call that is not made for real is answered in the way in which a replay answers: by something `Served`. Who makes such
answers stands a floor above (`StandIns`); in a process without one nothing but `live` and `deny` can be carried out.
What is to be asked about goes on to the link behind this one (`approvals`).

Calls of kinds `http`, `subprocess` and `socket` that a running call makes are that call's own doing, and so is asking a
model inside a call that asks one: of the rules only those are asked by which a person denies something. (A function
that asks a model and its request are one question, so a rule for `*llm` is asked once.)

Calls that nothing records go by the same policy. They are made before, beside or after the agent's recording, or in a
thread that none reaches, and have no row of their own. So the links that watch are told of each.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

from agent_tt.errors import ToolDenied, UsageError
from agent_tt.intercepting.policy import denied, effect_of
from agent_tt.intercepting.rules import Rule
from agent_tt.model import OWN_DOING
from agent_tt.model.error_text import error_from_text
from agent_tt.model.facts import CallFacts, PolicyFacts
from agent_tt.recording.calls.answers import question_of
from agent_tt.recording.errors.outcome import run_status
from agent_tt.recording.links import Link, Place, Reply, Unrecorded
from agent_tt.recording.session import SESSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.intercepting.policy import ToolPolicy
    from agent_tt.model import CallKind, ErrorInfo, NewCall
    from agent_tt.recording.calls.answers import Question, Served
    from agent_tt.recording.open_run import OpenCall

__all__ = ["NotRecorded", "PolicyEnforcement", "StandIns", "is_own_doing"]


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

    def not_recorded(self, question: Question) -> NotRecorded:
        """What to raise where none is left: it names the call, and the recorded one that is nearest."""

    def given(self, question: Question, value: Wire, error: ErrorInfo | None) -> Served:
        """Turn an answer that a person wrote into the form that the agent expects of such a call.

        Raises:
            UsageError: such a call cannot be answered so.
        """

    def value(self, wire: Wire) -> object:
        """The Python value of a wire value.

        Raises:
            NotRebuildable: its class is not loaded.
        """


class PolicyEnforcement(Link):
    """Carries out a policy.

    Attributes:
        policy: what the calls of this process may do.
    """

    place = Place.POLICY
    rules = True

    def __init__(self, policy: ToolPolicy, stand_ins: StandIns | None = None) -> None:
        self.policy = policy
        self._stand_ins = stand_ins
        self._lock = threading.Lock()
        self._halted: NotRecorded | None = None

    # ------------------------------------------------------------ calls that are recorded

    def before_call(self, call: OpenCall, facts: dict[str, Wire]) -> None:
        """Say which rule decides about a call, unless it simply runs.

        Raises:
            NotRecorded: the agent was halted before, and went on.
        """
        if self._halted is not None:
            raise NotRecorded(self._halted.message, self._halted.hint)
        rule = self._rule(call)
        if rule is not None and (rule.word != "live" or rule.source != "default"):
            said = PolicyFacts.word.entry(rule.word) | PolicyFacts.source.entry(rule.source)
            facts[CallFacts.policy.key] = said | PolicyFacts.place.entry(rule.place) if rule.place else said
            call.by_link[self] = rule

    def answer_call(self, call: OpenCall, new: NewCall) -> Reply | None:
        """Answer or refuse a call whose rule says so."""
        rule, stand_ins = call.by_link.get(self), self._stand_ins
        if not isinstance(rule, Rule) or rule.word in ("live", "ask") or call.number is None:
            return None
        question = question_of(new, call.step_number, can_wait=call.spec.can_wait)
        if rule.word == "deny":
            return Reply(refusal=denied(new.name, rule, new.kind, question.site))
        if stand_ins is None:
            why = f"{new.name} was not run: its policy is {rule.text}, which a process of the agent's cannot give"
            return Reply(refusal=ToolDenied(why, tool=new.name, hint="let the agent's own process call it"))
        if rule.word == "stub":
            return _stubbed(stand_ins, question, rule)
        found = stand_ins.recorded(question)
        if found is not None:
            served, place = found
            said = {**CallFacts.policy.of(new.meta).raw, PolicyFacts.taken_from.key: dict(place)}
            return Reply(served, is_free=True, facts={CallFacts.policy.key: said})
        if rule.otherwise == "ask":
            return None
        if rule.otherwise == "deny":
            why = f"{new.name} was not run: no recorded call with these arguments is left that could answer it"
            return Reply(refusal=ToolDenied(why, tool=new.name))
        halt = stand_ins.not_recorded(question)
        with self._lock:
            self._halted = self._halted or halt
        return Reply(refusal=halt)

    def run_ends(self, error: BaseException | None) -> BaseException | None:
        """Say that the agent was halted, where it swallowed that."""
        return (self._halted or error) if run_status(error) == "succeeded" else error

    def _rule(self, call: OpenCall) -> Rule | None:
        """The rule for a call; None where it is the doing of another one that runs, and nobody denies it."""
        spec, around = call.spec, call.around
        model = (spec.model or call.recording.model) if spec.kind == "llm" else None
        effect = effect_of(spec.kind, spec.name, spec.effect)
        if around is not None and not around.is_over and is_own_doing(spec.kind, around.asks_a_model):
            return self.policy.forbids(spec.kind, spec.name, effect, model=model, by_name=spec.kind == "llm")
        return self.policy.decide(spec.kind, spec.name, effect, model=model)

    # ------------------------------------------------------------ calls that nothing records

    def unrecorded_call(self, new: NewCall, *, is_own_doing: bool) -> None:
        """Refuse a call that no recording reaches, where the policy does not let it be made.

        What something makes that runs is refused, and told, only where a person denies it.

        Raises:
            ToolDenied: it may not be made.
        """
        kind, name, effect = new.kind, new.name, effect_of(new.kind, new.name, new.effect)
        if is_own_doing:
            rule = self.policy.forbids(kind, name, effect)
            if rule is None:
                return
            _tell(Unrecorded(kind, name, effect, "denied", rule.where, new.meta))
            raise denied(name, rule, kind, new.meta)
        rule = self.policy.decide(kind, name, effect)
        try:
            self.policy.check(kind, name, new.effect, new.meta)
        except ToolDenied:
            _tell(Unrecorded(kind, name, effect, "denied", rule.where, new.meta))
            raise
        _tell(Unrecorded(kind, name, effect, "sent", "" if rule.source == "default" else rule.where, new.meta))


def is_own_doing(kind: CallKind, in_model_call: bool) -> bool:  # noqa: FBT001  the second half of the question
    """Whether a call is the doing of the call that makes it.

    Args:
        kind: its kind.
        in_model_call: whether a model call makes it.
    """
    return kind in OWN_DOING or (kind == "llm" and in_model_call)


def _stubbed(stand_ins: StandIns, question: Question, rule: Rule) -> Reply:
    try:
        error = None if rule.error is None else error_from_text(rule.error)
        return Reply(stand_ins.given(question, rule.value, error), is_free=True)
    except UsageError as wrong:
        why = f"{question.name} was not run: {wrong.message}"
        return Reply(refusal=ToolDenied(why, tool=question.name, hint=wrong.hint))


def _tell(call: Unrecorded) -> None:
    for told in SESSION.chain.made_unrecorded:
        told(call)
