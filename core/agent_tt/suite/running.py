"""Running recorded runs again, one after another, and judging each beside its recording."""

from __future__ import annotations

import shlex
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.comparing.steps.outcome import difference_of, final_state, read_outcome
from agent_tt.errors import AgentFailed, AgentTTError, Interrupted, RunNotFound
from agent_tt.forking.plan import plan_fork
from agent_tt.querying.expecting import judge
from agent_tt.querying.predicates import parse_predicate
from agent_tt.rerunning.kept_runs import RESULTS, forget_older
from agent_tt.rerunning.launch import start_fork
from agent_tt.rerunning.replay import KeptRun, run_replay
from agent_tt.rerunning.warm.pool import warm_agents
from agent_tt.store import open_store
from agent_tt.store.rows.ids import new_run_id
from agent_tt.suite.judging import Ending, Judged, judge_endings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.forking.request import ForkRequest
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.questions import CallQuestion, Decision
    from agent_tt.rerunning.warm.pool import WarmAgents
    from agent_tt.suite.judging import Verdict

__all__ = ["Suite", "Tried"]


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of running one recorded run again.

    Attributes:
        run: the recorded run.
        judged: how it came out.
        then: how the recorded one ended.
        now: how the new one did; None where there is none.
        new_run: id of the new run; None where there is none.
        compare_command: what shows both side by side; "" where there is no new one.
    """

    run: Run
    judged: Judged
    then: Ending
    now: Ending | None = None
    new_run: str | None = None
    compare_command: str = ""

    @property
    def verdict(self) -> Verdict:
        """`better`, `equal`, `worse` or `unknown`."""
        return self.judged.verdict

    def to_json(self) -> dict[str, Wire]:
        """`{run, name, verdict, because, new_run, then, now, difference, compare}`.

        `then` and `now` are `{status, steps, tokens, cost_usd, answer, …}` with `expect`, now null where there is none.
        """
        difference = None if self.now is None else difference_of(self.then.outcome, self.now.outcome).to_json()
        return {
            "run": self.run.id,
            "name": self.run.name,
            "verdict": self.verdict,
            "because": self.judged.because,
            "new_run": self.new_run,
            "then": _shape(self.then),
            "now": None if self.now is None else _shape(self.now),
            "difference": difference,
            "compare": self.compare_command,
        }


def _shape(ending: Ending) -> Wire:
    return {**ending.outcome.to_json(), "expect": None if ending.hoped is None else ending.hoped.to_json()}


@dataclass(frozen=True, slots=True)
class Suite:
    """Recorded runs that are run again.

    Attributes:
        path: the store that they lie in.
        source: the same, open.
        runs: the runs.
        expect: an expression about the last step that is asked of both; None for nothing.
        agent: another entry point than the recorded ones; None for these.
        fork: what each is forked with; None to replay it offline, with the recorded answers.
        timeout: seconds after which a run is given up; None waits as long as it takes.

    Raises:
        InvalidExpression: what is expected cannot be read.
    """

    path: Path
    source: RunSource
    runs: Sequence[Run]
    expect: str | None = None
    agent: str | None = None
    fork: ForkRequest | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        if self.expect is not None:
            parse_predicate(self.expect)

    def results(self) -> Iterator[Tried]:
        """Run each again, and say at once what came of it; what goes wrong with one is said of it and not raised."""
        with warm_agents() as warm:
            for run in self.runs:
                then = self._ending(self.source, run)
                try:
                    yield (
                        self._replayed(run, then, warm)
                        if self.fork is None
                        else self._forked(run, then, self.fork, warm)
                    )
                except AgentTTError as error:
                    said = "; ".join(part for part in (error.message, error.hint.partition("\n")[0]) if part)
                    yield Tried(run, Judged("unknown", f"could not be run: {said}"), then)

    def _ending(self, source: RunSource, run: Run) -> Ending:
        steps = source.steps(run.id)
        calls = source.call_page(run.id, 1, len(steps) + 1)
        state = final_state(source, run.id)
        hoped = None if self.expect is None else judge(source, run, self.expect)
        return Ending(read_outcome(run, steps, calls, state), state, hoped)

    def _replayed(self, run: Run, then: Ending, warm: WarmAgents) -> Tried:
        """Replay it; the run that comes is kept beside the store."""
        path, now_id = self.path.resolve().parent / RESULTS, new_run_id()
        with closing(open_store(path, create=True)) as results:
            keeps = KeptRun(path, now_id, run.name, folder=None, interpreter=None)
            try:
                report = run_replay(self.source, run, timeout=self.timeout, agent=self.agent, keeps=keeps, warm=warm)
            finally:
                with suppress(AgentTTError):  # whatever became of the process: nobody records it any more
                    results.settle_run(now_id)
            forget_older(results, run.name)
            first = next(iter(report.divergences), None)
            if report.agent.status == "halted" and first is not None:
                why = f"{first.place}: {first.message}" if first.place else first.message
                judged = Judged("unknown", f"asks what was not recorded, so it was halted: {why}")
                return Tried(run, judged, then)
            try:
                new = results.run(now_id)
            except RunNotFound:
                said = report.agent.error or "the agent ended without recording anything"
                return Tried(run, Judged("unknown", f"could not be run: {said}"), then)
            now = self._ending(results, new)
        return Tried(run, judge_endings(then, now), then, now, now_id, self._compare(run, f"{path}:{now_id}"))

    def _forked(self, run: Run, then: Ending, request: ForkRequest, warm: WarmAgents) -> Tried:
        """Fork it; whoever would have to be asked about a call is not there, so such a call is refused."""
        with start_fork(plan_fork(self.source, run, request), asked=_refused, warm=warm) as handle:
            if handle.wait(self.timeout) is None:
                handle.stop()
            with suppress(AgentFailed, Interrupted):  # its run says how it ended; what could not begin is raised
                handle.result()
        new = self.source.run(handle.run_id)
        now = self._ending(self.source, new)
        if new.status == "failed" and new.steps == new.fork_step:
            why = "nobody knows why" if new.error is None else new.error.short
            judged = Judged("unknown", f"could not be run: it failed before its first step: {why}")
            return Tried(run, judged, then, now, new.id, self._compare(run, new.id))
        return Tried(run, judge_endings(then, now), then, now, new.id, self._compare(run, new.id))

    def _compare(self, run: Run, new: str) -> str:
        return shlex.join(["agent-tt", "compare", run.id, new, "--store", str(self.path)])


def _refused(question: CallQuestion) -> Decision:
    return question.refuse("nobody is there to answer in a suite")
