"""What the debugger's watches need done in threads: looking where they hold, saying why, writing them down."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from textual.message import Message
from textual.worker import get_current_worker

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentTTError
from agent_tt_tui.viewmodel.debugger.newest import Newest

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.screen import Screen

    from agent_tt.querying.watches.watchpoints import Watchpoint
    from agent_tt_tui.viewmodel.debugger.runmodel import RunModel

_NEWS_SECONDS: Final = 0.1
"""How often is said how far it is, at most."""


@dataclass
class WatchesLooked(Message):
    """More is known of where watches hold.

    Attributes:
        ended: Whether that is all for now.
    """

    ended: bool


@dataclass
class WatchesWritten(Message):
    """Something was changed about the watches, or why it was not."""

    why: str = ""


@dataclass
class Explained(Message):
    """Why a watch holds at a step, in words."""

    step: int
    row: Watchpoint
    why: str


class WatchReading:
    """Does the work for a screen, which gets the messages of this module."""

    def __init__(self, screen: Screen[None], model: RunModel) -> None:
        """Do nothing yet."""
        self._screen, self._model = screen, model
        self._wanted: Newest[bool] = Newest()

    def look(self) -> None:
        """Look at what was not looked at yet; once more, if that is under way."""
        if self._wanted.put(True):  # noqa: FBT003 - what is asked for is always the same
            self._start(self._look, "watch")

    def explain(self, step: int, row: Watchpoint) -> None:
        """Find out why a watch holds at a step."""
        self._start(lambda: self._explain(step, row), "explain", exclusive=True)

    def write(self, work: Callable[[], object]) -> None:
        """Write something about the watches down, and read them anew."""
        self._start(lambda: self._write(work), "watch writing")

    # In threads.

    def _start(self, work: Callable[[], None], group: str, *, exclusive: bool = False) -> None:
        self._screen.run_worker(work, group=group, thread=True, exclusive=exclusive)

    def _look(self) -> None:
        worker, model = get_current_worker(), self._model
        said = 0.0
        while self._wanted.take() is not None:
            while model.board.look(model.run, lambda: worker.is_cancelled):
                if time.monotonic() - said >= _NEWS_SECONDS:
                    said = time.monotonic()
                    self._screen.post_message(WatchesLooked(ended=False))
            if not worker.is_cancelled:
                self._screen.post_message(WatchesLooked(ended=True))

    def _explain(self, step: int, row: Watchpoint) -> None:
        from agent_tt.querying.watches.reasons import reasons, reasons_in_words

        why = ""
        try:
            why = reasons_in_words(reasons(self._model.source, self._model.run.id, row.watch.where, step))
        except AgentTTError as error:  # it was damaged, or went away, since it was looked at
            why = error.message
        self._screen.post_message(Explained(step, row, why))

    def _write(self, work: Callable[[], object]) -> None:
        why = ""
        try:
            work()
        except AgentTTError as error:
            why = f"{error.message}. {error.hint}" if error.hint else error.message
        try:
            self._model.read_watches()
        except AgentTTError as error:
            why = why or error.message
        self._screen.post_message(WatchesWritten(why))
