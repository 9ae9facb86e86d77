"""Whatever happens to its store, an agent's output, result and exit code are what they are without recording.

Each condition runs one agent in two processes, recorded and not. What is told of the run afterwards is true.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pytest
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt.store import open_store
from agent_tt.store.spill.taking_in import take_in, waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

AGENT: Final = """
import json, os, resource, shutil, sqlite3, sys, threading
from contextlib import nullcontext
from pathlib import Path

STORE, IS_RECORDED, BEFORE, MIDWAY = Path(sys.argv[1]), sys.argv[2] == "recorded", sys.argv[3], sys.argv[4]
if IS_RECORDED:
    import agent_tt
    from agent_tt import tool
else:
    tool = lambda **_: lambda function: function

@tool(effect="read")
def look(number):
    return {"number": number, "text": f"row {number} " * 200}

@tool(effect="write")
def charge(number):
    with open("charges", "a") as file:
        file.write(f"{number};")
    return f"charged {number}"

class Step:
    def step(self, name, state): return nullcontext()
    def note(self, text): pass
    def tag(self, *tags): pass

def agent():
    state = {"rows": [], "total": 0}
    recording = agent_tt.record("agent", state=state, store=STORE) if IS_RECORDED else nullcontext(Step())
    with recording as run:
        for number in range(8):
            if number == 3:
                exec(MIDWAY, globals())
            with run.step(f"step {number}", state):
                state["rows"].append(look(number))
                state["total"] += number
                state["last"] = charge(number)
                print("row", number)
            if number == 5:
                run.note("five")
                run.tag("kept")
    return state

exec(BEFORE, globals())
state = agent()
print(json.dumps(state))
print(Path("charges").read_text())
sys.exit(7)
"""


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to the store.

    Attributes:
        name: the condition.
        before: code that the agent runs before the recording begins.
        midway: code that it runs after its third step.
        outside: code of another process that goes on for as long as the agent runs.
        ends: where the run is afterwards: `store`, `beside` in a file that was not taken in, or `nowhere`.
        repair: what makes the store usable again; None where the beginning of the run is lost.
        holds: whether a store with a run in it is there first.
    """

    name: str
    before: str = "pass"
    midway: str = "pass"
    outside: str = ""
    ends: str = "store"
    repair: Callable[[Path], object] | None = None
    holds: bool = False


def nothing(store: Path) -> None:
    """It can be written again by itself."""


def new_store(store: Path) -> None:
    if store.parent.is_file():
        store.parent.unlink()
    if store.is_dir():
        store.rmdir()
    store.unlink(missing_ok=True)
    open_store(store, create=True).close()


LOCK: Final = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""
LIMIT: Final = "resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0}))"
SQL: Final = "c = sqlite3.connect(STORE); c.execute({0!r}); c.commit(); c.close()"

FAULTS: Final = (
    Fault("nothing happens"),
    Fault("files may not grow, midway", midway=LIMIT.format(90_000), ends="beside", repair=nothing),
    Fault("files may not grow", before=LIMIT.format(400), ends="nowhere"),
    Fault("the store is removed", midway="STORE.unlink()"),
    Fault("the store and its log are removed", midway="[path.unlink() for path in STORE.parent.glob('runs.db*')]"),
    Fault("the log is removed", midway="Path(str(STORE) + '-wal').unlink()"),
    Fault("the folder is removed", midway="shutil.rmtree(STORE.parent)", ends="beside"),
    Fault("the folder is moved away and back", midway="STORE.parent.rename('away')", ends="beside",
          repair=lambda store: (store.parent.parent / "away").rename(store.parent)),
    Fault("a folder in its place, midway", midway="STORE.unlink(); STORE.mkdir()", ends="beside"),
    Fault("a folder in its place", before="STORE.mkdir()", ends="beside", repair=new_store),
    Fault("another file in its place, midway", midway="STORE.unlink(); STORE.write_text('x' * 9000)", ends="beside"),
    Fault("no database", before="STORE.write_bytes(b'garbage ' * 2000)", ends="beside", repair=new_store),
    Fault("overwritten midway", midway="STORE.write_bytes(b'garbage ' * 9000)", ends="beside"),
    Fault("truncated midway", midway="os.truncate(STORE, 5000)", ends="beside"),
    Fault("a table goes, midway", midway=SQL.format("DROP TABLE calls"), ends="beside"),
    Fault("the run is deleted, midway", midway=SQL.format("DELETE FROM runs"), ends="beside"),
    Fault("locked", outside=LOCK, holds=True, ends="beside", repair=nothing),
    Fault("descriptors are closed", midway="os.closerange(3, 256); own = open('own', 'w'); own.write('mine')"),
    Fault("no descriptor is left", before="resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))", ends="beside",
          repair=new_store),
    Fault("a newer format", before=SQL.format("UPDATE meta SET value = '99' WHERE key = 'format'"), holds=True,
          ends="beside"),
    Fault("another program's database", before=SQL.format("CREATE TABLE x(y)"), ends="beside", repair=new_store),
    Fault("a pipe", before="os.mkfifo(STORE)", ends="beside", repair=new_store),
    Fault("a path that cannot be made", before="STORE.parent.rmdir(); STORE.parent.write_text('a file')",
          ends="beside", repair=new_store),
    Fault("nobody hears", before="sys.stderr = None", midway="STORE.unlink()"),
    Fault("standard error is closed", before="os.close(2)", midway="STORE.unlink()"),
)  # fmt: skip


class Place:
    """A folder in which the agent runs, with its store in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = folder / "kept" / "runs.db"
        self.temporary = folder / "temporary"
        self.store.parent.mkdir()
        self.temporary.mkdir()

    def run(self, *, recorded: bool, fault: Fault = FAULTS[0]) -> subprocess.CompletedProcess[str]:
        (self.folder / "charges").unlink(missing_ok=True)
        word = "recorded" if recorded else "bare"
        return subprocess.run(
            [sys.executable, "-c", AGENT, str(self.store), word, fault.before, fault.midway],
            cwd=self.folder,
            env={**os.environ, "TMPDIR": str(self.temporary)},
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )

    def files(self) -> list[Path]:
        return [*self.folder.glob("*/runs.db.spill-*"), *self.folder.glob("*/*/runs.db.spill-*")]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """The agent without recording."""
    ended = Place(tmp_path_factory.mktemp("bare")).run(recorded=False)
    assert ended.returncode == 7
    assert ended.stderr == ""
    return ended


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    made = Place(tmp_path)
    monkeypatch.setenv("TMPDIR", str(made.temporary))
    return made


@contextmanager
def going_on(code: str, store: Path) -> Iterator[None]:
    """Another process, from its first word on."""
    if not code:
        yield
        return
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(store)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline()
    yield
    process.communicate("", timeout=PATIENCE_SECONDS)


def check_whole(store: Path, stdout: str) -> None:
    """The store holds the run as it was, once."""
    with closing(open_store(store)) as opened:
        assert opened.verify() == []
        (run,) = [run for run in opened.runs() if run.name == "agent"]
        assert (run.status, run.steps, run.tags) == ("succeeded", 8, ("kept",))
        calls = [call for step in range(1, 9) for call in opened.calls(run.id, step)]
        assert [(call.name, call.status) for call in calls] == [("look", "ok"), ("charge", "ok")] * 8
        assert opened.state(run.id, 8) == json.loads(stdout.splitlines()[8])
        assert [(note.step, note.body) for note in opened.notes(run.id)] == [(None, "five")]
        steps = opened.steps(run.id)
        assert [step.status for step in steps] == ["ok"] * 8
        assert all(a.ended_us <= b.started_us for a, b in itertools.pairwise(steps))
        assert steps[-1].ended_us <= run.ended_us
        assert run.incomplete is None
        output = opened.output(run.id)
        assert output is not None
        assert output.text == "".join(f"row {number}\n" for number in range(8))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_an_agent_does_what_it_does_without_recording(
    fault: Fault, place: Place, bare: subprocess.CompletedProcess[str]
) -> None:
    if fault.holds:
        with agent_tt.record("earlier", store=place.store):
            pass
    with going_on(fault.outside, place.store):
        ended = place.run(recorded=True, fault=fault)
    assert (ended.stdout, ended.returncode) == (bare.stdout, bare.returncode), ended.stderr
    assert "Traceback" not in ended.stderr
    is_heard = fault.before not in ("sys.stderr = None", "os.close(2)")
    told = [line for line in ended.stderr.splitlines() if "cannot be recorded" in line or "recording of" in line]
    is_silent = fault.name in ("nothing happens", "the log is removed")
    assert len(told) == (0 if is_silent or not is_heard else 1), ended.stderr

    if fault.ends == "store":
        assert place.files() == []
        check_whole(place.store, bare.stdout)
        return
    if fault.ends == "nowhere":
        assert place.files() == []
        assert "ends before its first step" in ended.stderr
        return
    (left,) = waiting(place.store)
    assert len(told) == 1
    assert left.run in told[0]
    assert {path.stat().st_mode & 0o777 for path in left.files} == {0o600}
    if fault.repair is not None:
        fault.repair(place.store)
        assert take_in(place.store) == []
        assert place.files() == []
        check_whole(place.store, bare.stdout)
    else:
        before = [path.read_bytes() for path in left.files]
        if place.store.is_file():
            (again,) = take_in(place.store)
            assert again.why
        assert [path.read_bytes() for path in left.files] == before
