"""Exceptions by which the agent's own side stops waiting for a call: they are no answers of the world.

A replay does not raise them. The call waits instead, until the agent's own scope cancels it again, in its library's
way: trio's `Cancelled`, for one, cannot be made by anybody else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from agent_tt.model.facts import CallFacts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire

__all__ = ["cancellation_facts", "is_cancellation", "parts_of_group"]

_NAMES: Final = frozenset({"Cancelled", "CancelledError", "GeneratorExit", "GreenletExit"})
"""Names of the classes that libraries raise into what they cancel: trio, asyncio, Python, gevent."""

_NAME: Final[Any] = vars(type)["__name__"]
_PARTS: Final[Any] = vars(BaseExceptionGroup)["exceptions"]


def is_cancellation(error: BaseException) -> bool:
    """Whether an exception, or everything in a group of them, says that the agent stopped waiting.

    Such a class is not an `Exception`, so that no agent takes it for a failure. `concurrent.futures.CancelledError` is
    one, and says that somebody else's job was cancelled, which is an answer.
    """
    group = parts_of_group(error)
    if group is not None:
        return all(is_cancellation(part) for part in group)
    kind = type(error)  # its `__class__` may be a property
    return not issubclass(kind, Exception) and any(_NAME.__get__(one) in _NAMES for one in kind.__mro__)


def parts_of_group(error: BaseException) -> tuple[BaseException, ...] | None:
    """What is in a group of exceptions; None for one that is not a group. Nothing of its class's own is called."""
    return _PARTS.__get__(error) if issubclass(type(error), BaseExceptionGroup) else None


def cancellation_facts(error: BaseException) -> Mapping[str, Wire]:
    """What is kept among the facts of a call that `error` ended."""
    return CallFacts.cancelled.true() if is_cancellation(error) else {}
