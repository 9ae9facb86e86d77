"""Full-text search for a screen, in threads: one fills the index, one searches what is there as somebody types."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

from textual.message import Message
from textual.worker import get_current_worker

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentTTError, InvalidExpression, UsageError
from agent_tt_tui.viewmodel.past.finding import FIELDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from textual.screen import Screen
    from textual.worker import Worker

    from agent_tt.protocols import RunSource
    from agent_tt.querying.search.finder import Finder
    from agent_tt.querying.search.hits import Hits
    from agent_tt_tui.viewmodel.past.finding import Wish

_MOST_HITS: Final = 200
_NEWS_SECONDS: Final = 0.4
"""How often it is said that there is more to be searched."""


@dataclass
class Searched(Message):
    """What a search found, or found so far.

    Attributes:
        wish: What was searched for.
        found: What was found.
        names: The names of runs by their ids, where all runs are searched.
    """

    wish: Wish
    found: Hits
    names: Mapping[str, str] | None


@dataclass
class IndexGrew(Message):
    """There is more to be searched, or all of it is there."""


@dataclass
class NotUnderstood(Message):
    """What was typed cannot be searched for, or asked.

    Attributes:
        text: What was typed.
        why: Why not.
        position: Index into the text of what is wrong; None where it is nothing in it.
    """

    text: str
    why: str
    position: int | None


class Searching:
    """Searches for a screen, which gets the messages of this module; a newer search ends the one before."""

    def __init__(self, screen: Screen[None], source: RunSource, runs: Sequence[str] | None) -> None:
        """Search nothing yet.

        Args:
            screen: Who asks.
            source: Where the runs are.
            runs: Ids of the runs that are searched; None for all.
        """
        self._screen = screen
        self._source = source
        self._runs = runs
        self._lock = threading.Lock()
        self._finder: Finder | None = None
        self._filling: Worker[None] | None = None
        self._is_fill_due = False
        self._version: int | None = None
        self._wish: Wish | None = None
        self._is_due = False

    def fill(self) -> None:
        """Bring the index up to date; again once that is done, if it is being done."""
        with self._lock:
            self._is_fill_due = self._filling is not None
            if self._filling is None:
                self._filling = self._screen.run_worker(self._fill, group="index", thread=True, exit_on_error=False)

    def search(self, wish: Wish, words: str | None = None) -> None:
        """Search what is indexed; the same again once it is done, if that is being searched for.

        Args:
            wish: What is searched for, and how.
            words: What of its text is searched for; all where not given.
        """
        with self._lock:
            self._is_due = wish == self._wish
            if self._is_due:
                return
            self._wish = wish
        self._screen.run_worker(lambda: self._search(wish, words), group="find", thread=True, exclusive=True)

    def steps_with(self, wish: Wish, words: str, cancelled: Callable[[], bool]) -> tuple[frozenset[int], bool]:
        """Find the steps that hold some words, as far as they are indexed; in a thread.

        Args:
            wish: How they are searched for.
            words: The words.
            cancelled: Asked now and then; the search ends when it says yes.

        Returns:
            The steps, and whether these are all.

        Raises:
            InvalidExpression: The words cannot be read.
            UsageError: There is no word yet.
        """
        from agent_tt.querying.search.query import parse

        query = parse(words, fields=FIELDS[wish.field])
        found = self._opened().search(query, self._runs, by="step", limit=1, cancelled=cancelled)
        return frozenset(found.steps), found.is_complete and found.searched >= 1

    def stop(self) -> None:
        """End what is under way; what was indexed stays."""
        with self._lock:
            self._wish = self._filling = None
            self._is_due = self._is_fill_due = False
        for group in ("find", "index"):
            self._screen.workers.cancel_group(self._screen, group)

    def close(self) -> None:
        """Let go of the index."""
        self.stop()
        with self._lock:
            finder, self._finder = self._finder, None
        if finder is not None:
            finder.close()

    # In threads.

    def _opened(self) -> Finder:
        from agent_tt.querying.search.finder import Finder

        with self._lock:
            if self._finder is None:
                self._finder = Finder(self._source)
            return self._finder

    def _fill(self) -> None:
        worker = get_current_worker()
        is_due = True
        while is_due:
            is_done = is_due = False
            try:
                self._fill_once()
                is_done = True
            finally:
                with self._lock:
                    if self._filling is worker:
                        is_due, self._is_fill_due = self._is_fill_due and is_done, False
                        self._filling = worker if is_due else None

    def _fill_once(self) -> None:
        worker = get_current_worker()
        due, has_grown = time.monotonic() + _NEWS_SECONDS, False
        try:
            finder = self._opened()
            for _ in finder.update(self._runs, cancelled=lambda: self._is_to_end(worker)):
                has_grown = True
                if time.monotonic() >= due:
                    self._screen.post_message(IndexGrew())
                    due = time.monotonic() + _NEWS_SECONDS
            if not finder.indexes(self._runs):  # then what was recorded since is to be read
                before, self._version = self._version, self._source.version()
                has_grown = has_grown or before != self._version
        except AgentTTError:  # what cannot be read is said where it is shown; searches go on by reading
            has_grown = True
        if has_grown and not worker.is_cancelled:
            self._screen.post_message(IndexGrew())

    def _is_to_end(self, worker: Worker[None]) -> bool:
        """Whether the index is not to be filled further; asked again and again, it lets keys go first."""
        if not worker.is_cancelled:
            self._screen.app.typed.give_way()  # type: ignore[attr-defined]  # the app of these screens
        return worker.is_cancelled

    def _search(self, wish: Wish, words: str | None) -> None:
        worker = get_current_worker()
        while not worker.is_cancelled:
            self._search_once(wish, words)
            with self._lock:
                if self._wish != wish or not self._is_due:
                    break
                self._is_due = False
        with self._lock:
            if self._wish == wish and not worker.is_cancelled:
                self._wish = None

    def _search_once(self, wish: Wish, words: str | None) -> None:
        from agent_tt.querying.search.hits import Hits
        from agent_tt.querying.search.query import parse

        worker = get_current_worker()
        try:
            query = parse(wish.text if words is None else words, regex=wish.regex, fields=FIELDS[wish.field])
            names = None if self._runs is not None else {run.id: run.name for run in self._source.runs(archived=True)}
            for found in self._opened().searching(
                query, self._runs, by=wish.by, limit=_MOST_HITS, cancelled=lambda: worker.is_cancelled
            ):
                if worker.is_cancelled:
                    return
                self._screen.post_message(Searched(wish, found, names))
        except InvalidExpression as error:
            self._refuse(NotUnderstood(wish.text, error.why, error.position))
        except UsageError:  # there is no word yet
            self._screen.post_message(Searched(wish, Hits(), None))
        except AgentTTError as error:
            self._refuse(NotUnderstood(wish.text, error.message, None))

    def _refuse(self, message: NotUnderstood) -> None:
        if not get_current_worker().is_cancelled:
            self._screen.post_message(message)
