"""Changing what an agent works on and what it sends: what the recorder asks in the process of a fork.

A fork's edits are applied by a floor above; those that record know it only by this shape. At most one amends a process.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agent_tt.providers import ModelCall
    from agent_tt.recording.recorder import Recording
    from agent_tt.recording.signature import Parameters
    from agent_tt.recording.steps import RecordedStep

__all__ = ["Amender", "amended_by", "amender_here"]


class Amender(Protocol):
    """Applies the edits of a fork while its agent runs."""

    def run_begun(self, recording: Recording) -> None:
        """A recording has begun: its state is the input."""
        ...

    def step_ended(self, step: RecordedStep) -> None:
        """A step has ended, and its checkpoint was taken."""
        ...

    def request(self, url: str, body: bytes, call: ModelCall, lane: str, signature: str) -> tuple[str, bytes] | None:
        """What to send in place of a request to a model: another address and body; None to send it as it is.

        Args:
            url: where it is sent to.
            body: JSON.
            call: what it asks.
            lane: id of the lane that asks; "" where no recording reaches.
            signature: digest of the question as it stands.
        """
        ...

    def arguments(
        self, parameters: Parameters, args: Sequence[object], kwargs: Mapping[str, object], lane: str, signature: str
    ) -> tuple[tuple[object, ...], dict[str, object]] | None:
        """What to call a function with that asks a model; None for what it was called with."""
        ...


class _Desk:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.amender: Amender | None = None


_DESK = _Desk()


def amender_here() -> Amender | None:
    """What amends this process; None where nothing does."""
    return _DESK.amender


@contextmanager
def amended_by(amender: Amender) -> Iterator[None]:
    """Let `amender` change what the agent of this process works on and sends, while the block lasts."""
    with _DESK.lock:
        before, _DESK.amender = _DESK.amender, amender
    try:
        yield
    finally:
        with _DESK.lock:
            _DESK.amender = before
