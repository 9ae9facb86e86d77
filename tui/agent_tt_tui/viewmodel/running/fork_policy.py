"""What can be chosen for a row of a fork's boundary, and what that is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, get_args

from agent_tt.errors import UsageError
from agent_tt.forking.editing.answer_text import answer_of
from agent_tt.forking.policy.policies import WORDS, Rule
from agent_tt.intercepting.rules import Otherwise

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.forking.plan import ForkPlan
    from agent_tt.forking.policy.boundary import Boundary
    from agent_tt.forking.policy.policies import Word

_DOES: Final[dict[str, str]] = {
    "live": "will really run",
    "recorded": "answered as recorded",
    "stub": "stubbed, not run",
    "ask": "waits for your answer",
    "deny": "denied",
}


_OTHERWISE: Final[tuple[Otherwise, ...]] = get_args(Otherwise)


def what_it_does(word: Word) -> str:
    """What a policy does with a tool that writes, in words."""
    return _DOES[word]


def why_fixed(plan: ForkPlan, row: Boundary) -> str | None:
    """Why there is nothing to choose for a row; None where there is."""
    if row.follows_caller:
        return "what calls it decides: choose the policy of that"
    if plan.terms.is_mock and row.kind == "llm":
        return "the executor mock answers for models"
    if row.is_inside:
        return f"{row.name} is denied wherever it is made: change that rule"
    return None


def why_not_denied(row: Boundary) -> str:
    """Why a fork cannot deny a tool whose calls it cannot hold."""
    what = f"not all calls of {row.name} are seen" if row.kept_by else f"nothing records {row.name}"
    return f"{what}, so it cannot be denied"


def next_word(plan: ForkPlan, row: Boundary, direction: int) -> tuple[ForkPlan, str]:
    """The plan with the policy to the right (1) or left (-1) of a row's, and why one was passed over.

    A policy that cannot be carried out is passed over. The one that holds where nobody chooses is taken back to that.
    """
    at, said = WORDS.index(row.policy), ""
    while 0 <= at + direction < len(WORDS):
        at += direction
        try:
            return _with_word(plan, row, WORDS[at]), said
        except UsageError as error:
            said = error.message
    return plan, said or f"{row.policy} is the {'last' if direction > 0 else 'first'} of them"


def _with_word(plan: ForkPlan, row: Boundary, word: Word) -> ForkPlan:
    plain = plan.without_rule(row.name)
    if word != "stub" and next(each for each in plain.boundary if _is_same(each, row)).policy == word:
        return plain
    return plan.with_rule(row.name, Rule(word, value=stub_of(row)) if word == "stub" else Rule(word))


def stub_of(row: Boundary) -> Wire:
    """The value that a stub of a row begins with: what the last of its calls came back with."""
    call = row.example
    if call is None:
        return None
    return answer_of(call) if call.kind == "llm" else call.result


def with_stub(plan: ForkPlan, row: Boundary, value: Wire, error: str | None) -> ForkPlan:
    """The plan with a value, or an error, given in place of a row's calls.

    Raises:
        UsageError: such a call cannot be answered so.
    """
    return plan.with_rule(row.name, Rule("stub", value=value, error=error))


def next_otherwise(row: Boundary) -> Otherwise:
    """What else can follow where nothing recorded answers a call of a row."""
    return _OTHERWISE[(_OTHERWISE.index(row.rule.otherwise) + 1) % len(_OTHERWISE)]


def or_else(plan: ForkPlan, row: Boundary) -> ForkPlan:
    """The plan with what else can follow where nothing recorded answers a call of a row."""
    return plan.with_rule(row.name, Rule("recorded", otherwise=next_otherwise(row)))


def source_of(row: Boundary) -> str:
    """Who said so, a word: `default`, `you`, `project`, `user`, `environ`."""
    return {"environment": "environ"}.get(row.rule.source, row.rule.source)


def _is_same(one: Boundary, other: Boundary) -> bool:
    return (one.kind, one.name, one.effect, one.is_inside) == (other.kind, other.name, other.effect, other.is_inside)
