"""Several, killed and forked processes: nothing that was returned is lost, and readers see prefixes."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.store.recordings import begin, chat, fork, new_store, step
from tests.core.store.rows import update

from agent_tt.codec.encode import encode
from agent_tt.errors import StoreUnreadable
from agent_tt.model import CallEnd, NewCall, NewFork, NewRun, NewStep, StepEnd
from agent_tt.sources import open_source
from agent_tt.store import SqliteStore, open_store
from agent_tt.store.liveness import Heart, Owner, current_owner, is_alive, now_us
from agent_tt.store.store import _beat

if TYPE_CHECKING:
    from pathlib import Path

KILLS = 100
RECORDERS = 8
STEPS_EACH = 25

RECORDER = """
import sys
from pathlib import Path
from agent_tt.model import AgentCode, CallEnd, NewCall, NewRun, NewStep, StepEnd
from agent_tt.store import open_store

def record(store, steps, tell):
    state = {"messages": [], "n": 0}
    writer = store.begin_run(NewRun("child", code=AgentCode(entry="child:main")), state)
    tell(writer.run_id)
    for n in range(1, steps + 1):
        number = writer.open_step(NewStep("step"))
        call = writer.begin_call(number, NewCall("tool", "charge", {"n": n}, "ab" * 16, effect="write"))
        tell(f"asked {n}")
        writer.end_call(number, call, CallEnd("ok", {"n": n}))
        state["messages"].append({"content": "x" * 300 + str(n)})
        state["n"] = n
        writer.close_step(number, StepEnd("ok"), state)
        tell(f"done {n}")
    writer.finish("succeeded")

def tell(line):
    sys.stdout.write(line + chr(10))
    sys.stdout.flush()
"""
FOREVER = RECORDER + "record(open_store(Path(sys.argv[1]), create=True), 10**9, tell)"
ONCE = RECORDER + "sys.stdin.readline(); record(open_store(Path(sys.argv[1]), create=True), int(sys.argv[2]), tell)"
MAKES_MANY = """
import sys
from pathlib import Path
from agent_tt.sources import open_source
from agent_tt.store import open_store

for line in iter(sys.stdin.readline, ""):
    path = Path(sys.argv[1]) / line.strip()
    made = open_store(path, create=True)
    open_source(path, read_only=True).close()
    print("opened", flush=True)
    made.close()
"""
MANY_KILLED = (
    RECORDER
    + """
import os, signal, threading, random
from agent_tt.store.file import connection
connection._COMMITS_PER_CHECKPOINT = 3  # so that many die while the log is moved into the file

def stream(store, tell):
    writer = store.begin_run(NewRun("child"), {})
    tell(writer.run_id)
    call = writer.begin_call(writer.open_step(NewStep("step")), NewCall("llm", "model", {}, "ab" * 16))
    for n in range(10**9):
        writer.deliver(1, call, "chunk", [n, "large " * 1000 if n % 5 == 4 else "small"])
        tell(f"piece {n}")

def fork(store, tell):
    record(store, 3, lambda line: None)
    (parent,) = store.runs()
    tell(parent.id)
    for n in range(10**9):
        fork_id = store.begin_fork(NewFork(parent.id, 2, state={**store.state(parent.id, 2), "n": -n}, new=NewRun("")))
        tell(f"forked {fork_id}")
        writer = store.adopt_run(fork_id, NewRun("child"), {})
        writer.close_step(writer.open_step(NewStep("step")), StepEnd("ok"), {"n": "after"})
        tell(f"adopted {fork_id}")
        writer.finish("succeeded")

SCENES = {"record": lambda store, tell: record(store, 10**9, tell), "stream": stream, "fork": fork}
folder, scene, kills = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
choose = random.Random(scene)
for n in range(kills):
    path = folder / f"{scene}-{n}.db"
    reading, writing = os.pipe()
    delay = choose.uniform(0, 0.025 if scene == "create" else 0.06)
    child = os.fork()
    if child == 0:
        os.close(reading)
        started = threading.Event()
        def tell_parent(line):
            os.write(writing, (line + chr(10)).encode())
            started.set()
        def die():
            started.wait()
            threading.Event().wait(delay)
            os.kill(os.getpid(), signal.SIGKILL)
        if scene == "create":
            started.set()
        threading.Thread(target=die, daemon=True).start()
        SCENES.get(scene, SCENES["record"])(open_store(path, create=True), tell_parent)
    os.close(writing)
    with os.fdopen(reading) as lines:
        told = lines.read()
    os.waitpid(child, 0)
    path.with_suffix(".told").write_text(told)
"""
)


def python(code: str, *arguments: object, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)  # type: ignore[no-any-return]


def open_as_commands_do(path: Path) -> SqliteStore:
    """By content: nothing may depend on what the dead process would have moved from its log into the file."""
    source = open_source(path)
    assert isinstance(source, SqliteStore)
    return source


def check_after_kill(path: Path, told: list[str]) -> None:
    """The store of a recorder that was killed: whole, gap-free, and everything it was told is there."""
    run_id = told[0]
    asked = max((int(line.split()[1]) for line in told if line.startswith("asked")), default=0)
    done = max((int(line.split()[1]) for line in told if line.startswith("done")), default=0)
    store = open_as_commands_do(path)
    assert store.database.query("PRAGMA integrity_check") == [("ok",)]
    run = store.run(run_id)
    assert run.status == "crashed"
    steps = store.steps(run_id)
    assert [s.number for s in steps] == list(range(1, run.steps + 1))
    assert {s.status for s in steps[:-1]} <= {"ok"}
    assert all(s.status in ("ok", "interrupted") for s in steps)
    closed = [s.number for s in steps if s.status == "ok"]
    assert len(closed) >= done
    for number in (0, len(closed) // 2, len(closed)):
        assert store.state(run_id, number)["n"] == number
        assert len(store.state(run_id, number)["messages"]) == number
    if closed:
        assert store.last_write(run_id, len(closed), ("n",)) == len(closed)
    calls = [call for s in steps[-2:] for call in store.calls(run_id, s.number)]
    pending = [call for call in calls if call.status == "pending"]
    assert len(pending) <= 1
    assert all(call.step == len(closed) + 1 for call in pending)
    assert len(steps) >= asked
    assert store.verify(run_id) == []
    store.close()


def check_stream_after_kill(path: Path, told: list[str]) -> None:
    """The pieces that the agent had are there, and the call is pending."""
    store = open_as_commands_do(path)
    run = store.run(told[0])
    assert run.status == "crashed"
    made = [call for number in range(1, run.steps + 1) for call in store.calls(run.id, number)]
    assert all((call.status, call.delivered, call.result) == ("pending", None, None) for call in made)
    pieces = store.deliveries(run.id, 1, 1) if made else []
    assert [piece.number for piece in pieces] == list(range(1, len(pieces) + 1))
    assert [piece.data[0] for piece in pieces] == list(range(len(pieces)))
    assert len(pieces) >= sum(line.startswith("piece") for line in told)
    assert store.verify() == []
    store.close()


def check_forks_after_kill(path: Path, told: list[str]) -> None:
    """Each fork has its edit and what was recorded in it; their parent is as it was."""
    store = open_store(path)
    parent, *facts = (line.split() for line in told)
    forks = [run for run in reversed(store.runs()) if run.parent is not None]
    assert {run_id for word, run_id in facts if word == "forked"} <= {run.id for run in forks}
    for n, run in enumerate(forks):
        assert (run.parent, run.fork_step) == (parent[0], 2)
        assert store.state(run.id, 2)["n"] == -n
        assert store.state(run.id, 1)["n"] == 1
        if ["adopted", run.id] in facts:
            assert store.state(run.id, 3) == {"n": "after"}
    assert store.verify() == []
    store.close()


def check_creation_after_kill(path: Path, told: list[str]) -> None:
    """Whatever was there of the file, the next recording goes into it."""
    if told:
        check_after_kill(path, told)
        return
    store = open_store(path, create=True)
    run_id = chat(store, 2)
    assert {run.status for run in store.runs() if run.id != run_id} <= {"crashed"}
    assert store.state(run_id, 2)["n"] == 2
    assert store.verify() == []
    store.close()


CHECKS = {
    "record": check_after_kill,
    "stream": check_stream_after_kill,
    "fork": check_forks_after_kill,
    "create": check_creation_after_kill,
}


def test_a_recorder_killed_at_any_moment_leaves_a_whole_prefix_that_reads_as_crashed(tmp_path):
    each = KILLS // len(CHECKS)
    drivers = [python(MANY_KILLED, tmp_path, scene, each) for scene in CHECKS]
    for driver in drivers:
        driver.communicate()
        assert driver.returncode == 0
    for scene, check in CHECKS.items():
        stories = sorted(tmp_path.glob(f"{scene}-*.told"))
        assert len(stories) == each
        for story in stories:
            complete = story.read_text().split("\n")[:-1]
            check(story.with_suffix(".db"), complete)


def test_a_process_killed_from_outside_reads_as_crashed_although_it_was_never_waited_for(tmp_path):
    path = tmp_path / "runs.db"
    child = python(FOREVER, path)
    assert child.stdout is not None
    run_id = child.stdout.readline().strip()
    store = open_store(path)
    assert store.run(run_id).status == "running"
    child.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it is a zombie now
    assert store.run(run_id).status == "crashed"
    child.communicate()
    store.close()


def test_eight_processes_record_into_one_new_file_at_once_and_a_reader_sees_prefixes(tmp_path):
    path = tmp_path / "runs.db"
    recorders = [python(ONCE, path, STEPS_EACH, stdin=subprocess.PIPE) for _ in range(RECORDERS)]
    for recorder in recorders:
        assert recorder.stdin is not None
        recorder.stdin.write("go\n")
        recorder.stdin.flush()
    assert recorders[0].stdout is not None
    recorders[0].stdout.readline()
    reader = open_store(path, read_only=True)
    while any(recorder.poll() is None for recorder in recorders):
        _check_prefixes(reader)
        for recorder in recorders:
            if recorder.poll() is not None and recorder.stdout is not None:
                recorder.stdout.read()
    for recorder in recorders:
        recorder.communicate()
    assert [recorder.returncode for recorder in recorders] == [0] * RECORDERS
    runs = reader.runs()
    assert len(runs) == RECORDERS
    for run in runs:
        assert run.status == "succeeded"
        assert run.steps == STEPS_EACH
        assert [len(reader.state(run.id, n)["messages"]) for n in range(STEPS_EACH + 1)] == list(range(STEPS_EACH + 1))
        assert [reader.calls(run.id, n)[0].args for n in range(1, STEPS_EACH + 1)] == [
            {"n": n} for n in range(1, STEPS_EACH + 1)
        ]
    assert reader.verify() == []
    reader.close()


def test_processes_that_make_one_new_file_at_once_all_find_a_store_in_it(tmp_path):
    makers = [python(MAKES_MANY, tmp_path, stdin=subprocess.PIPE) for _ in range(RECORDERS // 2)]
    for n in range(10):
        for maker in makers:
            assert maker.stdin is not None
            maker.stdin.write(f"{n}.db\n")
            maker.stdin.flush()
        assert [maker.stdout.readline() for maker in makers if maker.stdout is not None] == ["opened\n"] * len(makers)
    for maker in makers:
        maker.communicate()


def _check_prefixes(reader: SqliteStore) -> None:
    for count, last in reader.database.query("SELECT count(*), max(seq) FROM deltas GROUP BY track"):
        assert count == last + 1
    for count, last in reader.database.query("SELECT count(*), max(step) FROM steps GROUP BY run"):
        assert count == last


def test_threads_recording_one_run_keep_every_step_and_call(tmp_path):
    store = new_store(tmp_path)
    state: dict[str, Any] = {"done": []}
    writer = begin(store, state)
    guard = threading.Lock()

    def work(name: int) -> None:
        for number in range(20):
            made = writer.open_step(NewStep(f"{name}-{number}"))
            with guard:
                state["done"].append([name, number])
                from agent_tt.model import StepEnd

                writer.close_step(made, StepEnd("ok", shared_track=True), state)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.finish("succeeded")
    steps = store.steps(writer.run_id)
    assert [s.number for s in steps] == list(range(1, 81))
    assert sorted(s.seq for s in steps if s.seq is not None) == list(range(1, 81))
    for s in steps:
        assert s.seq is not None
        assert store.state(writer.run_id, s.number)["done"] == state["done"][: s.seq]
    assert store.verify() == []


def test_a_forked_child_opens_the_file_anew_and_records_beside_its_parent(tmp_path):
    store = new_store(tmp_path)
    state: dict[str, Any] = {"n": 0}
    writer = begin(store, state)
    step(writer, {"n": 1})
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            step(writer, {"n": 2}, "in the child")
            os.write(writing, b"ok")
        finally:
            os._exit(0)
    os.close(writing)
    assert os.read(reading, 2) == b"ok"
    os.close(reading)
    os.waitpid(child, 0)
    assert step(writer, {"n": 3}, "in the parent") == 3
    assert [store.state(writer.run_id, n)["n"] for n in range(4)] == [0, 1, 2, 3]
    writer.finish("succeeded")
    assert store.verify() == []


ORPHAN = """
import os, sys, time
from pathlib import Path
from agent_tt.model import NewRun, NewStep, StepEnd
from agent_tt.store import open_store
store, parent = open_store(Path(sys.argv[1]), create=True), os.getpid()
writer = store.begin_run(NewRun("orphan"), {"n": 0})
if os.fork():
    os._exit(0)
while os.getppid() == parent:
    time.sleep(0.01)
print("alone", flush=True)
sys.stdin.readline()
writer.close_step(writer.open_step(NewStep("on")), StepEnd("ok"), {"n": 1})
writer.finish("succeeded")
print("done", flush=True)
"""


def test_a_child_that_outlives_its_parent_holds_the_files_that_it_has_in_its_memory(tmp_path):
    """Else whoever opens the store next cuts them, and the child dies."""
    import fcntl

    path = tmp_path / "runs.db"
    command = [sys.executable, "-c", ORPHAN, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        assert parent.stdout.readline() == "alone\n"
        for name, size, start in (("runs.db", 510, 0x4000_0002), ("runs.db-shm", 1, 128)):
            with (tmp_path / name).open("r+b") as file, pytest.raises(BlockingIOError):
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, size, start)
        with closing(open_store(path)) as beside:
            assert [run.name for run in beside.runs()] == ["orphan"]
        parent.stdin.write("go on\n")
        parent.stdin.flush()
        assert parent.stdout.readline() == "done\n"
    with closing(open_store(path)) as store:
        (run,) = store.runs()
        assert (run.status, store.state(run.id, 1)) == ("succeeded", {"n": 1})
        assert store.verify() == []


def test_a_step_counts_the_calls_that_other_processes_made_in_it(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {}, "pool")
    joined = open_store(store.path).join_run(writer.run_id)
    for own in (0, 1):
        number = writer.open_step(NewStep("all"))
        makers = [joined, joined, *[writer] * own]
        for maker in makers:
            call = maker.begin_call(number, NewCall("tool", "charge", {"n": 1}, "ab" * 16, effect="write"))
            maker.end_call(number, call, CallEnd("ok"))
        writer.close_step(number, StepEnd("ok"), {})
    writer.finish("succeeded")
    assert [(each.kind, each.calls) for each in store.steps(writer.run_id)] == [("write", 2), ("write", 3)]
    store.close()


def test_a_process_is_alive_while_it_is_the_same_process():
    me = current_owner()
    assert is_alive(me, None)
    assert Owner.from_json(me.to_json()) == me
    assert not is_alive(Owner(me.host, me.boot, me.pid, me.start + 1), now_us())
    assert not is_alive(Owner(me.host, "another boot", me.pid, me.start), now_us())
    elsewhere = Owner("elsewhere", "", 1, 1)
    assert is_alive(elsewhere, now_us() - 1_000_000)
    assert not is_alive(elsewhere, now_us() - 31_000_000)
    assert not is_alive(elsewhere, None)
    for broken in (
        None,
        "",
        "[]",
        "{}",
        '{"host": 1}',
        "\x00",
        json.dumps({"host": "x", "boot": "", "pid": "1", "start": 0}),
    ):
        assert Owner.from_json(broken) is None


def test_the_heart_beats_for_runs_that_are_open_and_stops_with_the_last(tmp_path):
    store = new_store(tmp_path)
    writer = begin(store, {})
    store.database.query("SELECT 1")
    with store.database.transaction() as tx:
        update(tx, "runs", beat_us=0)
    before = store.version()
    heart = Heart(store.database, _beat, interval_s=0.01)
    ((run,),) = store.database.query("SELECT run FROM runs")
    heart.add(run)
    deadline = now_us() + 10_000_000
    while store.version() == before and now_us() < deadline:
        pass
    ((last,),) = store.database.query("SELECT beat_us FROM runs")
    assert last > 0
    names = {thread.name: thread for thread in threading.enumerate()}
    assert all(thread.daemon for name, thread in names.items() if "heartbeat" in name)
    heart.remove(run)
    writer.finish("succeeded")


def test_a_fork_nobody_took_over_belongs_to_its_launcher_and_can_be_ended_for_it(tmp_path):
    store = new_store(tmp_path)
    parent = chat(store, 3)
    fork_id = store.begin_fork(NewFork(parent, 2, state={"n": 9}, new=NewRun("")))
    assert store.run(fork_id).status == "running"
    store.set_run_status(fork_id, "failed")
    assert store.run(fork_id).status == "failed"
    with pytest.raises(StoreUnreadable, match="over"):
        store.adopt_run(fork_id, NewRun("x"), None)


def test_writing_goes_on_after_a_commit_that_failed(tmp_path):
    store = new_store(tmp_path)
    state = {"n": 0, "messages": [1]}
    writer = begin(store, state)
    step(writer, state)
    with store.database.transaction() as tx:
        tx.execute("CREATE TRIGGER no BEFORE INSERT ON deltas BEGIN SELECT RAISE(FAIL, 'disk is full'); END")
    state["n"] = 2
    state["messages"].append(2)
    number = writer.open_step(NewStep("x"))
    from agent_tt.model import StepEnd

    with pytest.raises(StoreUnreadable, match="full"):
        writer.close_step(number, StepEnd("ok"), state)
    with store.database.transaction() as tx:
        tx.execute("DROP TRIGGER no")
    state["messages"].append(3)
    writer.close_step(number, StepEnd("ok"), state)
    writer.finish("succeeded")
    assert store.state(writer.run_id, 2) == encode(state)
    assert store.changes(writer.run_id, 2) == [["s", ["n"], 2], ["a", ["messages"], 1, [2, 3]]]
    assert store.verify() == []


def test_forks_of_one_run_are_numbered_across_processes(tmp_path):
    store = new_store(tmp_path)
    parent = chat(store, 2)
    names = [store.run(fork(store, parent, 1, {"n": random.random()})[0]).name for _ in range(3)]
    assert names == ["chat/fork-1", "chat/fork-2", "chat/fork-3"]


def test_a_run_whose_start_failed_leaves_nothing_that_a_fork_could_inherit(tmp_path):
    store = new_store(tmp_path)
    parent = chat(store, 3)
    with store.database.transaction() as tx:
        tx.execute("CREATE TRIGGER no BEFORE INSERT ON deltas BEGIN SELECT RAISE(FAIL, 'disk is full'); END")
    with pytest.raises(Exception, match="full"):
        begin(store, {"n": 1})
    with store.database.transaction() as tx:
        tx.execute("DROP TRIGGER no")
    fork_id, writer = fork(store, parent, 2, {"n": 7})
    assert writer.first_step == 3
    assert store.run(fork_id).parent == parent
    assert store.state(fork_id, 1)["n"] == 1
    assert len(store.runs()) == 2
