"""Moving along the states of one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.codec.wire import Wire

__all__ = ["Cursor"]


class Cursor:
    """A state that moves along one run. Decoding a checkpoint costs less than undoing operations would save."""

    def __init__(self, read: Callable[[int], Wire], step: int) -> None:
        self._read = read
        self._step = step
        self._state = read(step)

    @property
    def step(self) -> int:
        """The checkpoint that `state` is."""
        return self._step

    @property
    def state(self) -> Wire:
        """The state after `step`."""
        return self._state

    def seek(self, step: int) -> Wire:
        """Move to checkpoint `step` and give its state."""
        self._state = self._read(step)
        self._step = step
        return self._state
