"""The guard of a fork, in this process: what reaches for the world outside of every call asks the policy."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging.handlers
import multiprocessing
import os
import platform
import smtplib
import socket
import subprocess
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from ftplib import FTP
from typing import TYPE_CHECKING

import pytest
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt.errors import ToolDenied
from agent_tt.forking.outside.ledger import effects_of
from agent_tt.intercepting import asking
from agent_tt.questions import Decision

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Project
    from fork_here import Here, Listener

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")  # what was refused leaves its socket open


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    gc.collect()


def in_loop(start: Callable[[], object]) -> None:
    async def agent() -> None:
        await start()

    asyncio.run(agent())


def in_pool(function: Callable[..., object], *args: object) -> object:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function, *args).result()


def connected(address: tuple[str, int]) -> None:
    socket.create_connection(address).close()


def test_each_way_out_is_denied_with_its_line_and_the_agent_goes_on(
    here: Here, listener: Listener, tmp_path: Path
) -> None:
    port, mark = listener.port, str(tmp_path / "mark")
    at, program = f"socket 127.0.0.1:{port}", "subprocess touch"
    ways: list[tuple[str, Callable[[], object]]] = [
        (at, lambda: FTP().connect(*listener.address)),
        ("socket mail.invalid:587", lambda: smtplib.SMTP("mail.invalid", 587)),
        (at, lambda: socket.socket().connect(listener.address)),
        (at, lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", listener.address)),
        (at, lambda: in_pool(connected, listener.address)),
        (at, lambda: in_loop(lambda: asyncio.open_connection(*listener.address))),
        (f"socket {mark}", lambda: socket.socket(socket.AF_UNIX).connect(mark)),
        ("socket 127.1:80", lambda: in_loop(lambda: asyncio.get_running_loop().getaddrinfo("127.1", 80))),
        (program, lambda: os.system(f"touch {mark}")),
        (program, lambda: os.popen(f"touch {mark}").read()),
        (program, lambda: subprocess.run(["touch", mark], check=False)),
        (program, lambda: os.posix_spawnp("touch", ["touch", mark], os.environ)),
        (program, lambda: in_loop(lambda: asyncio.create_subprocess_exec("touch", mark))),
        (
            f"subprocess {os.path.basename(sys.executable)}",  # noqa: PTH119
            lambda: multiprocessing.get_context("spawn").Process(target=print).start(),
        ),
    ]
    with here.step():
        for name, way in ways:
            with pytest.raises(ToolDenied) as denied:
                way()
            assert denied.value.tool == name
            assert "test_guarding.py:" in str(denied.value)
    assert [(name, status) for _, name, status in here.said] == [(name, "denied") for name, _ in ways]
    assert {call.kind for call in here.calls} == {"socket", "subprocess"}
    assert all(str(call.meta["file"]).endswith("test_guarding.py") for call in here.calls)
    assert (listener.heard(), here.notes) == (0, [])
    assert not os.path.exists(mark)  # noqa: PTH110


def test_inside_a_live_tool_everything_may_happen_and_after_it_nothing(here: Here, listener: Listener) -> None:
    go_on, denials = threading.Event(), list[BaseException]()

    def late() -> None:
        go_on.wait(PATIENCE_SECONDS)
        try:
            connected(listener.address)
        except ToolDenied as denied:
            denials.append(denied)

    @agent_tt.tool(effect="read")
    def look() -> threading.Thread:
        connected(listener.address)
        in_pool(connected, ("127.1", listener.port))
        in_loop(lambda: asyncio.open_connection("127.1", listener.port))
        subprocess.run(["true"], check=True)
        os.system("true")
        left = threading.Thread(target=late)
        left.start()
        return left

    with here.step():
        left = look()
        assert listener.heard() == 3
        with pytest.raises(ToolDenied):
            connected(listener.address)
        go_on.set()
        left.join()
    assert len(denials) == 1, "what a tool has left running is not part of it any more"
    assert here.said == [
        ("tool", "look", "ok"),
        ("subprocess", "subprocess true", "ok"),
        *[("socket", f"socket 127.1:{listener.port}", "denied")] * 2,  # as it was looked up
    ]
    assert listener.heard() == 0


def test_what_is_allowed_by_name_goes_out_once_recorded(here: Here, listener: Listener, project: Project) -> None:
    allowed = {f"socket 127.1:{listener.port}": "live", "subprocess true": "live"}
    with here.step(**allowed):
        in_loop(lambda: asyncio.open_connection("127.1", listener.port))
        assert os.system("true") == 0
        with pytest.raises(ToolDenied):
            connected(("127.1", listener.port + 1))
        with pytest.raises(ToolDenied):
            os.system("false")
    assert here.said == [
        ("socket", f"socket 127.1:{listener.port}", "ok"),
        ("subprocess", "subprocess true", "ok"),
        ("socket", f"socket 127.1:{listener.port + 1}", "denied"),
        ("subprocess", "subprocess false", "denied"),
    ]
    assert listener.heard() == 1
    ledger = effects_of(project.store, project.store.run(here.run_id))
    assert [(row.happened, row.because) for row in ledger.rows] == [("sent", "you")] * 2 + [("denied", "default")] * 2


def test_datagrams_to_one_address_are_one_row(here: Here) -> None:
    sender, receiver = (socket.socket(type=socket.SOCK_DGRAM) for _ in range(2))
    with here.step(**{"*socket": "live"}), sender, receiver:
        receiver.bind(("127.0.0.1", 0))
        for _ in range(3):
            sender.sendto(b"x", receiver.getsockname())
        assert receiver.recv(1) == b"x"
        name = f"socket 127.0.0.1:{receiver.getsockname()[1]}"
    assert here.said == [("socket", name, "ok")]


def test_what_changes_nothing_passes_without_a_word(
    here: Here, listener: Listener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "site-packages" / "a_library_that_looks_around.py"
    library.parent.mkdir()
    library.write_text("import os, subprocess\nos.system('true')\nsubprocess.run(['true'], check=True)\n")
    monkeypatch.syspath_prepend(str(library.parent))
    platform._uname_cache = None
    visit = "import socket; s = socket.create_connection(('127.0.0.1', int(input()))); assert s.recv(10) == b'served'"
    visitor = subprocess.Popen([sys.executable, "-c", visit], stdin=subprocess.PIPE)
    with visitor, here.step():
        __import__("a_library_that_looks_around")
        platform.processor()
        socket.getfqdn()
        one, two = socket.socketpair()
        one.close(), two.close()
        socket.create_server(("127.0.0.1", 0)).close()
        asyncio.run(asyncio.sleep(0))
        with socket.create_server(("127.0.0.1", 0)) as serving:  # it answers whoever comes
            visitor.stdin.write(f"{serving.getsockname()[1]}\n".encode()), visitor.stdin.flush()
            made, _ = serving.accept()
            made.sendall(b"served"), made.close()
        with contextlib.suppress(OSError):  # a machine may have no log
            logging.handlers.SysLogHandler("/dev/log").close()
        with multiprocessing.get_context("fork").Manager() as manager:
            assert list(manager.list([1])) == [1]
    assert here.said == [("subprocess", "subprocess true", "ok")], "known to change nothing: a library is imported"
    assert here.calls[0].effect == "read"
    assert visitor.returncode == 0
    assert listener.heard() == 0


def test_a_forked_process_stays_under_the_guard(here: Here, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    with here.step():
        assert os.spawnlp(os.P_WAIT, "touch", "touch", str(mark)) == 127, "it could not be executed"
    assert not mark.exists()
    assert here.said == [("subprocess", "subprocess touch", "denied")]
    assert here.calls[0].lane == "main/proc.0"


def test_what_nothing_records_is_denied_too_and_written_down(here: Here, listener: Listener) -> None:
    import httpx

    url = f"http://127.0.0.1:{listener.port}"
    with here.guarded():
        for way in (lambda: connected(listener.address), lambda: os.system("true"), lambda: httpx.post(url)):
            for _ in range(2):
                with pytest.raises(ToolDenied):
                    way()
        with httpx.Client(timeout=0.01) as client, pytest.raises(httpx.TimeoutException):
            client.get(url)  # nobody answers, but it goes out
    assert listener.heard() == 1
    assert here.notes == []
    assert [(row.name, row.happened, row.where, row.because) for row in here.outside] == [
        (name, "denied", "before", "default")
        for name in (f"socket 127.0.0.1:{listener.port}", "subprocess true", f"POST {url}/")
        for _ in range(2)
    ]
    assert all(str(row.site["file"]).endswith("test_guarding.py") for row in here.outside)
    assert here.reads == {f"GET {url}/": 1}


def test_what_is_not_seen_is_named(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc._cython.cygrpc", types.ModuleType("grpc"))
    with here.step():
        pass
    assert any("not covered" in note and "grpc" in note for note in here.notes)


def test_somebody_is_asked_about_a_connection_once_and_not_where_its_name_is_looked_up(
    here: Here, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def decide(*args: object) -> Decision:
        asked.append(args)
        return Decision("run" if len(asked) == 1 else "refuse")

    monkeypatch.setattr(asking, "_wait", decide)
    with here.step(**{"*socket": "ask"}):
        connected(("127.1", listener.port))
        with pytest.raises(ToolDenied, match="refused"):
            connected(("127.1", listener.port))
    name = f"socket 127.1:{listener.port}"
    assert (here.said, len(asked), listener.heard()) == ([("socket", name, "ok"), ("socket", name, "denied")], 2, 1)


def test_what_cannot_be_answered_in_place_of_being_made_is_denied(here: Here) -> None:
    with here.step(**{"*subprocess": 'stub:{"returncode": 0}'}), pytest.raises(ToolDenied, match="subprocess true"):
        os.system("true")
    assert here.said == [("subprocess", "subprocess true", "denied")]
