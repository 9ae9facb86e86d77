"""Recordings that go into a store in memory, and a process without hooks or offers between tests."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from fake_store import FakeStore

from agent_tt.recording.runs import recorder
from agent_tt.recording.session import SESSION

if TYPE_CHECKING:
    from collections.abc import Iterator

UNHOOKED = (asyncio.BaseEventLoop.create_task, ThreadPoolExecutor.submit, threading.Thread.start)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> FakeStore:
    fake = FakeStore()
    monkeypatch.setattr(recorder, "open_for_recording", lambda path, durability: fake)
    return fake


@pytest.fixture(autouse=True)
def _nothing_is_left_behind() -> Iterator[None]:
    yield
    SESSION.start()
    hooked = (asyncio.BaseEventLoop.create_task, ThreadPoolExecutor.submit, threading.Thread.start)
    assert all(now is before for now, before in zip(hooked, UNHOOKED, strict=True))
