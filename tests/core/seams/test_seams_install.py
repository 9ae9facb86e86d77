"""Putting the seams in place: when a library is imported, once, and never for good."""

from __future__ import annotations

import importlib
import logging
import subprocess
import sys
import textwrap
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import aiohttp
import httpx2
import pytest
from tests.patience import PATIENCE_SECONDS

import agent_tt
from agent_tt.frameworks.adapters import ADAPTERS
from agent_tt.recording.lanes.hooks import HOOKS
from agent_tt.recording.modules.fitness import need_attributes, need_members, need_parameters
from agent_tt.recording.modules.import_watch import ImportWatch
from agent_tt.seams.install import LIBRARIES, SEAMS, Seams

if TYPE_CHECKING:
    from pathlib import Path


def python(code: str, *arguments: str) -> str:
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_recording_imports_no_library(tmp_path: Path):
    shown = python(
        """
        import sys, agent_tt
        with agent_tt.record("x", store=sys.argv[1]):
            pass
        print(*[name for name in ("httpx", "httpx2", "urllib3", "aiohttp", "httpcore") if name in sys.modules])
        """,
        str(tmp_path / "runs.db"),
    )
    assert shown.split() == []


def test_a_library_is_patched_when_it_is_imported_and_whole_afterwards(tmp_path: Path):
    shown = python(
        """
        import sys, agent_tt
        def patched():
            import httpx, httpx2, urllib3, aiohttp
            methods = [
                httpx.HTTPTransport.handle_request, httpx2.AsyncHTTPTransport.handle_async_request,
                urllib3.connection.HTTPSConnection.connect, urllib3.HTTPConnectionPool.urlopen,
                aiohttp.BaseConnector.connect, aiohttp.client_proto.ResponseHandler.data_received,
            ]
            return ["agent_tt" in method.__code__.co_filename for method in methods]
        with agent_tt.record("x", store=sys.argv[1]):
            print(patched())
            import httpx
            print("exec_module" in vars(httpx.__spec__.loader), type(httpx.__loader__).__name__)
        print(patched())
        print([type(finder).__name__ for finder in sys.meta_path if "agent_tt" in type(finder).__module__])
        """,
        str(tmp_path / "runs.db"),
    )
    assert shown.splitlines() == [str([True] * 6), "False SourceFileLoader", str([False] * 6), "[]"]


def test_httpx_that_is_httpx2_is_patched_once(tmp_path: Path):
    shown = python(
        """
        import sys, agent_tt
        with agent_tt.record("x", store=sys.argv[1]):
            import httpx2
            httpx2.alias_httpx()
            import httpx
            assert httpx is httpx2
            method = httpx.HTTPTransport.handle_request
            print("agent_tt" in method.__code__.co_filename, "agent_tt" in method.__wrapped__.__code__.co_filename)
        print("agent_tt" in httpx.HTTPTransport.handle_request.__code__.co_filename)
        """,
        str(tmp_path / "runs.db"),
    )
    assert shown.splitlines() == ["True False", "False"]


def test_who_needs_them_is_counted():
    original = httpx2.HTTPTransport.handle_request
    HOOKS.acquire()
    HOOKS.acquire()
    SEAMS.acquire()
    HOOKS.release()
    HOOKS.release()
    assert httpx2.HTTPTransport.handle_request is not original
    SEAMS.release()
    assert httpx2.HTTPTransport.handle_request is original


def test_a_version_that_does_not_fit_is_named_and_left_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    strange = ModuleType("aiohttp")
    strange.__version__ = "9.9"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "aiohttp", strange)
    seams = Seams()
    with caplog.at_level(logging.WARNING):
        seams.acquire()
        seams.release()
    assert "aiohttp 9.9" in seams.unfit["aiohttp"]
    assert "aiohttp 9.9 cannot be recorded" in caplog.text


def test_a_version_that_fits_in_part_is_left_alone_as_a_whole(monkeypatch: pytest.MonkeyPatch):
    class Pool:
        def urlopen(self, method: str, url: str, body: Any = None, headers: Any = None) -> str:
            return "mine"

    class Connection:
        response_class = default_port = is_verified = proxy_is_verified = None

        def __init__(self) -> None:
            self.proxy = self._has_connected_to_proxy = None

        def connect(self) -> None:
            """It has no `getresponse`."""

        def request(self, method: str, url: str, body: Any = None, headers: Any = None) -> None:
            """Send nothing."""

    strange: Any = ModuleType("urllib3")
    strange.connectionpool = SimpleNamespace(HTTPConnectionPool=Pool)
    strange.connection = SimpleNamespace(HTTPConnection=Connection, HTTPSConnection=Connection)
    original = vars(Pool)["urlopen"]
    monkeypatch.setitem(sys.modules, "urllib3", strange)
    seams = Seams()
    seams.acquire()
    assert vars(Pool)["urlopen"] is original
    seams.release()
    assert "getresponse" in seams.unfit["urllib3"]


def test_a_loader_that_serves_several_modules_is_watched_for_one(monkeypatch: pytest.MonkeyPatch):
    found: list[str] = []

    class Loader:
        def create_module(self, spec: ModuleSpec) -> None:
            return None

        def exec_module(self, module: ModuleType) -> None:
            pass

    loader: Any = Loader()
    specs = {name: ModuleSpec(name, loader) for name in ("aiohttp", "urllib3")}
    finder = ImportWatch(lambda name, module: found.append(name))
    other = SimpleNamespace(find_spec=lambda name, path, target: specs[name])
    monkeypatch.setattr(sys, "meta_path", [other])
    for name in specs:
        finder.watch(name)
    modules = {}
    for name, spec in specs.items():
        assert finder.find_spec(name, None) is spec
        modules[name] = ModuleType(name)
        modules[name].__spec__ = spec
    loader.exec_module(modules["urllib3"])
    loader.exec_module(ModuleType("another"))
    assert found == ["urllib3"]
    loader.exec_module(modules["aiohttp"])
    assert found == ["urllib3", "aiohttp"]


def test_two_may_watch_for_one_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "watched_by_two.py").write_text("value = 1")
    monkeypatch.syspath_prepend(str(tmp_path))
    seen: list[Any] = []
    watches = [ImportWatch(lambda name, module: seen.append((name, module.value))) for _ in range(2)]
    try:
        for watch in watches:
            watch.watch("watched_by_two")
        module = importlib.import_module("watched_by_two")
    finally:
        for watch in watches:
            watch.stop()
        sys.modules.pop("watched_by_two", None)
    assert seen == [("watched_by_two", 1)] * 2
    assert "exec_module" not in vars(module.__loader__)


def test_other_modules_are_none_of_our_business():
    SEAMS.acquire()
    try:
        assert SEAMS._imports.find_spec("json", None) is None
        assert SEAMS._imports.names == {*LIBRARIES, *ADAPTERS.declared()}
    finally:
        SEAMS.release()
    assert set(LIBRARIES) == {
        "httpx", "httpx2", "urllib3", "http.client", "aiohttp", "aiohttp.client",
        "websockets.asyncio.client", "websockets.sync.client", "websockets.legacy.client",
        "websocket._core", "websocket._dispatcher", "httpx_ws._api",
        "mcp.client.stdio", "mcp.client.streamable_http", "mcp.client.sse",
        "subprocess", "asyncio", "multiprocessing.util",
    }  # fmt: skip


def test_outside_any_recording_a_request_only_passes_through(monkeypatch: pytest.MonkeyPatch):
    passed: list[Any] = []
    monkeypatch.setattr(
        httpx2.HTTPTransport, "handle_request", lambda transport, request: passed.append(request) or "answer"
    )
    SEAMS.acquire()
    try:
        body_was_read: list[bool] = []
        request: Any = SimpleNamespace(read=lambda: body_was_read.append(True))
        assert httpx2.HTTPTransport.handle_request(None, request) == "answer"  # type: ignore[arg-type, comparison-overlap]
    finally:
        SEAMS.release()
    assert (passed, body_was_read) == ([request], [])


def test_the_seams_come_with_record():
    assert agent_tt.record is not None
    assert SEAMS in HOOKS._companions


def test_a_version_whose_private_names_have_changed_is_refused_before_anything_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
):
    def make(connector: Any, *, loop: object = None) -> None:
        connector._taken = set()  # `_acquired` has another name

    original = aiohttp.BaseConnector.connect
    monkeypatch.setattr(aiohttp.BaseConnector, "__init__", make)
    seams = Seams()
    seams.acquire()
    try:
        assert f"aiohttp {aiohttp.__version__}" in seams.unfit["aiohttp"]
        assert "_acquired" in seams.unfit["aiohttp"]
        assert aiohttp.BaseConnector.connect is original
    finally:
        seams.release()


@pytest.mark.parametrize(
    ("check", "problem"),
    [
        (lambda: need_attributes(Seams.__init__, "_lock", "_gone"), "knows no _gone"),
        (lambda: need_members(Seams, "patch", "gone"), "Seams has no gone"),
        (lambda: need_parameters(Seams.patch, "module"), "takes name, not module"),
    ],
)
def test_what_does_not_fit_is_said(check: Any, problem: str):
    with pytest.raises(AttributeError, match=problem):
        check()


def test_a_function_that_passes_on_what_it_is_given_fits():
    need_parameters(lambda *args, **options: (args, options), "request")
