"""What a test waits for after a key."""

import asyncio
import itertools
from types import SimpleNamespace

from tests.tui import settling


async def test_an_app_has_its_turns_however_slow_the_machine_is(monkeypatch):
    clock = itertools.count(0.0, 60.0)
    monkeypatch.setattr(settling, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    loop, left = asyncio.get_running_loop(), list(range(50))

    def go_on():
        left.pop()
        if left:
            loop.call_soon(go_on)

    loop.call_soon(go_on)
    await settling.settled()
    assert left == []


async def test_an_app_that_never_rests_is_left(monkeypatch):
    monkeypatch.setattr(settling, "_MOST_LOOKS", 50)
    loop, turns = asyncio.get_running_loop(), itertools.count()

    def go_on():
        next(turns)
        work[:] = [loop.call_soon(go_on)]

    work = []
    go_on()
    await settling.settled(max_sleep=0.0)
    work[0].cancel()
    assert next(turns) >= 50
