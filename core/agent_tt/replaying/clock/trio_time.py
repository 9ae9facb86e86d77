"""trio in virtual time: its clock moves with the replay's, and its run waits on that, as asyncio's event loop does.

A run that is a guest in another library's loop waits in a thread of its own, for real.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol

from agent_tt.recording.concurrency.tasks import TRIO_RUN, trio_runner
from agent_tt.recording.lanes.hooks import HOOKS, Patch
from agent_tt.recording.modules.import_watch import ImportWatch
from agent_tt.replaying.clock.trio_loop import LONGEST_WAIT, TrioInside

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from agent_tt.replaying.clock.timeline import Timeline

__all__ = ["TrioTime"]


class _Virtual(Protocol):
    """The time of a replay."""

    @property
    def line(self) -> Timeline: ...

    @property
    def offset(self) -> float: ...

    def keeps_time(self) -> bool: ...

    def before_pass(self, loop: Any, inside: TrioInside, *, is_busy: bool) -> None: ...


class TrioTime:
    """While it is applied, trio's runs keep the time of `virtual`."""

    def __init__(self, virtual: _Virtual) -> None:
        self._virtual = virtual
        self._imports = ImportWatch(self._patch)
        self._patches: list[Patch] = []

    @property
    def limits(self) -> tuple[str, ...]:
        """What of this program is otherwise than it was, as sentences."""
        unfit = HOOKS.unfit.get("trio")
        return () if unfit is None else (f"trio's clock was not moved: {unfit}",)

    def apply(self) -> None:
        """Patch trio where it is loaded; else as soon as it is."""
        module = sys.modules.get(TRIO_RUN)
        if module is None:
            self._imports.watch(TRIO_RUN)
        else:
            self._patch(TRIO_RUN, module)

    def undo(self) -> None:
        """Give trio its own time again."""
        self._imports.stop()
        for patch in reversed(self._patches):
            patch.undo()

    def _patch(self, _: str, module: ModuleType) -> None:
        try:
            self._patches = [
                Patch(module.SystemClock, "current_time", self._telling),
                Patch(module.TheIOManager, "get_events", self._waiting),
            ]
            for patch in self._patches:
                patch.apply()
        except AttributeError:  # the hooks of the recording say so
            return

    def _telling(self, original: Callable[[object], float]) -> Callable[[object], float]:
        def current_time(clock: object) -> float:
            return original(clock) + self._virtual.offset

        return current_time

    def _waiting(self, original: Callable[[object, float], Any]) -> Callable[[object, float], Any]:
        def get_events(manager: object, timeout: float) -> Any:
            runner, virtual = trio_runner(), self._virtual
            if runner is None or not virtual.keeps_time():
                return original(manager, timeout)
            until = virtual.line.now() + timeout if timeout < LONGEST_WAIT else None
            virtual.before_pass(runner, TrioInside(runner, until), is_busy=timeout <= 0)
            return original(manager, 0 if virtual.keeps_time() else timeout)

        return get_events
