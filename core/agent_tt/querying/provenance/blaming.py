"""Who wrote a value: all of its writes, and what caused it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.codec.paths import get
from agent_tt.errors import Damaged, InvalidPath, PathNotFound, UsageError
from agent_tt.querying.absent import not_there
from agent_tt.querying.places import path_in, written_path
from agent_tt.querying.provenance.trail import trail_of
from agent_tt.querying.provenance.writes import writes_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.codec.wire import Wire
    from agent_tt.protocols import RunSource
    from agent_tt.querying.provenance.links import Trail
    from agent_tt.querying.provenance.writes import Write

__all__ = ["Blame", "blame_value"]

MOST_WRITES: Final = 100
"""Writes of one value that are listed, unless more are asked for: each costs the reading of two values."""


@dataclass(frozen=True, slots=True)
class Blame:
    """Who wrote a value.

    Attributes:
        run_id: the run.
        step: the checkpoint whose value is asked about.
        path: the value's path, as people write it.
        value: the value, or the words of it that are asked about.
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

    def to_json(self) -> dict[str, Wire]:
        """`{run, step, path, value, made, trail: [link], ends, writes: [write], more}`: what the command writes.

        `made` is `{step, call, kind, name, path}` of the earliest place that holds the value itself, or null.
        """
        made = self.trail.made
        return {
            "run": self.run_id,
            "step": self.step,
            "path": self.path,
            "value": self.value,
            "made": None
            if made is None
            else {"step": made.step, "call": made.call, "kind": made.kind, "name": made.name, "path": made.path},
            "trail": [link.to_json() for link in self.trail.links],
            "ends": self.trail.ends,
            "writes": [write.to_json() for write in self.writes],
            "more": self.more,
        }


def blame_value(
    source: RunSource,
    run_id: str,
    path: str,
    step: int,
    *,
    words: str | None = None,
    limit: int = MOST_WRITES,
    cancelled: Callable[[], bool] = lambda: False,
) -> Blame:
    """Say who wrote a value.

    Args:
        source: where the run is.
        run_id: the run.
        path: the value, `messages[3].content`; a position may be counted from the end, `messages[-1]`.
        step: the checkpoint in which the value is.
        words: of a text, the part of it that is asked about, as a sentence of an answer; None for all of it.
        limit: writes that are listed at most, the last ones.
        cancelled: asked again and again; what was found until it says yes is given.

    Raises:
        InvalidPath: the path cannot be read.
        PathNotFound: there is nothing at that path then; the hint says when there was, or which paths are like it.
        StepNotFound: there is no such step.
        UsageError: the value is no text with these words.
    """
    state = source.state(run_id, step)
    try:
        wire_path = path_in(state, path)
    except (InvalidPath, PathNotFound) as error:
        raise not_there(source, run_id, state, path, step, error) from error
    value = get(state, wire_path)
    if words is not None:
        if not words.strip() or words not in (value if isinstance(value, str) else ""):
            where = written_path(state, wire_path)
            raise UsageError(f"{where} is no text that says {words!r}", hint="give words of it, letter for letter")
        value = words
    writes: list[Write] = []
    more = False
    try:
        for write in writes_of(source, run_id, wire_path, step):
            if len(writes) == limit or cancelled():
                more = True
                break
            writes.append(write)
    except Damaged:  # what was before a step that cannot be read is not known; the trail says which
        more = True
    trail = trail_of(source, run_id, wire_path, step, value, cancelled=cancelled)
    return Blame(run_id, step, written_path(state, wire_path), value, tuple(writes), trail, more)
