"""Stopping an agent that a command has started, whoever stops the command."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


@contextmanager
def stopped_as_by_ctrl_c() -> Iterator[None]:
    """Let `kill` and a terminal that closes stop the agent as Ctrl-C does; the latter leaves it less time."""
    from agent_tt.supervising.keeper import TerminalLost

    def interrupt(number: int, _frame: FrameType | None) -> None:
        raise TerminalLost if number == getattr(signal, "SIGHUP", None) else KeyboardInterrupt

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    # Where one is ignored (by nohup), somebody wants it to go on.
    heard = [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, interrupt) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
