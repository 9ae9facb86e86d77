"""One run as the debugger sees it: pages of steps, states, errors, lanes, marks and forks."""

from __future__ import annotations

import time
from collections import OrderedDict
from contextlib import suppress
from functools import cached_property
from pathlib import Path as FilePath
from threading import Lock
from typing import TYPE_CHECKING

from agent_tt.comparing.values.echoes import without_echoes
from agent_tt.comparing.values.states import compare_states, describe_ops
from agent_tt.errors import AgentTTError, Damaged
from agent_tt.querying.watches.watchpoints import Watchpoints
from agent_tt_tui.viewmodel.debugger.arguments import Arguments
from agent_tt_tui.viewmodel.debugger.bookmarks import Bookmarks
from agent_tt_tui.viewmodel.debugger.overview import Overview
from agent_tt_tui.viewmodel.debugger.shared_states import SharedStates
from agent_tt_tui.viewmodel.debugger.stepview import StepView
from agent_tt_tui.viewmodel.past.writes import PathWrites

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.comparing.steps.asked_tools import AskedTool
    from agent_tt.comparing.values.states import Change
    from agent_tt.model import Label, Run, Step
    from agent_tt.protocols import RunSource
    from agent_tt.querying.oddities import Oddity
    from agent_tt_tui.viewmodel.edits.pending import Pending
    from agent_tt_tui.viewmodel.past.other_state import OtherState
    from agent_tt_tui.viewmodel.past.writes import Writes

PAGE = 256
"""Steps in a page."""

_KEPT_PAGES = 64
"""At least as many as a narrowed timeline has rows: with fewer, rows on as many pages would be read without end."""

_AROUND = 64
"""Steps on each side of one that a timeline shows with it, at most."""

_PAGES_AT_ONCE = 8
"""At most so many pages are read while a key waits: the steps of a narrowed timeline may be far apart."""

_LATELY_SECONDS = 60.0
"""How long after it grew a run may go on of which nothing says that it is over: spans are sent some seconds late."""


class RunModel:
    """A run that is being looked at.

    `peek` and the attributes never read from the source, so widgets may use them while they draw. Everything else
    reads: it may take a while and belongs in a worker; one thread at a time gets in.
    """

    def __init__(self, source: RunSource, run: Run) -> None:
        """Know nothing yet but the run; `open` reads the first things."""
        self.source = source
        self.run = run
        self.overview = Overview()
        """What is known about all steps so far; complete when `scan` has ended."""
        self.arguments = Arguments(source, run.id)
        """What the tools of its steps were asked, as far as that was read."""
        self.bookmarks = Bookmarks(source, run)
        self.board = Watchpoints(source, run.id)
        """What is watched in the run, and where it holds as far as that was looked at."""
        self.oddities: Sequence[Oddity] | None = ()
        """What is odd about it; None where it has too many steps to be searched unasked."""
        self.asked: Mapping[int, Sequence[AskedTool]] = {}
        """The tools that only its conversations show, by the step that asked for them."""
        self.pending: Pending | None = None
        """Edits that nothing has run with yet."""
        self.pending_trouble = ""
        """Why a fork with them cannot be."""
        self.range_start: int | None = None
        """The first step of the range that somebody looks at; None where nobody marked one."""
        self.forks: dict[int, tuple[str, ...]] = {}
        """Names of the runs that were forked from this one, by the step they start at."""
        self.labels: Mapping[int, Label] = {}
        """What people call checkpoints, and wrote down about them, by step."""
        self.noted = 0
        """How many notes people wrote about the run and its checkpoints."""
        self.last = run.steps
        """Number of the last step; 0 while there is none."""
        self._pages: OrderedDict[int, tuple[Step, ...]] = OrderedDict()
        self._states = SharedStates(source, run.id)
        self._version = source.version()
        self._reading = Lock()
        ended_us = run.ended_us or run.started_us
        self._grew = time.monotonic() - max(0.0, time.time() - ended_us / 1e6)
        """When it grew last, by the monotonic clock, as far as is known."""

    # What is at hand.

    def peek(self, number: int) -> Step | None:
        """The step, if its page is at hand."""
        page = self._pages.get((number - 1) // PAGE)
        if page is None or number < 1:
            return None
        index = (number - 1) % PAGE
        return page[index] if index < len(page) else None

    def kind_of(self, number: int) -> str | None:
        """The kind of a step, as far as that was looked at."""
        return self.overview.kind(number) if number <= self.overview.scanned else None

    def has(self, first: int, last: int) -> bool:
        """Whether the steps first..last, as far as there are any, are at hand."""
        first, last = max(first, 1), min(last, self.last)
        return all(number in self._pages for number in range((first - 1) // PAGE, (last - 1) // PAGE + 1))

    def is_near(self, number: int) -> bool:
        """Whether the state after a step is at hand, or that before it, from which it is made."""
        return self._states.has(number) or self._states.has(number - 1)

    @property
    def grew_lately(self) -> bool:
        """Whether it may go on, though nobody knows: nothing says that it is over, and it grew a moment ago."""
        return self.run.status == "unknown" and time.monotonic() - self._grew < _LATELY_SECONDS

    @property
    def is_reading(self) -> bool:
        """Whether a thread is reading just now, for which another one would have to wait."""
        return self._reading.locked()

    @cached_property
    def is_local(self) -> bool:
        """Whether it is read from a file."""
        path = self.source.path
        return isinstance(path, FilePath) and path.is_file()

    # Reading.

    def open(self) -> None:
        """Read what the first screen needs besides the steps: length, marks and forks."""
        with self._reading:
            self.last = self.source.step_count(self.run.id)
            self._read_surroundings()

    def first_error(self) -> int | None:
        """The number of the first failed step."""
        try:
            return self.source.step_number(self.run, "@error")
        except AgentTTError:
            return None

    def fetch(self, first: int, last: int) -> None:
        """Get the pages of the steps first..last at hand."""
        first, last = max(first, 1), min(last, self.last)
        with self._reading:
            for number in range((first - 1) // PAGE, (last - 1) // PAGE + 1):
                if number not in self._pages:
                    self._fetch_page(number)

    def fetch_around(self, number: int) -> None:
        """Get a step at hand, with those on both sides that a timeline shows with it."""
        self.fetch(number - _AROUND, number + _AROUND)

    def fetch_shown(self, steps: Iterable[int], *, with_arguments: bool) -> None:
        """Get at hand what rows show of some steps; those of too many pages are left for `fetch_around`.

        Args:
            steps: The steps.
            with_arguments: Whether what their tools were asked is shown.
        """
        pages: dict[int, list[int]] = {}
        for step in steps:
            if 0 < step <= self.last:
                pages.setdefault((step - 1) // PAGE, []).append(step)
        missing = [page for page in pages if page not in self._pages]
        with self._reading:
            for page in missing[:_PAGES_AT_ONCE]:
                self._fetch_page(page)
            if with_arguments:
                self.arguments.read(step for page, those in pages.items() if page in self._pages for step in those)

    def fetch_arguments(self, steps: Iterable[int]) -> None:
        """Get at hand what the tools of some steps were asked."""
        with self._reading:
            self.arguments.read(steps)

    def scan(self, cancelled: Callable[[], bool] = lambda: False) -> bool:
        """Look at the next page of steps for the overview.

        Returns:
            Whether there is more to look at.
        """
        overview = self.overview
        if cancelled() or overview.scanned >= self.last:
            return False
        with self._reading:
            start = overview.scanned + 1
            overview.add(self.source.steps(self.run.id, start, start + 8 * PAGE))
        return start <= overview.scanned < self.last

    def load(
        self, number: int, base: int | None = None, other: OtherState | None = None, *, pending: bool = False
    ) -> StepView:
        """Read one step with its state, what changed, and its calls.

        Args:
            number: The step; 0 is the input.
            base: The step to compare with; by default the one before on the same track.
            other: A state to compare with instead.
            pending: Whether what was written since is applied (see `RunSource.pending_state`), and the state before
                that is what it is compared with.
        """
        with self._reading:
            run, source = self.run, self.source
            step = None
            try:
                if number:
                    if (number - 1) // PAGE not in self._pages:
                        self._fetch_page((number - 1) // PAGE)
                    step = self.peek(number)
                calls = tuple(source.calls(run.id, number)) if number else ()
                neighbour = source.base_step(run.id, number) if number else None
                base = neighbour if base is None else base
                if other is not None:
                    base, state = other.step, self._states.get(number)
                    changes = tuple(compare_states(other.state, state))
                elif pending:
                    base, state = number, source.pending_state(run.id, number)
                    changes = tuple(compare_states(self._states.get(number), state))
                else:
                    before = self._states.get(base) if base is not None else None
                    state = self._states.get(number)
                    changes = self._changes(number, base, neighbour, before, state)
            except AgentTTError as error:
                # One damaged step must not take the screen away from all the others.
                why = f"{error.message}. {error.hint}" if error.hint else error.message
                return StepView(run, number, step, None, None, (), (), why)
            return StepView(run, number, step, state, base, changes, calls)

    def state(self, number: int) -> Wire:
        """The state after a step, shared: read it, never change it.

        Raises:
            StepNotFound: There is no such step.
            Damaged: It cannot be rebuilt at all.
        """
        with self._reading:
            return self._states.get(number)

    def write_from(self, number: int, path: Path, direction: int) -> int | None:
        """The nearest earlier (direction -1) or later (1) step that wrote the value at a path."""
        writes = PathWrites(self.source, self.run.id, path, self.last)
        return writes.after(number) if direction > 0 else writes.before(number)

    def writes(
        self,
        number: int,
        path: Path,
        cancelled: Callable[[], bool],
        first_beside: Callable[[int], int] = lambda step: step,
        known: Writes | None = None,
    ) -> Writes:
        """The steps that wrote the value at a path, seen from a step; see `PathWrites.around`."""
        return PathWrites(self.source, self.run.id, path, self.last).around(number, cancelled, first_beside, known)

    def toggle_mark(self, number: int) -> str | None:
        """Mark a step with the next free letter, or take its mark away; see `Bookmarks.toggle`."""
        with self._reading:
            return self.bookmarks.toggle(number)

    def read_watches(self) -> None:
        """Read which watches there are; where they hold is found out by `board.look`."""
        with self._reading:
            self.board.read()

    def has_news(self) -> bool:
        """Whether anything was written since the last time."""
        return self.source.version() != self._version or self._died()

    def refresh(self) -> bool:
        """Learn what was written since the last time.

        Returns:
            Whether anything was; then pages and overview know of it too.
        """
        version = self.source.version()
        if version == self._version and not self._died():
            return False
        with self._reading:
            self._version = version
            self.run = self.source.run(self.run.id)
            before, self.last = self.last, self.source.step_count(self.run.id)
            if self.last != before:
                self._grew = time.monotonic()
            stale = min(self.overview.unfinished or self.last + 1, self.overview.scanned + 1)
            if stale <= self.overview.scanned:
                self.overview.add(self.source.steps(self.run.id, stale, self.overview.scanned + 1))
            for number in [number for number in self._pages if number >= (stale - 1) // PAGE]:
                self._fetch_page(number)
            self.arguments.read_again(stale)
            self._states.forget()
            self._read_surroundings()
        return True

    def _died(self) -> bool:
        """Whether the process that records the run is gone, which nobody writes down."""
        return self.run.status == "running" and self.source.run(self.run.id).status != "running"

    def _changes(
        self, number: int, base: int | None, neighbour: int | None, before: Wire, state: Wire
    ) -> tuple[Change, ...]:
        if base is None:
            return ()
        if base == neighbour:
            # Recorded changes that cannot be read can be worked out, as both states are there.
            with suppress(Damaged):
                found = describe_ops(before, state, self.source.changes(self.run.id, number))
                return tuple(without_echoes(before, state, found))
        return tuple(without_echoes(before, state, compare_states(before, state)))

    def _fetch_page(self, number: int) -> None:
        start = number * PAGE + 1
        self._pages[number] = tuple(self.source.steps(self.run.id, start, start + PAGE))
        self._pages.move_to_end(number)
        while len(self._pages) > _KEPT_PAGES:
            self._pages.popitem(last=False)

    def _read_surroundings(self) -> None:
        self.bookmarks.read()
        self.board.read()
        self.labels = self.source.labels(self.run.id)
        self.noted = sum(note.kind == "note" for note in self.source.notes(self.run.id))
        forks: dict[int, tuple[str, ...]] = {}
        for run in self.source.forks(self.run.id):
            if run.fork_step is not None:
                forks[run.fork_step] = (*forks.get(run.fork_step, ()), run.name)
        self.forks = forks
