"""Whether a terminal sends its signals to this process."""

from __future__ import annotations

import os

__all__ = ["is_in_front"]


def is_in_front() -> bool:
    """Whether this process is among those in front of its terminal: Ctrl-C there reaches each of them."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
