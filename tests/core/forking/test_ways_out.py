"""Every way out of `ways_out` gets out of a plain run, and none of them gets out of a fork that nobody allowed it."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import socket
import threading
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.patience import PATIENCE_SECONDS

from agent_tt.forking.outside.ledger import effects_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Project

    from agent_tt.model import Run

AGENT = Path(__file__).with_name("ways_out.py")
_SILENCE_SECONDS = 0.3
_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
_NAME = re.compile(rb"way-(\w+)")
_AT_ITS_EDGES = ("main_before", "second_recording", "main_after")
WAYS = [*re.findall(r"^@(?:way|late)\ndef (\w+)", AGENT.read_text(), re.MULTILINE), *_AT_ITS_EDGES]


class World:
    """What may be reached: a port, two sockets in the file system, and a folder in which programs leave marks."""

    def __init__(self, folder: Path) -> None:
        self.marks = folder / "marks"
        self.marks.mkdir()
        self.unix, self.datagrams = str(folder / "stream"), str(folder / "datagrams")
        self.pipe = str(folder / "pipe")
        os.mkfifo(self.pipe)
        self._pipe = os.open(self.pipe, os.O_RDWR)  # never without a writer, so that reading waits
        self.heard: set[str] = set()
        self._readers: list[threading.Thread] = []
        self._closing = False
        streams = [socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_UNIX)]
        streams[1].bind(self.unix)
        streams[1].listen()
        self.port = streams[0].getsockname()[1]
        packets = [socket.socket(type=socket.SOCK_DGRAM), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)]
        packets[0].bind(("127.0.0.1", self.port))
        packets[1].bind(self.datagrams)
        self._sockets = [*streams, *packets]
        targets = [(self._accept, each) for each in streams] + [(self._receive, each) for each in packets]
        targets.append((self._drain, streams[0]))
        self._threads = [threading.Thread(target=run, args=(each,), daemon=True) for run, each in targets]
        for thread in self._threads:
            thread.start()

    def _accept(self, listening: socket.socket) -> None:
        while not self._closing:
            with contextlib.suppress(OSError):
                made, _ = listening.accept()
                self._readers.append(threading.Thread(target=self._read, args=(made,), daemon=True))
                self._readers[-1].start()

    def _read(self, made: socket.socket) -> None:
        with made, contextlib.suppress(OSError):
            made.settimeout(_SILENCE_SECONDS)
            try:
                self._hear(made.recv(4096))
            except TimeoutError:  # mail and file transfer wait for a greeting; who closes at once may not get one
                made.sendall(b"220 ready\r\n")
            else:
                made.sendall(_ANSWER)
            made.settimeout(20)
            while data := made.recv(4096):
                self._hear(data)
                made.sendall(_ANSWER)

    def _receive(self, packets: socket.socket) -> None:
        while not self._closing:
            with contextlib.suppress(OSError):
                self._hear(packets.recv(4096))

    def _drain(self, _: object) -> None:
        while not self._closing:
            self._hear(os.read(self._pipe, 4096))

    def _hear(self, data: bytes) -> None:
        self.heard |= {name.decode() for name in _NAME.findall(data)}

    def _hear_all(self) -> None:
        """Wait until everything was heard that was sent before: each way in keeps the order in which things come."""
        marks = {"mark_pipe"}
        os.write(self._pipe, b"way-mark_pipe\n")
        for each in self._sockets:
            with socket.socket(each.family, each.type) as made:
                made.connect(each.getsockname())
                made.sendall(f"way-mark_{len(marks)}".encode())
            marks.add(f"mark_{len(marks)}")
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not marks <= self.heard:
            assert time.monotonic() < deadline, marks - self.heard
            time.sleep(0.01)
        for reader in self._readers:
            reader.join(PATIENCE_SECONDS)
        self.heard -= marks

    def reached(self) -> set[str]:
        """The names of the ways that got out, when who took them has ended."""
        self._hear_all()
        return self.heard | {path.name.removeprefix("way-") for path in self.marks.iterdir()}

    def forget(self) -> None:
        """Begin anew."""
        self.heard.clear()
        for path in self.marks.iterdir():
            path.unlink()

    def close(self) -> None:
        """Listen no more."""
        self._closing = True
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        os.write(self._pipe, b"the end")
        for thread in self._threads:
            thread.join(5)
        os.close(self._pipe)


@dataclass(frozen=True)
class Tried:
    """What got out where all ways were tried.

    Attributes:
        alone: of a plain run.
        fork: of a fork of it in which only `leave_open` is allowed.
        replay: of a replay of a run that took none of them.
        held_back: how much the fork's ledger says was held back.
        let: what it says of the tool that is allowed.
    """

    alone: set[str]
    fork: set[str]
    replay: set[str]
    held_back: int
    let: set[str]


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory, project_type: type[Project]) -> Iterator[Tried]:
    """All ways, tried once in each kind of process."""
    folder = tmp_path_factory.mktemp("ways")
    world = World(folder)
    library = folder / "lib" / "site-packages" / "a_library_that_calls_home.py"
    library.parent.mkdir(parents=True)
    library.write_text(
        "import json, os, socket\nat = ('127.0.0.1', json.loads(os.environ['WAYS_OUT'])['port'])\n"
        "made = socket.create_connection(at)\nmade.sendall(b'way-imported_library')\nmade.close()\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(library.parent), os.environ.get("PYTHONPATH", "")]))
        yield from _tried(project_type(folder), world, patch)
    world.close()


def _tried(project: Project, world: World, patch: pytest.MonkeyPatch) -> Iterator[Tried]:
    libc = ctypes.CDLL(None)
    system, near = (ctypes.cast(function, ctypes.c_void_p).value or 0 for function in (libc.system, libc.abs))
    told = {
        "port": world.port,
        "marks": str(world.marks),
        "unix": world.unix,
        "datagrams": world.datagrams,
        "pipe": world.pipe,
        "distance": system - near,
    }
    project.put("ways_out.py", AGENT.read_text())

    def recorded(**more: bool) -> Run:
        patch.setenv("WAYS_OUT", json.dumps(told | more))
        world.forget()
        project.run("ways_out.py")
        return next(each for each in project.store.runs() if each.name == "ways")

    def reached() -> set[str]:
        found = world.reached()
        world.forget()
        return found

    with closing(project.store):
        quiet = recorded(dry=True)
        assert reached() == set()
        run = recorded()
        alone = reached()
        handle = project.fork(run, 0, allow=["leave_open"])
        handle.result()
        fork = reached()
        report = project.replay(quiet)
        assert report.divergences[0].kind == "unrecorded effect", "it tries what was not recorded"
        rows = effects_of(project.store, project.store.run(handle.run_id))
        let = {row.happened for row in rows.rows if row.name == "leave_open"}
        yield Tried(alone, fork, reached(), len(rows.held_back), let)


def test_there_are_more_than_fifty_five_ways() -> None:
    assert len(WAYS) >= 100


@pytest.mark.parametrize("way", WAYS)
def test_what_gets_out_of_a_plain_run_gets_out_of_no_fork_and_no_replay(tried: Tried, way: str) -> None:
    assert way in tried.alone, "it is no way out, so nothing is proven of it"
    assert way not in tried.fork
    assert way not in tried.replay


def test_nothing_gets_out_and_all_of_it_is_in_the_ledger(tried: Tried) -> None:
    assert (tried.fork, tried.replay) == (set(), set())
    assert tried.let == {"sent"}
    assert tried.held_back >= len(WAYS) - 10, "finalizers and children that ended at once have nobody to tell"
