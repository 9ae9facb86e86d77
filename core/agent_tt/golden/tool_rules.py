"""Rules about the tools that a run uses: which, in which order, how often, and which never."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, ClassVar

from agent_tt._dataclass import dataclass
from agent_tt.comparing.values.tolerance import Difference
from agent_tt.errors import UsageError
from agent_tt.golden.rule import HALTED, Judgement, Rule, choice, failed, flag, passed, text, texts, unknown, whole

if TYPE_CHECKING:
    from agent_tt.golden.evidence import Evidence

__all__ = ["Calls", "Never", "Tools"]


@dataclass(frozen=True)
class Tools(Rule):
    """Which tools the run uses.

    Attributes:
        names: the tools; one that is used twice stands there twice.
        order: `exactly`, these and no others, in this order; `in order`, these in this order, others between them
            allowed; `only`, none but these, in any order and any number.
    """

    kind: ClassVar = "tools"
    shapes: ClassVar = {"names": texts, "order": choice("exactly", "in order", "only")}
    names: tuple[str, ...]
    order: str = "exactly"

    @property
    def sentence(self) -> str:
        """`tools, exactly: find_order → search_docs ×3 → send_reply`."""
        joint = ", " if self.order == "only" else " → "
        times = [(name, len([*alike])) for name, alike in groupby(self.names)]
        named = [name if number == 1 else f"{name} ×{number}" for name, number in times]
        return f"tools, {self.order}: {joint.join(named) or 'none'}"

    def _judge(self, run: Evidence) -> Judgement:
        judged = {"exactly": self._exactly, "in order": self._in_order, "only": self._only}[self.order](run)
        if judged.verdict == "passed" and run.asked_only:
            name, step = next(iter(run.asked_only.items()))
            return unknown(f"{name} was asked for in step {step}, and whether it ran is not known")
        return judged

    def _exactly(self, run: Evidence) -> Judgement:
        for at, (name, use) in enumerate(zip_longest(self.names, run.tools)):
            if use is None:
                if not run.is_whole:
                    return unknown(HALTED)
                return failed(f"{name} was not called", run.last_step or None, (Difference(f"[{at}]", name, None),))
            if name != use.name:
                difference = Difference(f"[{at}]", name, use.name)
                return failed(f"{use.name} is call {at + 1}, not {name or 'there'}", use.step, (difference,))
        return passed(f"{len(self.names)} of {len(self.names)}") if run.is_whole else unknown(HALTED)

    def _in_order(self, run: Evidence) -> Judgement:
        uses = iter(run.tools)
        for at, name in enumerate(self.names):
            if not any(use.name == name for use in uses):
                if not run.is_whole:
                    return unknown(HALTED)
                after = f" after {self.names[at - 1]}" if at else ""
                return failed(
                    f"{name} was not called{after}", run.last_step or None, (Difference(f"[{at}]", name, None),)
                )
        return passed(f"{len(self.names)} of {len(self.names)}")

    def _only(self, run: Evidence) -> Judgement:
        for use in run.tools:
            if use.name not in self.names:
                return failed(f"{use.name} was called", use.step)
        return passed("no others") if run.is_whole else unknown(HALTED)

    def accepting(self, run: Evidence) -> Rule | None:
        """The tools that the run used."""
        names = tuple(use.name for use in run.tools)
        return (
            replace(self, names=tuple(dict.fromkeys(names)) if self.order == "only" else names)
            if run.is_whole
            else None
        )


@dataclass(frozen=True)
class Calls(Rule):
    """How often a tool may be called.

    Attributes:
        tool: its name.
        at_most: how often.
    """

    kind: ClassVar = "calls"
    shapes: ClassVar = {"tool": text, "at_most": whole}
    tool: str
    at_most: int

    @property
    def sentence(self) -> str:
        """`calls search_docs at most 3 times`."""
        return f"calls {self.tool} at most {self.at_most} time{'s' * (self.at_most != 1)}"

    def _judge(self, run: Evidence) -> Judgement:
        steps = [use.step for use in run.tools if use.name == self.tool]
        if len(steps) > self.at_most:
            return failed(f"called {len(steps)} time{'s' * (len(steps) != 1)}", steps[self.at_most])
        if not run.is_whole:
            return unknown(HALTED)
        if self.tool in run.asked_only:
            return unknown(f"it was asked for in step {run.asked_only[self.tool]}, and whether it ran is not known")
        return passed(f"called {len(steps)} time{'s' * (len(steps) != 1)}")

    def accepting(self, run: Evidence) -> Rule | None:
        """As often as the run did."""
        return replace(self, at_most=Counter(use.name for use in run.tools)[self.tool]) if run.is_whole else None


@dataclass(frozen=True)
class Never(Rule):
    """Which tools are never called.

    Attributes:
        tools: their names.
        writes: whether any tool that writes is one of them.
        but: of those that write, the ones that may be called.
    """

    kind: ClassVar = "never"
    shapes: ClassVar = {"tools": texts, "writes": flag, "but": texts}
    tools: tuple[str, ...] = ()
    writes: bool = False
    but: tuple[str, ...] = ()

    def check(self) -> None:
        """Check that it forbids anything.

        Raises:
            UsageError: it does not.
        """
        if not self.tools and not self.writes:
            raise UsageError("tools or writes = true must be given")

    @property
    def sentence(self) -> str:
        """`never calls issue_refund, or any tool that writes`."""
        but = f" but {', '.join(self.but)}" if self.but else ""
        parts = [", ".join(self.tools), f"any tool that writes{but}" if self.writes else ""]
        return f"never calls {', or '.join(filter(None, parts))}"

    def _judge(self, run: Evidence) -> Judgement:
        doubt = ""
        for use in run.tools:
            if use.name in self.tools or (self.writes and use.effect == "write" and use.name not in self.but):
                return failed(f"{use.name} was called", use.step)
            if self.writes and use.effect is None and use.name not in self.but:
                doubt = doubt or f"whether {use.name}, called in step {use.step}, writes is not known"
        for name, step in run.asked_only.items():
            if name in self.tools or (self.writes and name not in self.but):
                doubt = doubt or f"{name} was asked for in step {step}, and whether it ran is not known"
        return unknown(doubt or HALTED) if doubt or not run.is_whole else passed("none was called")
