"""The debugger's first frame has the step in it, costs the same for runs of every length, and is styled once."""

from __future__ import annotations

import gc
import subprocess
import sys
from threading import Event
from typing import TYPE_CHECKING

import pytest
from tests.tui.debugger_app import debugger, settled
from tests.tui.fake_source import refund_loop
from textual._compositor import Compositor
from textual.css.stylesheet import Stylesheet

from agent_tt_tui.screens.debugger import time
from agent_tt_tui.screens.debugger.run_reading import RunReading
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.theme import LIGHT
from agent_tt_tui.viewmodel.debugger.runmodel import PAGE, RunModel

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt_tui.app import AgentTT

SIZE = (120, 40)


@pytest.fixture
def painted(monkeypatch: pytest.MonkeyPatch) -> Callable[[AgentTT], list[bool]]:
    """Write down of each frame of an app's debugger whether the step had been read."""

    def watch(app: AgentTT) -> list[bool]:
        frames: list[bool] = []
        paint = Compositor.render_update

        def render_update(self: Compositor, *args: object, **kwargs: object) -> object:
            if isinstance(app.screen, DebuggerScreen):
                frames.append(app.screen.time.view is not None)
            return paint(self, *args, **kwargs)  # type: ignore[arg-type]

        monkeypatch.setattr(Compositor, "render_update", render_update)
        return frames

    return watch


@pytest.mark.parametrize("steps", [0, 1, 21, PAGE + 1])
async def test_nothing_is_painted_before_the_step_is_read(
    steps: int, painted: Callable[[AgentTT], list[bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "_FIRST_FRAME_SECONDS", 60.0)
    app = debugger(refund_loop(steps))
    frames = painted(app)
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        assert frames
        assert all(frames)


async def test_a_step_that_takes_long_is_waited_for_with_empty_panes(
    painted: Callable[[AgentTT], list[bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    read, load = Event(), RunModel.load

    def slow(self: RunModel, *args: object, **kwargs: object) -> object:
        read.wait(30)
        return load(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(RunModel, "load", slow)
    monkeypatch.setattr(time, "_FIRST_FRAME_SECONDS", 0.01)
    app = debugger(refund_loop(21))
    frames = painted(app)
    async with app.run_test(size=SIZE) as pilot:
        while not frames:
            await pilot.pause(0.01)
        assert frames[0] is False
        read.set()
        screen = await settled(pilot)
        assert screen.time.view is not None
        assert frames[-1] is True


async def test_the_other_steps_of_a_long_run_are_looked_at_after_the_first_frame(
    painted: Callable[[AgentTT], list[bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "_FIRST_FRAME_SECONDS", 60.0)
    steps = PAGE + 1
    app = debugger(refund_loop(steps))
    frames = painted(app)
    begun: list[int] = []
    scan = RunReading.scan

    def scanning(self: RunReading) -> None:
        begun.append(len(frames))
        scan(self)

    monkeypatch.setattr(RunReading, "scan", scanning)
    async with app.run_test(size=SIZE) as pilot:
        screen = await settled(pilot)
        assert begun
        assert begun[0] >= 1
        assert screen.model.overview.scanned == steps


async def test_the_style_sheet_is_parsed_again_only_for_another_theme(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[object] = []
    reparse = Stylesheet.reparse

    def counting(self: Stylesheet) -> None:
        parsed.append(self)
        reparse(self)

    monkeypatch.setattr(Stylesheet, "reparse", counting)
    app = debugger(refund_loop(21))
    async with app.run_test(size=SIZE) as pilot:
        screen = await settled(pilot)
        assert parsed == []
        before = screen.panes.timeline.styles.background, screen.styles.background
        app.theme = LIGHT.name
        await pilot.pause()
        assert len(parsed) == 1
        assert (screen.panes.timeline.styles.background, screen.styles.background) != before


COLLECTED = """
import gc, sys
sys.argv = ["agent-tt", *{arguments!r}]
from agent_tt_tui import __main__
try:
    __main__.main()
except SystemExit:
    pass
print(gc.isenabled())
"""


def test_a_command_collects_its_garbage() -> None:
    script = COLLECTED.format(arguments=["samples"])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "True"


async def test_the_app_collects_garbage_again_after_its_first_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_tt_tui.app._OPENING_S", 0.01)
    gc.disable()
    try:
        async with debugger(refund_loop(21)).run_test(size=SIZE) as pilot:
            await settled(pilot)
            for _ in range(1000):
                if gc.isenabled():
                    break
                await pilot.pause(0.01)
            assert gc.isenabled()
    finally:
        gc.enable()
        gc.unfreeze()
