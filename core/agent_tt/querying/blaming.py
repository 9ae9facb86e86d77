"""Who wrote it: all writes of one value, followed through the lists that it moved in, with what it was before."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from agent_tt.codec.paths import format_path, get, parse_path, to_wire_path
from agent_tt.errors import AgentTTError, PathNotFound
from agent_tt.history.ops import op_path, trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.ops import Op
    from agent_tt.protocols import Cursor, RunSource
    from agent_tt.querying.trail import Trail

__all__ = ["Blame", "Write", "blame_value", "read_path", "writes_of", "written_at"]

MOST_WRITES: Final = 100
"""Writes of one value that are listed, unless more are asked for: each costs the reading of two values."""


@runtime_checkable
class _Indexed(Protocol):
    """A source that knows where a value was when it was written."""

    def written_at(self, run_id: str, step: int, path: Path) -> tuple[int, Path] | None: ...


@dataclass(frozen=True, slots=True)
class Write:
    """One write of a value, or of something in it.

    Attributes:
        step: the step that wrote it; 0 where it came with the input.
        path: where the value was just after it, as people write it.
        old_path: where it was just before it; None where it was not there.
        old: what it was before it; None also where it was not there.
        new: what it was after it.
        began: whether the value was not there before.
    """

    step: int
    path: str
    old_path: str | None
    old: Wire
    new: Wire
    began: bool


@dataclass(frozen=True, slots=True)
class Blame:
    """Who wrote a value.

    Attributes:
        run_id: the run.
        step: the checkpoint whose value is asked about.
        path: the value's path, as people write it.
        value: the value.
        writes: every write up to there, the last one first.
        trail: where the value came from, back to the first words of it.
        more: whether there are earlier writes that are not listed.
    """

    run_id: str
    step: int
    path: str
    value: Wire
    writes: tuple[Write, ...]
    trail: Trail
    more: bool = False

    @property
    def last(self) -> Write | None:
        """The last write."""
        return self.writes[0] if self.writes else None


def blame_value(
    source: RunSource,
    run_id: str,
    path: str,
    step: int,
    *,
    limit: int = MOST_WRITES,
    cancelled: Callable[[], bool] = lambda: False,
) -> Blame:
    """Say who wrote a value.

    Args:
        source: where the run is.
        run_id: the run.
        path: the value, `messages[3].content`; a position may be counted from the end, `messages[-1]`.
        step: the checkpoint in which the value is.
        limit: writes that are listed at most, the last ones.
        cancelled: asked again and again; what was found until it says yes is given.

    Raises:
        InvalidPath: the path cannot be read.
        PathNotFound: there is nothing at that path then.
        StepNotFound: there is no such step.
    """
    from agent_tt.querying.trail import trail_of

    state = source.state(run_id, step)
    wire_path = _path_in(state, path)
    value = get(state, wire_path)
    writes: list[Write] = []
    more = False
    for write in writes_of(source, run_id, wire_path, step):
        if len(writes) == limit or cancelled():
            more = True
            break
        writes.append(write)
    trail = trail_of(source, run_id, wire_path, step, value, cancelled=cancelled)
    return Blame(run_id, step, format_path(wire_path), value, tuple(writes), trail, more)


def _path_in(state: Wire, text: str) -> Path:
    """As `read_path`; `state.answer`, as expressions say it, is `answer`, unless the state has a key of that name."""
    try:
        path = read_path(state, text)
        get(state, path)
    except PathNotFound:
        if not text.startswith("state."):
            raise
        return read_path(state, text.removeprefix("state."))
    return path


def read_path(state: Wire, text: str) -> Path:
    """A person's path as it leads into a state; `[-1]` is the last element of a list.

    Raises:
        InvalidPath: it cannot be read.
        PathNotFound: it leads nowhere.
    """
    if "[-" not in text:
        return to_wire_path(state, parse_path(text))
    path: Path = ()
    pieces = text.split("[-")
    path = to_wire_path(state, parse_path(pieces[0])) if pieces[0] else ()
    for piece in pieces[1:]:
        digits, _, rest = piece.partition("]")
        values = get(state, path)
        if isinstance(values, dict) and isinstance(values.get("$v"), list):
            path, values = (*path, "$v"), values["$v"]
        if not digits.isdecimal() or not isinstance(values, list) or not 0 < int(digits) <= len(values):
            raise PathNotFound(f"there is no {text}: {format_path(path) or 'the state'} has no such element")
        path = (*path, len(values) - int(digits))
        inner = parse_path(rest.removeprefix("."))
        path = (*path, *to_wire_path(get(state, path), inner))
    return path


def writes_of(source: RunSource, run_id: str, path: Path, step: int) -> Iterator[Write]:
    """The writes of the value at a wire path of checkpoint `step`, the last one first.

    The value is followed back through insertions before it, moves and renames: it is the value's history that is told,
    not that of the place.
    """
    cursor = source.cursor(run_id, step)
    number = step
    while (found := written_at(source, run_id, number, path)) is not None:
        wrote, path = found
        base = source.base_step(run_id, wrote)
        new = _value(cursor, wrote, path)
        before = None if base is None else _place_before(source.changes(run_id, wrote), path)
        old = None if base is None or before is None else _value(cursor, base, before)
        yield Write(
            step=wrote,
            path=format_path(path),
            old_path=None if old is None or before is None else format_path(before),
            old=None if old is None else old[0],
            new=None if new is None else new[0],
            began=old is None,
        )
        if base is None or before is None or old is None or base >= wrote:
            return
        path, number = before, base


def written_at(source: RunSource, run_id: str, step: int, path: Path) -> tuple[int, Path] | None:
    """The step that last wrote the value at a wire path of checkpoint `step`, and where the value was then."""
    if isinstance(source, _Indexed):
        return source.written_at(run_id, step, path)
    wrote = source.last_write(run_id, step, path)
    return None if wrote is None else (wrote, _place_at(source, run_id, path, step, wrote))


def _place_at(source: RunSource, run_id: str, path: Path, step: int, wrote: int) -> Path:
    """Where a value of checkpoint `step` was in the earlier checkpoint `wrote`, which wrote it."""
    number: int | None = step
    # Only steps that moved it have to be looked at; they are those at which following stops with another path.
    while number is not None and number > wrote:
        for op in reversed(source.changes(run_id, number)):
            previous = trace(op, path)
            if previous is None:
                break
            path = previous
        number = source.base_step(run_id, number)
    return path


def _place_before(ops: list[Op], path: Path) -> Path | None:
    """Where what a step overwrote was before it, given where the value is after it; None where nothing was."""
    for op in reversed(ops):
        previous = trace(op, path)
        if previous is None and op[0] == "a" and len(path) > len(op_path(op)):  # an appended element is new
            return None
        if previous is None and op[0] == "x":
            previous = _before_splice(op, path)
            if previous is None:
                return None
        path = path if previous is None else previous
    return path


def _before_splice(op: Op, place: Path) -> Path | None:
    """An element that a splice put in the place of another was that other one before; a further one was not there."""
    match op:
        case ["x", list(own), int(start), int(removed), list()] if len(place) > len(own):
            position = place[len(own)]
            return place if isinstance(position, int) and position < start + removed else None
    return place


def _value(cursor: Cursor, step: int, path: Path) -> tuple[Wire] | None:
    """A value, as a copy of one's own; None where there is none."""
    try:
        return (copy.deepcopy(get(cursor.seek(step), path)),)
    except AgentTTError:
        return None
