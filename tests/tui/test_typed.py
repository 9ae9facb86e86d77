"""What is typed at once, before anything of it is done, does what it does when it is typed slowly."""

from __future__ import annotations

import asyncio
from threading import Event
from types import SimpleNamespace
from typing import TYPE_CHECKING

from tests.tui.debugger_app import debugger, settled
from tests.tui.fake_source import refund_loop
from tests.tui.waiting import until
from textual import events

from agent_tt_tui import typed
from agent_tt_tui.screens.debugger.screen import DebuggerScreen
from agent_tt_tui.viewmodel.debugger.runmodel import RunModel

if TYPE_CHECKING:
    import pytest

    from agent_tt_tui.app import AgentTT

NAMES = {":": "colon", "/": "slash", "\r": "enter", "\x1b": "escape"}


def type_at_once(app: AgentTT, text: str) -> None:
    for letter in text:
        app.post_message(events.Key(NAMES.get(letter, letter), letter))


async def test_a_step_that_is_typed_at_once_is_gone_to() -> None:
    app = debugger(refund_loop(21))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        type_at_once(app, ":1\r")
        await until(pilot, lambda: app.screen is screen and screen.time.number == 1)
        assert screen.panes.inspector.tab == "State"
        type_at_once(app, "b\x1b:12\rj")
        await until(pilot, lambda: app.screen is screen and screen.time.number == 13)


async def test_what_is_searched_for_may_be_typed_at_once() -> None:
    app = debugger(refund_loop(21))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        type_at_once(app, "/refund")
        await until(pilot, lambda: screen.panes.find_panel.wish.text == "refund")


async def test_keys_go_on_at_once_where_a_screen_is_left_that_they_were_typed_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(typed, "_PATIENCE_S", 1000.0)
    app = debugger(refund_loop(21))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        type_at_once(app, "?\x1b?\x1b:3\r?\x1bj")
        await until(pilot, lambda: isinstance(app.screen, DebuggerScreen) and screen.time.number == 4)


async def test_keys_that_come_before_the_first_step_is_known_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typed, "_PATIENCE_S", 1000.0)
    may_open, opened = Event(), RunModel.open

    def open_late(model: RunModel) -> None:
        may_open.wait()
        opened(model)

    monkeypatch.setattr(RunModel, "open", open_late)
    app = debugger(refund_loop(21), step=5)
    async with app.run_test(size=(120, 40)) as pilot:
        screen = app.screen
        assert isinstance(screen, DebuggerScreen)
        type_at_once(app, "/refund\x1bj")
        for _ in range(100):  # rounds in which the first key would long have been handled
            await asyncio.sleep(0)
        may_open.set()
        await until(pilot, lambda: screen.time.number == 6)
        assert screen.panes.find_panel.wish.text == ""


async def test_what_fills_the_index_stands_still_until_no_key_was_typed_for_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = debugger(refund_loop(21))
    asked: list[int] = []
    async with app.run_test(size=(120, 40)) as pilot:
        screen = await settled(pilot)
        monkeypatch.setattr(app.typed, "give_way", lambda: asked.append(1))
        await pilot.press("slash")
        await settled(pilot)
        assert len(asked) >= 21  # at each step
        assert screen.panes.find_panel.display


async def test_a_key_that_comes_meanwhile_is_waited_for_too(monkeypatch: pytest.MonkeyPatch) -> None:
    app = debugger(refund_loop(21))
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        now, slept = 1000.0, []

        def sleep(seconds: float) -> None:
            nonlocal now
            slept.append(round(seconds, 3))
            now += seconds
            if len(slept) == 1:
                keys._begun = now - 0.05  # another one, while this slept

        keys = app.typed
        with monkeypatch.context() as patched:
            patched.setattr(typed, "time", SimpleNamespace(monotonic=lambda: now, sleep=sleep))
            keys._begun = now - 0.03
            keys.give_way()
            keys.give_way()
        assert slept == [0.12, 0.1]
