"""Who acts: the name of the agent whose step begins, in runs of several agents. What knows it says it here."""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator, Iterator

__all__ = ["AgentNames", "acting", "acting_as", "acting_in", "agent_here"]

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


def _acting_through(pieces: Generator[Any, Any, Any], name: str | None) -> Generator[Any, Any, Any]:
    """The same for a plain generator, to which nothing is sent."""
    try:
        while True:
            with acting(name):
                try:
                    piece = next(pieces)
                except StopIteration as end:
                    return end.value
            yield piece
    finally:
        with acting(name):
            pieces.close()


def acting_as(attribute: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make what is put in place of a method in which an agent acts, of any kind: plain, a coroutine or a generator.

    Args:
        attribute: of the agent, in which it keeps its name.
    """

    def replacing(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(agent: Any, *args: Any, **options: Any) -> Any:
            name = _name_of(agent, attribute)
            with acting(name):
                made = original(agent, *args, **options)
            if inspect.isgenerator(made):
                return _acting_through(made, name)
            return acting_in(made, name) if hasattr(made, "__anext__") else made

        async def call_async(agent: Any, *args: Any, **options: Any) -> Any:
            with acting(_name_of(agent, attribute)):
                return await original(agent, *args, **options)

        return call_async if inspect.iscoroutinefunction(original) else call

    return replacing


def _name_of(agent: object, attribute: str) -> str | None:
    name = getattr(agent, attribute, None)
    return name if isinstance(name, str) else None


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
