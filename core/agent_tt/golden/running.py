"""Running the agent of a golden as it is now, with the recorded answers, and judging the run that comes.

It is a replay (`agent_tt.rerunning.replay`) whose run is kept, so nothing is reached over the network and no tool runs.
A request that has no recording is never answered: there the agent is halted, and the golden has failed.

Whoever runs it may let calls be made for real, as far as the policy lets them: those that the golden names, or those
that nothing recorded answers. Commands that its rules name are run when the agent is over.
"""

from __future__ import annotations

import shlex
from contextlib import closing, suppress
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentTTError, NotFound, RunNotFound, UsageError
from agent_tt.golden.evidence import Evidence, Leave
from agent_tt.golden.recording_file import open_recording
from agent_tt.golden.results import keep_result
from agent_tt.golden.rule import in_one_line
from agent_tt.model import NewFork, NewRun
from agent_tt.model.facts.program import PROGRAM_FACTS
from agent_tt.rerunning.kept_replays import ReplayStopped
from agent_tt.rerunning.kept_runs import RESULTS, forget_older
from agent_tt.rerunning.replay import KeptRun, run_replay
from agent_tt.rerunning.warm.pool import warm_agents
from agent_tt.store import copy_run, open_store, resolve_store_path
from agent_tt.store.rows.ids import new_run_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.codec.wire import Wire
    from agent_tt.golden.golden_file import Golden, KeptRule
    from agent_tt.golden.rule import Judgement
    from agent_tt.model import Run
    from agent_tt.replaying.divergence import Finding
    from agent_tt.replaying.report import LivePart, ReplayReport
    from agent_tt.rerunning.warm.pool import WarmAgents
    from agent_tt.store import SqliteStore

__all__ = ["GoldenResult", "Live", "Outcome", "results_path", "run_golden"]

Outcome: TypeAlias = Literal["passed", "failed", "unknown"]
"""`unknown`: it could not be run or judged, which is neither."""

Live: TypeAlias = Literal["nothing", "named", "changed"]
"""Which calls are made for real: none, those that the golden names, or those that nothing recorded answers."""

_LETS_PASS: Final = frozenset({"changed order", "missing call", "changed state", "changed output"})
"""Divergences of a replay that the rules of a golden decide about."""

_ASKED: Final = frozenset({"changed request", "extra call", "unrecorded effect", "read past the recorded part"})
"""Those that say that the agent wants what was never recorded; what is left says that a recording cannot be used."""


@dataclass(frozen=True, slots=True)
class GoldenResult:
    """What came of running a golden.

    Attributes:
        golden: the golden.
        outcome: `passed` where every rule that was judged did, and one was; `failed` where one failed, or the agent
            asked what was never recorded; `unknown` where it could not be run, or a rule could not be judged.
        judgements: what each rule that was judged says; none where it could not be run.
        new_request: the first request that has no recording; None where there was none.
        problem: why it could not be run; "" where it could.
        store: the file with both runs.
        kept: id of the run that was kept.
        now: id of the run that came; None where none did.
        left_out: rules that are on and were not judged, because they need leave.
        live: what was made for real, and what was saved; None where nothing may be.
        files: the files of the project that the agent imported, relative to it; none where that is not known.
        tries: of a golden that ran several times, what came of each; the rest says what came of the one that tells.
    """

    golden: Golden
    outcome: Outcome
    judgements: tuple[tuple[KeptRule, Judgement], ...] = ()
    new_request: Finding | None = None
    problem: str = ""
    store: Path = field(default_factory=Path)
    kept: str = ""
    now: str | None = None
    left_out: tuple[KeptRule, ...] = ()
    live: LivePart | None = None
    files: tuple[str, ...] = ()
    tries: tuple[Outcome, ...] = ()

    @property
    def compare_command(self) -> str:
        """What opens both runs side by side; "" where there is no new one."""
        if self.now is None:
            return ""
        return shlex.join(["agent-tt", "compare", self.kept, self.now, "--store", str(self.store)])

    @property
    def first(self) -> str:
        """Why it did not pass, in one line: the new request, the first rule that failed, or what is not known."""
        tries = f"{self._tries}: " if self.tries and self.outcome != "passed" else ""
        return f"{tries}{self._first}"

    @property
    def remarks(self) -> list[str]:
        """What is worth knowing whatever came of it, in lines."""
        said = [f"not judged: {kept.rule.sentence}" for kept in self.left_out]
        if self.tries and self.outcome == "passed":
            said.append(self._tries)
        if self.live is not None:
            said += [f"{name} is not made for real: the policy holds it back" for name in self.live.held_back]
        return said

    @property
    def _tries(self) -> str:
        (wanted, times), passed = self.golden.passes, self.tries.count("passed")
        return f"passed {passed} of {len(self.tries)}, and {wanted} of {times} are wanted"

    @property
    def _first(self) -> str:
        if self.problem:
            return self.problem
        if self.new_request is not None:
            step = "" if self.new_request.step is None else f" at step {self.new_request.step}"
            return f"asks what was not recorded{step}: {self.new_request.message}"
        if self._telling is not None:
            kept, judged = self._telling
            return in_one_line(kept.rule.sentence, judged.said, judged.step)
        return "" if self.judgements else "no rule is on: nothing was judged"

    @property
    def _telling(self) -> tuple[KeptRule, Judgement] | None:
        """The rule that says why it did not pass, where one does."""
        if self.problem or self.new_request is not None:
            return None
        found = (each for verdict in ("failed", "unknown") for each in self.judgements if each[1].verdict == verdict)
        return next(found, None)

    def lines(self) -> list[str]:
        """Why it did not pass, for people: the first reason, each other rule that failed, what differs, the command."""
        said = [self.first]
        for each in self.judgements:
            kept, judged = each
            if judged.verdict == "failed":
                if each is not self._telling:
                    said.append(f"  {in_one_line(kept.rule.sentence, judged.said, judged.step)}")
                said += [f"    {line}" for line in judged.shown]
                said += [
                    f"    {each.path}  {each.old or 'nothing'} → {each.new or 'nothing'}" for each in judged.differences
                ]
        return said + ([f"  {self.compare_command}"] if self.compare_command else [])

    def to_json(self) -> dict[str, Wire]:
        """`{name, file, outcome, first, remarks, new_request, problem, rules, tries, live, store, kept, now, compare}`.

        `rules` are `{kind, sentence, verdict, said, step, differences, shown}`; `new_request` is `{kind, message,
        step}`; `live` is null, or that of `LivePart.to_json`.
        """
        new = self.new_request
        rules: list[Wire] = [
            {"kind": kept.rule.kind, "sentence": kept.rule.sentence, **judged.to_json()}
            for kept, judged in self.judgements
        ]
        return {
            "name": self.golden.name,
            "file": str(self.golden.path),
            "outcome": self.outcome,
            "first": self.first,
            "remarks": list(self.remarks),
            "new_request": None if new is None else {"kind": new.kind, "message": new.message, "step": new.step},
            "problem": self.problem,
            "rules": rules,
            "tries": list(self.tries),
            "live": None if self.live is None else self.live.to_json(),
            "store": str(self.store),
            "kept": self.kept,
            "now": self.now,
            "compare": self.compare_command,
        }


def results_path(golden: Golden, store: Path | None = None) -> Path:
    """The store that runs of goldens are kept in: the one given, else `tests.db` beside the store of the project."""
    if store is not None:
        return store
    return resolve_store_path(None, start=golden.root).parent / RESULTS


def run_golden(
    golden: Golden,
    *,
    store: Path | None = None,
    timeout: float | None = None,
    live: Live = "nothing",
    earlier: tuple[str, ...] = (),
    asks_judges: bool = False,
    cancelled: Callable[[], bool] | None = None,
    progress: Callable[[int], None] | None = None,
    warm: WarmAgents | None = None,
) -> GoldenResult:
    """Run a golden, and keep what came of it; nothing that goes wrong with it is raised.

    Args:
        golden: the golden.
        store: the file that the run that comes is kept in; see `results_path`.
        timeout: seconds after which the agent is stopped; None waits as long as it takes.
        live: which calls are made for real. With `named` a golden that names some runs as often as it says.
        earlier: with `changed`, ids of runs that came before: what they were answered is given again where the
            recording has no answer. Those that are gone, or damaged, are left out.
        asks_judges: whether models may be asked what they make of its answer.
        cancelled: asked a few times a second whether it is not wanted any more; then it could not be run, and nothing
            is kept of it.
        progress: told as often how many calls were answered so far.
        warm: forks its process, where it is one of many; see `agent_tt.rerunning.process.start_agent`.
    """
    try:
        path = results_path(golden, store)
        if not golden.root.is_dir():
            raise NotFound(f"the project folder {golden.root} is not there")
        with open_recording(golden) as recording, closing(open_store(path, create=True)) as results:
            leave = Leave(golden.root, asks_judges)
            running = _Running(
                golden, recording, results, path, timeout, live, earlier, leave, cancelled, progress, warm
            )
            is_once = live != "named" or golden.passes[1] == 1
            result = running.result() if is_once else _told(golden.passes, running)
            keep_result(results, result.to_json())
            return result
    except AgentTTError as error:
        return _could_not_run(golden, error)


def _could_not_run(golden: Golden, error: AgentTTError) -> GoldenResult:
    said = "; ".join(part for part in (error.message, error.hint) if part)
    return GoldenResult(golden, "unknown", problem=f"could not run: {said}")


def _told(passes: tuple[int, int], running: _Running) -> GoldenResult:
    """Run a golden until it is certain whether it passes as often as it has to."""
    (wanted, times), outcomes = passes, list[Outcome]()
    results: list[GoldenResult] = []
    with warm_agents() as own:
        running = replace(running, warm=running.warm or own)
        while outcomes.count("passed") < wanted <= outcomes.count("passed") + times - len(outcomes):
            results.append(running.result())
            outcomes.append(results[-1].outcome)
    has_failed = outcomes.count("failed") > times - wanted
    outcome: Outcome = "passed" if outcomes.count("passed") >= wanted else "failed" if has_failed else "unknown"
    telling = next(each for each in reversed(results) if each.outcome == outcome)
    return replace(telling, outcome=outcome, tries=tuple(outcomes))


@dataclass(frozen=True, slots=True)
class _Running:
    """A golden that is run, once or several times; see `run_golden`."""

    golden: Golden
    recording: SqliteStore
    results: SqliteStore
    path: Path
    timeout: float | None
    live: Live
    earlier: tuple[str, ...]
    leave: Leave
    cancelled: Callable[[], bool] | None
    progress: Callable[[int], None] | None
    warm: WarmAgents | None

    def result(self) -> GoldenResult:
        """Run it once, and judge what came.

        Raises:
            ReplayStopped: it is not wanted any more.
            AgentTTError: its runs cannot be written.
        """
        kept = self._kept_run()
        try:
            return self._ran(kept)
        except ReplayStopped:
            raise
        except AgentTTError as error:
            return replace(_could_not_run(self.golden, error), store=self.path, kept=kept.id)

    def _ran(self, kept: Run) -> GoldenResult:
        golden, now = self.golden, self._new_run(kept)
        try:
            report = run_replay(
                self.results,
                kept,
                timeout=self.timeout,
                cancelled=self.cancelled,
                progress=self.progress,
                warm=self.warm,
                agent=self._agent(kept),
                keeps=KeptRun(
                    self.path,
                    now,
                    golden.name,
                    str(golden.folder),
                    self._is_fork(kept),
                    live_names=golden.live if self.live == "named" else (),
                    live_changed=self.live == "changed",
                    earlier=self.earlier,
                ),
            )
        finally:
            self._settle(now)
        return replace(self._judged(kept, now, report), live=report.live, files=report.files)

    def _judged(self, kept: Run, now: str, report: ReplayReport) -> GoldenResult:
        """What came of the run that came, or why none did."""
        golden = self.golden
        finding = next((each for each in report.divergences if each.kind not in _LETS_PASS), None)
        try:
            run = self.results.run(now)
        except RunNotFound:
            run = None
        if run is None or run.status in ("crashed", "running"):  # nobody took it over
            problem = f"could not run: {report.agent.error or _why_nothing(report)}"
            return GoldenResult(golden, "unknown", problem=problem, store=self.path, kept=kept.id)
        if finding is not None and finding.kind not in _ASKED:
            problem = f"could not run: {finding.kind}: {finding.message}"
            return GoldenResult(golden, "unknown", problem=problem, store=self.path, kept=kept.id, now=now)
        evidence = Evidence(self.results, run, is_whole=finding is None, leave=self.leave)
        on = [each for each in golden.rules if each.is_on]
        left_out = tuple(each for each in on if each.rule.needs_leave and not self.leave.asks_judges)
        judged = tuple((each, each.rule.judge(evidence)) for each in on if each not in left_out)
        forget_older(self.results, golden.name, spared=kept.id)
        return GoldenResult(
            golden,
            _outcome(finding, judged),
            judged,
            finding,
            store=self.path,
            kept=kept.id,
            now=now,
            left_out=left_out,
        )

    def _kept_run(self) -> Run:
        """The golden's run in the store of results, with what the text file says of its program."""
        golden, recorded = self.golden, self.recording.run(self.golden.run_id)
        root = str(golden.root)
        for run in (each for each in self.results.runs(archived=True) if _origin(each) == recorded.id):
            if run.code.root == root and run.started_us == recorded.started_us and run.steps == recorded.steps:
                kept_id = run.id
                break
        else:
            kept_id = copy_run(self.recording, self.results, recorded.id, root=root)
        self._say_program(kept_id)
        return self.results.run(kept_id)

    def _say_program(self, run_id: str) -> None:
        program, root = self.golden.program, self.golden.root
        run = self.results.run(run_id)
        told = {fact.key: program[fact.key] for fact in PROGRAM_FACTS if fact.key in program}
        if "script" in told:
            told["script"] = str(root / str(told["script"]))
        gone = [fact.key for fact in PROGRAM_FACTS if fact.key not in told and fact.is_in(run.metadata)]
        if gone or any(run.metadata.get(key) != value for key, value in told.items()):
            self.results.set_metadata(run_id, told, remove=gone)  # type: ignore[arg-type]  # read as TOML: all plain

    def _agent(self, kept: Run) -> str | None:
        """The entry point, where the text file names another one than the recording.

        Raises:
            UsageError: only the recording names one.
        """
        agent = self.golden.program.get("agent")
        if agent is None and kept.code.entry is not None:
            raise UsageError("run.agent is missing: the entry point has to stand in the golden", hint=kept.code.entry)
        if not isinstance(agent, str) or agent == kept.code.entry:
            return None
        location, _, name = agent.rpartition(":")
        return f"{self.golden.root / location}:{name}" if location.endswith(".py") else agent

    def _is_fork(self, kept: Run) -> bool:
        return kept.parent is not None and kept.way_back_in != "replay"

    def _new_run(self, kept: Run) -> str:
        """The id of the run that comes; of one that goes on from a state its row is written now."""
        if not self._is_fork(kept) or kept.parent is None:
            return new_run_id()
        step = kept.fork_step or 0
        new = NewRun(self.golden.name, kept.code, kept.model)
        state = self.results.state(kept.id, step)
        return self.results.begin_fork(NewFork(kept.parent, step, state, new, edits=kept.edits))

    def _settle(self, now: str) -> None:
        """Whatever became of the process: nobody records its run any more."""
        with suppress(AgentTTError):
            self.results.settle_run(now)


def _origin(run: Run) -> str:
    """The id that a run had in the recording that it was copied from."""
    return str(run.origin.get("run", run.id)) if run.origin else run.id


def _why_nothing(report: ReplayReport) -> str:
    last = report.output.strip().splitlines()
    return last[-1] if last else "the agent ended without recording anything"


def _outcome(finding: Finding | None, judged: tuple[tuple[KeptRule, Judgement], ...]) -> Outcome:
    if finding is not None or any(each.verdict == "failed" for _, each in judged):
        return "failed"
    is_known = bool(judged) and all(each.verdict == "passed" for _, each in judged)
    return "passed" if is_known else "unknown"
