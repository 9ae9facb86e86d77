"""Who may start agents, and how many: the leave of whoever started the server, and the agents that run under it.

A client can take away from what was allowed and never add to it.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.errors import UsageError
from agent_tt.forking.plan import plan_fork
from agent_tt.forking.policy.policies import Rule, configured_policy, is_pattern
from agent_tt.forking.request import ForkRequest
from agent_tt.forking.terms import Terms
from agent_tt.golden.running import run_golden
from agent_tt.rerunning.launch import check_startable, start_fork
from agent_tt.rerunning.replay import run_replay
from agent_tt.store.file.provenance import check_made_here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from agent_tt.forking.plan import ForkPlan
    from agent_tt.forking.policy.answering import Asked
    from agent_tt.golden.golden_file import Golden
    from agent_tt.golden.running import GoldenResult
    from agent_tt.model import Edit, Run
    from agent_tt.protocols import RunSource
    from agent_tt.replaying.report import ReplayReport
    from agent_tt.rerunning.handle import RunHandle

__all__ = ["MOST_EDITS", "Leave", "Starter"]

MOST_EDITS = 50


@dataclass(frozen=True, slots=True)
class Leave:
    """What the person who started the server allows.

    Attributes:
        allow: tools that may write, in every fork.
        seconds: how long one agent may run.
        runs: how many agents may be started, replays and forks together, until the server ends.
        max_tokens: after how many tokens a fork is stopped; None for no limit.
        max_cost: after how many US dollars.
        ask: tools whose calls wait, in every fork, until somebody answers.
        at_once: how many agents may run at one time.
    """

    allow: tuple[str, ...] = ()
    seconds: float = 120.0
    runs: int = 20
    max_tokens: int | None = None
    max_cost: float | None = None
    ask: tuple[str, ...] = ()
    at_once: int = 1


@dataclass
class Starter:
    """Plans and starts agents under a leave, and knows those that run under it.

    What is refused uses nothing up: an agent counts from when its process is there.

    Attributes:
        leave: what is allowed.
        started: how many were started.
        known: the ids of the runs that were started, those that have ended too.
    """

    leave: Leave
    started: int = 0
    known: set[str] = field(default_factory=set)
    _counting: threading.Lock = field(default_factory=threading.Lock)
    _places: int = 0
    _waiting: int = 0
    _handles: list[RunHandle] = field(default_factory=list)

    def seconds(self, wanted: float | None) -> float:
        """How long an agent may run for which a client wants so many seconds."""
        return self.leave.seconds if wanted is None else min(float(wanted), self.leave.seconds)

    def plan(
        self,
        source: RunSource,
        run: Run,
        step: int | None,
        edits: Sequence[Edit],
        *,
        terms: Terms | None = None,
        seconds: float | None = None,
        deny: Sequence[str] = (),
        name: str | None = None,
        expect: str | None = None,
        allows: bool = True,
    ) -> ForkPlan:
        """Plan a fork as the leave has it.

        Args:
            source: where the run is.
            run: the run.
            step: the step to go on after; None before the call that is edited.
            edits: what is changed first.
            terms: who runs it, what it is told, and where it stops.
            seconds: how long it may run, where that is less than is allowed.
            deny: tools that are denied as well, by name.
            name: the new run's.
            expect: what is hoped of it.
            allows: whether tools may write that were allowed to; else they are denied, too.

        Raises:
            UsageError: too much is changed, or a pattern is denied.
            AgentTTError: as of `plan_fork`.
        """
        if len(edits) > MOST_EDITS:
            raise UsageError(f"{len(edits)} edits are too many", hint=f"At most {MOST_EDITS} are taken.")
        if any(is_pattern(each) or each.startswith("*") for each in deny):
            raise UsageError("a pattern cannot be denied here", hint="Name the tools: the dry run lists them.")
        leave, terms = self.leave, terms or Terms()
        rules = [(each, Rule("live" if allows else "deny")) for each in leave.allow]
        rules += [(each, Rule("ask" if allows else "deny")) for each in leave.ask]
        rules += [(each, Rule("deny")) for each in deny]
        limits = replace(terms.limits, seconds=self.seconds(seconds), tokens=leave.max_tokens, cost_usd=leave.max_cost)
        request = ForkRequest(
            step=step,
            edits=edits,
            policy=configured_policy().with_all(rules),
            name=name,
            expect=expect,
            terms=replace(terms, limits=limits),
        )
        return plan_fork(source, run, request)

    def fork(self, plan: ForkPlan, *, asked: Asked | None = None) -> RunHandle:
        """Start the agent of a fork.

        Args:
            plan: the fork.
            asked: decides the calls whose policy is `ask`; see `RunHandle`.

        Raises:
            UsageError: as many were started as may be, or as many run as may at one time.
            AgentTTError: as of `start_fork`.
        """
        check_startable(plan)
        with self.turn() as begun:
            handle = start_fork(plan, asked=asked)
            begun()
            with self._counting:
                self._handles.append(handle)
                self.known.add(handle.run_id)
            return handle

    def replay(
        self, source: RunSource, run: Run, *, observe: bool, seconds: float, cancelled: Callable[[], bool]
    ) -> ReplayReport:
        """Replay a run offline, and wait for the report.

        Args:
            source: where the run is.
            run: the run.
            observe: whether it goes on after a difference, and collects all.
            seconds: how long it may take.
            cancelled: whether nobody waits any more.

        Raises:
            UsageError: as many were started as may be, or as many run as may at one time.
            AgentTTError: as of `run_replay`.
        """
        check_made_here(source.path, run)
        with self.turn() as begun:
            return run_replay(
                source,
                run,
                observe=observe,
                timeout=seconds,
                cancelled=cancelled,
                progress=lambda _: begun(),
            )

    def golden(self, golden: Golden, *, seconds: float, cancelled: Callable[[], bool]) -> GoldenResult:
        """Run a golden offline, and judge it; nothing that goes wrong with it is raised.

        Args:
            golden: the golden.
            seconds: how long its agent may run.
            cancelled: whether nobody waits any more.

        Raises:
            UsageError: as many were started as may be, or as many run as may at one time.
        """
        with self.turn() as begun:
            return run_golden(golden, timeout=seconds, cancelled=cancelled, progress=lambda _: begun())

    @contextmanager
    def turn(self) -> Iterator[Callable[[], None]]:
        """Hold a place of an agent that is about to be started.

        Gives what is to be called when its process is there: from then on it counts, and not where it never is.

        Raises:
            UsageError: as many were started as may be, or as many run as may at one time.
        """
        has_begun = False

        def begun() -> None:
            nonlocal has_begun
            with self._counting:
                if not has_begun:
                    has_begun = True
                    self._waiting -= 1
                    self.started += 1

        with self._counting:
            self._handles = [handle for handle in self._handles if handle.poll() is None]
            if len(self._handles) + self._places >= self.leave.at_once:
                what = "another agent runs" if self.leave.at_once == 1 else f"{self.leave.at_once} agents run"
                raise UsageError(what, hint="Wait for its end: overview shows how far it is.")
            if self.started + self._waiting >= self.leave.runs:
                raise UsageError(
                    f"{self.started + self._waiting} agents were started, and no more may be",
                    hint="The person who started this server may start it again, with a larger --max-runs.",
                )
            self._places += 1
            self._waiting += 1
        try:
            yield begun
        finally:
            with self._counting:
                self._places -= 1
                self._waiting -= not has_begun

    def running(self) -> list[RunHandle]:
        """The agents that still run."""
        return [handle for handle in self._handles if handle.poll() is None]

    def stop(self) -> None:
        """Stop every agent that still runs."""
        for handle in self._handles:
            handle.stop()
