"""Explicit shims are recorded and given again like the names that they stand for."""

from __future__ import annotations

import datetime as dt

import agent_tt
from agent_tt import shims
from agent_tt.replaying import served

ZONE = dt.timezone(dt.timedelta(hours=3))


def everything():
    deck = list(range(30))
    shims.shuffle(deck)
    return [
        shims.time(),
        shims.time_ns(),
        shims.monotonic(),
        shims.perf_counter(),
        shims.now(),
        shims.now(ZONE),
        shims.today(),
        shims.random(),
        shims.uniform(1, 2),
        shims.randint(1, 10**9),
        shims.randbytes(4),
        shims.choice(range(10**6)),
        shims.sample(range(10**6), 3),
        deck,
        shims.token_hex(),
        shims.urandom(4),
        shims.uuid1(),
        shims.uuid4(),
        shims.environ("PROBE"),
        shims.environ("PROBE_ABSENT", 5),
    ]


def test_they_come_again(tmp_path, monkeypatch):
    monkeypatch.setenv("PROBE", "one")
    with agent_tt.record("shims", store=tmp_path / "runs.db") as run, run.step("draw"):
        recorded = everything()
    assert recorded[5].utcoffset() == dt.timedelta(hours=3)
    assert recorded[-2:] == ["one", 5]
    monkeypatch.setenv("PROBE", "two")
    with served(run.id, store=tmp_path / "runs.db"), agent_tt.record("shims") as again, again.step("draw"):
        assert everything() == recorded


def test_outside_a_recording_they_are_live():
    first, second = everything(), everything()
    assert first[7] != second[7]
    assert [type(one) for one in first] == [type(one) for one in second]


def test_their_names_are_told():
    assert set(shims.__all__) <= set(dir(shims))
