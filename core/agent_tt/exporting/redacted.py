"""Runs of files of which nothing was redacted, without what the rules of redaction take out."""

from __future__ import annotations

import copy
import threading
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Final, TypeVar

from agent_tt.codec.wire import is_envelope
from agent_tt.errors import RunNotFound
from agent_tt.exporting.export import Exported
from agent_tt.history.changes.diff import diff
from agent_tt.protocols import Capabilities, RunSource
from agent_tt.protocols.derived import StateCursor, lasting_states
from agent_tt.redaction.texts import redact_text
from agent_tt.redaction.values import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path as FilePath

    from agent_tt.codec.wire import Wire
    from agent_tt.history.changes.ops import Op
    from agent_tt.model import Call, Label, Note, Output, Run, Step
    from agent_tt.protocols import Cursor

__all__ = ["RedactedRuns", "exported", "is_unredacted"]

_REFERENCES: Final = frozenset({"id", "run", "run_id", "parent"})
"""Fields by which others are found; they are not changed."""

_DIGESTS: Final = {"signature": None, "digest": ""}
"""Fields that were made of what is taken out, and what stands there: a short secret could be guessed from a digest."""

_MOST_KNOWN: Final = 100_000
"""Objects of lists that are remembered."""

T = TypeVar("T")


def exported(source: RunSource, places: Sequence[tuple[Run, int | None]]) -> Exported:
    """Give what a format writes, without secrets.

    Args:
        source: where the runs are; it stays open as long as they are written.
        places: runs, each with its step where one was named.
    """
    if any(is_unredacted(source, run) for run, _ in places):
        source = RedactedRuns(source)
    steps = {run.id: step for run, step in places if step is not None}
    return Exported(source, tuple(source.run(run.id) for run, _ in places), steps)


def is_unredacted(source: RunSource, run: Run) -> bool:
    """Tell whether nobody took secrets out of a run.

    That is so of files of other systems, and in a store of threads that LangGraph's checkpointer kept, and their forks.
    """
    if not source.capabilities.redacted:
        return True
    while run.facts.langgraph_thread is None and run.parent is not None:
        try:
            run = source.run(run.parent)
        except RunNotFound:
            return False
    return run.facts.langgraph_thread is not None


class RedactedRuns(RunSource):
    """A source of runs without what the rules that hold now take out.

    Pieces of answers, sweeps and kept replays are not in it; everything else that follows from steps, calls and states
    is worked out of what is left of those.

    Attributes:
        reader: the source itself.
    """

    def __init__(self, reader: RunSource) -> None:
        self.reader = reader
        self._redactor = _Redactor()
        self._states: dict[str, Callable[[int], Wire]] = {}
        self._lock = threading.RLock()

    @property
    def capabilities(self) -> Capabilities:
        """Of what a source may be able to do, that nothing in it is secret."""
        return Capabilities(pages=self.reader.capabilities.pages, redacted=True)

    @property
    def path(self) -> FilePath:
        """The file."""
        return self.reader.path

    def version(self) -> int:
        """Give a number that differs after the file changed."""
        return self.reader.version()

    def runs(self, *, archived: bool = False, limit: int | None = None) -> list[Run]:
        """List the runs, newest first."""
        return self._redactor.each(self.reader.runs(archived=archived, limit=limit))

    def run(self, ref: str) -> Run:
        """Find the run that `ref` names."""
        return self._redactor.record(self.reader.run(ref))

    def step_count(self, run_id: str) -> int:
        """Give the number of the last step."""
        return self.reader.step_count(run_id)

    def steps(self, run_id: str, start: int = 1, stop: int | None = None) -> list[Step]:
        """List steps start..stop-1 in order."""
        return self._redactor.each(self.reader.steps(run_id, start, stop))

    def calls(self, run_id: str, step: int) -> list[Call]:
        """List the calls of one step."""
        return self._redactor.each(self.reader.calls(run_id, step))

    def call_page(self, run_id: str, start: int, stop: int) -> list[Call]:
        """List the calls of steps start..stop-1."""
        return self._redactor.each(self.reader.call_page(run_id, start, stop))

    def output(self, run_id: str) -> Output | None:
        """Read what a run printed."""
        return self._redactor.record(self.reader.output(run_id))

    def state(self, run_id: str, step: int) -> Wire:
        """Read the state after `step`, the caller's own copy."""
        return redact(self.reader.state(run_id, step))

    def cursor(self, run_id: str, step: int) -> Cursor:
        """Make a cursor that stands at `step`."""
        return StateCursor(lambda at: self._shared(run_id, at), step, lasts=True)

    def changes(self, run_id: str, step: int) -> list[Op]:
        """List the operations between what is left of two states."""
        base = self.base_step(run_id, step)
        return [] if base is None else copy.deepcopy(diff(self._shared(run_id, base), self._shared(run_id, step)))

    def _shared(self, run_id: str, step: int) -> Wire:
        """What is left of a state; it shares with its neighbours what they have in common, where they tell."""
        with self._lock:
            if run_id not in self._states:
                self._states[run_id] = lasting_states(self.reader, run_id, step)
            return self._redactor.value(self._states[run_id](step))

    def base_step(self, run_id: str, step: int) -> int | None:
        """Find the checkpoint that `changes(step)` are against."""
        return self.reader.base_step(run_id, step)

    def notes(self, run_id: str) -> list[Note]:
        """List notes and bookmarks of a run."""
        return self._redactor.each(self.reader.notes(run_id))

    def labels(self, run_id: str) -> dict[int, Label]:
        """Give the names and metadata of checkpoints, by step."""
        return {step: self._redactor.record(label) for step, label in self.reader.labels(run_id).items()}

    def damaged_steps(self, run_id: str) -> list[int]:
        """List the checkpoints that hold, or need, something damaged."""
        return self.reader.damaged_steps(run_id)


class _Redactor:
    """Takes secrets out of records and values; out of an object that is in many lists, once.

    A conversation is in the state after each step, and in what a model is shown at each: most of it is as it was.
    """

    def __init__(self) -> None:
        self._done: dict[tuple[int, str], tuple[Wire, Wire]] = {}

    def value(self, value: Wire) -> Wire:
        """A value without what the rules of redaction take out, as `redact` returns it."""
        if not isinstance(value, dict) or is_envelope(value):
            return redact(value)
        lists = [isinstance(item, list) and bool(item) and all(map(_is_object, item)) for item in value.values()]
        rest = redact({key: [] if is_list else item for (key, item), is_list in zip(value.items(), lists, strict=True)})
        if not isinstance(rest, dict) or len(rest) != len(value):
            return redact(value)
        parts = zip(rest.items(), value.items(), lists, strict=True)
        return {new: self._list(key, old) if is_list else item for (new, item), (key, old), is_list in parts}

    def _list(self, name: str, items: Wire) -> Wire:
        return [self._once(item, name) for item in items] if isinstance(items, list) else items

    def _once(self, item: Wire, name: str) -> Wire:
        known = self._done.get((id(item), name))
        if known is not None:
            return known[1]
        if len(self._done) > _MOST_KNOWN:
            self._done.clear()
        shown = redact(item, name)
        self._done[id(item), name] = item, shown  # which keeps it, so that nothing else gets its id
        return shown

    def record(self, record: T) -> T:
        """One of the model's records; whatever else is given is given back."""
        if not is_dataclass(record) or isinstance(record, type):
            return record
        new: Mapping[str, object] = {
            field.name: _DIGESTS[field.name] if field.name in _DIGESTS else self._part(getattr(record, field.name))
            for field in fields(record)
            if field.init and field.name not in _REFERENCES
        }
        return replace(record, **new)

    def each(self, records: Sequence[T]) -> list[T]:
        """Several records."""
        return [self.record(record) for record in records]

    def _part(self, value: object) -> object:
        """What a field of a record holds."""
        if isinstance(value, str):
            return redact_text(value)
        if isinstance(value, tuple):
            return tuple(map(self._part, value))
        if isinstance(value, (dict, list)):
            return self.value(value)
        return self.record(value)


def _is_object(value: Wire) -> bool:
    return isinstance(value, dict)
