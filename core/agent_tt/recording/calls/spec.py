"""What is known of a function, or of a request, before its calls are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.model import CallKind, Effect
    from agent_tt.recording.calls.signature import Parameters

__all__ = ["CallSpec"]


@dataclass(frozen=True, slots=True)
class CallSpec:
    """What is known of a function whose calls are recorded.

    Attributes:
        kind: `tool` or `llm`.
        name: what the calls are called.
        effect: what a tool does to the world; None for a model call.
        parameters: how the function names its arguments.
        idempotency_key: the argument by which the outside world recognises a repeated call.
        model: the model that is called, where it is known.
        can_wait: whether a coroutine makes it, which awaits `until_live` before it does.
        seen: called as each call begins, recorded or not.
    """

    kind: CallKind
    name: str
    effect: Effect | None
    parameters: Parameters
    idempotency_key: str | None = None
    model: str | None = None
    can_wait: bool = False
    seen: Callable[[], None] | None = None

    @property
    def title(self) -> str:
        """What a step is called that holds such a call alone: of a request the model it asks, else where it goes."""
        method, _, address = self.name.partition(" ")
        place = address.partition("://")[2]
        return (self.model or f"{method} {place}") if place else self.name
