"""Processes that `multiprocessing` starts anew (`spawn`, `forkserver`): they are told which run they belong to."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Final

from agent_tt.recording.lanes.hooks import Patch
from agent_tt.recording.runs.child_process import JOIN_VARIABLE, join_from_here

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

__all__ = ["patches"]

_NOT_AGENTS: Final = "multiprocessing.resource_tracker"
_SERVER: Final = "multiprocessing.forkserver"
_LOCK: Final = threading.Lock()


def patches(module: ModuleType) -> list[Patch]:
    """List what is replaced in `multiprocessing.util`.

    Raises:
        AttributeError: this version, or this system, does not have what we replace.
    """
    module.spawnv_passfds  # noqa: B018  it raises
    return [Patch(module, "spawnv_passfds", _hook_spawn)]


def _hook_spawn(original: Callable[..., object]) -> Callable[..., object]:
    def spawnv_passfds(path: object, args: Sequence[object], passfds: object) -> object:
        if any(_NOT_AGENTS in str(word) for word in args):
            return original(path, args, passfds)
        # Who starts the server first may be a race; what it forks is told its lane by who asks for it.
        join = join_from_here(label="server" if any(_SERVER in str(word) for word in args) else None)
        if join is None:
            return original(path, args, passfds)
        with _LOCK:  # it gives the environment of this process on, and takes no other
            os.environ[JOIN_VARIABLE] = join.to_text()
            try:
                return original(path, args, passfds)
            finally:
                os.environ.pop(JOIN_VARIABLE, None)

    return spawnv_passfds
