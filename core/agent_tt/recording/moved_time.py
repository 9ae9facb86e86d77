"""How far the clocks of this code have been moved on beyond the real time, which only a replay does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["move_by", "moved_on"]


class _Desk:
    offset: Callable[[], float] | None = None


_DESK = _Desk()


def moved_on() -> float:
    """Seconds between the real time and what clocks show this code; 0 outside any replay."""
    offset = _DESK.offset
    return 0.0 if offset is None else offset()


def move_by(offset: Callable[[], float] | None) -> None:
    """Let `offset` say how far each asking thread's clock has moved on; None: clocks show the real time."""
    _DESK.offset = offset
