"""Who lets running agents be held. The recorder knows nothing of it but that it begins and ends with a recording."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

__all__ = ["attached", "offer"]

_OFFERED: Final[list[Callable[[], AbstractContextManager[None]]]] = []


def offer(make: Callable[[], AbstractContextManager[None]]) -> None:
    """Let recordings be attached from now on; `make` gives what is entered as long as one lasts."""
    _OFFERED[:] = [make]


def attached() -> AbstractContextManager[None]:
    """What a recording that is attached enters with its beginning, and leaves with its end."""
    return _OFFERED[0]() if _OFFERED else nullcontext()
