"""Who acts: the name of the agent whose step begins, in runs of several agents. What knows it says it here."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

__all__ = ["AgentNames", "acting", "acting_in", "agent_here"]

P = TypeVar("P")

_ACTING: ContextVar[str | None] = ContextVar("agent_tt_acting", default=None)
_ASKED: Final[list[Callable[[], str | None]]] = []


@contextmanager
def acting(name: str | None) -> Iterator[None]:
    """Let steps that begin in this code, and in what it starts, carry the name of an agent while the block lasts."""
    before = _ACTING.get()
    _ACTING.set(name)
    try:
        yield
    finally:
        _ACTING.set(before)


async def acting_in(pieces: AsyncIterator[P], name: str | None) -> AsyncIterator[P]:
    """The same for an asynchronous generator: while its own code runs, and not that of whoever reads it.

    Args:
        pieces: the generator.
        name: the agent's.
    """
    try:
        while True:
            with acting(name):
                try:
                    piece = await anext(pieces)
                except StopAsyncIteration:
                    return
            yield piece
    finally:
        close = getattr(pieces, "aclose", None)
        if close is not None:
            with acting(name):
                await close()


def agent_here() -> str | None:
    """The name of the agent that acts in this code; None where nobody says one."""
    for ask in _ASKED:
        name = ask()
        if name is not None:
            return name
    return _ACTING.get()


class AgentNames:
    """Asks a framework that keeps who acts in a place of its own, while recordings run.

    Args:
        framework: the module that knows.
        ask: gives the name of the agent in whose code it is called, or None; does not raise.
    """

    def __init__(self, framework: object, ask: Callable[[], str | None]) -> None:
        self._framework = framework
        self._ask = ask

    @property
    def place(self) -> tuple[int, str]:
        """Which framework it asks; the same for two of one."""
        return id(self._framework), "agent names"

    def apply(self) -> None:
        """Ask from now on."""
        if self._ask not in _ASKED:
            _ASKED.append(self._ask)

    def undo(self) -> None:
        """Ask no longer."""
        if self._ask in _ASKED:
            _ASKED.remove(self._ask)
