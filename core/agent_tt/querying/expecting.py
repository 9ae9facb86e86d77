"""What was hoped with a fork, and whether it came: an expression about the last step, asked when the fork has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.codec.texts import texts
from agent_tt.errors import AgentTTError
from agent_tt.querying.expressions.tree import facts
from agent_tt.querying.expressions.values import Missing, at
from agent_tt.querying.predicates import parse_predicate
from agent_tt.querying.watches.step_search import Watch
from agent_tt.redaction.keyed import keyed_marks_in
from agent_tt.redaction.marks import MARK, canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Run, RunStatus, Step
    from agent_tt.protocols import RunSource
    from agent_tt.querying.expressions.tree import Expression, Place

__all__ = ["Came", "Hoped", "hoped_of", "judge", "why_unknown", "why_unknown_at_the_end"]

Came: TypeAlias = Literal["came", "did not come", "unknown"]
"""Whether what was hoped came."""

_MEASURED: Final[Mapping[str, Callable[[Step], tuple[object, ...]]]] = {
    "tokens": lambda step: (step.tokens_in, step.tokens_out),
    "tokens_in": lambda step: (step.tokens_in,),
    "tokens_out": lambda step: (step.tokens_out,),
    "cost": lambda step: (step.cost_usd, None if step.unpriced else 0),
    "cost_usd": lambda step: (step.cost_usd, None if step.unpriced else 0),
    "ms": lambda step: (step.duration_us,),
    "duration_ms": lambda step: (step.duration_us,),
}
"""Of facts of a step that nobody may have measured what they are made of, by the names of the language."""

_NOT_ENDED: Final[Mapping[RunStatus, str]] = {
    "running": "it has not ended yet",
    "interrupted": "it was interrupted before its end",
    "crashed": "its process died before its end",
    "unknown": "how it ended is not known",
}


@dataclass(frozen=True, slots=True)
class Hoped:
    """What was hoped of a run.

    Attributes:
        text: the expression.
        came: whether it holds after the last step.
        why: why that is not known; "" where it is.
    """

    text: str
    came: Came
    why: str = ""

    @property
    def said(self) -> str:
        """`came: paid == true`; `unknown: cost < 1: the last step has no cost`."""
        return f"{self.came}: {self.text}" + (f": {self.why}" if self.why else "")

    def to_json(self) -> dict[str, Wire]:
        """`{expression, came, why}`; `came` is true, false, or null for unknown."""
        known = {"came": True, "did not come": False}.get(self.came)
        return {"expression": self.text, "came": known, "why": self.why or None}


def hoped_of(source: RunSource, run: Run) -> Hoped | None:
    """What was hoped with a fork, and whether it came; None where nothing was said."""
    text = run.facts.fork_expect
    return None if text is None else judge(source, run, text)


def judge(source: RunSource, run: Run, text: str) -> Hoped:
    """Whether an expression holds after the last step of a run, as far as that can be known.

    It is read as an outcome of a sweep is (`agent_tt.querying.predicates`). Unknown is: a run that goes on or was
    broken off; a last state that is not kept, or is damaged; a figure that nobody measured; a value with a mark in
    place of a secret; a pattern that would take too long; and an expression that cannot be read.
    """
    try:
        why = _unknown(source, run, text)
        if why:
            return Hoped(text, "unknown", why)
        asked = parse_predicate(text)
        holds = Watch(source, run.id, asked.expression).holds_at(source.step_count(run.id))
    except AgentTTError as error:
        return Hoped(text, "unknown", error.message)
    return Hoped(text, "came" if holds else "did not come")


def _unknown(source: RunSource, run: Run, text: str) -> str:
    """Why nobody can know whether it holds; "" where one can.

    Raises:
        AgentTTError: it cannot be read, or the last state cannot.
    """
    asked = list(facts(parse_predicate(text).expression.root))
    if run.status in _NOT_ENDED:
        return _NOT_ENDED[run.status]
    if run.status == "failed" and source.step_count(run.id) == (run.fork_step or 0):
        return "it failed before its first step"
    return _unknown_at_the_end(source, run, asked)


def why_unknown_at_the_end(source: RunSource, run: Run, expression: Expression) -> str:
    """Why nobody can know whether an expression holds after the last step of a run; "" where one can.

    Raises:
        AgentTTError: the last state cannot be read.
    """
    return _unknown_at_the_end(source, run, list(facts(expression.root)))


def _unknown_at_the_end(source: RunSource, run: Run, asked: Sequence[tuple[str, Place]]) -> str:
    last = source.step_count(run.id)
    steps = source.steps(run.id, last, last + 1) if last else ()
    why = _unknown_of(steps[-1] if steps else None, asked, "the last step")
    if why:
        return why
    if any(root == "state" and _is_masked(source.state(run.id, last), place) for root, place in asked):
        return "a value that it asks about holds the mark of a secret"
    return ""


def why_unknown(step: Step | None, expression: Expression) -> str:
    """Why nobody can know whether an expression holds after a step; "" where one can, as far as the step's row says.

    Args:
        step: the step; None for the input.
        expression: what is asked.
    """
    return _unknown_of(step, facts(expression.root), "the input" if step is None else f"step {step.number}")


def _unknown_of(step: Step | None, asked: Iterable[tuple[str, Place]], called: str) -> str:
    for root, _ in asked:
        if root in _MEASURED and _is_unmeasured(step, root):
            return f"{called} says nothing of {root}, or not all"
        if root == "state" and step is not None and step.is_unkept:
            return f"no checkpoint is kept of {called}"
    return ""


def _is_unmeasured(step: Step | None, name: str) -> bool:
    return step is None or None in _MEASURED[name](step)


def _is_masked(state: Wire, place: Place) -> bool:
    value = at(state, place)
    if isinstance(value, Missing):
        return False
    return any(MARK in canonical(text) or keyed_marks_in(text) for _, text in texts(value))
