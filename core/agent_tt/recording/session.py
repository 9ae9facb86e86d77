"""The session of this process: it holds the interception chain that every step, call and request passes through.

It is one for the process, and no context variable: what a fork denies or a replay answers holds in threads that copy no
context, in finalizers and inside audit hooks, too. (Which run and step code belongs to does differ from task to task;
that is the `Scope` of a context variable.) The chain is replaced as a whole, so whoever walks through it sees one state
of it, and asks for no lock.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

from agent_tt.recording.links import Chain, Link

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SESSION", "Session"]

L = TypeVar("L", bound=Link)


class Session:
    """Holds a chain. Safe to use from several threads.

    Attributes:
        chain: the links that take part now; an empty one records and does nothing else.
    """

    def __init__(self) -> None:
        self.chain = Chain()
        self._lock = threading.RLock()

    def start(self, *links: Link) -> None:
        """Begin anew with these links alone; with none the process records, and nothing else."""
        with self._lock:
            self.chain = Chain(links)

    def join(self, *links: Link) -> None:
        """Let links take part from now on, each in its place."""
        with self._lock:
            self.chain = Chain((*self.chain.links, *links))

    def leave(self, *links: Link) -> None:
        """Let links take part no longer."""
        with self._lock:
            self.chain = Chain(each for each in self.chain.links if not any(each is link for link in links))

    @contextmanager
    def joined(self, *links: Link) -> Iterator[None]:
        """Let links take part while the block lasts."""
        self.join(*links)
        try:
            yield
        finally:
            self.leave(*links)

    def link(self, kind: type[L]) -> L | None:
        """Find the innermost link of a kind; None where the chain has none."""
        return next((link for link in reversed(self.chain.links) if isinstance(link, kind)), None)


SESSION: Final = Session()
