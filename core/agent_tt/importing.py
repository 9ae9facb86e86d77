"""Copying runs of other programs' files into a store, as runs of its own: whatever is new in them.

A file is only read, and nothing that it names is imported or called. A run is known again by the program that kept it,
its id there, and what it did: the same session in another file is the same run, and another run of the same id is not.
One that has grown is gone on with. One that has changed, as where a result has come of a call that was pending, is
written anew under its id, with what people wrote down about it; unless something else was forked from it, or something
was taken out of the copy.
"""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

from agent_tt._dataclass import dataclass
from agent_tt.addresses import Address
from agent_tt.codec.wire import Encoded
from agent_tt.errors import NotAStore, UsageError
from agent_tt.history.digest import digest
from agent_tt.model import Imported
from agent_tt.protocols.derived import lasting_states
from agent_tt.protocols.references import id_of
from agent_tt.redaction.values import Redactor
from agent_tt.sources import is_store, open_source
from agent_tt.store import ingest_filter
from agent_tt.store.imported import open_imports
from agent_tt.store.threads import ThreadStep

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from agent_tt.model import Call, Run, Step
    from agent_tt.protocols import RunSource
    from agent_tt.store.imported import ImportStore, Marked

__all__ = ["import_file"]

_Match = Literal["same", "grown", "changed"]
_LEFT_OUT: Final = "it is left out"


def import_file(
    file: Path,
    target: Path,
    names: Collection[str] = (),
    report: Callable[[int, int], None] | None = None,
) -> list[Imported]:
    """Copy what a file holds into a store: runs with their branches, or threads of a LangGraph database.

    All runs of a file arrive in one transaction: one that is broken off leaves none of them.

    Args:
        file: a file that `agent_tt.sources.open_source` opens, but for a store of agent-tt; or a database's address.
        target: the store, made where it is missing.
        names: which runs or threads; all of them where none is named. A branch comes with what it left.
        report: told (runs or threads done, in all).

    Raises:
        StoreNotFound, StoreUnreadable, NotAStore: the file is not there, or cannot be read.
        UsageError: it is a store of agent-tt, or what reads it is not installed.
        RunNotFound: it has no such run or thread; nothing was copied.
    """
    if _is_langgraph(file):
        try:
            from agent_tt.langgraph.importing import import_threads
        except ModuleNotFoundError as missing:
            raise UsageError(str(missing), hint="It is needed to import, not to open such a file.") from missing
        return import_threads(file, target, names, report)
    with closing(open_source(file)) as source:
        chosen = _chosen(source, names)
        importer = _Importer(source, report)
        importer.read(chosen)
        with closing(open_imports(target)) as store, store.as_one():
            return importer.bring(chosen, store)


def _is_langgraph(file: Path) -> bool:
    """Whether a file is a LangGraph database.

    Raises:
        UsageError: it is a store of agent-tt.
    """
    if isinstance(file, Address):
        return True
    if is_store(file):
        raise UsageError(
            f"{file} is a store of agent-tt", hint=f"Its runs need no import: `agent-tt runs --store {file}`."
        )
    from agent_tt.interop.langgraph.opening import open_database

    try:
        open_database(file).close()
    except NotAStore:
        return False
    return True


def _chosen(source: RunSource, names: Collection[str]) -> list[Run]:
    """The runs to copy, each after the one that it left; the oldest first, as the store lists the newest first."""
    every = {run.id: run for run in reversed(source.runs(archived=True))}
    wanted = [source.run(name).id for name in names] if names else [*every]
    found: dict[str, Run] = {}
    for run_id in wanted:
        way: list[Run] = []
        at: str | None = run_id
        while at in every and at not in found and every[at] not in way:
            way.append(every[at])
            at = every[at].parent
        found |= {run.id: run for run in reversed(way)}
    return [*found.values()]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a run lies in the store, and how that compares with the file."""

    run_id: str
    match: _Match
    known: int


class _Importer:
    """Copies runs of one source into a store."""

    def __init__(self, source: RunSource, report: Callable[[int, int], None] | None) -> None:
        self._source, self._report = source, report
        self._file = os.path.realpath(source.path)
        self._steps: dict[str, list[ThreadStep]] = {}
        self._redactor = Redactor()

    def read(self, runs: Sequence[Run]) -> None:
        """Read some runs, as they may be stored: before others have to wait for the transaction."""
        for number, run in enumerate(runs):
            if self._report is not None:
                self._report(number, len(runs))
            steps = self._source.steps(run.id, (run.fork_step or 0) + 1)
            self._steps[run.id] = [self._step(run, step) for step in steps]

    def bring(self, runs: Sequence[Run], store: ImportStore) -> list[Imported]:
        """Add what a store lacks of runs that were read, each of which comes after the one that it left.

        Inside a transaction.
        """
        self._store, self._origins = store, store.origins()
        places = {run.id: place for run in runs if (place := self._place(run)) is not None}
        refused = self._refused(runs, places)
        anew = {run.id for run in runs if run.id in places and places[run.id].match == "changed"} - refused.keys()
        for run in runs:  # a branch is read through the rows of what it left
            if run.parent in anew and run.id in places:
                anew.add(run.id)
        marks = {run_id: self._store.take_marks(places[run_id].run_id) for run_id in anew}
        self._store.remove_runs([places[run_id].run_id for run_id in anew])
        done: list[Imported] = []
        ids: dict[str, str] = {}
        for run in runs:
            place = places.get(run.id)
            if place is None and run.parent in refused:
                refused[run.id] = f"{run.parent}, which it is a branch of, is left out; {_LEFT_OUT} too"
                done.append(Imported(run.id, None, 0, 0, (refused[run.id],)))
            elif run.id in refused and place is not None:
                ids[run.id] = place.run_id
                done.append(Imported(run.id, place.run_id, 0, place.known, (refused[run.id],)))
            else:
                ids[run.id] = self._bring(run, None if run.id in anew else place, ids, place, marks.get(run.id))
                known = place.known if place is not None else 0
                done.append(Imported(run.id, ids[run.id], len(self._steps[run.id]) - known, known, self._flaws(run)))
        return done

    # ---------------------------------------------------------------- what is there

    def _place(self, run: Run) -> _Place | None:
        """Where a run lies in the store; None where it is not there."""
        system, changed = run.origin.get("system", ""), None
        for run_id, origin in self._origins:
            if origin.get("run") != _id_of(run) or origin.get("system") != system:
                continue
            place = self._compared(run, run_id)
            if place.match != "changed":
                return place
            if origin.get("file") == self._file:
                changed = place
        return changed

    def _compared(self, run: Run, run_id: str) -> _Place:
        there = self._store.run(run_id)
        shared = run.fork_step or 0
        stored = self._store.steps(run_id, shared + 1)
        told = self._steps[run.id]
        asked = self._store.asked(run_id)
        known = 0
        for step, now in zip(stored, told, strict=False):
            if _facts_of(step) != _facts_told(now) or asked.get(step.number, []) != _asked(now.calls):
                break
            known += 1
        if known < len(stored) or there.fork_step != run.fork_step or not self._is_state(run, run_id, shared + known):
            return _Place(run_id, "changed", known)
        return _Place(run_id, "same" if known == len(told) else "grown", known)

    def _is_state(self, run: Run, run_id: str, step: int) -> bool:
        """Whether the store's state after a step is what would be kept of the file's."""
        kept = self._store.digest(run_id, step)
        return kept is not None and kept == digest(ingest_filter.admit(self._source.state(run.id, step)))

    def _refused(self, runs: Sequence[Run], places: dict[str, _Place]) -> dict[str, str]:
        """Runs that have changed and cannot be written anew, each with why it is left out."""
        ours = {place.run_id for place in places.values()}
        found: dict[str, str] = {}
        for run in runs:
            place = places.get(run.id)
            if place is None or place.match != "changed":
                continue
            family = [self._store.run(place.run_id), *self._store.forks(place.run_id, deep=True)]
            others = [each.name for each in family if each.id not in ours]
            step = (run.fork_step or 0) + place.known + 1
            if any(each.facts.dropped or each.facts.redacted for each in family):
                found[run.id] = f"something was taken out of the copy on purpose, which stays so; {_LEFT_OUT}"
            elif others:
                found[run.id] = (
                    f"step {step} is not as it was imported, and {others[0]} was forked from it; {_LEFT_OUT}: import it"
                    " into another store, or delete the fork"
                )
        return found

    # ---------------------------------------------------------------- writing

    def _bring(
        self, run: Run, place: _Place | None, ids: dict[str, str], before: _Place | None, marked: Marked | None
    ) -> str:
        store = self._store
        known = place.known if place is not None else 0
        if place is not None:
            run_id = place.run_id
            now = self._admitted(run)
            is_same = place.match == "same" and _facts_of_run(store.run(run_id)) == _facts_of_run(now)
            if is_same and store.says(run_id, now.metadata):
                return run_id
        else:
            wanted = before.run_id if before is not None else self._free_id(run)
            origin = {"system": run.origin.get("system", ""), "file": self._file, "run": _id_of(run)}
            parent = ids.get(run.parent) if run.parent is not None else None
            run_id = store.begin_imported(run, origin, self._source.state(run.id, 0), wanted, parent)
        writer = store.write_run(run_id)
        first = (run.fork_step or 0) + known
        state_at = lasting_states(self._source, run.id, first)  # the writer takes the same object for unchanged
        for number, step in enumerate(self._steps[run.id][known:], first + 1):
            writer.add(step, Encoded(state_at(number)))
        store.end_imported(run_id, writer, run)
        if marked is not None:
            store.put_marks(run_id, marked)
        return run_id

    def _free_id(self, run: Run) -> str | None:
        """The id that a run has in every store; None where another run of this one has it."""
        wanted = id_of("imported", run.origin.get("system", ""), _id_of(run))
        taken = {run_id for run_id, _ in self._origins}
        return None if wanted in taken else wanted

    def _admitted(self, run: Run) -> Run:
        error = ingest_filter.admit_error(run.error)
        return replace(run, error=error, metadata=ingest_filter.admit_mapping(run.metadata))

    def _step(self, run: Run, step: Step) -> ThreadStep:
        calls = self._source.calls(run.id, step.number) if step.calls else []
        if any(call.kind == "llm" for call in calls):  # the next of these is shown the same conversation, and more
            self._redactor.begin(step.lane)
        return ThreadStep(
            name=ingest_filter.admit_text(step.name),
            track=ingest_filter.admit_text(step.track),
            extra=ingest_filter.admit_mapping(step.extra),
            agent=None if step.agent is None else ingest_filter.admit_text(step.agent),
            parent=step.parent,
            status=step.status,
            started_us=step.started_us,
            ended_us=step.ended_us,
            tokens_in=step.tokens_in,
            tokens_out=step.tokens_out,
            cost_usd=step.cost_usd,
            lane=ingest_filter.admit_text(step.lane),
            kind=step.kind,
            error=ingest_filter.admit_error(step.error),
            decision=None if step.decision is None else ingest_filter.admit_text(step.decision),
            calls=[self._call(call) for call in calls],
        )

    def _call(self, call: Call) -> Call:
        redact = self._redactor.redact
        meta = redact(dict(call.meta))
        return replace(
            call,
            name=ingest_filter.admit_text(call.name),
            lane=ingest_filter.admit_text(call.lane),
            args=redact(call.args),
            result=redact(call.result),
            error=ingest_filter.admit_error(call.error),
            meta=meta if isinstance(meta, dict) else {},
        )

    def _flaws(self, run: Run) -> tuple[str, ...]:
        return tuple(problem.what for problem in self._source.verify(run.id))


def _id_of(run: Run) -> str:
    """The file's id of a run, as it may be stored."""
    return ingest_filter.admit_text(run.id)


def _facts_of(step: Step) -> tuple[object, ...]:
    """What tells a stored step from others, but for its calls and its state."""
    return (
        *(step.name, step.track, dict(step.extra), step.agent, step.parent, step.status, step.started_us),
        *(step.ended_us, step.tokens_in, step.tokens_out, step.cost_usd, step.lane, step.error, step.decision),
    )


def _facts_told(step: ThreadStep) -> tuple[object, ...]:
    """As `_facts_of`, of a step of the file."""
    return (
        *(step.name, step.track, dict(step.extra), step.agent, step.parent, step.status, step.started_us),
        *(step.ended_us, step.tokens_in, step.tokens_out, step.cost_usd, step.lane, step.error, step.decision),
    )


def _facts_of_run(run: Run) -> tuple[object, ...]:
    return run.status, run.ended_us, run.error, run.tokens_in, run.tokens_out, run.cost_usd


def _asked(calls: Sequence[Call]) -> list[tuple[object, ...]]:
    """What was asked and whether it was answered: of a model the whole conversation, by its digest."""
    return [(call.kind, call.name, call.status, call.signature, call.started_us, call.ended_us) for call in calls]
