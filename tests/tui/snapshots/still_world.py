"""A world that stands still: a clock that is moved by hand, ids in one order, a home of its own, nothing blinks."""

from __future__ import annotations

import os
import random
import secrets
import time
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Final

import pytest
from tests.tui.parsed_once import parse_once
from tests.tui.settling import settle_fast
from textual._compositor import Compositor
from textual.widgets import Input, TextArea

from agent_tt import config
from agent_tt.recording.links import Link, Place
from agent_tt.recording.runs import recorder
from agent_tt.store import liveness
from agent_tt_tui import format as fmt
from agent_tt_tui.chrome import Motion
from agent_tt_tui.footer import FooterRow
from agent_tt_tui.screens.debugger.features import related
from agent_tt_tui.screens.running.ask import AskDialog
from agent_tt_tui.screens.statistics import screen

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from agent_tt.recording.open_run import OpenCall, OpenStep

MONDAY: Final = 1_772_438_400.0
"""2026-03-02 08:00 UTC, in seconds since the epoch."""

_MOST_BYTES: Final = 420_000
"""No larger size is told: that of the store, which has more bytes, depends on the name of its folder."""

_MODEL_S, _TOOL_S, _BETWEEN_S = 0.84, 0.21, 0.009


class HandClock:
    """A clock that stands until it is moved.

    Attributes:
        at_us: microseconds since the epoch.
    """

    def __init__(self) -> None:
        self.at_us = round(MONDAY * 1e6)

    def go_to(self, day: int, hour: float) -> None:
        """Go to an hour of a day, counted from that Monday."""
        self.at_us = round((MONDAY + day * 86_400 + (hour - 8) * 3_600) * 1e6)

    def go_on(self, seconds: float) -> None:
        """Let time pass."""
        self.at_us += round(seconds * 1e6)


class Takes(Link):
    """Lets each call of an agent take its time."""

    place = Place.WATCH

    def __init__(self, clock: HandClock) -> None:
        self._clock, self._calls = clock, 0

    def around_call(self, call: OpenCall) -> AbstractContextManager[object]:
        self._calls += 1
        usual = _MODEL_S if call.spec.kind == "llm" else _TOOL_S
        self._clock.go_on(usual * (1 + self._calls * 7 % 10 / 8))  # no two neighbours take the same
        return nullcontext()

    def after_step(self, step: OpenStep) -> None:
        self._clock.go_on(_BETWEEN_S)


@contextmanager
def standing_still(home: Path) -> Iterator[HandClock]:
    """Let the world stand still, with `home` as the user's folder, and `agents` in it as the working directory."""
    clock, folder = HandClock(), home / "agents"
    folder.mkdir(parents=True, exist_ok=True)
    patch = pytest.MonkeyPatch()
    try:
        settle_fast(patch)
        _still_time(patch, clock)
        _still_widgets(patch)
        _without_terminal(patch)
        parse_once(patch)
        patch.setattr(secrets, "choice", random.Random(1).choice)  # ids of runs are drawn with it
        patch.setenv("HOME", str(home))
        patch.setenv("TZ", "UTC")
        for name in [name for name in os.environ if name.startswith(("AGENT_TT_", "XDG_", "NO_COLOR"))]:
            patch.delenv(name)
        patch.setenv("XDG_CACHE_HOME", str(home / ".cache"))
        patch.setenv("AGENT_TT_STORE", str(folder / "runs.db"))
        patch.setattr(config, "user_file", lambda: home / ".config" / "config.toml")
        patch.chdir(folder)
        patch.syspath_prepend(str(folder))
        time.tzset()
        yield clock
    finally:
        patch.undo()
        time.tzset()


def _still_time(patch: pytest.MonkeyPatch, clock: HandClock) -> None:
    patch.setattr(liveness, "_MOMENT", SimpleNamespace(clock=lambda: clock.at_us, owner=None))
    patch.setattr(time, "time", lambda: clock.at_us / 1e6)
    patch.setattr(time, "time_ns", lambda: clock.at_us * 1000)
    patch.setattr(screen, "today", lambda: datetime.fromtimestamp(MONDAY, UTC).date())
    patch.setattr(related, "now", lambda: clock.at_us / 1e6)
    patch.setattr(recorder, "uncovered_libraries", list)  # what other tests have loaded is in this process


def _still_widgets(patch: pytest.MonkeyPatch) -> None:
    """Let nothing blink or move, and no message of the footer go away by itself."""
    say = FooterRow.say
    patch.setattr(FooterRow, "say", lambda self, message, seconds=None: say(self, message, None))
    patch.setattr(Motion, "follow", lambda self, *, runs: False)
    patch.setattr(AskDialog, "GRACE_SECONDS", 0.001)
    size = fmt.size
    patch.setattr(fmt, "size", lambda bytes_: size(min(bytes_, _MOST_BYTES)))
    for widget in (Input, TextArea):
        patch.setattr(widget, "cursor_blink", False)


def _without_terminal(patch: pytest.MonkeyPatch) -> None:
    """Let nothing be drawn for a terminal that is not there: half of the work."""

    def render_update(self: Compositor, **_: object) -> None:
        self._dirty_regions.clear()

    patch.setattr(Compositor, "render_update", render_update)
