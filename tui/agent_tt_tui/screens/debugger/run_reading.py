"""Everything the debugger reads, in threads; each result comes back as a message, and the newest wish goes first."""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from textual.message import Message
from textual.worker import get_current_worker

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentTTError
from agent_tt_tui.screens.debugger.step_reader import StepRead, StepReader, StepWish
from agent_tt_tui.typed import GOING, OPENING
from agent_tt_tui.viewmodel.debugger.folding import alike_runs
from agent_tt_tui.viewmodel.debugger.newest import Newest
from agent_tt_tui.viewmodel.debugger.runmodel import PAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from textual.screen import Screen

    from agent_tt.codec.wire import Path
    from agent_tt.model import Run
    from agent_tt_tui.viewmodel.debugger.runmodel import RunModel
    from agent_tt_tui.viewmodel.past.other_state import OtherState
    from agent_tt_tui.viewmodel.past.related import Kin
    from agent_tt_tui.viewmodel.past.writes import Writes

__all__ = ["RunReading", "StepRead", "StepWish"]

_log = logging.getLogger(__name__)

_PAGES_BETWEEN_NEWS = 8
_AROUND = 48
"""Steps before and after the first shown step whose rows the first frame may have."""
_LOOKED_AT = 1000
"""Steps that are read at once while one of them is looked for."""


@dataclass
class Opened(Message):
    """The run was opened; the debugger is to show this step."""

    number: int


@dataclass
class Scanned(Message):
    """More is known about all steps.

    Attributes:
        alike: Ranges of steps that repeat one another; None while there are more steps to look at.
    """

    alike: Sequence[tuple[int, int]] | None


@dataclass
class PagesRead(Message):
    """Steps that were missing are at hand."""


@dataclass
class ArgumentsRead(Message):
    """What the tools of some steps were asked is at hand."""


@dataclass
class OtherRead(Message):
    """The state that a person named is known, or why there is none."""

    other: OtherState | None
    why: str = ""


@dataclass
class WritesRead(Message):
    """The steps that wrote a path are known."""

    path: Path
    writes: Writes


@dataclass
class RunGrew(Message):
    """Something was written to the store."""


@dataclass
class RunsRead(Message):
    """The other runs are known, each with what it is to this one."""

    runs: Sequence[tuple[Run, str]]


@dataclass
class KinRead(Message):
    """The run's forks, its parent and that one's other forks are known, those first that begin at a step."""

    kin: Sequence[Kin]


@dataclass
class Arrived(Message):
    """The step that was asked for is known, or why there is none."""

    number: int | None
    why: str = ""


class RunReading:
    """Reads a run for a screen, which gets the messages of this module."""

    def __init__(self, screen: Screen[None], model: RunModel) -> None:
        self._screen = screen
        self._model = model
        self._reader = StepReader(model)
        self._steps: Newest[StepWish] = Newest()
        self._pages: Newest[int] = Newest()
        self._arguments: Newest[Sequence[int]] = Newest()
        self._versions: Newest[str] = Newest()

    def open(self, step: int | None) -> None:
        """Open the run at a step; by default at the first error, else at the last step."""
        self._start(lambda: self._open(step), OPENING)

    def step_now(self, wish: StepWish) -> StepRead | None:
        """A step that is in memory, or is read in a moment; None where it has to be read in a thread."""
        found = self._reader.at_hand(wish)
        if found is None and not self._steps.is_busy:
            found = self._reader.read_at_once(wish)
        return found

    def rows_now(self, steps: Iterable[int], *, with_arguments: bool) -> None:
        """Get at hand what the timeline shows of some steps, if that takes a moment: then they are drawn once."""
        model = self._model
        if model.is_local and model.source.capabilities.pages and not model.is_reading:
            with suppress(AgentTTError):  # a row that asks for its step says it
                model.fetch_shown(steps, with_arguments=with_arguments)

    def read_step(self, wish: StepWish) -> None:
        """Read a step, unless another is asked for before its turn comes."""
        if self._steps.put(wish):
            self._start(self._read_steps, "steps")

    def read_ahead(self, wish: StepWish, towards: Sequence[int], back: Sequence[int]) -> None:
        """Read steps beside one that is shown: those towards which somebody goes, then those from where they came."""
        wishes = self._reader.missing_ahead(wish, towards, back)
        if wishes:
            self._start(lambda: self._read_ahead(wishes), "ahead", exclusive=True)

    def forget_steps(self) -> None:
        """Show no step from memory that was read before now."""
        self._reader.forget()

    def read_around(self, number: int) -> None:
        """Get a step and those around it at hand."""
        if self._pages.put(number):
            self._start(self._read_pages, "pages")

    def read_arguments(self, steps: Sequence[int]) -> None:
        """Get at hand what the tools of some steps were asked."""
        if self._arguments.put(steps):
            self._start(self._read_arguments, "arguments")

    def scan(self) -> None:
        """Look at all steps that were not looked at yet."""
        self._start(self._scan, "scan", exclusive=True)

    def read_writes(self, number: int, paths: Mapping[Path, Writes | None], first_beside: Callable[[int], int]) -> None:
        """Find the steps that wrote paths, seen from a step; what is asked for later comes first.

        Args:
            number: The step.
            paths: The paths, each with what was found from another step; see `PathWrites.around`.
            first_beside: See there.
        """
        self._start(lambda: self._read_all_writes(number, paths, first_beside), "writes", exclusive=True)

    def read_runs(self) -> None:
        """Read the other runs, those first that this one is likely to be compared with."""
        self._start(self._read_runs, "runs", exclusive=True)

    def read_kin(self, number: int) -> None:
        """Read the forks and the parent of the run, as seen from a step."""
        self._start(lambda: self._read_kin(number), "runs", exclusive=True)

    def poll(self) -> None:
        """Look whether anything was written."""
        if self._versions.put(self._model.run.id):
            self._start(self._refresh, "refresh")

    def find_step(self, text: str, number: int) -> None:
        """Find the step that a text names: a number, `~1`, `@error`, or the next of that name after a step."""
        self._start(lambda: self._find_step(text, number), GOING, exclusive=True)

    def find_time(self, us: int) -> None:
        """Find the step that ran so many microseconds after the run began; then `Arrived` is posted."""
        self._start(lambda: self._find_time(us), GOING, exclusive=True)

    def find_state(self, text: str, number: int) -> None:
        """Find the state that a text names, to compare a step with it."""
        self._start(lambda: self._find_state(text, number), GOING, exclusive=True)

    def find_write(self, number: int, path: Path, direction: int) -> None:
        """Find the nearest earlier (-1) or later (1) step that wrote a path."""
        self._start(lambda: self._find_write(number, path, direction), GOING, exclusive=True)

    def toggle_mark(self, number: int) -> None:
        """Mark a step, or take its mark away."""
        self._start(lambda: self._toggle_mark(number), "mark")

    # In threads.

    def _start(self, work: Callable[[], None], group: str, *, exclusive: bool = False) -> None:
        self._screen.run_worker(work, group=group, thread=True, exclusive=exclusive)

    def _post(self, message: Message) -> None:
        self._screen.post_message(message)

    def _open(self, step: int | None) -> None:
        model = self._model
        model.open()
        number = step if step is not None else model.first_error()
        number = max(0, min(model.last, model.last if number is None else number))
        model.fetch_around(number)
        self.rows_now(range(number - _AROUND, number + _AROUND + 1), with_arguments=True)
        if model.last <= PAGE:  # so few that the first frame can have what is known about all of them
            model.scan()
        self._post(Opened(number))

    def _read_steps(self) -> None:
        while (wish := self._steps.take()) is not None:
            self._post(self._reader.read(wish))

    def _read_ahead(self, wishes: Sequence[StepWish]) -> None:
        worker = get_current_worker()
        for wish in wishes:
            if worker.is_cancelled:
                return
            self._reader.read(wish)

    def _read_pages(self) -> None:
        while (wanted := self._pages.take()) is not None:
            self._guarded(lambda: self._model.fetch_around(wanted))
            self._post(PagesRead())

    def _read_arguments(self) -> None:
        while (steps := self._arguments.take()) is not None:
            self._model.fetch_arguments(steps)
            self._post(ArgumentsRead())

    def _scan(self) -> None:
        worker, pages = get_current_worker(), 0

        def look() -> None:
            nonlocal pages
            while self._model.scan(lambda: worker.is_cancelled):
                pages += 1
                if pages % _PAGES_BETWEEN_NEWS == 0:
                    self._post(Scanned(None))

        self._guarded(look)
        if not worker.is_cancelled:
            self._post(Scanned(alike_runs(self._model.overview)))

    def _read_all_writes(
        self, number: int, paths: Mapping[Path, Writes | None], first_beside: Callable[[int], int]
    ) -> None:
        worker = get_current_worker()

        def read(path: Path, known: Writes | None) -> None:
            writes = self._model.writes(number, path, lambda: worker.is_cancelled, first_beside, known)
            if not worker.is_cancelled:
                self._post(WritesRead(path, writes))

        for path, known in paths.items():
            if not worker.is_cancelled:
                self._guarded(partial(read, path, known))

    def _read_runs(self) -> None:
        from agent_tt_tui.viewmodel.past.related import related_runs

        model = self._model
        self._guarded(lambda: self._post(RunsRead(related_runs(model.run, model.source.runs()))))

    def _read_kin(self, number: int) -> None:
        from agent_tt_tui.viewmodel.past.related import kin_of

        model = self._model
        self._guarded(lambda: self._post(KinRead(kin_of(model.source, model.run, number))))

    def _refresh(self) -> None:
        grew = False

        def refresh() -> None:
            nonlocal grew
            grew = self._model.refresh() or grew  # what the first of several looks found is news still
            if grew:
                self._reader.forget()

        while self._versions.take() is not None:
            self._guarded(refresh)
        if grew:
            self._post(RunGrew())

    def _find_state(self, text: str, number: int) -> None:
        from agent_tt_tui.viewmodel.past.other_state import find_state

        model = self._model
        try:
            found = find_state(model.source, model.run, number, model.bookmarks.letters, text)
            self._post(OtherRead(found))
        except AgentTTError as error:
            self._post(OtherRead(None, error.message))

    def _find_step(self, text: str, number: int) -> None:
        model = self._model
        try:
            self._post(Arrived(model.source.step_number(model.run, text)))
        except AgentTTError as error:
            named = self._step_named(text, number)
            why = error.message if text.startswith(("~", "@")) or text.isdigit() else f"no step is called {text}"
            self._post(Arrived(named, why))

    def _find_time(self, us: int) -> None:
        from agent_tt_tui.viewmodel.debugger.step_words import step_at

        model = self._model
        pages = (
            model.source.steps(model.run.id, start, start + _LOOKED_AT)
            for start in range(1, model.last + 1, _LOOKED_AT)
        )
        try:
            found = step_at(model.run, chain.from_iterable(pages), us)
        except AgentTTError as error:
            self._post(Arrived(None, error.message))
        else:
            self._post(Arrived(found, "no step had begun by then, as far as times were recorded"))

    def _step_named(self, text: str, number: int) -> int | None:
        """The next step after one whose name holds a text, going round at the end."""
        wanted, earlier = text.casefold(), None
        for start in range(1, self._model.last + 1, _LOOKED_AT):
            for step in self._model.source.steps(self._model.run.id, start, start + _LOOKED_AT):
                if wanted not in step.name.casefold():
                    continue
                if step.number > number:
                    return step.number
                earlier = earlier or step.number
        return earlier

    def _find_write(self, number: int, path: Path, direction: int) -> None:
        try:
            found = self._model.write_from(number, path, direction)
        except AgentTTError as error:
            self._post(Arrived(None, error.message))
            return
        self._post(Arrived(found, f"no {'later' if direction > 0 else 'earlier'} step wrote it"))

    def _toggle_mark(self, number: int) -> None:
        self._guarded(lambda: self._model.toggle_mark(number))
        self._reader.forget()  # a mark is something to compare with
        self._post(PagesRead())

    def _guarded(self, work: Callable[[], object]) -> None:
        """Do something whose failure must not end the app: a file that was just replaced, or damage elsewhere."""
        try:
            work()
        except AgentTTError as error:
            _log.warning("reading %s: %s", self._model.run.id, error.message)
            self._post(Arrived(None, error.message))
