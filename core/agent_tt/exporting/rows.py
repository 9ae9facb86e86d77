"""Runs, steps, calls, notes and values of states as flat rows: what the database and JSON Lines have in common.

A row is a dict of JSON. Times are ISO texts in UTC (`started`) beside whole microseconds since 1970 (`started_us`), and
`ms` are milliseconds. What is not known is None.
"""

from __future__ import annotations

import copy
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

import orjson

from agent_tt._dataclass import dataclass
from agent_tt.codec.paths import format_path, get, without_envelopes
from agent_tt.codec.wire import VALUE, envelope_type, is_envelope
from agent_tt.errors import AgentTTError, PathNotFound
from agent_tt.history.changes.ops import apply, op_path
from agent_tt.model.as_json import call_fields, milliseconds, run_fields, step_fields, time_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.exporting.export import Exported
    from agent_tt.history.changes.ops import Op
    from agent_tt.model import Call, ErrorInfo, Note, Run, Step
    from agent_tt.protocols import RunSource

__all__ = [
    "Row",
    "ValueChange",
    "call_row",
    "first_step",
    "json_text",
    "note_row",
    "run_row",
    "step_row",
    "value_changes",
]

Row = dict[str, "Wire"]

_LISTS: Final = frozenset({"deque", "namedtuple", "tuple"})
"""Envelopes whose payload is a list of parts that have paths of their own."""


def first_step(exported: Exported, run: Run) -> int:
    """The first step whose rows are the run's own; those of a fork up to where it began are of the run it left.

    1 where that is not written beside it.
    """
    is_beside = any(each.id == run.parent for each in exported.runs)
    return (run.fork_step or 0) + 1 if is_beside else 1


def run_row(run: Run) -> Row:
    """A run. Tokens and cost are those of its own steps."""
    return {
        "run": run.id,
        **run_fields(run),
        "model": None if run.model is None else run.model.model,
        **_times(run.started_us, run.ended_us),
        "unpriced": run.unpriced,
        **_error(run.error),
        "damaged": run.damaged,
        "edits": [{**asdict(edit)} for edit in run.edits],
        "metadata": {**run.metadata},
    }


def step_row(run: Run, step: Step) -> Row:
    """A step of a run."""
    return {
        "run": run.id,
        **step_fields(step),
        "parent_step": step.parent,
        **_times(step.started_us, step.ended_us),
        "unpriced": step.unpriced,
        "calls": step.calls,
        **_error(step.error),
        "state_kept": not step.is_unkept,
        "damaged": step.damaged,
    }


def call_row(run: Run, call: Call) -> Row:
    """A call of a step."""
    facts = call.facts
    inside = facts.inside
    return {
        "run": run.id,
        "step": call.step,
        **call_fields(call),
        "inside_step": None if inside is None else inside[0],
        "inside_call": None if inside is None else inside[1],
        **_times(call.started_us, call.ended_us),
        "model": facts.model,
        "finish_reason": facts.finish_reason,
        "tokens_in": facts.tokens_in,
        "tokens_out": facts.tokens_out,
        "cost_usd": facts.cost_usd,
        **_error(call.error),
        "provider_error": facts.answer_error,
        "damaged": call.damaged,
    }


def note_row(run: Run, note: Note) -> Row:
    """What somebody wrote down about a run or a step of it."""
    return {
        "run": run.id,
        "step": note.step,
        "kind": note.kind,
        "body": note.body,
        "created": time_text(note.created_us),
        "created_us": note.created_us,
    }


def _times(started_us: int | None, ended_us: int | None) -> Row:
    return {
        "started": time_text(started_us),
        "started_us": started_us,
        "ended": time_text(ended_us),
        "ended_us": ended_us,
        "ms": milliseconds(None if started_us is None or ended_us is None else ended_us - started_us),
    }


def _error(error: ErrorInfo | None) -> Row:
    return {
        "error_type": None if error is None else error.class_name,
        "error": None if error is None else error.message,
    }


# ---------------------------------------------------------------- values


@dataclass(frozen=True, slots=True)
class ValueChange:
    """What became of one value of a state.

    Attributes:
        step: after which it was so; 0 is the input.
        track: the history of states that it is in.
        path: where, as people write it; "" is the whole state.
        old: its JSON before; None where nothing was there, or nobody knows.
        new: its JSON now; None where nothing is there, or nobody knows.
    """

    step: int
    track: str
    path: str
    old: bytes | None
    new: bytes | None


def value_changes(source: RunSource, run: Run, first: int) -> Iterator[ValueChange]:
    """Yield each value of the states of a run when it comes, changes and goes, in the order of the steps.

    Values are those that have none below them: texts, numbers, empty lists. Of a list in which items moved up, those
    at other positions changed. Values of a state that is not kept or cannot be read go with it, and come again after.

    Args:
        source: where it is.
        run: the run.
        first: the first step whose changes are asked for; that state before it comes first, as of step `first` - 1.
    """
    tracks = {"main": _Track("main")}
    steps = source.steps(run.id, first)
    begin = first - 1
    before = next(iter(source.steps(run.id, begin, first)), None) if begin else None
    track = tracks["main"] if before is None else tracks.setdefault(before.track, _Track(before.track))
    if before is None or not before.is_unkept:
        yield from track.follow(source, run.id, begin)
    for step in steps:
        track = tracks.setdefault(step.track, _Track(step.track))
        if step.is_unkept:
            yield from track.lose(step.number)
        elif step.seq is not None:
            yield from track.follow(source, run.id, step.number)


class _Track:
    """The values of one history of states."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._at: int | None = None
        self._state: Wire = None

    def follow(self, source: RunSource, run_id: str, step: int) -> Iterator[ValueChange]:
        """Go to the state after a step."""
        old: dict[Path, bytes] = {}
        new: dict[Path, bytes] = {}
        try:
            base = source.base_step(run_id, step) if self._at is not None else None
            if base is None or base != self._at:
                now = source.state(run_id, step)
                old, new = ({} if self._at is None else _leaves(self._state)), _leaves(now)
                self._state = now
            else:
                ops = copy.deepcopy(source.changes(run_id, step))
                places = _touched(ops)
                old = _at_places(self._state, places)
                self._state = apply(self._state, ops)
                new = _at_places(self._state, places)
        except AgentTTError:
            yield from self.lose(step)
            return
        self._at = step
        yield from self._said(step, old, new)

    def lose(self, step: int) -> Iterator[ValueChange]:
        """Say of every value that nobody knows it."""
        if self._at is not None:
            old = _leaves(self._state)
            self._at, self._state = None, None
            yield from self._said(step, old, {})

    def _said(self, step: int, old: dict[Path, bytes], new: dict[Path, bytes]) -> Iterator[ValueChange]:
        for path in {**old, **new}:
            was, now = old.get(path), new.get(path)
            if was != now:
                yield ValueChange(step, self._name, format_path(without_envelopes(path)), was, now)


def _touched(ops: Iterable[Op]) -> set[Path]:
    """Places that operations may have changed, none of them in another one."""
    found: set[Path] = set()
    for op in ops:
        path = op_path(op)
        match op:
            case ["o", *_]:
                continue
            case ["a", _, int() as length, list() as added] if length:
                found.update((*path, length + number) for number in range(len(added)))
            case ["m", _, list() as target, *_]:
                found |= {path, tuple(step for step in target if isinstance(step, str | int))}
            case _:
                found.add(path)
    return {path for path in found if not any(path[:depth] in found for depth in range(len(path)))}


def _at_places(state: Wire, places: Iterable[Path]) -> dict[Path, bytes]:
    """The values at some places, with those around them that are values only as long as they are empty."""
    found: dict[Path, bytes] = {}
    for place in places:
        _walk(state, place, found)
    return found


def _walk(state: Wire, place: Path, found: dict[Path, bytes]) -> None:
    for depth in range(len(place)):
        try:
            around = get(state, place[:depth])
        except PathNotFound:
            return
        if not _parts(around)[1]:
            found.update(_leaves(around, place[:depth]))
            return
    try:
        found.update(_leaves(get(state, place), place))
    except PathNotFound:
        return


def _leaves(value: Wire, path: Path = ()) -> dict[Path, bytes]:
    found: dict[Path, bytes] = {}
    stack = [(path, value)]
    while stack:
        where, node = stack.pop()
        below = _below(node)
        if below:
            stack += reversed([((*where, *steps), part) for steps, part in below])
        else:
            found[where] = json_text(node)
    return found


def _below(node: Wire) -> list[tuple[Path, Wire]]:
    """The parts of a value that have paths of their own; none of one that is looked at as a whole."""
    before, parts = _parts(node)
    pairs = parts.items() if isinstance(parts, dict) else enumerate(parts)
    return [((*before, key), part) for key, part in pairs]


def _parts(node: Wire) -> tuple[Path, dict[str, Wire] | list[Wire]]:
    """What holds the parts of a value, after what leads there."""
    if not isinstance(node, dict):
        return (), node if isinstance(node, list) else []
    if not is_envelope(node):
        return (), node
    payload = node.get(VALUE)
    is_open = (isinstance(payload, dict) and not is_envelope(payload)) or envelope_type(node) in _LISTS
    return (VALUE,), payload if is_open and isinstance(payload, dict | list) else []


def json_text(value: Wire) -> bytes:
    """A value as JSON on one line, whatever is in it."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:  # a lone surrogate in a text, or nested deeper than orjson goes
        return json.dumps(value).encode()
