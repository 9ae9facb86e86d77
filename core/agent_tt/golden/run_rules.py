"""Rules about a run as a whole: how it ended, how much it took, what holds in it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final

from agent_tt._dataclass import dataclass
from agent_tt.golden.rule import HALTED, Judgement, Rule, choice, failed, number, passed, text, unknown
from agent_tt.model.shown import counted
from agent_tt.querying.expressions import parse

if TYPE_CHECKING:
    from agent_tt.golden.evidence import Evidence

__all__ = ["AtMost", "Ends", "Expression"]


@dataclass(frozen=True)
class Ends(Rule):
    """How the run ends.

    Attributes:
        status: `succeeded` or `failed`.
    """

    kind: ClassVar = "ends"
    shapes: ClassVar = {"status": choice("succeeded", "failed")}
    status: str = "succeeded"

    @property
    def sentence(self) -> str:
        """`ends well`."""
        return "ends well" if self.status == "succeeded" else f"ends {self.status}"

    def _judge(self, run: Evidence) -> Judgement:
        if not run.is_whole:
            return unknown(HALTED)
        status, error = run.run.status, run.run.error
        said = f"{status}: {error.short}" if error is not None else status
        return passed(said) if status == self.status else failed(said, run.last_step or None)

    def accepting(self, run: Evidence) -> Rule | None:
        """The status of the run, where it is one that a rule can ask for."""
        is_one = run.is_whole and run.run.status in ("succeeded", "failed")
        return replace(self, status=run.run.status) if is_one else None


@dataclass(frozen=True)
class AtMost(Rule):
    """How much the run may take.

    Attributes:
        of: `steps`, `tokens` (in and out together) or `dollars`.
        limit: the most of it.
    """

    kind: ClassVar = "at_most"
    shapes: ClassVar = {"of": choice("steps", "tokens", "dollars"), "limit": number}
    of: str
    limit: float

    @property
    def sentence(self) -> str:
        """`at most 8 steps`."""
        return f"at most {_amount(self.of, self.limit)}"

    def _judge(self, run: Evidence) -> Judgement:
        took = self._took(run)
        if took is None:
            return unknown(f"no step says how many {self.of} it took")
        if took > self.limit:
            return failed(f"took {_amount(self.of, took)}", self._beyond(run))
        if not run.is_whole:
            return unknown(HALTED)
        if self.of == "dollars" and run.unpriced:
            calls = counted(run.unpriced, "model call")
            have = "has" if run.unpriced == 1 else "have"
            return unknown(f"took {_amount(self.of, took)}, and {calls} {have} no known price")
        if self.of == "tokens" and run.uncounted:
            calls = counted(run.uncounted, "model call")
            say = "says" if run.uncounted == 1 else "say"
            return unknown(f"took {_amount(self.of, took)}, and {calls} {say} nothing of theirs")
        return passed(f"took {_amount(self.of, took)}")

    def _took(self, run: Evidence) -> float | None:
        return len(run.steps) if self.of == "steps" else run.tokens if self.of == "tokens" else run.dollars

    def _beyond(self, run: Evidence) -> int | None:
        """The first step with which it is too much."""
        total = 0.0
        for step in run.steps:
            if self.of == "steps":
                total += 1
            elif self.of == "tokens":
                total += (step.tokens_in or 0) + (step.tokens_out or 0)
            else:
                total += step.cost_usd or 0.0
            if total > self.limit:
                return step.number
        return run.last_step or None

    def accepting(self, run: Evidence) -> Rule | None:
        """What the run took, as the limit."""
        took = self._took(run)
        return replace(self, limit=took) if took is not None and run.is_whole else None


def _amount(of: str, number: float) -> str:
    if of == "dollars":
        return f"${number:.6f}".rstrip("0").rstrip(".")
    return f"{number:,.10g} {of if number != 1 else of[:-1]}"


_WHEN: Final = {"end": "at the end", "always": "after every step", "once": "after some step"}


@dataclass(frozen=True)
class Expression(Rule):
    """What holds in the run, in the language of `agent_tt.querying.expressions`.

    Attributes:
        holds: the expression: `state.budget >= 0`.
        at: `end`, after the last step; `always`, after every step; `once`, after at least one.
    """

    kind: ClassVar = "expression"
    shapes: ClassVar = {"holds": text, "at": choice("end", "always", "once")}
    holds: str
    at: str = "end"

    def check(self) -> None:
        """Read the expression.

        Raises:
            InvalidExpression: it cannot be read.
        """
        parse(self.holds)

    @property
    def sentence(self) -> str:
        """`at the end: state.budget >= 0`."""
        return f"{_WHEN[self.at]}: {self.holds}"

    def _judge(self, run: Evidence) -> Judgement:
        if self.at == "end":
            if not run.is_whole:
                return unknown(HALTED)
            doubts = run.unknown(self.holds, [run.last_step])
            if doubts:
                return unknown(doubts[run.last_step])
            held = run.holding(self.holds, [run.last_step])
            return passed("it holds") if held else failed("it does not hold", run.last_step or None)
        steps = [step for step in run.completed if step]
        doubts = run.unknown(self.holds, steps)
        held = run.holding(self.holds, [step for step in steps if step not in doubts])
        if self.at == "once" and held:
            return passed(f"it holds after step {held[0]}", held[0])
        broken = next((step for step in steps if step not in doubts and step not in set(held)), None)
        if self.at == "always" and broken is not None:
            return failed(f"it does not hold after step {broken}", broken)
        if doubts:
            return unknown(next(iter(doubts.values())))
        if self.at == "once":
            return failed("it holds after no step") if run.is_whole else unknown(HALTED)
        return passed("it holds after every step") if run.is_whole else unknown(HALTED)
