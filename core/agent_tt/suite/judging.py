"""Whether a run came out better, equal or worse than it did when it was recorded, as far as that is known.

What is asked, in this order; the first that tells them apart decides:

1. the expectation, where one is said: it holds now and did not then (better), or the other way round (worse);
2. the status: it succeeds where it failed, or the other way round;
3. without an expectation the final answer, else the last state, but for ids, times and marks of redaction: where it is
   another one nobody has said which is better, so that is unknown;
4. what it took, in steps, tokens and US dollars: less of one and not more of another is better, more and not less is
   worse, both at once is unknown. A figure that one of the two does not know is not asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.codec.text import pretty
from agent_tt.comparing.steps.outcome import difference_of
from agent_tt.comparing.values.made_anew import with_one_form

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.steps.outcome import Outcome
    from agent_tt.querying.expecting import Hoped

__all__ = ["Ending", "Judged", "Verdict", "judge_endings"]

Verdict: TypeAlias = Literal["better", "equal", "worse", "unknown"]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended.

    Attributes:
        outcome: its figures and its answer.
        state: the last state; None where there is none that can be read.
        hoped: whether what is expected holds; None where nothing is.
    """

    outcome: Outcome
    state: Wire = None
    hoped: Hoped | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """How a run came out beside the recorded one.

    Attributes:
        verdict: the word for it.
        because: why, in words.
    """

    verdict: Verdict
    because: str


def judge_endings(then: Ending, now: Ending) -> Judged:
    """Judge a run beside the recorded one, by the rules of this module."""
    return _by_hope(then, now) or _by_status(then, now) or _by_answer(then, now) or _by_figures(then, now)


def _by_hope(then: Ending, now: Ending) -> Judged | None:
    if then.hoped is None or now.hoped is None:
        return None
    for when, hoped in (("then", then.hoped), ("now", now.hoped)):
        if hoped.came == "unknown":
            return Judged("unknown", f"whether it holds {when} is not known: {hoped.why}")
    if then.hoped.came == now.hoped.came:
        return None
    is_better = now.hoped.came == "came"
    return Judged("better" if is_better else "worse", f"{now.hoped.text} {'holds now' if is_better else 'held then'}")


def _by_status(then: Ending, now: Ending) -> Judged | None:
    before, after = then.outcome.status, now.outcome.status
    for when, status in (("the recorded run", before), ("the run", after)):
        if status not in ("succeeded", "failed"):
            return Judged("unknown", f"{when} did not come to its end: {status}")
    if before != after:
        return Judged("better" if after == "succeeded" else "worse", f"{after} where it {before}")
    return None


def _by_answer(then: Ending, now: Ending) -> Judged | None:
    if then.outcome.status == "failed":
        errors = [each.outcome.error.short if each.outcome.error is not None else "" for each in (then, now)]
        if with_one_form(errors[0]) != with_one_form(errors[1]):
            return Judged("unknown", f"it fails with something else: {errors[1] or 'no error is recorded'}")
    if then.hoped is not None:
        return None
    what, before, after = "final answer", then.outcome.answer, now.outcome.answer
    if before is None and after is None:
        what = "last state"
        before, after = (None if each.state is None else pretty(each.state) for each in (then, now))
    if before is None or after is None:
        return Judged("unknown", f"of one of the two no {what} is known")
    if with_one_form(before) != with_one_form(after):
        return Judged("unknown", f"another {what}: only an expectation can say whether it is better")
    return None


def _by_figures(then: Ending, now: Ending) -> Judged:
    took = difference_of(then.outcome, now.outcome)
    figures = (("steps", took.steps), ("tokens", took.tokens), ("cost", took.to_json()["cost_usd"]))
    known = [(name, figure) for name, figure in figures if isinstance(figure, int | float)]
    fewer = [name for name, figure in known if figure < 0]
    more = [name for name, figure in known if figure > 0]
    said = "; ".join(f"{word} {', '.join(names)}" for word, names in (("less", fewer), ("more", more)) if names)
    if not said:
        return Judged("equal", f"the same, also in {', '.join(name for name, _ in known)}")
    return Judged("unknown" if fewer and more else "better" if fewer else "worse", said)
