"""Whether a program does the same when it is answered the same: run it, then once more with the first run's answers.

The first run is recorded in a folder of its own, as `agent-tt record` does; the second is a replay: every call gets
the answer that its place in the recording has, and nothing is reached. Then what was asked, the state after each step
and what was printed are compared. What differs was not answered from the recording: time, random numbers and ids that
were not patched, the order of a set, files that changed, numbers of processes. What both runs found alike (variables,
files that stay, the machine) is not seen, so that no difference is seen never says that there is none.
"""

from __future__ import annotations

import signal
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.comparing.values.states import compare_states
from agent_tt.errors import AgentTTError, Interrupted, RunNotFound
from agent_tt.launching.command import has_hash_seed, new_hash_seed, record_command
from agent_tt.model.facts import RunFacts
from agent_tt.model.shown import counted
from agent_tt.replaying.divergence import AT_THE_END, HALTING, ChangedPart
from agent_tt.replaying.findings.findings import changed_output
from agent_tt.replaying.findings.question_likeness import looks_made_anew, looks_reordered
from agent_tt.rerunning.replay import KeptRun, run_replay
from agent_tt.store import open_store
from agent_tt.store.rows.ids import new_run_id
from agent_tt.temporary import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.launching.settings import OutsideEffect
    from agent_tt.model import Run, Step
    from agent_tt.patching.kinds import PatchKind
    from agent_tt.protocols import RunSource
    from agent_tt.replaying.divergence import Finding

__all__ = ["Differing", "Steadiness", "SteadyRun", "check_steady"]

Place: TypeAlias = Literal["call", "step", "state", "output", "end"]
"""Where a value differs: in what is asked, in the state after a step, in what is printed; else which steps the program
takes, or how it ends."""

Seen: TypeAlias = Literal["no difference seen", "differs", "unknown"]

_SET_ORDER: Final = "gone with the same PYTHONHASHSEED, by which sets are ordered"
_STOPPED: Final = frozenset({128 + signal.SIGINT, 128 + signal.SIGTERM})
_SAID_HERE: Final = frozenset({"state differs", "nothing recorded"})
"""Reservations of a replay that what was compared here says more exactly."""

_REORDERED: Final = "the same parts in another order"
_MADE_ANEW: Final = "looks like an id or a time"


@dataclass(frozen=True, slots=True)
class Differing:
    """A value that is another one in the second run.

    Attributes:
        place: where it differs.
        name: what is called, or the step's name; "" of the output.
        path: where in the question or state; "" for all of it.
        then: the value in the first run; None where there was none.
        now: the value in the second one.
        step: number of the step; None where there is none.
        file, line: where the agent's code asks; None where no line is known.
        looks: what may be the cause, as far as it can be told; "" for nothing.
        said: what differs, where that is no value: a call that was not made.
    """

    place: Place
    name: str
    path: str = ""
    then: Wire = None
    now: Wire = None
    step: int | None = None
    file: str | None = None
    line: int | None = None
    looks: str = ""
    said: str = ""

    @property
    def is_the_same_as(self) -> tuple[object, ...]:
        """What tells it from other differences, whatever its values are."""
        return self.place, self.name, self.path, self.step, self.file, self.line

    def to_json(self) -> dict[str, Wire]:
        """`{place, name, path, then, now, step, file, line, looks, said}`."""
        return {
            "place": self.place,
            "name": self.name,
            "path": self.path,
            "then": self.then,
            "now": self.now,
            "step": self.step,
            "file": self.file,
            "line": self.line,
            "looks": self.looks or None,
            "said": self.said or None,
        }


@dataclass(frozen=True, slots=True)
class SteadyRun:
    """One recorded run of the program, and the same once more.

    Attributes:
        name: its name.
        differing: what differs, in the order in which it was met.
        unknown: what could not be compared, and why, a line each.
        calls: how many calls of the second run were answered.
        states: how many states were compared.
        output: whether what was printed was compared.
        halted: whether the second run was halted, at the last difference of what is asked.
    """

    name: str
    differing: tuple[Differing, ...] = ()
    unknown: tuple[str, ...] = ()
    calls: int = 0
    states: int = 0
    output: bool = False
    halted: bool = False

    @property
    def halted_at(self) -> Differing | None:
        """The difference at which the second run was halted; None where it came to its end."""
        return next((each for each in reversed(self.differing) if self.halted and each.place == "call"), None)

    @property
    def seen(self) -> Seen:
        """What the two runs show; `unknown` where nothing differs and not all could be compared."""
        if self.differing:
            return "differs"
        return "unknown" if self.unknown or not (self.calls or self.states or self.output) else "no difference seen"

    def to_json(self) -> dict[str, Wire]:
        """`{name, seen, differing, unknown, compared: {calls, states, output}}`."""
        return {
            "name": self.name,
            "seen": self.seen,
            "differing": [each.to_json() for each in self.differing],
            "unknown": list(self.unknown),
            "compared": {"calls": self.calls, "states": self.states, "output": self.output},
        }


@dataclass(frozen=True, slots=True)
class Steadiness:
    """What came of running a program twice.

    Attributes:
        exit_code: that of the first run.
        runs: the runs that it recorded.
        warnings: what was not recorded of them.
    """

    exit_code: int
    runs: tuple[SteadyRun, ...]
    warnings: tuple[str, ...] = ()

    @property
    def seen(self) -> Seen:
        """What all of it shows: the worst of the runs."""
        seen = {run.seen for run in self.runs}
        return "differs" if "differs" in seen else "unknown" if "unknown" in seen or not seen else "no difference seen"

    def to_json(self) -> dict[str, Wire]:
        """`{seen, exit_code, runs, warnings}`."""
        return {
            "seen": self.seen,
            "exit_code": self.exit_code,
            "runs": [run.to_json() for run in self.runs],
            "warnings": list(self.warnings),
        }


def check_steady(
    command: Sequence[str],
    *,
    calls: Mapping[str, OutsideEffect] | None = None,
    patch: Sequence[PatchKind] = (),
    timeout: float | None = None,
) -> Steadiness:
    """Run a program for real, then once more with the recorded answers, and say what differs.

    Where the first run had no PYTHONHASHSEED of its own, the second has another one, so that sets are walked through
    in another order. Where something differs, a third run with the first one's says what of it is gone then.

    Args:
        command: the program and its arguments.
        calls: functions that are recorded too, by dotted path.
        patch: what is recorded, and so answered, of clock, random numbers, ids and environment.
        timeout: seconds after which the second run is given up; None waits as long as it takes.

    Raises:
        UsageError, NotFound: the program cannot be started, or not be recorded.
        Interrupted: the first run was stopped.
        AgentTTError: nothing was recorded; the message says why.
    """
    with temporary_folder("agent-tt-steady-") as folder:
        path = Path(folder) / "runs.db"
        seed = None if has_hash_seed() else new_hash_seed()
        recorded = record_command(command, store=path, calls=calls, patch=patch, hash_seed=seed)
        if recorded.exit_code in _STOPPED:
            raise Interrupted("the first run was stopped, so there was no second one")
        if recorded.problem is not None:
            raise recorded.problem
        with closing(open_store(path)) as store:
            runs = tuple(_twice(store, run, seed, timeout) for run in recorded.runs)
        unseen = (f"{each} matched no call: nothing is recorded of it" for each in recorded.unseen)
        return Steadiness(recorded.exit_code, runs, (*recorded.warnings, *unseen))


def _twice(store: RunSource, run: Run, seed: str | None, timeout: float | None) -> SteadyRun:
    try:
        found = _compared(store, run, _with_seed(run, None if seed is None else new_hash_seed()), timeout)
        if seed is None or not found.differing:
            return found
        steady = _compared(store, run, _with_seed(run, seed), timeout)
    except AgentTTError as error:
        return SteadyRun(run.name, unknown=(f"could not be run again: {error.message}",))
    left = {each.is_the_same_as for each in steady.differing}
    end = steady.halted_at
    if end is not None and end.is_the_same_as not in {each.is_the_same_as for each in found.differing}:
        return found  # it was halted elsewhere: what would have been gone behind that nobody knows
    told = (each if each.is_the_same_as in left else replace(each, looks=_SET_ORDER) for each in found.differing)
    return replace(found, differing=tuple(told))


def _with_seed(run: Run, seed: str | None) -> Run:
    """The run as its process is to be started: with that PYTHONHASHSEED, None for that of the first run."""
    return run if seed is None else replace(run, metadata={**run.metadata, **RunFacts.hash_seed.entry(seed)})


def _compared(store: RunSource, run: Run, started: Run, timeout: float | None) -> SteadyRun:
    """Run it once more, with what is said of its process in `started`."""
    now_id = new_run_id()
    keeps = KeptRun(store.path, now_id, f"{run.name} again", folder=None, interpreter=None, in_place=True)
    report = run_replay(store, started, observe=True, timeout=timeout, keeps=keeps)
    asked = [each for each in report.divergences if each.kind not in AT_THE_END]
    unknown = [f"{note.kind}: {note.text}" for note in report.reservations if note.kind not in _SAID_HERE]
    is_halted = report.agent.status == "halted"
    if is_halted:
        unknown.append("it was halted at the last difference: what follows it is not known")
    differing = [each for finding in asked for each in _of_finding(finding)]
    if report.agent.is_otherwise and not asked:
        differing.append(Differing("end", "", said=report.agent.error or "it ended otherwise than in the first run"))
    try:
        now = store.run(now_id)
    except RunNotFound:
        unknown.append("its states were not compared: the second run recorded nothing")
        return SteadyRun(run.name, tuple(differing), tuple(unknown), report.served, halted=is_halted)
    states = [*_states(store, run, now, is_halted=is_halted)]
    differing += [] if is_halted else _in_steps(store.steps(run.id), store.steps(now.id))
    differing += _in_states(states)
    before, after = (None, None) if is_halted else (store.output(run.id), store.output(now.id))
    if before is not None and after is not None and (before.digest, before.size) != (after.digest, after.size):
        differing += _of_parts("output", "", changed_output(before, after).changes)
    is_output_compared = before is not None and after is not None
    return SteadyRun(
        run.name, tuple(differing), tuple(unknown), report.served, len(states), is_output_compared, is_halted
    )


def _of_finding(finding: Finding) -> list[Differing]:
    file, line = finding.site.get("file"), finding.site.get("line")
    place = {
        "step": finding.step,
        "file": file if isinstance(file, str) else None,
        "line": line if isinstance(line, int) else None,
    }
    if finding.kind in HALTING or not finding.changes:
        return [Differing("call", finding.name, said=f"{finding.kind}: {finding.message}", **place)]  # type: ignore[arg-type]
    return _of_parts("call", finding.name, finding.changes, **place)


def _of_parts(place: Place, name: str, parts: Sequence[ChangedPart], **where: object) -> list[Differing]:
    return [
        Differing(place, name, each.path, each.old, each.new, looks=_looks(each), **where)  # type: ignore[arg-type]
        for each in parts
    ]


def _looks(part: ChangedPart) -> str:
    return _REORDERED if looks_reordered([part]) else _MADE_ANEW if looks_made_anew([part]) else ""


def _states(store: RunSource, run: Run, now: Run, *, is_halted: bool) -> Iterator[tuple[int, str, Wire, Wire]]:
    """The input and each step that both runs ended: number, name, and the states of both.

    Steps of a run that was halted count up to the one in which it was.
    """
    yield 0, "input", store.state(run.id, 0), store.state(now.id, 0)
    for before, after in zip(store.steps(run.id), store.steps(now.id), strict=False):
        if is_halted and after.status != before.status:
            return
        number = after.number
        yield number, after.name, store.state(run.id, number), store.state(now.id, number)


def _in_steps(before: Sequence[Step], after: Sequence[Step]) -> Iterator[Differing]:
    """Say where other steps were taken: of lanes beside each other only which there are, as their order is chance."""
    if len(before) != len(after):
        said = f"the first run took {counted(len(before), 'step')}, the second {counted(len(after), 'step')}"
        yield Differing("step", "", said=said)
    if len({step.lane for step in (*before, *after)}) > 1:
        took = [Counter(step.name for step in steps) for steps in (before, after)]
        for alone, which in ((took[0] - took[1], "first"), (took[1] - took[0], "second")):
            if alone:
                yield Differing("step", next(iter(alone)), said=f"more often in the {which} run")
        return
    for one, other in zip(before, after, strict=False):
        if one.name != other.name:
            said = f"step {one.number} is {one.name} in the first run, {other.name} in the second"
            yield Differing("step", "", then=one.name, now=other.name, said=said)
            return


def _in_states(states: Iterable[tuple[int, str, Wire, Wire]]) -> Iterator[Differing]:
    """What differs in the states, each path where it differs first."""
    known: set[str] = set()
    for number, name, before, after in states:
        for change in compare_states(before, after):
            if change.path in known:
                continue
            known.add(change.path)
            part = ChangedPart(change.path, change.old, change.new)
            yield Differing("state", name, part.path, part.old, part.new, number, looks=_looks(part))
