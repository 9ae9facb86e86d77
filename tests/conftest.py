"""What holds for every test."""

from __future__ import annotations

import compileall
import gc
import itertools
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import settings
from tests.core.seams.certificates import certificate_files
from tests.loaded_libraries import LOADED, libraries
from tests.warm_processes import warm_processes

import agent_tt
import agent_tt_tui
from agent_tt.recording.modules import native_libraries
from agent_tt.recording.session import SESSION
from agent_tt.redaction.own import OWN
from agent_tt.redaction.rules import Rules

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from tests.postgres_server import TestDatabase
    from xdist.remote import Producer
    from xdist.scheduler import Scheduling

# A test never depends on how fast the machine is.
settings.register_profile("agent-tt", settings.default, deadline=None)
settings.load_profile("agent-tt")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in the background of a shell without job control, which has its commands ignore Ctrl-C; the processes
    # that tests start and interrupt would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)

_COUNT = itertools.count()

_MEMORY: Final = Path("/dev/shm")
_ROOM: Final = 4 << 30
"""Bytes that must be free there; all tests together write one."""


def pytest_configure(config: pytest.Config) -> None:
    """Prepare what all workers share, once, before any of them starts."""
    if not hasattr(config, "workerinput"):
        _compile()
        _keep_folders_in_memory()


def _compile() -> None:
    """Compile the packages.

    The tests start some thousand processes. Where Python is told to write no bytecode, each of them would compile what
    it imports of ours, which takes longer than all the rest of its start.
    """
    for package in (agent_tt, agent_tt_tui):
        compileall.compile_dir(Path(str(package.__file__)).parent, quiet=2)


def _keep_folders_in_memory() -> None:
    """Let the folders of the tests lie in memory where there is room: a store waits for the disk at each commit.

    What tests show with killed processes they show there too; no test turns the power off.
    """
    is_there = _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK | os.X_OK)
    if is_there and shutil.disk_usage(_MEMORY).free >= _ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the bytecode of the tests, and let the garbage collector pass over them and the libraries that they import.

    While they are collected it would look through them again and again, for a third of the time. And where Python is
    told to write no bytecode, each worker would compile all tests anew each time, for more than half of it.
    """
    gc.disable()
    writes_none, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    try:
        return (yield)
    finally:
        sys.dont_write_bytecode = writes_none
        gc.freeze()
        gc.set_threshold(10_000, 20, 20)
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling | None:
    """Give each worker a stretch of neighbours, and who is done early some of what another has left.

    In turns, as by default, both workers would make what the tests of a module share, and the last long one would be
    waited for. Another way that is asked for by `--dist` stays.
    """
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


@pytest.fixture(autouse=True, scope="session")
def _few_certificates() -> Iterator[None]:
    """HTTP clients trust one stranger: each would otherwise load all that they trust, here and in every process."""
    if shutil.which("openssl") is None:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(certificate_files("stranger")[1]))
        yield


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test searches by an index in the cache folder of whoever runs the tests, nor by another test's."""
    # Not the test's own `monkeypatch`, which would then be undone after what other fixtures look at in the end.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENT_TT_SESSIONS", "off")  # those of whoever runs the tests are none of their business
        patch.setenv("AGENT_TT_HINTS", "off")  # what was explained to them is in their own settings
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / f"cache-{next(_COUNT)}"))
        yield


@pytest.fixture(autouse=True)
def _no_rules_left() -> Iterator[None]:
    """What a test had taken out stays in the tests after it."""
    yield
    OWN.use(Rules())


@pytest.fixture(autouse=True)
def _without_clients_of_other_tests() -> Iterator[None]:
    """A client of PostgreSQL, and what it links to, that another test of this process loaded is none of this one's."""
    if "psycopg" not in sys.modules:
        yield
        return
    before, by_name = libraries(), native_libraries._BY_NAME
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native_libraries, "_loaded", lambda: (path for path in LOADED() if path not in before))
        patch.setattr(native_libraries, "_BY_NAME", {key: by_name[key] for key in by_name if key != "psycopg.pq"})
        yield


@pytest.fixture(autouse=True)
def _no_link_is_left_behind() -> Iterator[None]:
    """A test that leaves a link in the chain of this process would change what later ones see, so it fails itself."""
    yield
    left = SESSION.chain.links
    SESSION.start()
    assert not left, f"left in the chain: {left}"


@pytest.fixture(autouse=True)
def _clocks_go_on() -> Iterator[None]:
    """The clocks of a process that was held stay ours, so that they do not jump; a later test has its own again."""
    yield
    attaching = sys.modules.get("agent_tt.holding.attaching")
    if attaching is not None:
        attaching.HOLDING._clocks.close()
        attaching.HOLDING._are_clocks_ours = False


@pytest.fixture(autouse=True)
def _warm_processes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Processes of a test that is marked `warm` need not import again what all of them import."""
    marker = request.node.get_closest_marker("warm")
    if marker is None or request.node.get_closest_marker("cold") is not None:
        yield
        return
    with warm_processes(*marker.args):
        yield


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A PostgreSQL server: see `tests.postgres_server`."""
    pytest.importorskip("psycopg")
    from tests.postgres_server import running

    with running() as address:
        yield address


@pytest.fixture
def postgres(postgres_server: str) -> Iterator[TestDatabase]:
    """A database of the test's own."""
    from tests.postgres_server import database

    with database(postgres_server, f"t{os.getpid()}_{next(_COUNT)}") as made:
        yield made


@pytest.fixture(params=["file", "server"])
def either_store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a test records: a file that is not there yet, and a database of a server without tables."""
    if request.param == "file":
        return tmp_path / "runs.db"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    address: Path = request.getfixturevalue("postgres").address
    return address
