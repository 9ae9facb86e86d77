"""The link that lets agents of this process be held, as long as one of its recordings is attached."""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from agent_tt.holding.link import Holds
from agent_tt.intercepting.standing_still import standing_still
from agent_tt.recording.session import SESSION

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["HOLDING"]


class _Holding:
    """Counts the recordings that are attached. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._users = 0
        self._link = Holds()
        self._clocks = ExitStack()
        self._are_clocks_ours = False

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Let agents be held while the block lasts."""
        self._begin()
        try:
            yield
        finally:
            self._end()

    def _begin(self) -> None:
        with self._lock:
            self._users += 1
            if not self._are_clocks_ours:
                self._clocks.enter_context(standing_still(self._link.asking))
                self._are_clocks_ours = True
            if self._link not in SESSION.chain.links:
                SESSION.join(self._link)

    def _end(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users:
                return
            SESSION.leave(self._link)
            if not self._link.asking.held.seconds():  # else the clocks would jump, and deadlines expire
                self._clocks.close()
                self._are_clocks_ours = False


HOLDING: Final = _Holding()
