"""All writes of one value, followed through the lists that it moved in, with what it was before each."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.codec.paths import get
from agent_tt.codec.sameness import identical
from agent_tt.errors import AgentTTError
from agent_tt.history.changes.ops import op_path, trace
from agent_tt.querying.places import leads_to, written_path
from agent_tt.querying.provenance.edits import UPDATED, edited_states, is_updated
from agent_tt.querying.provenance.moved_values import place_by_content
from agent_tt.querying.provenance.open_steps import OpenSteps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.ops import Op
    from agent_tt.protocols import Cursor, RunSource

__all__ = ["Write", "WriteKind", "first_place", "writes_of"]

_MOST_MOVES: Final = 200


WriteKind: TypeAlias = Literal["added", "changed", "moved", "removed", "edited"]
"""The value was not there before; it was another one; it stood elsewhere; it was taken away; a person changed it for a
fork."""


@dataclass(frozen=True, slots=True)
class Write:
    """One write of a value, or of something in it.

    Attributes:
        step: the step that wrote it; 0 where it came with the input.
        path: where the value was just after it, as people write it; of one that was removed, where it had been.
        old_path: where it was just before it; None where it was not there.
        old: what it was before it; None also where it was not there.
        new: what it was after it; None also where it was removed.
        began: whether the value was not there before.
        what: what the step did to it.
        by: of an edit, the name of the fork that it was made for, or `update_state`.
        beside: steps that were open on the state as well when `step` ended, and may have written it in its place.
    """

    step: int
    path: str
    old_path: str | None
    old: Wire
    new: Wire
    began: bool
    what: WriteKind = "changed"
    by: str = ""
    beside: tuple[int, ...] = ()

    @property
    def edited(self) -> str:
        """Who edited it, in words: `edited for refund-loop/fork-1`; empty where the run itself wrote it."""
        return f"edited {'by' if self.by == UPDATED else 'for'} {self.by}" if self.by else ""

    def to_json(self) -> dict[str, Wire]:
        """`{step, path, old_path, old, new, began, what, by, beside}`."""
        return {
            "step": self.step,
            "path": self.path,
            "old_path": self.old_path,
            "old": self.old,
            "new": self.new,
            "began": self.began,
            "what": self.what,
            "by": self.by,
            "beside": [*self.beside],
        }


def writes_of(source: RunSource, run_id: str, path: Path, step: int) -> Iterator[Write]:
    """The writes of the value at a wire path of checkpoint `step`, the last one first.

    The value is followed back through insertions before it, moves and renames, and where the content says so, through
    a list that was sorted: it is the value's history that is told, not that of the place. Only before the value came
    to its first place by a name (no position in a list) is told what had been there earlier, and was removed.
    """
    now, then = source.cursor(run_id, step), source.cursor(run_id, step)
    edits = edited_states(source, run_id)
    opened = OpenSteps(source, run_id)
    number = step
    while (found := source.written_at(run_id, number, path)) is not None:
        wrote, path = found
        base = source.base_step(run_id, wrote)
        before = None if base is None else _before(source, run_id, wrote, base, path, now, then)
        new = _value(now, wrote, path)
        old = None if base is None or before is None else _value(then, base, before)
        state = _state(now, wrote)
        shown, by = written_path(state, path), ""
        carried = _is_carried(old, new)
        if carried and before is not None and base is not None and before == path and base < wrote:
            number = base  # what is around it was written, and it is as it was
            continue
        what: WriteKind = "added" if old is None else "moved" if carried else "changed"
        for edit, name in edits.get(wrote, ()):
            if leads_to(shown, edit.path) or leads_to(edit.path, shown):
                what, by = "edited", name
                break  # the newest fork's
        if not by and wrote and not source.capabilities.records and is_updated(source, run_id, wrote):
            what, by = "edited", UPDATED
        yield Write(
            step=wrote,
            path=shown,
            old_path=None if old is None or before is None else written_path(_state(then, base or 0), before),
            old=None if old is None else old[0],
            new=None if new is None else new[0],
            began=old is None,
            what=what,
            by=by,
            beside=() if by else tuple(each.number for each in opened.beside(wrote)),
        )
        if base is None or base >= wrote:
            return
        if before is None or old is None:
            removed = _removed(source, run_id, path, base, now, then)
            if removed is None:
                return
            write, number = removed
            yield write
            continue
        path, number = before, base


def first_place(source: RunSource, run_id: str, path: Path, step: int) -> tuple[int, Path, Wire]:
    """The step that wrote the value at a wire path of checkpoint `step`, where it was then, and what it replaced.

    A step that only carried the value to another place has not written it.
    """
    now, then = source.cursor(run_id, step), source.cursor(run_id, step)
    number, old = step, None
    wrote, where = 0, path
    for _ in range(_MOST_MOVES):
        found = source.written_at(run_id, number, path)
        if found is None:
            break
        wrote, where = found
        base = source.base_step(run_id, wrote)
        if base is None or base >= wrote:
            return wrote, where, None
        before = _before(source, run_id, wrote, base, where, now, then)
        new = _value(now, wrote, where)
        had = None if before is None else _value(then, base, before)
        old = None if had is None else had[0]
        if before is None or had is None or not _is_carried(had, new):
            return wrote, where, old
        path, number = before, base
    return wrote, where, old


def _before(
    source: RunSource, run_id: str, wrote: int, base: int, path: Path, now: Cursor, then: Cursor
) -> Path | None:
    """Where what a step wrote at a path was before it."""
    ops = source.changes(run_id, wrote)
    traced = _place_before(ops, path)
    if traced is not None and not any(isinstance(part, int) for part in path) and _value(then, base, traced):
        return traced
    try:
        before, after = then.seek(base), now.seek(wrote)
    except AgentTTError:
        return traced
    return place_by_content(before, after, path, lambda place: _place_before(ops, place))


def _is_carried(old: tuple[Wire] | None, new: tuple[Wire] | None) -> bool:
    """Whether a value is what it was, wherever it stands now."""
    return old is not None and new is not None and identical(old[0], new[0])


def _removed(
    source: RunSource, run_id: str, path: Path, step: int, now: Cursor, then: Cursor
) -> tuple[Write, int] | None:
    """The step that took away what had been at a path before, and the checkpoint in which it still was."""
    if any(isinstance(part, int) for part in path):
        return None
    found = source.written_at(run_id, step, path)
    if found is None or found[1] != path or _value(now, found[0], path) is not None:
        return None
    base = source.base_step(run_id, found[0])
    old = None if base is None else _value(then, base, path)
    if base is None or old is None or base >= found[0]:
        return None
    shown = written_path(_state(then, base), path)
    return Write(found[0], shown, shown, old[0], None, began=False, what="removed"), base


def _state(cursor: Cursor, step: int) -> Wire:
    try:
        return cursor.seek(step)
    except AgentTTError:
        return None


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
