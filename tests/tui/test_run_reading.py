"""What the debugger is told of a run that is being written."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from agent_tt_tui.screens.debugger.run_reading import RunGrew, RunReading


def test_news_is_told_although_another_look_right_after_it_found_none():
    told: list[object] = []
    looks = iter([True, False])

    def refresh() -> bool:
        found = next(looks)
        if found:
            reading.poll()  # somebody asks again before the first look has ended
        return found

    screen: Any = SimpleNamespace(
        run_worker=lambda work, **_options: work(), post_message=told.append, workers=SimpleNamespace()
    )
    model: Any = SimpleNamespace(run=SimpleNamespace(id="run"), refresh=refresh)
    reading = RunReading(screen, model)
    reading.poll()
    assert next(looks, None) is None
    assert [type(message) for message in told] == [RunGrew]
