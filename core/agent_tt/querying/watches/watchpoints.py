"""All watches of one run: which there are, where each holds as far as that is known, and where breakpoints stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agent_tt.errors import InvalidExpression

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt.errors import AgentTTError
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.querying.watches.kept_watches import KeptWatch
    from agent_tt.querying.watches.live_watch import LiveWatch
    from agent_tt.querying.watches.step_ranges import StepRanges

__all__ = ["Watchpoint", "Watchpoints", "last_ended"]


class Watchpoint(NamedTuple):
    """A watch, and what is known of it.

    Attributes:
        watch: what is kept.
        watched: where it holds.
    """

    watch: KeptWatch
    watched: LiveWatch

    @property
    def found(self) -> StepRanges:
        """The steps at which it holds, as far as they were looked at."""
        return self.watched.found

    @property
    def error(self) -> AgentTTError | None:
        """Why it cannot be answered; None where it can."""
        return self.watched.error

    @property
    def why(self) -> str:
        """The same in a few words; "" where it can."""
        error = self.watched.error
        return "" if error is None else error.why if isinstance(error, InvalidExpression) else error.message

    @property
    def breaks(self) -> bool:
        """Whether it stops play and follow: a breakpoint that is on and can be answered."""
        return self.watch.breaks and self.watch.on and self.watched.error is None


class Watchpoints:
    """The watches of a run. One thread at a time may read and look; any may ask."""

    def __init__(self, source: RunSource, run_id: str) -> None:
        self._source, self._run_id = source, run_id
        self.rows: Sequence[Watchpoint] = ()
        """In the order in which they were kept."""

    # ---------------------------------------------------------------- reading and looking

    def read(self) -> bool:
        """Read which watches there are; what is known of those that ask the same stays.

        Returns:
            Whether anything has changed.

        Raises:
            RunNotFound: the run is gone.
        """
        if not self.rows and not any(note.kind == "watch" for note in self._source.notes(self._run_id)):
            return False
        from agent_tt.querying.watches.kept_watches import kept_watches  # with the language of expressions
        from agent_tt.querying.watches.live_watch import LiveWatch

        known = {row.watch.where: row.watched for row in self.rows}
        rows = []
        for watch in kept_watches(self._source, self._run_id):
            watched = known.get(watch.where)
            rows.append(Watchpoint(watch, watched or LiveWatch(self._source, self._run_id, watch.where)))
            known[watch.where] = rows[-1].watched  # two that ask the same share the work
        changed = [row.watch for row in rows] != [row.watch for row in self.rows]
        if changed:
            self.rows = tuple(rows)
        return changed

    def look(self, run: Run, cancelled: Callable[[], bool] = lambda: False) -> bool:
        """Look at one page of steps for each watch that is on, breakpoints first.

        Args:
            run: the run as it is now.
            cancelled: asked for each step.

        Returns:
            Whether there is more to look at now.
        """
        wanted = {id(row.watched): row.watched for row in sorted(self.rows, key=_other_than_breaks) if row.watch.on}
        more = [watched.look(run, cancelled) for watched in wanted.values() if not cancelled()]
        return any(more) and not cancelled()

    # ---------------------------------------------------------------- asking

    @property
    def breakpoints(self) -> list[Watchpoint]:
        """The rows that stop play and follow."""
        return [row for row in self.rows if row.breaks]

    @property
    def looked(self) -> int | None:
        """The last step that was looked at for every breakpoint; None where there is none."""
        return min((row.watched.looked for row in self.breakpoints), default=None)

    def stop_after(self, step: int) -> tuple[int, Watchpoint] | None:
        """The next step after one at which a breakpoint stops, and the first that does."""
        found = [(at, row) for row in self.breakpoints if (at := row.watched.stop_after(step)) is not None]
        return min(found, key=lambda each: each[0], default=None)

    def stop_before(self, step: int) -> tuple[int, Watchpoint] | None:
        """The last step before one at which a breakpoint stops, and the first that does."""
        found = [(at, row) for row in self.breakpoints if (at := row.watched.stop_before(step)) is not None]
        return max(found, key=lambda each: each[0], default=None)

    def at(self, step: int) -> list[Watchpoint]:
        """Those that are on and hold at a step; breakpoints that stop there first."""
        held = [row for row in self.rows if row.watch.on and step in row.found]
        return sorted(held, key=lambda row: not (row.breaks and row.watched.stops_at(step)))


def last_ended(source: RunSource, run_id: str) -> int:
    """The last step of a run before those at its end that have not ended; what is watched may come to them yet."""
    last = source.step_count(run_id)
    while any(step.status == "running" for step in source.steps(run_id, last, last + 1) if last):
        last -= 1
    return last


def _other_than_breaks(row: Watchpoint) -> bool:
    return not row.watch.breaks
