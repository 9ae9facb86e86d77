"""Processes that a recorded program starts or forks: one run holds them all, and a replay starts no program."""

from __future__ import annotations

import json
import signal
import subprocess
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Project

TOOLS = """
def look(what):
    return f"saw {what}"
"""
CALL = ["--call", "tools.look=read"]


def replay(project: Project, *arguments: str) -> tuple[int, dict[str, Any]]:
    done = project.agent_tt("replay", "latest", "--json", *arguments)
    assert done.err == "", done
    return done.code, json.loads(done.out)


STARTS = """
import asyncio, os, subprocess, sys, tools

def note(*words):
    print(*words, flush=True)

note(tools.look("agent"))
for name in ("idle", "helper"):
    done = subprocess.run([sys.executable, f"{name}.py", "--token=abc"], capture_output=True, text=True, check=True)
    note(done)
note(subprocess.check_output("touch reached; echo hi; echo err >&2", shell=True, stderr=subprocess.STDOUT))
try:
    subprocess.run(["sh", "-c", "echo part; exec sleep 60"], capture_output=True, timeout=0.3)
except subprocess.TimeoutExpired as error:
    note(error, error.stdout)
for command in (["no-such-program"], ["false"]):
    try:
        subprocess.run(command, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        note(repr(error))
cat = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
note(cat.communicate("to the cat\\n"), cat.returncode, cat.pid)
with subprocess.Popen(["sh", "-c", "echo 1; echo 2"], stdout=subprocess.PIPE, text=True) as lines:
    note([line for line in lines.stdout])
note(lines.returncode, os.popen("echo popen").read(), subprocess.getstatusoutput("echo x; exit 3"))
looks = 0
slow = subprocess.Popen(["sh", "-c", "read line; exit 4"], stdin=subprocess.PIPE)
while slow.poll() is None:
    looks += 1
    if looks == 3:
        slow.stdin.close()
        slow.wait()
note(looks, slow.returncode)

async def main():
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(sys.executable, "helper.py", stdout=pipe, stderr=pipe)
    note(await child.communicate(), child.returncode)
    shell = await asyncio.create_subprocess_shell("cat; echo done", stdin=pipe, stdout=pipe)
    note(await shell.communicate(b"typed "), await shell.wait())
    slow = await asyncio.create_subprocess_exec("sleep", "60")
    try:
        await asyncio.wait_for(slow.wait(), 0.05)
    except asyncio.TimeoutError:
        slow.kill()
    note(await slow.wait())
    many = [await asyncio.create_subprocess_exec("echo", str(n), stdout=pipe) for n in range(3)]
    note([out for out, _ in await asyncio.gather(*(one.communicate() for one in many))])

asyncio.run(main())
"""
HELPER = "import sys, tools\nprint(tools.look('helper'), sys.argv)\n"


def test_every_way_to_start_a_process_is_a_call_and_is_given_back_without_one(project: Project) -> None:
    project.write(tools=TOOLS, helper=HELPER, idle="print('did nothing')", agent=STARTS)
    done = project.record("agent.py", options=CALL)
    assert (done.code, done.err) == (0, "")
    (run,) = project.runs()
    calls = project.calls(run)
    starts = [call for call in calls if call.kind == "subprocess" and call.lane == "main"]
    assert [call.name for call in starts] == [
        f"subprocess {name}"
        for name in ("python", "python", "touch", "sh", "no-such-program", "false", "cat", "sh", "echo", "echo", "sh")
    ]  # fmt: skip
    helper = starts[1]
    assert helper.args["command"][1:] == ["helper.py", "--token=<redacted>"]
    assert (helper.result["returncode"], helper.result["stderr"]) == (0, "")
    assert helper.result["stdout"].startswith("saw helper")
    assert starts[6].result["sent"] == [[0, "to the cat\n"]]
    # What the helper did belongs to the run, in a lane of its own, and to the call that started it.
    inside = [call for call in calls if call.kind == "tool" and call.lane != "main"]
    assert [(call.lane, call.args) for call in inside] == [
        ("main/proc.1", {"what": "helper"}),
        (f"{next(call for call in calls if call.name == 'subprocess python' and call.lane != 'main').lane}/proc.0",
         {"what": "helper"}),
    ]  # fmt: skip
    assert inside[0].meta["inside"] == {"step": helper.step, "call": helper.number}
    assert project.store.verify() == []

    (project.folder / "reached").unlink()
    code, report = replay(project)
    assert (code, report["divergences"], report["output"]) == (0, [], done.out)
    assert not (project.folder / "reached").exists()


BOTH_STREAMS = """
import subprocess, sys
from tools import look
def both(word):
    command = f"echo to the errors >&2; echo {word}; exit 7"
    return subprocess.run(command, shell=True, capture_output=True, text=sys.argv[1:] == ["text"])
print(look("agent"), both("out"), both(""))
with subprocess.Popen("echo err >&2", shell=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
    print(process.communicate(timeout=60), process.returncode)
"""


@pytest.mark.parametrize("arguments", [[], ["text"]])
def test_of_both_streams_that_a_process_is_asked_for_both_come_back(project: Project, arguments: list[str]) -> None:
    project.write(tools=TOOLS, agent=BOTH_STREAMS)
    done = project.record("agent.py", *arguments, options=CALL)
    assert done.out.count("to the errors\\n") == 2, done
    code, report = replay(project)
    assert (code, report["faithful"], report["output_compared"]) == (0, True, True), report


CHANGED = """
import os, subprocess, tools
tools.look("agent")
way = os.environ["WAY"]
options = {"capture_output": True, "text": True}
if way == "command":
    subprocess.run(["sh", "-c", "echo reached >> reached"], **options)
elif way == "input":
    subprocess.run(["sh", "-c", "cat"], input="something else", **options)
elif way == "file":
    with open("log", "w") as log:
        subprocess.run(["sh", "-c", "echo into a file"], stdout=log)
elif way == "talk":
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as cat:
        for word in (b"one\\n", b"two\\n"):
            cat.stdin.write(word)
            assert cat.stdout.readline() == word
elif way == "much":
    subprocess.run(["sh", "-c", f"head -c {9 << 20} /dev/zero"], **options)
else:
    subprocess.run(["sh", "-c", "cat"], input="what was asked", **options)
"""


@pytest.mark.parametrize(
    ("recorded", "replayed", "kind", "words"),
    [
        ("", "command", "changed request", "command[2]"),
        ("", "input", "changed request", "something else is sent"),
        ("file", "file", "read past the recorded part", "it went into a file of the program's own"),
        ("talk", "talk", "read past the recorded part", "input followed on output"),
        ("much", "much", "read past the recorded part", "of its 9,437,184 bytes"),
    ],
)
def test_what_was_not_recorded_of_a_process_halts(
    project: Project, recorded: str, replayed: str, kind: str, words: str
) -> None:
    project.write(tools=TOOLS, agent=CHANGED)
    done = project.record("agent.py", options=CALL, environment={"WAY": recorded})
    assert (done.code, done.err) == (0, "")
    project.environment["WAY"] = replayed
    code, report = replay(project)
    (found,) = report["divergences"][:1]
    assert (code, found["kind"], words in found["message"]) == (1, kind, True), found
    assert not (project.folder / "reached").exists()


FORKS = """
import multiprocessing as mp, os, sys, tools
from concurrent.futures import ProcessPoolExecutor

if __name__ == "__main__":
    print(tools.look("here"), flush=True)
    for how in ("fork", "spawn", "forkserver"):
        with mp.get_context(how).Pool(1) as pool:
            print(pool.map(tools.look, [how]), flush=True)
            pool.close()
            pool.join()
    with ProcessPoolExecutor(1, mp_context=mp.get_context("fork")) as executor:
        print(list(executor.map(tools.look, ["executor"])), flush=True)
    child = os.fork()
    if not child:
        tools.look("child")
        sys.exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), tools.look("end"))
"""


def test_processes_of_multiprocessing_and_forks_are_lanes_of_the_run(project: Project) -> None:
    project.write(tools=TOOLS, agent=FORKS)
    done = project.record("agent.py", options=CALL)
    assert (done.code, done.err) == (0, "")
    (run,) = project.runs()
    assert [(call.lane, call.args["what"]) for call in project.calls(run)] == [
        ("main", "here"),
        ("main", "end"),
        ("main/map.0/work.0", "fork"),
        ("main/map.1/work.0", "spawn"),
        ("main/map.2/work.0", "forkserver"),
        ("main/work.0", "executor"),
        ("main/proc.0", "child"),
    ]
    assert [step.status for step in project.store.steps(run.id)] == ["ok"] * 6
    assert (run.status, project.store.verify()) == ("succeeded", [])
    code, report = replay(project)
    assert (code, report["divergences"][0]["name"], report["divergences"][0]["line"]) == (1, "os.fork", 14)


KILLED = """
import os, signal, subprocess, sys, tools
if sys.argv[1:]:
    for number in range(10_000):
        tools.look(number)
        print(number, flush=True)
        if os.getppid() == 1:
            sys.exit()
with subprocess.Popen([sys.executable, "agent.py", "child"], stdout=subprocess.PIPE, text=True) as child:
    for line in child.stdout:
        tools.look("parent")
        if line == "20\\n":
            os.kill(child.pid if os.environ["WHO"] == "child" else os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("who", ["child", "parent"])
def test_a_process_that_is_killed_harms_nothing_that_others_recorded(project: Project, who: str) -> None:
    project.write(tools=TOOLS, agent=KILLED)
    project.record("agent.py", options=CALL, environment={"WHO": who})
    (run,) = project.runs()
    assert run.status == ("succeeded" if who == "child" else "crashed")
    steps = project.store.steps(run.id)
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    for lane, least in (("main", 21), ("main/proc.0", 21)):
        numbers = [call.lane_seq for call in project.calls(run) if call.lane == lane]
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) >= least
    answers = [call.delivered for call in project.calls(run) if call.delivered is not None]
    assert len(set(answers)) == len(answers)
    assert project.store.verify() == []


ENDS = """
import atexit, os, threading, tools

def late():
    is_over.wait()
    print(tools.look("thread"), flush=True)
    reach("thread")

def bye():
    print(tools.look("bye"), flush=True)
    reach("atexit")

def reach(where):
    if os.environ["WHERE"] == where:
        os.system("touch reached")

class Last:
    def __del__(self):
        reach("finalizer")

last = Last()
atexit.register(bye)
is_over = threading.Event()
threading.Thread(target=late).start()
print(tools.look("main"), flush=True)
is_over.set()
"""


@pytest.mark.parametrize("where", ["thread", "atexit", "finalizer"])
def test_a_replay_goes_on_to_the_very_end_of_the_program(project: Project, where: str) -> None:
    project.write(tools=TOOLS, agent=ENDS)
    project.environment["WHERE"] = where
    done = project.record("agent.py", options=CALL)
    (project.folder / "reached").unlink(missing_ok=True)
    code, report = replay(project)
    assert not (project.folder / "reached").exists()
    assert report["served"] == (2 if where == "thread" else 3)
    if where == "finalizer":
        assert (code, report["output"]) == (0, done.out)
    else:
        assert (code, [found["name"] for found in report["divergences"]][:1]) == (1, ["os.system"])


def test_no_other_process_is_signalled_by_a_replay(project: Project) -> None:
    project.write(
        tools=TOOLS,
        agent="import os, signal, sys, tools\ntools.look(1)\nos.kill(os.getpid(), 0)\n"
        "if sys.argv[1:]:\n    os.kill(int(sys.argv[1]), signal.SIGTERM)\n",
    )
    project.record("agent.py", options=CALL)
    with subprocess.Popen(["sleep", "60"]) as other:
        code, report = replay(project, "--", str(other.pid))
        assert other.poll() is None
        other.send_signal(signal.SIGKILL)
    assert (code, report["divergences"][0]["name"]) == (1, "os.kill")
    assert report["divergences"][0]["line"] == 5


@pytest.mark.parametrize("how", ["no suffix", "folder", "archive", "code", "options"])
def test_a_program_is_started_again_as_python_started_it(project: Project, how: str) -> None:
    body = (
        "import os, pickle, sys, __main__, tools\nclass Kept: pass\n"
        "print(tools.look(1), sys.argv, __name__, __package__, sys.path[0], sys.flags.optimize, sys.warnoptions)\n"
        "print(getattr(__main__, '__file__', None), pickle.loads(pickle.dumps(Kept())).__class__, __spec__ is None)\n"
    )
    project.write(tools=TOOLS, agent=body, app__tools=TOOLS)
    for file in ("agent", "app/__main__.py"):
        (project.folder / file).write_text(body)
    with zipfile.ZipFile(project.folder / "app.zip", "w") as archive:
        archive.writestr("__main__.py", body)
        archive.writestr("tools.py", TOOLS)
    arguments = {
        "no suffix": ["agent"],
        "folder": ["app"],
        "archive": ["app.zip"],
        "code": ["-c", body],
        "options": ["-OW", "error", "-X", "utf8", "agent.py"],
    }[how]
    done = project.record(*arguments, "a b", options=CALL)
    assert (done.code, done.err, len(project.calls(project.runs()[0]))) == (0, "", 1)
    code, report = replay(project)
    assert (code, report["output"]) == (0, done.out)


LEAVES = """
import os, sys, tools
tools.look(1)
if sys.argv[1:]:
    try:
        os.system("touch reached")
    except BaseException:
        pass
print("leaving", flush=True)
os._exit(0)
"""


def test_a_program_that_leaves_at_once_is_told_of_all_the_same(project: Project) -> None:
    project.write(tools=TOOLS, agent=LEAVES)
    done = project.record("agent.py", options=CALL)
    assert (done.code, [run.status for run in project.runs()]) == (0, ["succeeded"])
    code, report = replay(project)
    assert (code, report["output"]) == (0, done.out)
    code, report = replay(project, "--", "try")
    (found,) = report["divergences"]
    assert (code, found["name"], found["line"]) == (1, "os.system", 6)
    assert not (project.folder / "reached").exists()


@pytest.mark.parametrize("code", ["3", "300"])
def test_a_program_that_leaves_at_once_with_a_code_does_so_again(project: Project, code: str) -> None:
    project.write(tools=TOOLS, agent="import os, sys, tools\ntools.look(1)\nos._exit(int(sys.argv[1]))\n")
    done = project.record("agent.py", code, options=CALL)
    assert (done.code, [run.status for run in project.runs()]) == (int(code) & 255, ["crashed"])
    replayed, report = replay(project)
    assert (replayed, report["verdict"], report["agent"]["as_recorded"]) == (0, "as_recorded", True), report
    replayed, report = replay(project, "--", "5")
    assert (replayed, report["verdict"], report["agent"]["as_recorded"]) == (5, "diverged", None), report


FAILS_AFTERWARDS = """
import agent_tt, sys, tools
with agent_tt.record("asking") as run, run.step("look"):
    agent_tt.tool(effect="read")(tools.look)(1)
raise {"value": ValueError, "exit": SystemExit}[sys.argv[1]](*sys.argv[2:])
"""


@pytest.mark.parametrize(
    ("arguments", "verdict"), [(["value", "later"], "reserved"), (["exit", "said to the errors"], "as_recorded")]
)
def test_a_program_that_fails_after_its_own_recording_fails_so_again(
    project: Project, arguments: list[str], verdict: str
) -> None:
    """Nobody inside writes that down: what is known of it is its exit code."""
    project.write(tools=TOOLS, agent=FAILS_AFTERWARDS)
    done = project.record("agent.py", *arguments)
    assert (done.code, [run.status for run in project.runs()]) == (1, ["failed"])
    replayed, report = replay(project)
    assert (replayed, report["verdict"], report["agent"]["as_recorded"]) == (0, verdict, True), report
    replayed, report = replay(project, "--", "exit")
    assert (replayed, report["verdict"]) == (1, "diverged"), report


NO_ROOM = """
import agent_tt, resource, signal, sys, tools
look = agent_tt.tool(effect="read")(tools.look)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with agent_tt.record("full") as run:
    for number in range(3):
        with run.step("look"):
            look("x" * 5000 * number)
        if sys.argv[1] == "full":
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
"""


def test_what_came_after_a_recording_had_ended_is_said_to_be_unknown(project: Project) -> None:
    project.write(tools=TOOLS, agent=NO_ROOM)
    assert project.record("agent.py", "full").code == 0
    (run,) = project.runs()
    assert run.incomplete is not None
    _, report = replay(project, "--", "free")
    (found,) = report["divergences"]
    assert found["kind"] == "read past the recorded part"
    assert "stopped waiting" not in found["message"]
    assert {"kind": "incomplete recording", "text": run.incomplete, "count": 1} in report["reservations"]


NO_FRAME = """
import os, socket, sys, tools
from concurrent.futures import ThreadPoolExecutor
tools.look(1)
if sys.argv[1:]:
    with ThreadPoolExecutor(1) as executor:
        executor.submit(socket.create_connection, ("127.0.0.1", 9))
"""


def test_what_no_frame_of_the_program_did_is_named_by_where_its_lane_was_created(project: Project) -> None:
    project.write(tools=TOOLS, agent=NO_FRAME)
    project.record("agent.py", options=CALL)
    code, report = replay(project, "--", "try")
    found = report["divergences"][0]
    assert (code, found["name"], found["file"], found["line"]) == (1, "socket.getaddrinfo", "agent.py", 7)
