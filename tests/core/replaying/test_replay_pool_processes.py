"""Calls that processes of a pool make beside its jobs, and a Python whose pools are not as we know them."""

from __future__ import annotations

import multiprocessing.spawn
import os
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

import pytest

from agent_tt.model import Call, Run
from agent_tt.recording.calls.answers import Question
from agent_tt.recording.lanes.hooks import HOOKS
from agent_tt.replaying.block import replaying
from agent_tt.replaying.divergence import Divergence
from agent_tt.replaying.engine import Replay
from agent_tt.replaying.tape.tape import lay_out
from agent_tt.replaying.workers.starting import check_pools

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST, SECOND, JOB = "main/pool-proc.0", "main/pool-proc.1", "main/work.0"


def replay_of(*asked: tuple[str, str]) -> Replay:
    """A replay of calls of `look`: the lane and the question of each, answered in this order."""
    sequences = dict.fromkeys([lane for lane, _ in asked], 0)
    calls = []
    for number, (lane, text) in enumerate(asked, 1):
        sequences[lane] += 1
        made = Call(
            1,
            number,
            "tool",
            "look",
            "ok",
            lane=lane,
            lane_seq=sequences[lane],
            args={"what": text},
            result=f"{lane} {text}",
            signature=text,
            delivered=number,
        )
        calls.append((made, ()))
    return Replay(lay_out(Run("r", "r", "succeeded", 0), calls))


def ask(replay: Replay, lane: str, text: str) -> str:
    served = replay.ask(Question("tool", "look", {"what": text}, text, None, lane, 0))
    assert served is not None
    served.wait()
    return served.call.result


def kinds(replay: Replay) -> tuple[list[str], list[str]]:
    """What was found, and which reservations there are."""
    replay.finish()
    return [each.kind for each in replay.findings], [note.kind for note in replay.report().reservations]


def test_as_many_processes_as_recorded_are_no_reservation() -> None:
    replay = replay_of((FIRST, "set up"), (SECOND, "set up"), (JOB, "a"))
    assert [ask(replay, lane, "set up") for lane in (FIRST, SECOND)] == [f"{FIRST} set up", f"{SECOND} set up"]
    assert ask(replay, JOB, "a") == f"{JOB} a"
    assert kinds(replay) == ([], [])


def test_a_process_more_is_given_what_another_was_and_no_job_loses_its_answer() -> None:
    replay = replay_of((FIRST, "same"), (JOB, "same"))
    assert [ask(replay, lane, "same") for lane in (FIRST, SECOND, JOB)] == [f"{FIRST} same"] * 2 + [f"{JOB} same"]
    assert replay.served == 2
    assert kinds(replay) == ([], ["unreliable"])


def test_a_process_fewer_is_a_reservation_and_a_job_takes_nothing_of_it() -> None:
    replay = replay_of((FIRST, "same"), (JOB, "same"), (SECOND, "same"))
    assert [ask(replay, lane, "same") for lane in (FIRST, JOB)] == [f"{FIRST} same", f"{JOB} same"]
    assert kinds(replay) == ([], ["unreliable"])


def test_what_no_process_calls_any_more_is_missing_and_so_is_what_one_left_out() -> None:
    replay = replay_of((JOB, "a"), (FIRST, "same"))
    assert ask(replay, JOB, "a") == f"{JOB} a"
    assert kinds(replay) == (["missing call"], ["unreliable"])
    replay = replay_of((FIRST, "one"), (FIRST, "two"))
    assert ask(replay, FIRST, "two") == f"{FIRST} two"
    assert kinds(replay) == (["missing call"], ["unreliable"])


def test_a_job_more_is_not_given_what_a_process_was() -> None:
    replay = replay_of((FIRST, "same"))
    with pytest.raises(Divergence, match="nothing recorded answers"):
        ask(replay, JOB, "same")


def test_a_process_that_asks_once_more_than_it_did_differs() -> None:
    replay = replay_of((FIRST, "same"))
    ask(replay, FIRST, "same")
    with pytest.raises(Divergence):
        ask(replay, FIRST, "same")
    assert kinds(replay) == (["extra call"], ["unreliable"])


def other_count(executor: ProcessPoolExecutor) -> None:
    """As a later Python has it: idle workers are a number."""
    if executor._idle_worker_number <= 0 and len(executor._processes) < executor._max_workers:
        executor._spawn_process()


def unfit_executor(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ProcessPoolExecutor, "_adjust_process_count", other_count)
    with pytest.raises(AttributeError, match="_idle_worker_semaphore"):
        check_pools()


def unfit_lanes(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(HOOKS.unfit, "concurrent", "concurrent is not as we know it")


def other_interpreter(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(multiprocessing.spawn, "_python_exe", b"/no/python")


class OtherProcess(multiprocessing.get_context("fork").Process):
    """One that begins in a way of its own."""

    _start_method = "own way"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system forks no processes")
@pytest.mark.parametrize("make_unfit", [unfit_executor, unfit_lanes, other_interpreter, None])
def test_what_starts_processes_otherwise_than_we_know_halts_the_replay_at_the_first(
    make_unfit: Callable[[pytest.MonkeyPatch], None] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if make_unfit is not None:
        make_unfit(monkeypatch)
    starts = OtherProcess if make_unfit is None else multiprocessing.get_context("fork").Process
    replay = replay_of(("main", "a"))
    with replaying(replay):
        process = starts(target=print)
        with pytest.raises(Divergence, match=r"os\.fork was stopped"):
            process.start()
        assert process.pid is None
    assert replay.is_halted


def test_this_python_makes_pools_as_we_know_them() -> None:
    check_pools()
