"""Looking whether something was written to a store, in one thread that sleeps meanwhile."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from agent_tt.errors import AgentTTError

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.screen import Screen

ENDED_SECONDS: Final = 2.0
"""Seconds between two looks for marks, notes and forks that other processes add to a run that has ended."""


class Lookout:
    """Looks again and again as long as its screen is there. While there is no news it costs a query each time."""

    def __init__(
        self,
        screen: Screen[None],
        has_news: Callable[[], bool],
        tell: Callable[[], object],
        seconds: Callable[[], float],
    ) -> None:
        """Begin to look.

        Args:
            screen: Whose news it is.
            has_news: Whether there is any; called in the thread.
            tell: Called on the screen when there is, and where that cannot be said: who reads then, says why.
            seconds: How long to wait before the next look; called in the thread.
        """
        self._screen, self._has_news, self._tell, self._seconds = screen, has_news, tell, seconds
        self._ended = threading.Event()
        # No worker of Textual's: these are waited for by whoever waits until all is read, and this one never ends.
        self.thread = threading.Thread(target=self._look, name="lookout", daemon=True)
        """What looks."""
        self.thread.start()

    def end(self) -> None:
        """Look no more; a look that is under way tells nothing any more."""
        self._ended.set()

    def _look(self) -> None:
        while not self._ended.wait(self._seconds()) and self._screen.is_running:
            try:
                is_news = self._has_news()
            except AgentTTError:
                is_news = True
            except Exception:
                if self._ended.is_set() or not self._screen.is_running:
                    return  # the store was closed under it
                raise
            if is_news and not self._ended.is_set():
                self._screen.call_later(self._tell)
