"""A store of ours whose LangGraph threads have calls: worked out of what tasks wrote, wherever calls are asked for."""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.store.store import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.threads.thread_calls import ThreadCalls
    from agent_tt.model import Call, Run, Step
    from agent_tt.model.replays import Replay
    from agent_tt.model.statistics import CallGroup, CallGroups, Chosen, ErrorGroup, Statistics
    from agent_tt.protocols import Capabilities
    from agent_tt.store.file.connection import Database

__all__ = ["StoreWithThreads"]

_ALL_ERRORS: Final = 10_000
"""Groups of errors that are asked for where those of threads are added to them."""


class StoreWithThreads(SqliteStore):
    """A store file whose LangGraph threads have calls, derived when read. Safe to use from several threads."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._known_threads: dict[int, bool] = {}
        self._thread_lock = threading.RLock()

    @cached_property
    def _thread_calls(self) -> ThreadCalls:
        """What reads calls of threads; it is loaded where there is one."""
        from agent_tt.interop.threads import thread_calls

        return thread_calls.ThreadCalls(self, super().steps, self._is_thread)

    def _is_thread(self, run: int) -> bool:
        """Whether a run, by its row number, is one that a checkpointer writes."""
        if run not in self._known_threads:
            self._known_threads[run] = self.run_facts(run).langgraph_thread is not None
        return self._known_threads[run]

    def _has_thread(self, run: int) -> bool:
        """Whether some of the steps of a run are those of a thread."""
        return any(self._is_thread(stretch.run) for stretch in self.lineage.stretches(run))

    # ---------------------------------------------------------------- steps and calls

    def steps(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Step]:
        """List steps start..stop-1 in order (stop None: to the end)."""
        found, run = super().steps(run_id, start, stop), self.lineage.number(run_id)
        if not self._has_thread(run):
            return found
        with self._thread_lock:
            return self._thread_calls.steps(run, found)

    def calls(self, run_id: str, step: int) -> list[Call]:
        """List the calls of one step in order of starting.

        Raises:
            StepNotFound: no such step.
        """
        told = self._told(run_id, step)
        return super().calls(run_id, step) if told is None else told

    def call_heads(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Call]:
        """List the calls of steps start..stop-1 (None: to the end), without arguments, results and errors."""
        told = [
            replace(call, args=None, result=None, error=None)
            for step in self._told_steps(run_id, start, stop)
            for call in self._told(run_id, step, with_args=False) or ()
        ]
        return _in_order(super().call_heads(run_id, start, stop), told)

    def call_page(self, run_id: str, start: int, stop: int) -> list[Call]:
        """List the calls of steps start..stop-1: arguments (of models the signature), results and errors, no more."""
        told = [call for step in self._told_steps(run_id, start, stop) for call in self._told(run_id, step) or ()]
        return _in_order(super().call_page(run_id, start, stop), told)

    def with_values(self, run_id: str, head: Call) -> Call:
        """Read a call with arguments, error and result."""
        told = self._told(run_id, head.step)
        return super().with_values(run_id, head) if told is None else _of_number(told, head)

    def outline(self, run_id: str, head: Call, without: Collection[str]) -> Call:
        """Read a call of `call_page` with arguments and facts; large parts of those, named in `without`, may lack."""
        told = self._told(run_id, head.step)
        return super().outline(run_id, head, without) if told is None else _of_number(told, head)

    def pending_state(self, run_id: str, step: int) -> Wire:
        """Read the state after `step` with what was written in it that no checkpoint has taken in yet."""
        state, run = self.state(run_id, step), self.lineage.number(run_id)
        if step == 0 or not self._has_thread(run):
            return state
        with self._thread_lock:
            return self._thread_calls.pending_state(run, step, state)

    def steps_calling(self, run_id: str, first: int, last: int, wanted: Mapping[str, str]) -> set[int]:
        """Find steps of first..last with a call that is as `wanted`: `kind`, `name`, `effect`, `status`, `lane`."""
        told = {
            call.step
            for step in self._told_steps(run_id, max(first, 1), last + 1)
            for call in self._told(run_id, step, with_args=False) or ()
            if all(getattr(call, name, None) == word for name, word in wanted.items())
        }
        return super().steps_calling(run_id, first, last, wanted) | told

    def _told(self, run_id: str, step: int, *, with_args: bool = True) -> list[Call] | None:
        """The calls of a step of a thread; None of another one."""
        run = self.lineage.number(run_id)
        if step == 0 or not self._has_thread(run):
            return None
        self.check_step(run_id, step)
        with self._thread_lock:
            return self._thread_calls.calls(run, step, with_args=with_args)

    def _told_steps(self, run_id: str, start: int, stop: int | None) -> list[int]:
        """The steps with calls that nobody recorded."""
        if not self._has_thread(self.lineage.number(run_id)):
            return []
        recorded = {step.number: step.calls for step in super().steps(run_id, start, stop)}
        return [step.number for step in self.steps(run_id, start, stop) if step.calls != recorded.get(step.number)]

    # ---------------------------------------------------------------- statistics

    def statistics(self, chosen: Chosen) -> Statistics:
        """Count what there is of the chosen runs; rows are counted as they stand."""
        from agent_tt.protocols import counted

        told = counted.count_everything(_Threads(self), replace(chosen, most=_ALL_ERRORS)).errors
        mine = [group for group in told if group.name is not None]  # those of runs are in the rows
        if not mine:
            return super().statistics(chosen)
        found = super().statistics(replace(chosen, most=_ALL_ERRORS))
        errors = sorted(_with_errors([*found.errors, *mine]), key=attrgetter("count"), reverse=True)
        most = chosen.most
        return replace(
            found,
            slowest=found.slowest[:most],
            costliest=found.costliest[:most],
            loops=found.loops[:most],
            errors=errors[:most],
        )

    def call_groups(self, chosen: Chosen, by: CallGroups) -> list[CallGroup]:
        """Count the calls of the chosen runs by tool, or those of models by model."""
        from agent_tt.protocols import counted

        told = counted.count_calls(_Threads(self), chosen, by)
        found = super().call_groups(chosen, by)
        return _with_groups([*found, *told]) if told else found


@dataclass(frozen=True)
class _Threads:
    """The threads alone, as what is counted."""

    store: StoreWithThreads

    @property
    def capabilities(self) -> Capabilities:
        return replace(self.store.capabilities, records=False)

    @property
    def path(self) -> Path:
        return self.store.path

    def runs(self, *, archived: bool = False) -> list[Run]:
        return [run for run in self.store.threads() if archived or not run.archived]

    def steps(self, run_id: str) -> list[Step]:
        return self.store.steps(run_id)

    def calls(self, run_id: str, step: int) -> list[Call]:
        return self.store.calls(run_id, step)

    def replays(self) -> list[Replay]:
        return []


def _in_order(recorded: list[Call], told: list[Call]) -> list[Call]:
    return sorted([*recorded, *told], key=lambda call: (call.step, call.number)) if told else recorded


def _of_number(calls: list[Call], head: Call) -> Call:
    return next((call for call in calls if call.number == head.number), head)


def _with_errors(groups: list[ErrorGroup]) -> list[ErrorGroup]:
    """Groups of which those of one name and class are one. No run is in two of them: it is a thread, or none."""
    found: defaultdict[tuple[str | None, str], list[ErrorGroup]] = defaultdict(list)
    for group in groups:
        found[group.name, group.class_name].append(group)
    return [
        replace(
            those[0],
            message=min(group.message for group in those),
            count=sum(group.count for group in those),
            runs=sum(group.runs for group in those),
        )
        for those in found.values()
    ]


def _with_groups(groups: list[CallGroup]) -> list[CallGroup]:
    """Groups of which those of one name are one, those with most calls first."""
    found: dict[str | None, CallGroup] = {}
    for group in groups:
        known = found.get(group.name)
        found[group.name] = group if known is None else known.plus(group)
    return sorted(found.values(), key=lambda group: (-group.calls, group.name is None, group.name or ""))
