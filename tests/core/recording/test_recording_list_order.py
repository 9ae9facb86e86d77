"""`as_completed` while something is recorded: what Python's own does, in an order that no set decides."""

from __future__ import annotations

import asyncio
import concurrent.futures
import concurrent.futures._base
from asyncio import as_completed as tasks_as_completed
from concurrent.futures import as_completed as jobs_as_completed

import pytest

import agent_tt


async def number(value):
    return value


@pytest.mark.usefixtures("store")
def test_it_is_replaced_under_every_name_and_only_while_something_is_recorded():
    def bound():
        of_jobs = (concurrent.futures.as_completed, concurrent.futures._base.as_completed, jobs_as_completed)
        return asyncio.as_completed, asyncio.tasks.as_completed, tasks_as_completed, *of_jobs

    before = bound()
    with agent_tt.record("x"):
        assert all(now is not original for now, original in zip(bound(), before, strict=True))
        assert len(set(bound())) == 2
    assert bound() == before


@pytest.mark.usefixtures("store")
def test_tasks_come_as_from_pythons_own():
    async def agent():
        done_later = asyncio.get_running_loop().create_future()
        awaited = [number(value) for value in range(30)]
        found = [await done for done in tasks_as_completed([*awaited, awaited[0]])]
        with pytest.raises(TypeError):
            next(iter(tasks_as_completed(done_later)))
        done = [asyncio.create_task(number(value)) for value in range(30)]
        await asyncio.wait(done)
        found += [await one for one in tasks_as_completed(done, timeout=5)]
        (waiting,) = tasks_as_completed([done_later], timeout=0.001)
        with pytest.raises(TimeoutError):
            await waiting
        return found

    with agent_tt.record("x"):
        assert asyncio.run(agent()) == [*range(30), *range(30)]


@pytest.mark.usefixtures("store")
def test_jobs_that_are_done_come_in_the_order_in_which_they_were():
    with agent_tt.record("x"), concurrent.futures.ThreadPoolExecutor(1) as pool:
        jobs = [pool.submit(int, value) for value in range(40)]
        concurrent.futures.wait(jobs)
        assert [job.result() for job in jobs_as_completed({*reversed(jobs)}, timeout=5)] == list(range(40))
        never = concurrent.futures.Future()
        found = []
        with pytest.raises(TimeoutError, match=r"1 \(of 2\) futures unfinished"):
            found.extend(jobs_as_completed([never, jobs[3]], timeout=0.001))
        assert found == [jobs[3]]
        assert list(jobs_as_completed([])) == []


@pytest.mark.usefixtures("store")
def test_jobs_that_end_while_they_are_looked_at_come_in_the_order_in_which_they_ended():
    class EndsTheOthers(concurrent.futures.Future):
        def add_done_callback(self, fn):
            for job in (third, second, self):
                job.set_result(None)
            super().add_done_callback(fn)

    with agent_tt.record("x"):
        first, second, third = EndsTheOthers(), concurrent.futures.Future(), concurrent.futures.Future()
        assert list(jobs_as_completed([first, second, third], timeout=5)) == [third, second, first]
