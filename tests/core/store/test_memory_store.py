"""A second backend is seven methods: it keeps runs, forks, notes, questions and sweeps as the store of a file does."""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.conformance.keeping import FAMILY, check_keeping
from tests.core.conformance.reading import check_source
from tests.core.memory_store import MemoryStore
from tests.core.mutations import Mutator
from tests.patience import PATIENCE_SECONDS

from agent_tt.codec.tlv import tlv
from agent_tt.errors import (
    IsRunning,
    QuestionClosed,
    QuestionNotFound,
    RunNotFound,
    StepNotFound,
    StoreUnreadable,
    UsageError,
)
from agent_tt.model import CallEnd, ErrorInfo, Judged, NewCall, NewFork, NewRun, NewStep, Output, StepEnd
from agent_tt.protocols import NO_STATE
from agent_tt.questions import NewQuestion
from agent_tt.store import open_store
from agent_tt.store.records import Recorder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_tt.protocols import RunWriter, Store


@pytest.fixture
def memory(tmp_path: Path) -> MemoryStore:
    path = tmp_path / "memory.db"
    path.touch()
    return MemoryStore(path)


@pytest.fixture(params=["memory", "file", "server"])
def store(request: pytest.FixtureRequest, memory: MemoryStore, tmp_path: Path) -> Iterator[Store]:
    if request.param == "memory":
        yield memory
        return
    where = tmp_path / "runs.db" if request.param == "file" else request.getfixturevalue("postgres").address
    with closing(open_store(where, create=True)) as opened:
        yield opened


def take(writer: RunWriter, state: object, *, status: str = "ok", track: str = "main", **end: Any) -> int:
    number = writer.open_step(NewStep("think"))
    call = writer.begin_call(number, NewCall("tool", "search", {"n": number}, "ab" * 16, "read", "main", number))
    writer.end_call(number, call, CallEnd("ok", {"found": number}))
    writer.close_step(number, StepEnd(status, **end), state, track=track)  # type: ignore[arg-type]
    return number


def record(store: Store, name: str, steps: int) -> str:
    writer = store.begin_run(NewRun(name), {"n": 0, "messages": []})
    for n in range(1, steps + 1):
        take(writer, {"n": n, "messages": [{"m": m} for m in range(n)]}, tokens_in=10, cost_usd=0.5)
    writer.finish("succeeded")
    return writer.run_id


def fork(store: Store, parent: str, step: int, edit: str) -> tuple[str, RunWriter]:
    state = store.state(parent, step)
    assert isinstance(state, dict)
    run_id = store.begin_fork(NewFork(parent, step, state={**state, "edited": edit}, new=NewRun("")))
    return run_id, store.adopt_run(run_id, NewRun(""), None)


def family(store: Store) -> None:
    """The runs that the conformance suite wants."""
    ids = {"root": record(store, "root", 4)}
    for name, parent, at in (
        ("root/fork-1", "root", 2),
        ("root/fork-1/fork-1", "root/fork-1", 3),
        ("root/fork-2", "root", 4),
    ):
        ids[name], writer = fork(store, ids[parent], at, name)
        for n in range(2):
            take(writer, {"n": n, "of": name}, status="error" if n else "ok")
        writer.finish("succeeded")
    ids["other"] = record(store, "other", 3)
    assert [store.run(name).id for name in FAMILY] == [ids[name] for name in FAMILY]


def test_it_is_a_source_and_a_store_that_keeps_order(memory: MemoryStore) -> None:
    family(memory)
    check_source(memory)
    check_keeping(memory)


def test_forks_of_mutated_runs_read_as_those_of_a_file(memory: MemoryStore, tmp_path: Path) -> None:
    import random

    stores: list[Store] = [memory, open_store(tmp_path / "runs.db", create=True)]
    seen = []
    for store in stores:
        choose = random.Random(7)
        mutator = Mutator(choose)
        state: Any = mutator.state()
        writer = store.begin_run(NewRun("run"), state)
        for number in range(12):
            mutator.mutate(state)
            take(writer, NO_STATE if number == 5 else state)
        writer.finish("succeeded")
        child, writer = fork(store, writer.run_id, 8, "so")
        take(writer, {"n": 1})
        writer.finish("failed", ErrorInfo("builtins:ValueError", "no"))
        seen.append(
            [
                (
                    tlv(store.state(run, step)),
                    store.digest(run, step),
                    store.base_step(run, step),
                    [(call.name, call.args, call.result, call.delivered) for call in store.calls(run, step)],
                )
                for run in (store.run("run").id, child)
                for step in range(store.step_count(run) + 1)
                if run != child or step != 8  # a fork's edit is told against another checkpoint
            ]
        )
        seen[-1].append([(run.name, run.status, run.steps, run.fork_step) for run in store.runs()])
    assert seen[0] == seen[1]


def test_a_step_repeats_another_and_tokens_add_up(store: Store) -> None:
    run_id = record(store, "run", 3)
    child, writer = fork(store, run_id, 2, "so")
    take(writer, {}, tokens_in=5, tokens_out=1)
    writer.finish("succeeded")
    run = store.run(child)
    assert (run.tokens_in, run.tokens_out, run.cost_usd) == (25, 1, 1.0)
    assert [step.kind for step in store.steps(child)] == ["read"] * 3
    assert [step.inherited for step in store.steps(child)] == [True, True, False]


def test_pieces_of_an_answer_are_numbered_with_the_others_and_settled(store: Store) -> None:
    writer = store.begin_run(NewRun("run"), {})
    step = writer.open_step(NewStep("talk"))
    one = writer.begin_call(step, NewCall("llm", "model", {}, "ab" * 16))
    writer.amend_call(step, one, {"model": "small"}, args={"q": 1})
    assert [writer.deliver(step, one, "chunk", piece) for piece in ("a", "b")] == [1, 2]
    writer.deliver(step, one, "chunk", Judged("c", settled=((0, "A"),)))
    writer.end_call(step, one, CallEnd("ok", "whole", stream="end", returned="r"))
    with pytest.raises(StepNotFound):
        writer.deliver(step, 9, "chunk", "lost")
    writer.close_step(step, StepEnd("ok"), NO_STATE)
    writer.take_checkpoint(step, {"late": True})
    writer.finish("succeeded")
    (call,) = store.calls(writer.run_id, step)
    assert (call.args, call.result, call.meta["model"], call.delivered) == ({"q": 1}, "whole", "small", 4)
    pieces = store.deliveries(writer.run_id, step, one)
    assert [(piece.kind, piece.data) for piece in pieces] == [
        *(("chunk", "A"), ("chunk", "b"), ("chunk", "c"), ("end", "r")),
    ]
    assert store.state(writer.run_id, step) == {"late": True}


def test_states_of_several_tracks_are_apart(store: Store) -> None:
    writer = store.begin_run(NewRun("run"), {"of": "main"})
    take(writer, {"of": "other", "n": 1}, track="other")
    take(writer, {"of": "main", "n": 2})
    take(writer, {"of": "other", "n": 3}, track="other")
    writer.finish("succeeded")
    run = writer.run_id
    assert [store.base_step(run, step) for step in range(4)] == [None, None, 0, 1]
    assert store.last_write(run, 3, ("of",)) == 1
    assert store.next_write(run, 1, ("n",)) == 3
    assert store.last_write(run, 2, ("n",)) == 2


def test_a_call_waits_until_somebody_decides(store: Store) -> None:
    writer = store.begin_run(NewRun("run"), {})
    step = writer.open_step(NewStep("pay"))
    asked = []
    for amount in (5, 7, 9):
        call = writer.begin_call(step, NewCall("tool", "charge", {"amount": amount}, "ab" * 16, "write"))
        asked.append(writer.ask(step, call, NewQuestion(editable=("amount",))))
    first, second, third = store.questions(writer.run_id)
    assert (first.name, first.args, first.effect) == ("charge", {"amount": 5}, "write")
    assert asked[0].decision() is None
    store.answer_question(first.id, first.run(amount=6).said_by("program"))
    decision = asked[0].decision()
    assert decision is not None
    assert (decision.word, decision.args, decision.by) == ("run", {"amount": 6}, "program")
    with pytest.raises(QuestionClosed, match="answered already"):
        store.answer_question(first.id, first.refuse())
    with pytest.raises(QuestionNotFound):
        store.answer_question(10**6, first.refuse())
    asked[1].withdraw()
    with pytest.raises(QuestionClosed, match="nobody waits"):
        store.answer_question(second.id, second.refuse())
    assert [each.id for each in store.questions()] == [third.id]
    store.stop_questions(writer.run_id)
    assert [each.decision().word for each in asked] == ["run", "stop", "stop"]  # type: ignore[union-attr]


def test_a_sweep_is_driven_by_one_process_at_a_time(store: Store) -> None:
    run = record(store, "run", 2)
    sweep = store.begin_sweep(run, 1, {"axes": []})
    assert (sweep.name, sweep.driven, store.sweep("latest").id) == ("run/sweep-1", True, sweep.id)
    with pytest.raises(IsRunning, match="is being run"):
        store.claim_sweep(sweep.id)
    store.beat_sweep(sweep.id)
    store.release_sweep(sweep.id)
    store.claim_sweep(sweep.id, {"axes": [1]})
    assert store.sweep("run/sweep-1").definition == {"axes": [1]}
    second = store.begin_sweep(run, 2, {}, driven=False)
    store.rename_run(run, "walk")
    assert [each.name for each in store.sweeps()] == ["walk/sweep-2", "walk/sweep-1"]
    assert store.sweep("run/sweep-2").id == second.id
    for odd in ("run/sweep-9", "zzz"):
        with pytest.raises(RunNotFound):
            store.sweep(odd)
    with pytest.raises(RunNotFound):
        store.claim_sweep("zzz")
    assert store.settle_run(run) is None


def test_a_run_that_broke_off_goes_on_and_one_that_is_over_does_not(store: Store) -> None:
    writer = store.begin_run(NewRun("run", tags=("a",)), {"n": 0})
    step = writer.open_step(NewStep("think"))
    owner = store.settle_run(writer.run_id)
    assert owner is not None
    with pytest.raises(UsageError, match="did not break off"):
        store.reopen_run(writer.run_id)
    store.set_run_status(writer.run_id, "interrupted", ErrorInfo("builtins:KeyboardInterrupt", ""))
    assert store.run("run").status == "interrupted"
    with pytest.raises(StoreUnreadable, match="is over"):
        store.adopt_run(writer.run_id, NewRun("run"), None)
    store.reopen_run(writer.run_id)
    again = store.adopt_run(writer.run_id, NewRun("run", tags=("b",)), None)
    again.close_step(step, StepEnd("ok"), {"n": 1})
    guest = store.join_run(writer.run_id)
    assert take(guest, {"n": 2}) == 2
    guest.finish("failed")
    assert store.run("run").status == "running"
    again.open_step(NewStep("left open"))
    again.finish("succeeded")
    run = store.run("run")
    assert (run.status, run.error, run.tags) == ("succeeded", None, ("a", "b"))
    assert [each.status for each in store.steps(run.id)] == ["ok", "ok", "interrupted"]
    store.keep_output(run.id, Output(3, "abc", "", "00" * 16))
    assert store.output(run.id) == Output(3, "abc", "", "00" * 16)
    note = store.add_note(run.id, 1, "note", "odd")
    store.change_note(note.id, "even")
    assert [each.body for each in store.notes(run.id)] == ["even"]


def test_secrets_end_at_the_door(store: Store) -> None:
    secret = "sk-proj-" + "a1B2c3D4e5F6g7H8" * 3
    writer = store.begin_run(NewRun("run"), {"api_key": secret})
    take(writer, {"api_key": secret})
    writer.finish("succeeded")
    store.add_note(writer.run_id, None, "note", secret)
    for said in (store.state(writer.run_id, 0), store.state(writer.run_id, 1), store.notes(writer.run_id)):
        assert secret not in str(said)


def test_what_fails_within_a_transaction_leaves_nothing(memory: MemoryStore) -> None:
    run, version = record(memory, "run", 1), memory.version()
    with pytest.raises(RunNotFound):
        memory.set_pinned([run, "gone"], pinned=True)
    assert not memory.run("run").pinned
    assert memory.version() == version


def test_many_recorders_write_at_once(memory: MemoryStore) -> None:
    def work(name: str) -> None:
        record(memory, name, 20)

    threads = [threading.Thread(target=work, args=(f"run{n}",)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {run.steps for run in memory.runs()} == {20}
    assert memory.verify() == []


def test_a_store_of_records_beats_for_the_runs_that_this_process_records(memory: MemoryStore, tmp_path: Path) -> None:
    """Without a beat a run on another machine is taken for crashed; see `is_alive`."""
    file = open_store(tmp_path / "runs.db", create=True)
    for store in (memory, file):
        before = threads()
        run_id = record(store, "parent", 2)
        fork_id = store.begin_fork(NewFork(run_id, 1, state={}, new=NewRun("")))
        for ending in threads() - before:  # nobody records any more
            ending.join(PATIENCE_SECONDS)
        assert not threads() - before
        writer = store.adopt_run(fork_id, NewRun(""), {})
        guest = store.join_run(fork_id)
        (beating,) = threads() - before
        guest.finish("succeeded")
        assert store.run(fork_id).status == "running"
        assert threads() - before == {beating}
        assert beating.daemon
        writer.finish("succeeded")
        beating.join(PATIENCE_SECONDS)
        assert not beating.is_alive()


def threads() -> set[threading.Thread]:
    """Those that beat."""
    return {thread for thread in threading.enumerate() if thread.name == "agent-tt heartbeat"}


def test_a_beat_says_that_the_process_of_a_run_is_there(memory: MemoryStore) -> None:
    writer = memory.begin_run(NewRun("first"), {})
    with memory.transaction():
        (by,) = memory.find(Recorder, writer.run_id)
        memory.save(writer.run_id, replace(by, owner=replace(by.owner, host="elsewhere"), beat_us=0))
    assert memory.run("first").status == "crashed"
    memory.beat([writer.run_id, "gone"])
    assert memory.run("first").status == "running"
