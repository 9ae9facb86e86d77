"""Functions that a script defines itself and calls before it ends: replaced as soon as each is defined.

No import hook sees `__main__`. While its names are waited for, a trace function looks after each line of the module's
own code, and of no other; it is taken away with the last name, or when somebody else sets one.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

__all__ = ["MainWatch"]


class MainWatch:
    """Waits for names of `__main__`."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[Callable[[], None]]] = {}

    def wait_for(self, name: str, found: Callable[[], None]) -> None:
        """Call `found` once the script has bound `name`."""
        self._waiting.setdefault(name, []).append(found)
        if sys.gettrace() is None:
            sys.settrace(self._enter)

    def stop(self) -> None:
        """Wait for nothing more."""
        self._waiting.clear()
        if sys.gettrace() == self._enter:
            sys.settrace(None)

    def _enter(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:  # noqa: ARG002  as Python calls it
        is_main = frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") == "__main__"
        return self._look if is_main else None

    def _look(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:  # noqa: ARG002  as Python calls it
        for name in [name for name in self._waiting if name in frame.f_globals]:
            for found in self._waiting.pop(name):
                found()
        if not self._waiting:
            frame.f_trace = None
            self.stop()
            return None
        return self._look
