"""How long steps, calls and runs took: measured on a clock that nobody sets, and from where the agent begins."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from agent_tt.model import CallEnd, NewCall, NewFork, NewRun, NewStep, StepEnd

if TYPE_CHECKING:
    import pytest
    from conftest import Project

HOUR_NS = 3_600_000_000_000


def test_a_wall_clock_that_is_set_back_makes_nothing_take_longer_or_less_than_no_time(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = project.store.begin_run(NewRun(name="set back"), {})
    step = writer.open_step(NewStep(name="one"))
    call = writer.begin_call(step, NewCall("tool", "pay", {}, "00"))
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() - HOUR_NS)
    writer.end_call(step, call, CallEnd("ok", None))
    writer.close_step(step, StepEnd(status="ok"), {})
    writer.finish("succeeded")
    run = project.store.run(writer.run_id)
    (kept,) = project.store.steps(run.id)
    (asked,) = project.store.calls(run.id, 1)
    assert run.ended_us is not None
    took = (run.ended_us - run.started_us, kept.duration_us, asked.duration_us)
    assert all(each is not None and 0 <= each < HOUR_NS // 1000 for each in took)


def test_a_fork_begins_when_its_agent_does(project: Project) -> None:
    writer = project.store.begin_run(NewRun(name="parent"), {})
    writer.close_step(writer.open_step(NewStep(name="one")), StepEnd(status="ok"), {})
    writer.finish("succeeded")
    fork = project.store.begin_fork(NewFork(writer.run_id, 1, state={}, new=NewRun(name="")))
    waits = project.store.run(fork).started_us
    adopted = project.store.adopt_run(fork, NewRun(name=""), None)
    begun = project.store.run(fork).started_us
    assert begun > waits
    adopted.close_step(adopted.open_step(NewStep(name="two")), StepEnd(status="ok"), {})
    adopted.finish("succeeded")
    assert project.store.run(fork).started_us == begun
