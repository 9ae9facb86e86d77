"""Threads give way to keys sooner once the first frame is there, and not before: until then there are none."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from agent_tt_tui import launch
from agent_tt_tui.keymaps import DEBUGGER
from agent_tt_tui.screen import CommandScreen

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest
    from textual.screen import Screen


class FirstScreen(CommandScreen[None]):
    """A screen that is never painted."""

    CONTEXT = DEBUGGER


def test_threads_give_way_sooner_from_the_first_frame_on(monkeypatch: pytest.MonkeyPatch) -> None:
    before: list[float] = []
    waiting: list[Callable[[], object]] = []
    monkeypatch.setattr(FirstScreen, "after_frame", lambda _screen, work: waiting.append(work))

    class App:
        return_code = 3

        def __init__(self, first_screen: Callable[[], Screen[None]], **_: object) -> None:
            self._first_screen = first_screen

        def run(self) -> None:
            self._first_screen()
            before.append(sys.getswitchinterval())

    monkeypatch.setattr(launch, "AgentTT", App)
    usual = sys.getswitchinterval()
    try:
        assert launch.run_screen(FirstScreen) == 3
        assert before == [usual]
        (work,) = waiting
        work()
        assert sys.getswitchinterval() < usual / 2
    finally:
        sys.setswitchinterval(usual)
