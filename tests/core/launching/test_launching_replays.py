"""Programs that know nothing of agent-tt, recorded against a server on the loopback interface, replayed without it."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.seams.loopback import Loopback

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Project

pytestmark = pytest.mark.warm


@pytest.fixture(autouse=True)
def _seed_of_warm_processes(project: Project) -> None:
    """Programs are recorded with it, so that their replays are warm; else each would get one of its own."""
    project.environment |= {name: seed for name, seed in os.environ.items() if name == "PYTHONHASHSEED"}


@pytest.fixture
def server(project: Project) -> Iterator[Loopback]:
    loopback = Loopback()
    project.environment["SERVER"] = loopback.url
    yield loopback
    loopback.stop()


def replay(project: Project, *arguments: str) -> tuple[int, dict[str, Any]]:
    done = project.agent_tt("replay", "latest", "--json", *arguments)
    assert done.err == ""
    return done.code, json.loads(done.out)


WAYS_OUT = """
import os, socket, subprocess, sys, urllib.request
import httpx2

SERVER = os.environ["SERVER"]
print(httpx2.get(SERVER + "/echo").json()["id"])
way = sys.argv[1] if sys.argv[1:] else ""
try:
    if way == "urllib":
        urllib.request.urlopen(SERVER + "/urllib").read()
    if way == "socket":
        host, port = SERVER.removeprefix("http://").split(":")
        socket.create_connection((host, int(port))).sendall(b"GET /socket HTTP/1.0\\r\\n\\r\\n")
    if way == "process":
        subprocess.run([sys.executable, "-c", "open('reached.txt', 'w')"], check=True)
    if way == "unrecorded":
        httpx2.get(SERVER + "/unrecorded")
except Exception as error:
    print("swallowed", error)
"""


def test_requests_are_served_and_every_other_way_out_halts_with_its_line(project: Project, server: Loopback) -> None:
    """Seams and guard work in one process; the server runs on, so that what got through would be counted."""
    project.write(ways=WAYS_OUT)
    done = project.record("ways.py")
    assert (done.code, done.err, server.count) == (0, "", 1)
    code, report = replay(project)
    assert (code, report["output"]) == (0, done.out)
    lines = {line.strip(): number for number, line in enumerate(WAYS_OUT.splitlines(), 1)}
    for way, name, line in [
        ("urllib", f"GET {server.url}/urllib", 'urllib.request.urlopen(SERVER + "/urllib").read()'),
        ("socket", "socket.getaddrinfo", next(line for line in lines if "create_connection" in line)),
        ("process", "subprocess.Popen", next(line for line in lines if line.startswith("subprocess"))),
        ("unrecorded", f"GET {server.url}/unrecorded", 'httpx2.get(SERVER + "/unrecorded")'),
    ]:
        code, report = replay(project, "--observe", "--", way)
        assert code == 1
        (found,) = report["divergences"]
        assert (found["kind"], found["name"]) == ("unrecorded effect", name)
        assert (found["file"], found["line"]) == ("ways.py", lines[line])
        assert "swallowed" not in report["output"]
    assert server.count == 1
    assert not (project.folder / "reached.txt").exists()


EXITS = """
import os, sys
import httpx2

httpx2.get(os.environ["SERVER"] + "/echo")
sys.exit(WAY)
"""


@pytest.mark.cold
def test_a_replay_has_the_seed_of_hashes_of_its_recording(project: Project, server: Loopback) -> None:
    project.write(agent='import os, httpx2\nhttpx2.get(os.environ["SERVER"] + "/echo")\nprint(hash("a"))\n')
    project.environment["PYTHONHASHSEED"] = "4242"
    done = project.record("agent.py")
    assert (done.code, done.err) == (0, "")
    project.environment["PYTHONHASHSEED"] = "7"
    assert project.bare("agent.py").out != done.out
    code, report = replay(project)
    assert (code, report["output"]) == (0, done.out)


@pytest.mark.parametrize(("way", "code"), [("'done badly'", 1), ("3", 3), ("-1", 255), ("0", 0), ("None", 0)])
def test_a_program_that_exits_as_it_did_then_goes_as_recorded(
    project: Project, server: Loopback, way: str, code: int
) -> None:
    project.write(exits=EXITS.replace("WAY", way))
    assert project.record("exits.py").code == code
    server.stop()
    answer, report = replay(project)
    assert (answer, report["faithful"], report["agent"]["as_recorded"]) == (0, True, True)
    project.write(exits=EXITS.replace("WAY", "4"))
    answer, report = replay(project)
    assert (answer, report["faithful"]) == (5, False)


def test_tracebacks_show_the_agents_frames_only(project: Project, server: Loopback) -> None:
    project.write(
        imports=EXITS.replace("sys.exit(WAY)", "if sys.argv[1:]: import broken"), broken="import random\n{}['here']"
    )
    assert project.record("imports.py", options=["--patch", "random"]).code == 0
    code, report = replay(project, "--", "import")
    assert code == 5
    frames = [line.split('"')[1] for line in report["agent"]["traceback"].splitlines() if line.startswith("  File")]
    assert [frame.rpartition("/")[2] for frame in frames] == ["imports.py", "broken.py"]
    assert report["agent"]["traceback"] in report["output"]


DEADLINE = """
import os, time
from time import monotonic
import httpx2

def poll():
    return "not yet"

end, other_end, rounds = time.time() + 0.1, monotonic() + 0.1, 0
while time.time() < end and monotonic() < other_end:
    poll()
    rounds += 1
    time.sleep(0.02)
print(rounds, httpx2.get(os.environ["SERVER"] + "/echo", params={"n": "x"}).json()["id"])
"""


@pytest.mark.parametrize("clock", ["recorded", "moved on"])
def test_a_loop_with_a_deadline_ends(project: Project, server: Loopback, clock: str) -> None:
    """With the clock recorded it goes round as often; without, whatever differs is said with what to do about it."""
    project.write(deadline=DEADLINE)
    options = ["--call", "__main__.poll=read", *(["--patch", "clock"] if clock == "recorded" else [])]
    done = project.record("deadline.py", options=options)
    assert (done.code, done.err) == (0, "")
    server.stop()
    code, report = replay(project, "--timeout", "30")
    if clock == "recorded":
        assert (code, report["output"]) == (0, done.out)
    elif code:
        kinds = {found["kind"]: found["hint"] for found in report["divergences"]}
        assert kinds.keys() <= {"extra call", "missing call"}
        assert "clock" in kinds.get("extra call", "clock")


TOOLS = """
class Refused(Exception):
    def __init__(self, code, *, retry):
        super().__init__(f"refused with {code}")
        self.code, self.retry = code, retry

class Desk:
    def __init__(self, name): self.name = name
    def answer(self, x): return note(f"{self.name}{x}")

def note(text):
    with open("reached.txt", "a") as file:
        file.write(text + " ")
    return text

def by_import(x): return note(f"i{x}")
def in_dict(x): return note(f"d{x}")

def refuse(times):
    note("r")
    try:
        {}["key"]
    except KeyError as error:
        raise Refused(400 + times, retry=times < 2) from error

desk = Desk("k")
"""
AGENT = """
import os
import httpx2
import tools
from tools import by_import, in_dict, desk

TOOLS = {"lookup": in_dict}
bound = desk.answer
tried = []
print(httpx2.get(os.environ["SERVER"] + "/echo").json()["id"])
print(by_import(1), TOOLS["lookup"](2), bound(3), desk.answer(x=4))
for times in range(5):
    try:
        tools.refuse(times)
    except tools.Refused as error:
        tried.append((str(error), error.code, repr(error.__cause__)))
        if not error.retry:
            break
print(tried)
"""


def test_tools_however_they_are_held_and_what_they_raise(project: Project, server: Loopback) -> None:
    project.write(tools=TOOLS, agent=AGENT)
    paths = ["by_import", "in_dict", "desk.answer", "refuse"]
    options = [word for path in paths for word in ("--call", f"tools.{path}=write")]
    done = project.record("agent.py", options=options)
    assert (done.code, done.err, done.told.count("also held")) == (0, "", 0)
    reached = (project.folder / "reached.txt").read_text()
    assert reached.split() == ["i1", "d2", "k3", "k4", "r", "r", "r"]
    server.stop()
    code, report = replay(project)
    assert (code, report["served"], report["output"]) == (0, 8, done.out)
    assert (project.folder / "reached.txt").read_text() == reached
