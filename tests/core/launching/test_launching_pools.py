"""Worker processes that a recorded program has `multiprocessing` start: they are replayed with it, job by job."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agent_tt.redaction.keyed import key_path

if TYPE_CHECKING:
    from conftest import Project

TOOLS = """
import itertools, os, random

def look(what):
    with open("looked", "a") as file:
        file.write("x")
    return f"{what} {random.randrange(10 ** 9)}"

def pay(what):
    with open("paid", "a") as file:
        file.write("x")
    return "paid"
"""
CALLS = ["--call", "tools.look=read", "--call", "tools.pay=write"]

POOLS = """
import multiprocessing as mp, os, signal, sys, tools
from concurrent.futures import ProcessPoolExecutor, as_completed

def begin(word):
    signal.signal(signal.SIGINT, signal.SIG_IGN)

def same(number):
    return tools.look("the same"), number

def own(number):
    return tools.look(f"number {number}")

def fails(number):
    raise ValueError(tools.look(number))

def dies(number):
    tools.look("its last")
    os._exit(3)

def nested(number):
    with ProcessPoolExecutor(1, mp_context=CONTEXT) as inside:
        return inside.submit(same, number).result()

def worker(taken, given):
    while (number := taken.get()) is not None:
        given.put(own(number))

CONTEXT = mp.get_context(sys.argv[1])

def executor():
    with ProcessPoolExecutor(2, mp_context=CONTEXT, initializer=begin, initargs=("begins",)) as executor:
        print(list(executor.map(same, range(4))))
        jobs = [executor.submit(own, number) for number in range(3)]
        print(sorted(job.result() for job in as_completed(jobs)))
        print(list(executor.map(own, range(5), chunksize=2)))
        print(repr(executor.submit(fails, 1).exception()))
        print(executor.submit(nested, 1).result(), executor.submit(tools.pay, 1).result())

def one_job_each():
    with ProcessPoolExecutor(2, mp_context=CONTEXT, max_tasks_per_child=1) as executor:
        print(list(executor.map(own, range(2))))

def pool():
    with CONTEXT.Pool(2, maxtasksperchild=2) as pool:
        print(sorted(pool.imap_unordered(own, range(4))))
        print(pool.map(own, range(5), chunksize=2))
        print(pool.starmap(divmod, [(7, 2)]), pool.apply_async(own, (9,)).get(timeout=60))

def breaks():
    try:
        with ProcessPoolExecutor(1, mp_context=CONTEXT) as executor:
            executor.submit(dies, 1).result()
    except Exception as error:
        print(type(error).__name__)

def process():
    taken, given = CONTEXT.Queue(), CONTEXT.Queue()
    process = CONTEXT.Process(target=worker, args=(taken, given))
    process.start()
    for number in (1, 2, None):
        taken.put(number)
    print(given.get(), given.get())
    process.join()

def manager():
    with CONTEXT.Manager() as manager:
        print(tools.look(str(list(manager.list([1, 2])))))

if __name__ == "__main__":
    for part in sys.argv[2:]:
        globals()[part]()
"""


def replay(project: Project, *arguments: str) -> tuple[int, dict[str, Any]]:
    done = project.agent_tt("replay", "latest", "--json", *arguments)
    return done.code, json.loads(done.out)


@pytest.mark.parametrize(
    ("kind", "parts", "times"),
    [
        ("fork", "executor pool breaks process manager", 2),
        ("spawn", "executor one_job_each breaks process", 1),
        ("forkserver", "executor", 1),
    ],
)
def test_each_job_of_a_pool_is_given_its_own_answers_whichever_worker_does_it(
    project: Project, kind: str, parts: str, times: int
) -> None:
    project.write(tools=TOOLS, agent=POOLS)
    done = project.record("agent.py", kind, *parts.split(), options=CALLS)
    assert done.code == 0, done
    (run,) = project.runs()
    calls = project.calls(run)
    asked_alike = {call.lane: call.result for call in calls if call.args == {"what": "the same"}}
    assert set(asked_alike) == {*(f"main/work.{number}" for number in range(4)), "main/work.11/work.0"}
    assert len(set(map(str, asked_alike.values()))) == 5
    assert {call.name for call in calls if call.lane == "main/work.12"} == {"pay"}
    broken = {step.number for step in project.store.steps(run.id) if step.status != "ok"}
    assert [call.args for call in calls if call.step in broken] == [{"what": "its last"}] * ("breaks" in parts)
    assert {call.lane for call in calls if "/proc." in call.lane} == ({"main/proc.0"} if "process" in parts else set())
    made = (project.folder / "looked").read_text()
    for _ in range(times):
        code, report = replay(project)
        assert (code, report["divergences"], report["reservations"]) == (0, [], []), report
        assert report["served"] == report["recorded"] == len(calls)
        assert report["output_compared"]
    assert (project.folder / "looked").read_text() == made
    assert (project.folder / "paid").read_text() == "x"


CHANGES = """
import multiprocessing as mp, os, socket, tools

def look(number):
    if os.environ["WAY"] == "reaches":
        try:
            socket.create_connection(("127.0.0.1", 9))
        except Exception:
            pass
    if os.environ["WAY"] == "forks":
        os.fork()
    return tools.look(f"number {number}" + os.environ["WAY"] * (os.environ["WAY"] == "asks"))

def into(queue):
    queue.put(look(1))

if __name__ == "__main__":
    context = mp.get_context("fork")
    if os.environ["HOW"] == "pool":
        with context.Pool(1) as pool:
            print(pool.map(look, [1]))
    else:
        queue = context.SimpleQueue()
        context.Process(target=into, args=(queue,)).start()
        print(queue.get())
"""


@pytest.mark.parametrize(
    ("way", "how", "kind", "words"),
    [
        ("asks", "pool", "changed request", "what"),
        ("asks", "process", "changed request", "what"),
        ("reaches", "pool", "unrecorded effect", "127.0.0.1:9"),
        ("forks", "process", "unrecorded effect", "os.fork"),
    ],
)
def test_what_differs_in_a_worker_halts_the_replay_and_is_named(
    project: Project, way: str, how: str, kind: str, words: str
) -> None:
    project.write(tools=TOOLS, agent=CHANGES)
    done = project.record("agent.py", options=CALLS, environment={"WAY": "", "HOW": how})
    assert (done.code, done.err) == (0, "")
    project.environment.update(WAY=way, HOW=how)
    code, report = replay(project)
    (found,) = report["divergences"][:1]
    assert (code, found["kind"], report["agent"]["status"]) == (1, kind, "halted"), report
    assert words in found["message"]
    assert found["file"] == "agent.py"
    assert (project.folder / "looked").read_text() == "x"


SECRETS = """
import multiprocessing as mp, tools

def job(number):
    return tools.look(f"KD-12345{number} of ann{number}@example.com")

if __name__ == "__main__":
    tools.look("KD-999999 of bob@example.com")
    with mp.get_context("spawn").Pool(1) as pool:
        print(len(pool.map(job, [1, 2], chunksize=1)))
"""
SETTINGS = """
[tool.agent-tt]
redact = "personal"
[tool.agent-tt.redaction]
customer = "KD-[0-9]{6}"
"""


def test_a_worker_finds_secret_what_the_recorded_run_did_and_none_begins_without_the_key_of_its_marks(
    project: Project,
) -> None:
    project.write(tools=TOOLS, agent=SECRETS)
    (project.folder / "pyproject.toml").write_text(SETTINGS)
    assert project.record("agent.py", options=CALLS[:2]).code == 0
    (run,) = project.runs()
    asked = str([call.args for call in project.calls(run)])
    assert "KD-" not in asked
    assert "@" not in asked
    (project.folder / "pyproject.toml").unlink()  # the run keeps its own rules
    code, report = replay(project)
    assert (code, report["served"], report["divergences"], report["reservations"]) == (0, 3, [], []), report
    key_path(project.store_path).unlink()
    code, report = replay(project)
    (found,) = report["divergences"]
    assert (code, found["kind"], report["served"]) == (1, "unrecorded effect", 1), report
    assert "multiprocessing.spawn" in found["message"]


BREAKS = """
import multiprocessing as mp, os, signal, tools

if __name__ == "__main__":
    with mp.get_context("spawn").Pool(1) as pool:
        print(pool.map(tools.pay, [1]))
    tools.look("between")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_run_whose_workers_began_before_the_break_is_not_resumed_and_nothing_is_done_again(project: Project) -> None:
    project.write(tools=TOOLS, agent=BREAKS)
    project.record("agent.py", options=CALLS)
    for options in ((), ("--redo-unrecorded",)):
        done = project.agent_tt("resume", "latest", *options)
        assert done.code == 1, done
        assert "would not be given what they were answered" in done.err
        assert (project.folder / "paid").read_text() == "x"
    (run,) = project.runs()
    assert run.status == "crashed"
