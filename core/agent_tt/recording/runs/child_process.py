"""Processes that a recorded process starts or forks: what they record belongs to the same run.

A process has a lane of its own, `<the lane that created it>/proc.N`, in which its main thread runs; further tasks and
threads of it are lanes below that. One that is started is told by a variable of its environment which run, lane and
call it belongs to. One that is forked goes on with what it finds in memory, and writes through a connection of its own.
Whoever began the run ends it. Numbers of steps, calls and answers are taken inside the store's transactions, so that
processes of one run cannot disturb each other, however they end.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from agent_tt._dataclass import dataclass
from agent_tt.recording.lanes.guard_bypass import share_ends
from agent_tt.recording.lanes.lanes import THREAD_LANES, Lane
from agent_tt.recording.scope import here

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping
    from types import ModuleType

    from agent_tt.codec.wire import Wire
    from agent_tt.recording.open_run import OpenRun

__all__ = [
    "JOIN_VARIABLE",
    "Join",
    "environment_for",
    "is_beside_jobs",
    "join_from_here",
    "label_here",
    "preparing_places",
    "starting_places",
    "watch_forks",
]

JOIN_VARIABLE: Final = "AGENT_TT_JOIN"
_LABEL: Final = "proc"
_POOLS: Final = frozenset({"concurrent.futures.process", "multiprocessing.pool"})
_OF_POOL: Final = "pool-proc"
"""What a pool's own processes are counted under: how many it starts may be a race, and their jobs have other lanes.

No function has such a name, so no task is counted under it.
"""

_LAST: Final = -1000
"""After everything else that `multiprocessing` does as a process ends: highest first."""


@dataclass(frozen=True, slots=True)
class Join:
    """What a started process belongs to.

    Attributes:
        run: id of the run.
        lane: its own lane.
        inside: step and number of the call that started it; None where its start is not a recorded call.
    """

    run: str
    lane: str
    inside: Mapping[str, Wire] | None = None

    def to_text(self) -> str:
        """As the environment carries it."""
        return json.dumps(asdict(self))

    @staticmethod
    def take(environment: MutableMapping[str, str] = os.environ) -> Join | None:
        """What this process belongs to, None where nobody said so. Processes that it starts do not find it."""
        text = environment.pop(JOIN_VARIABLE, None)
        try:
            return None if text is None else Join(**json.loads(text))
        except (ValueError, TypeError):
            return None


def join_from_here(inside: Mapping[str, Wire] | None = None, label: str | None = None) -> Join | None:
    """What a process that this code starts belongs to; None where its processes are not recorded into the run.

    Args:
        inside: step and number of the call that starts it.
        label: what its lane is counted under, where that is not what this thread starts.
    """
    scope = here()
    recording = None if scope is None else scope.recording
    if recording is None or recording.children_know is None or not recording.can_be_joined():
        return None
    return Join(recording.id, recording.lanes.current().child(label or label_here()).id, inside)


def environment_for(
    given: Mapping[str, str] | None, inside: Mapping[str, Wire] | None = None
) -> Mapping[str, str] | None:
    """The environment of a process that this code starts with `given` (None: its own), with what it belongs to."""
    scope = here()
    known_by = None if scope is None else scope.recording.children_know
    environment = os.environ if given is None else given
    if known_by is None or known_by not in environment:
        return given
    join = join_from_here(inside)
    return given if join is None else {**environment, JOIN_VARIABLE: join.to_text()}


# ---------------------------------------------------------------- forks


class _Forking(threading.local):
    """What this thread is about to fork or start.

    Attributes:
        into: the run of the process, and its lane.
        label: what its lane is counted under.
        method: how `multiprocessing` starts it; None outside of that.
    """

    into: tuple[OpenRun, Lane] | None = None
    label: str = _LABEL
    method: str | None = None


_FORKING = _Forking()
_IS_WATCHING = threading.Event()


def is_beside_jobs(lane: str) -> bool:
    """Whether a lane is that of a pool's process, or below it: what is done there, by an initializer, is no job's."""
    return f"/{_OF_POOL}." in lane


def label_here() -> str:
    """What the lane of a process is counted under that this thread starts."""
    return _FORKING.label


def starting_places(module: ModuleType) -> list[tuple[Any, str, Callable[..., Any]]]:
    """List what is replaced in `multiprocessing.process`: owner, name, and what makes the replacement."""
    return [(module.BaseProcess, "start", _hook_start)]


def _hook_start(original: Callable[..., object]) -> Callable[..., object]:
    def start(process: Any) -> object:
        is_of_pool = getattr(getattr(process, "_target", None), "__module__", None) in _POOLS
        before = _FORKING.label, _FORKING.method
        _FORKING.label = _OF_POOL if is_of_pool else _LABEL
        _FORKING.method = getattr(process, "_start_method", None)
        try:
            return original(process)
        finally:
            _FORKING.label, _FORKING.method = before

    return start


def preparing_places(module: ModuleType) -> list[tuple[Any, str, Callable[..., Any]]]:
    """List what is replaced in `multiprocessing.spawn`: owner, name, and what makes the replacement."""
    return [(module, "get_preparation_data", _hook_preparation)]


def _hook_preparation(original: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    def get_preparation_data(name: str) -> dict[str, Any]:
        data = original(name)
        join = join_from_here() if _FORKING.method == "forkserver" else None
        if join is not None:
            data["agent_tt_lane"] = _OwnLane(join.lane)
        return data

    return get_preparation_data


@dataclass(frozen=True, slots=True)
class _OwnLane:
    """Puts a process that a server forks into its lane where it is unpickled: the server knows nothing of who asked it.

    Otherwise its lane would be counted among all that the server forks, and how many that are may be a race.
    """

    lane: str

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return _go_on_in, (self.lane,)


def _go_on_in(lane: str) -> None:
    scope = here()
    if scope is not None:
        _go_on(scope.recording, Lane(scope.recording.lanes, lane))


def watch_forks() -> None:
    """From now on forked processes have lanes of their own. It cannot be taken back, and does nothing outside runs."""
    if not _IS_WATCHING.is_set() and hasattr(os, "register_at_fork"):
        _IS_WATCHING.set()
        os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)


def _before() -> None:
    share_ends()
    scope = here()
    if scope is not None and scope.recording.can_be_joined():
        _FORKING.into = scope.recording, scope.recording.lanes.current().child(label_here())


def _in_parent() -> None:
    _FORKING.into = None


def _in_child() -> None:
    into, _FORKING.into, _FORKING.label = _FORKING.into, None, _LABEL
    if into is None:
        return
    recording, lane = into
    _go_on(recording, lane)
    util = sys.modules.get("multiprocessing.util")
    if util is not None:  # its processes leave without saying so to anyone else; what was registered before is dropped
        util.register_after_fork(recording, _end_with_multiprocessing)


def _go_on(recording: OpenRun, lane: Lane) -> None:
    THREAD_LANES.job, THREAD_LANES.thread = None, lane
    recording.go_on_forked(lane)


def _end_with_multiprocessing(recording: OpenRun) -> None:
    sys.modules["multiprocessing.util"].Finalize(None, recording.end_forked, exitpriority=_LAST)
