"""Addresses by which processes of `multiprocessing` meet: managers, and queues that are handed on."""

from __future__ import annotations

import os
import tempfile
from pathlib import PurePath

__all__ = ["is_own_pipe"]


def is_own_pipe(address: object) -> bool:
    """Whether an address is one by which processes of `multiprocessing` meet: it makes these names itself.

    Its server's process names the folder, so who connects knows only what such names look like.
    """
    path = PurePath(os.fsdecode(address)) if isinstance(address, (str, bytes)) else PurePath()
    is_named_so = path.name.startswith("listener-") and path.parent.name.startswith("pymp-")
    return is_named_so and path.parent.parent == PurePath(tempfile.gettempdir())
