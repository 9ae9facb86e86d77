"""Statistics of a source that does not count by itself: every run, step and call is read."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from agent_tt._dataclass import dataclass
from agent_tt.model import NO_USAGE, Usage
from agent_tt.model.statistics import (
    CallGroup,
    Checkpoints,
    ErrorGroup,
    Loop,
    NotableStep,
    Replays,
    RunGroup,
    Statistics,
    spread_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path as FilePath

    from agent_tt.model import Call, Run, Step
    from agent_tt.model.facts import Place
    from agent_tt.model.replays import Replay
    from agent_tt.model.statistics import CallGroups, Chosen, RunGroups
    from agent_tt.protocols.capabilities import Capabilities

__all__ = ["LEAST_ROUNDS", "count_calls", "count_everything", "count_runs", "file_bytes", "in_order"]

LEAST_ROUNDS: Final = 3
"""So many equal steps in a run are a loop."""

T = TypeVar("T")


class _Source(Protocol):
    """What is asked of a `RunSource` here."""

    @property
    def capabilities(self) -> Capabilities: ...

    @property
    def path(self) -> FilePath: ...

    def runs(self, *, archived: bool = False) -> list[Run]: ...

    def steps(self, run_id: str) -> list[Step]: ...

    def calls(self, run_id: str, step: int) -> list[Call]: ...

    def replays(self) -> list[Replay]: ...


def count_everything(source: _Source, chosen: Chosen) -> Statistics:
    """What `RunSource.statistics` gives."""
    runs = list(_chosen(source, chosen))
    slow: list[NotableStep] = []
    costly: list[NotableStep] = []
    loops: defaultdict[str, tuple[set[str], list[int]]] = defaultdict(lambda: (set(), []))
    errors = _Errors()
    taken = failed = 0
    for run, steps in runs:
        usage = _usage(steps)
        cost = None if (usage.unpriced or 0) > 0 else usage.cost_usd
        if run.error is not None:
            errors.add(None, run.error.class_name, run.error.message, run.id)
        again: Counter[tuple[int, str]] = Counter()
        for step in steps:
            taken += step.seq is not None
            failed += step.facts.state_error is not None
            took, whole = step.duration_us, _took(run)
            if took is not None and took > 0:
                slow.append(_notable(run, step, took, whole))
            if step.cost_usd:
                costly.append(_notable(run, step, step.cost_usd, cost))
            if step.repeat_of is not None:
                again[step.repeat_of, step.name] += 1
        for (_, name), count in again.items():
            if count + 1 >= LEAST_ROUNDS:
                loops[name][0].add(run.id)
                loops[name][1].append(count + 1)
        for call in _calls(source, run, steps):
            if call.status == "error" and call.error is not None:
                errors.add(call.name, call.error.class_name, call.error.message, run.id)
    records = source.capabilities.records
    found = [Loop(name, len(those), sum(times)) for name, (those, times) in loops.items()]
    return Statistics(
        whole=_group(None, runs),
        forks=sum(run.parent is not None for run, _ in runs),
        checkpoints=Checkpoints(taken, failed) if records else None,
        replays=_replays(source, {run.id for run, _ in runs}) if records else None,
        bytes=file_bytes(source.path),
        free_bytes=None,
        slowest=_most(slow, chosen.most, lambda step: step.amount),
        costliest=_most(costly, chosen.most, lambda step: step.amount),
        loops=_most(found, chosen.most, lambda loop: loop.times),
        errors=_most(errors.groups(), chosen.most, lambda group: group.count),
    )


def count_runs(source: _Source, chosen: Chosen, by: RunGroups) -> list[RunGroup]:
    """What `RunSource.run_groups` gives."""
    groups: defaultdict[str | None, list[tuple[Run, list[Step]]]] = defaultdict(list)
    for run, steps in _chosen(source, chosen):
        for name in _names(run, by):
            groups[name].append((run, steps))
    return in_order([_group(name, runs) for name, runs in groups.items()], by)


def in_order(groups: list[RunGroup], by: RunGroups) -> list[RunGroup]:
    """Days as they came; others with most runs first, and what is not known last among equals."""
    if by == "day":
        return sorted(groups, key=lambda group: group.name or "")
    return sorted(groups, key=lambda group: (-group.runs, group.name is None, group.name or ""))


def count_calls(source: _Source, chosen: Chosen, by: CallGroups) -> list[CallGroup]:
    """What `RunSource.call_groups` gives."""
    kind = "llm" if by == "model" else "tool"
    groups: defaultdict[str | None, list[tuple[str, Call]]] = defaultdict(list)
    around: set[tuple[str, Place]] = set()
    for run, steps in _chosen(source, chosen):
        for call in _calls(source, run, steps):
            if call.kind == kind:
                groups[call.facts.model if by == "model" else call.name].append((run.id, call))
                if kind == "llm" and call.facts.inside is not None:
                    around.add((run.id, call.facts.inside))
    found = [_call_group(name, calls, around, with_usage=by == "model") for name, calls in groups.items()]
    return sorted(found, key=lambda group: (-group.calls, group.name is None, group.name or ""))


def _chosen(source: _Source, chosen: Chosen) -> Iterator[tuple[Run, list[Step]]]:
    for run in source.runs(archived=True):
        is_late = chosen.since_us is None or run.started_us >= chosen.since_us
        if is_late and chosen.agent in (None, run.agent):
            yield run, [step for step in source.steps(run.id) if not step.inherited]


def _calls(source: _Source, run: Run, steps: Sequence[Step]) -> Iterator[Call]:
    for step in steps:
        if step.calls:
            yield from source.calls(run.id, step.number)


def _names(run: Run, by: RunGroups) -> Iterable[str | None]:
    match by:
        case "agent":
            return (run.agent,)
        case "version":
            return (run.code.version,)
        case "tag":
            return run.tags or (None,)
    try:
        return (datetime.fromtimestamp(run.started_us // 1_000_000, UTC).date().isoformat(),)
    except (OverflowError, ValueError, OSError):
        return (None,)


def _group(name: str | None, runs: Sequence[tuple[Run, Sequence[Step]]]) -> RunGroup:
    took = sorted(took for run, _ in runs if (took := _took(run)) is not None)
    usage = NO_USAGE
    for _, steps in runs:
        usage += _usage(steps)
    statuses = Counter(run.status for run, _ in runs)
    return RunGroup(name, dict(statuses), sum(len(steps) for _, steps in runs), usage, spread_of(took))


def _usage(steps: Iterable[Step]) -> Usage:
    usage = NO_USAGE
    for step in steps:
        usage += Usage(step.tokens_in, step.tokens_out, step.cost_usd, step.facts.unpriced)
    return usage


def _took(run: Run) -> int | None:
    return None if run.ended_us is None or run.ended_us < run.started_us else run.ended_us - run.started_us


def _notable(run: Run, step: Step, amount: float, whole: float | None) -> NotableStep:
    share = amount / whole if whole else None
    return NotableStep(run.id, run.name, step.number, step.name, step.kind, amount, share)


def _call_group(
    name: str | None, calls: Sequence[tuple[str, Call]], around: set[tuple[str, Place]], *, with_usage: bool
) -> CallGroup:
    usage = NO_USAGE
    took = []
    for run, call in calls:
        if with_usage and (run, (call.step, call.number)) not in around:
            usage += _usage_of_call(call)
        if call.started_us is not None and call.ended_us is not None and call.ended_us >= call.started_us:
            took.append(call.ended_us - call.started_us)
    errors = sum(call.status == "error" for _, call in calls)
    runs = len({run for run, _ in calls})
    return CallGroup(name, len(calls), errors, runs, usage, sum(took) if took else None, max(took, default=None))


def _usage_of_call(call: Call) -> Usage:
    facts = call.facts
    has_price = facts.cost_usd is not None or facts.made_up is not None or facts.answer_error is not None
    is_unpriced = call.status == "ok" and not has_price
    return Usage(facts.tokens_in, facts.tokens_out, facts.cost_usd, 1 if is_unpriced else None)


def _replays(source: _Source, runs: set[str]) -> Replays:
    those = [replay for replay in source.replays() if replay.run in runs]
    took = sorted(replay.duration_us for replay in those if replay.verdict != "failed")
    return Replays(dict(Counter(replay.verdict for replay in those)), spread_of(took))


def file_bytes(path: FilePath) -> int | None:
    """The size of an SQLite file with its log; None where there is no file."""
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.is_file()) if path.is_file() else None


def _most(found: list[T], most: int, amount: Callable[[T], float]) -> list[T]:
    return sorted(found, key=amount, reverse=True)[:most]


@dataclass
class _Errors:
    """Counts of errors, by the call that raised them and their class."""

    found: dict[tuple[str | None, str], list[tuple[str, str]]] = field(default_factory=dict)

    def add(self, name: str | None, class_name: str, message: str, run: str) -> None:
        self.found.setdefault((name, class_name), []).append((message, run))

    def groups(self) -> list[ErrorGroup]:
        return [
            ErrorGroup(name, class_name, min(those)[0], len(those), len({run for _, run in those}))
            for (name, class_name), those in self.found.items()
        ]
