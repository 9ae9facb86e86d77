"""In a worker process of a replay that is a new interpreter: what is put in place before any code of the agent's."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Final

import agent_tt.seams.install  # noqa: F401  from here on the seams come and go with the recorder's hooks
from agent_tt.intercepting.recorded_responses import RecordedResponses
from agent_tt.intercepting.run_handoff import StoreOverride
from agent_tt.model import AgentCode, NewRun
from agent_tt.patching.patches import patched_again
from agent_tt.recording.lanes.lanes import Lanes
from agent_tt.recording.runs.recorder import Recording
from agent_tt.recording.session import SESSION
from agent_tt.replaying.clock.virtual_time import virtual_time
from agent_tt.replaying.guard.attempts import answered_again
from agent_tt.replaying.guard.guard import guarded
from agent_tt.replaying.guard.quiet import quiet
from agent_tt.replaying.null_store import NumberingStore
from agent_tt.replaying.workers.asking import Asking
from agent_tt.replaying.workers.connection import Line
from agent_tt.replaying.workers.starting import OWN_WORKERS, Workers

if TYPE_CHECKING:
    from agent_tt.replaying.workers.starting import Joining

__all__ = ["join"]

_HELD: Final = ExitStack()
"""Context managers that stay entered until the worker process ends."""


def join(told: Joining) -> None:
    """Make this process a worker of a replay, until it ends."""
    sys.path[:] = told.sys_path
    setting = told.setting
    setting.use_rules()
    asking = Asking(Line(told.address), setting.kept_headers)
    store = NumberingStore(begun=told.number)
    store.elsewhere = asking
    link = RecordedResponses(asking)
    hold = _HELD.enter_context
    hold(quiet())
    clock = hold(virtual_time(asking.awaited))
    hold(SESSION.joined(StoreOverride(store.as_store()), link))
    if told.lane:
        hold(_Worker(told))
    hold(patched_again(setting.patched, setting.root))
    guard = hold(guarded(partial(answered_again, asking), root=setting.root, rules=OWN_WORKERS))
    hold(Workers(setting, store, clock, (link, guard), None, told.address).standing())
    if setting.prepare is not None:
        setting.prepare()


class _Worker(Recording):
    """The recording of a worker, in the lane that its parent has made for it."""

    def __init__(self, told: Joining) -> None:
        super().__init__(
            NewRun("replay", AgentCode(root=told.setting.root)),
            None,
            store=None,
            durability="normal",
            steps="model calls" if told.makes_steps else "names",
            lanes=Lanes(told.lane),
        )
