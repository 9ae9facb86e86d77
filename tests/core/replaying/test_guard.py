"""Nothing passes the guard: each way out is refused, named with its line, and a listener hears nobody."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import multiprocessing
import multiprocessing.util
import os
import platform
import socket
import sqlite3
import ssl
import subprocess
import sys
import threading
import types
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agent_tt.errors import AgentTTError
from agent_tt.recording.modules.native_libraries import links_to_world, uncovered_libraries
from agent_tt.recording.session import SESSION
from agent_tt.replaying.guard.guard import Rules, guarded


class Refused(BaseException):
    """Not an Exception: no `except Exception` between here and there may hide it."""


class Listener:
    """A server on loopback that counts who came."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.datagrams = socket.socket(type=socket.SOCK_DGRAM)
        self.datagrams.bind(("127.0.0.1", self.port))

    def heard(self):
        """How many connections wait, and how many datagrams."""
        count = 0
        for waiting, take in ((self.socket, "accept"), (self.datagrams, "recv")):
            waiting.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    got = getattr(waiting, take)(*([10] if take == "recv" else []))
                    if take == "accept":
                        got[0].close()
                    count += 1
        return count

    def close(self):
        self.socket.close()
        self.datagrams.close()


@pytest.fixture
def listener():
    listening = Listener()
    yield listening
    listening.close()


def forked():
    if os.fork() == 0:
        os._exit(0)


def in_thread(run):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(run).result()


def process(method):
    def start():
        started = multiprocessing.get_context(method).Process(target=print)
        started.start()
        started.join()

    return start


def with_socket(use, kind=socket.SOCK_STREAM):
    with socket.socket(type=kind) as made:
        use(made)


def in_loop(start):
    async def agent():
        await start()

    asyncio.run(agent())


def ways_out(port, tmp_path):
    here = ("127.0.0.1", port)
    mark = str(tmp_path / "mark")
    return {
        "urllib": lambda: urllib.request.urlopen(f"http://127.0.0.1:{port}/"),
        "create_connection": lambda: socket.create_connection(here),
        "connect": lambda: with_socket(lambda s: s.connect(here)),
        "connect_ex": lambda: with_socket(lambda s: s.connect_ex(here)),
        "another name": lambda: with_socket(lambda s: sys.modules["_socket"].socket.connect(s, here)),
        "unix socket": lambda: socket.socket(socket.AF_UNIX).connect(mark),
        "sendto": lambda: with_socket(lambda s: s.sendto(b"x", here), socket.SOCK_DGRAM),
        "sendmsg": lambda: with_socket(lambda s: s.sendmsg([b"x"], [], 0, here), socket.SOCK_DGRAM),
        "bind": lambda: with_socket(lambda s: s.bind(("127.0.0.1", 0))),
        "gethostbyname": lambda: socket.gethostbyname("localhost"),
        "gethostbyaddr": lambda: socket.gethostbyaddr("127.0.0.1"),
        "getaddrinfo": lambda: socket.getaddrinfo("localhost", 80),
        "getnameinfo": lambda: socket.getnameinfo(here, 0),
        "subprocess": lambda: subprocess.run(["touch", mark], check=False),
        "shell": lambda: subprocess.getoutput(f"touch {mark}"),
        "os.system": lambda: os.system(f"touch {mark}"),
        "popen": lambda: os.popen(f"touch {mark}").read(),
        "fork": forked,
        "posix_spawn": lambda: os.posix_spawnp("touch", ["touch", mark], os.environ),
        "os.spawn": lambda: os.spawnlp(os.P_WAIT, "touch", "touch", mark),
        "exec": lambda: os.execlp("touch", "touch", mark),
        "pty": lambda: __import__("pty").spawn(["touch", mark]),
        "multiprocessing fork": process("fork"),
        "multiprocessing spawn": process("spawn"),
        "multiprocessing forkserver": process("forkserver"),
        "asyncio connection": lambda: in_loop(lambda: asyncio.open_connection(*here)),
        "asyncio server": lambda: in_loop(lambda: asyncio.start_server(print, "127.0.0.1", 0)),
        "asyncio subprocess": lambda: in_loop(lambda: asyncio.create_subprocess_exec("touch", mark)),
        "thread": lambda: in_thread(lambda: socket.create_connection(here)),
    }


WAYS = list(ways_out(0, Path()))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_way_out_is_refused_with_its_line_and_nothing_is_reached(way, listener, tmp_path):
    run = ways_out(listener.port, tmp_path)[way]
    with guarded(lambda attempt: Refused(str(attempt))) as guard:
        refused = False
        try:
            run()
        except Refused:
            refused = True
    gc.collect()  # sockets that the refused left open are closed here, where nobody minds
    assert refused
    attempt = guard.attempts[0]
    assert attempt.file.endswith("test_guard.py")
    assert attempt.line > 60
    assert attempt.function
    assert attempt.target or attempt.event == "os.fork"
    if attempt.event in ("socket.connect", "socket.sendto", "socket.sendmsg") and way != "unix socket":
        assert attempt.target == f"127.0.0.1:{listener.port}"
    assert listener.heard() == 0
    assert list(tmp_path.iterdir()) == []
    assert multiprocessing.active_children() == []


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_what_an_executor_does_for_the_loop_is_refused_without_a_line(listener):
    async def resolve():
        await asyncio.get_running_loop().getaddrinfo("localhost", listener.port)

    with guarded(lambda attempt: Refused(str(attempt))) as guard, pytest.raises(Refused):
        asyncio.run(resolve())
    assert guard.attempts[0].event == "socket.getaddrinfo"
    assert guard.attempts[0].target == f"localhost:{listener.port}"
    assert guard.attempts[0].file is None


def test_the_line_is_relative_to_the_project(tmp_path):
    agent = tmp_path / "agent.py"
    agent.write_text("import os\n\ndef go():\n    os.system('true')\n")
    module = types.ModuleType("agent")
    exec(compile(agent.read_text(), str(agent), "exec"), module.__dict__)
    with guarded(lambda attempt: Refused(str(attempt)), root=str(tmp_path)) as guard, pytest.raises(Refused):
        module.go()
    (attempt,) = guard.attempts
    assert (attempt.event, attempt.target, attempt.file, attempt.line, attempt.function) == (
        "os.system",
        "true",
        "agent.py",
        4,
        "go",
    )
    assert str(attempt) == "os.system true at agent.py:4"


def test_what_stays_inside_the_process_passes(tmp_path):
    with guarded(lambda attempt: Refused(str(attempt))) as guard:
        one, two = socket.socketpair()
        with one, two:
            one.send(b"x")
            one.sendmsg([b"y"])
            assert two.recv(2) == b"xy"
        asyncio.run(asyncio.sleep(0))
        ssl.create_default_context()
        with contextlib.closing(sqlite3.connect(tmp_path / "a.db")) as database:
            database.execute("create table t (a)")
        (tmp_path / "file").write_text("text")
        assert (tmp_path / "file").read_text() == "text"
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
    assert guard.attempts == []


def test_what_only_tells_about_the_machine_passes():
    platform._uname_cache = None
    with guarded(lambda attempt: Refused(str(attempt))) as guard:
        platform.processor()
        __import__("ctypes.util")
        ctypes.util.find_library("c")
    assert guard.attempts == []


def test_a_library_that_is_imported_may_look_whether_there_is_a_port(tmp_path, monkeypatch):
    library = tmp_path / "site-packages" / "a_library_with_sockets.py"
    library.parent.mkdir()
    library.write_text("import socket\nwith socket.socket() as found:\n    found.bind(('127.0.0.1', 0))\n")
    own = tmp_path / "an_agent_with_sockets.py"
    own.write_text(library.read_text())
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend(str(library.parent))
    with guarded(lambda attempt: Refused(str(attempt))) as guard:
        __import__("a_library_with_sockets")
        assert guard.attempts == []
        with pytest.raises(Refused, match=r"an_agent_with_sockets\.py:3"):
            __import__("an_agent_with_sockets")


def test_functions_in_c_that_reach_nothing_are_called():
    with guarded(lambda attempt: Refused(str(attempt))) as guard:
        for library in (ctypes.CDLL(None), ctypes.CDLL("libc.so.6")):
            assert library.getpid() == os.getpid()
            assert library["abs"](-3) == 3
            by_address = ctypes.cast(library.abs, ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int))
            assert by_address(-4) == 4
            numbers = (ctypes.c_int * 3)(3, 1, 2)
            compare = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.POINTER(ctypes.c_int)] * 2)(lambda a, b: a[0] - b[0])
            library.qsort(numbers, 3, ctypes.sizeof(ctypes.c_int), compare)
            assert list(numbers) == [1, 2, 3]
        assert ctypes.pythonapi.Py_GetVersion
        assert ctypes.string_at(b"text") == b"text"
        ctypes.CDLL(ctypes.util.find_library("z") or None)
    assert guard.attempts == []
    assert guard.opened_libraries == []


def test_files_are_not_guarded_and_odd_events_harm_nobody(tmp_path):
    with guarded(lambda attempt: Refused(str(attempt))) as guard:
        (tmp_path / "file").write_text("text")
        os.close(os.open(tmp_path / "other", os.O_CREAT | os.O_RDWR))
        with os.fdopen(os.open(tmp_path / "other", os.O_WRONLY), "w") as file:
            file.write("more")
        sys.audit("open")
        sys.audit("open", "somewhere")
        sys.audit("open", None, None, "odd")
    assert guard.attempts == []


def test_a_package_may_look_up_what_it_does_not_call(tmp_path, monkeypatch):
    library = tmp_path / "site-packages" / "a_library_with_a_system_call.py"
    library.parent.mkdir()
    library.write_text(
        "import ctypes\nlibc = ctypes.CDLL(None)\nsyscall = libc.syscall\n"
        "def thread():\n    return syscall(186)\n"
        "def by_address(function):\n"
        "    made = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.cast(function, ctypes.c_void_p).value)\n    return made()\n"
    )
    monkeypatch.syspath_prepend(str(library.parent))
    with guarded(lambda attempt: Refused(str(attempt))) as guard:
        module = __import__("a_library_with_a_system_call")
        assert guard.attempts == []
        assert module.by_address(module.libc.getpid) == os.getpid()
        with pytest.raises(Refused, match="syscall"):
            module.thread()


def test_what_the_rules_let_pass_passes(listener):
    here = ("127.0.0.1", listener.port)
    may = threading.local()
    rules = Rules(passes=lambda: getattr(may, "pass_", False), ignores=frozenset({"os.system"}))
    with guarded(lambda attempt: Refused(str(attempt)), rules=rules) as guard:
        assert os.system("true") == 0
        may.pass_ = True
        socket.create_connection(here).close()
        assert subprocess.run(["true"], check=False).returncode == 0
        with pytest.raises(Refused):
            in_thread(lambda: socket.create_connection(here))
        may.pass_ = False
        with pytest.raises(Refused), contextlib.closing(socket.socket()) as made:
            made.connect(here)
    assert len(guard.attempts) == 2
    gc.collect()
    assert listener.heard() == 1


def test_what_a_guard_lets_pass_has_passed_those_around_it_too(listener):
    here = ("127.0.0.1", listener.port)
    with guarded(lambda attempt: Refused("outer")) as outer:
        with guarded(lambda attempt: None) as inner, contextlib.closing(socket.socket()) as made:
            with pytest.raises(Refused, match="outer"):
                made.connect(here)
            with pytest.raises(Refused, match="outer"):
                multiprocessing.util.spawnv_passfds(b"true", ["true"], [])
        assert [attempt.event for attempt in inner.attempts] == ["socket.connect", "multiprocessing.spawn"]
        assert inner.attempts == outer.attempts
    assert listener.heard() == 0


def test_multiprocessing_may_spawn_where_it_is_allowed():
    with guarded(lambda attempt: None):
        pipe = os.pipe()
        pid = multiprocessing.util.spawnv_passfds(
            os.fsencode(sys.executable), [sys.executable, "-c", f"open({pipe[1]},'w').write('hi')"], [pipe[1]]
        )
        os.close(pipe[1])
        with os.fdopen(pipe[0]) as read:
            assert read.read() == "hi"
        os.waitpid(pid, 0)


def test_guards_nest_and_everything_is_undone():
    import _posixsubprocess

    before = _posixsubprocess.fork_exec

    def fail():
        with guarded(lambda attempt: Refused("outer")) as outer:
            with guarded(lambda attempt: Refused("inner")) as inner, pytest.raises(Refused, match="inner"):
                os.system("true")
            with pytest.raises(Refused, match="outer"):
                os.system("true")
            assert (len(outer.attempts), len(inner.attempts)) == (1, 1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert _posixsubprocess.fork_exec is before
    assert SESSION.chain.reach == ()
    assert os.system("true") == 0


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_refusal_is_what_the_caller_makes():
    class Divergence(BaseException):
        pass

    seen = []

    def refuse(attempt):
        seen.append(attempt)
        return Divergence("unrecorded effect")

    def agent():
        try:
            urllib.request.urlopen("http://127.0.0.1:9/")
        except Exception:
            pytest.fail("an Exception was raised")

    with guarded(refuse):
        raised = None
        try:
            agent()
        except Divergence as divergence:
            raised = str(divergence)
    assert raised == "unrecorded effect"
    gc.collect()
    assert seen[0].target == "127.0.0.1:9"


def test_libraries_with_sockets_of_their_own_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "grpc._cython.cygrpc", types.ModuleType("grpc._cython.cygrpc"))
    monkeypatch.setitem(sys.modules, "pyodbc", types.ModuleType("pyodbc"))
    assert {"grpc", "pyodbc"} <= set(uncovered_libraries())


def test_a_library_with_sockets_of_its_own_is_known_by_what_it_links_to(tmp_path):
    uvloop = pytest.importorskip("uvloop")
    linked = tmp_path / "site-packages" / "some_client" / "_client.so"
    linked.parent.mkdir(parents=True)
    linked.symlink_to(uvloop.loop.__file__)
    assert links_to_world(str(linked)) is True, "it connects in C"
    assert links_to_world(uvloop.loop.__file__) is False, "its methods ask the guard"
    for harmless in ("orjson.orjson", "zstandard.backend_c", "pydantic_core._pydantic_core", "_ssl", "_uuid"):
        module = pytest.importorskip(harmless)
        if getattr(module, "__file__", None):
            assert links_to_world(module.__file__) is False, harmless
    assert links_to_world(__file__) is None
    assert links_to_world("/nowhere/at_all.so") is None


def test_pillows_library_for_screens_counts_only_where_one_is_grabbed(tmp_path, monkeypatch):
    uvloop = pytest.importorskip("uvloop")
    linked = tmp_path / "site-packages" / "pillow.libs" / "libxcb-9065bb12.so.1.1.0"
    linked.parent.mkdir(parents=True)
    linked.symlink_to(uvloop.loop.__file__)
    monkeypatch.setattr(Path, "read_text", lambda _path: f"7f00-7f10 r-xp 00000000 08:01 1 {linked}\n")
    monkeypatch.delitem(sys.modules, "PIL.ImageGrab", raising=False)
    assert "pillow" not in uncovered_libraries()
    monkeypatch.setitem(sys.modules, "PIL.ImageGrab", types.ModuleType("PIL.ImageGrab"))
    assert "pillow" in uncovered_libraries()


def test_where_hooks_are_refused_nothing_is_replayed(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\n"
        "def no_more(event, args):\n"
        "    if event == 'sys.addaudithook':\n"
        "        raise RuntimeError\n"
        "sys.addaudithook(no_more)\n"
        "from agent_tt.errors import AgentTTError\n"
        "from agent_tt.replaying.guard.guard import guarded\n"
        "try:\n"
        "    with guarded(ValueError): print('stands')\n"
        "except AgentTTError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert "cannot be installed" in done.stdout, done.stderr
    assert issubclass(AgentTTError, Exception)


def test_a_finalizer_that_runs_when_all_modules_are_gone_reaches_nothing_either(tmp_path: Path):
    program = tmp_path / "program.py"
    program.write_text(
        "import codecs, os, sys\n"
        "from contextlib import ExitStack\n"
        "from agent_tt.replaying.guard.guard import guarded, stay_guarded\n"
        "class Late:\n"
        "    def __init__(self):\n"
        "        self.tries = [(open, ('written', 'w')), (sys.audit, ('os.system', b'x'))]\n"
        "        self.write = os.write\n"
        "    def __del__(self):\n"
        "        for tried, args in self.tries:\n"
        "            try: said = repr(tried(*args))\n"
        "            except BaseException as error: said = type(error).__name__ + ': ' + str(error)\n"
        "            self.write(1, said[:80].encode() + b'\\n')\n"
        "codecs.kept = [*sys.modules.values()]  # modules that are alive at the end are emptied\n"
        "os.late = Late()\n"
        "held = ExitStack()\n"
        "held.enter_context(guarded(lambda attempt: PermissionError('refused')))\n"
        "stay_guarded(held)\n"
    )
    done = subprocess.run([sys.executable, program], cwd=tmp_path, capture_output=True, text=True, check=False)
    opened, called = done.stdout.splitlines()
    assert opened.startswith("<_io.TextIOWrapper"), done.stderr
    assert called == "PermissionError: os.system: the program has ended"
    assert "TypeError" not in done.stderr
