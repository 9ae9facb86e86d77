"""A server for the tests: in this process, behind its gate, or as a process of its own on a loopback port."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx
from fastapi.testclient import TestClient
from tests.patience import PATIENCE_SECONDS

from agent_tt.serving.listening import hosts_of, origins_of
from agent_tt.serving.rest.app import application, gated
from agent_tt.serving.rest.audit import Audit
from agent_tt.serving.rest.desk import Desk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agent_tt.serving.rest.gate import Room

TOKEN = "a-token-that-nobody-guesses"
PORT = 8411
HOST = f"127.0.0.1:{PORT}"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


def client(store: Path, *, audit: Audit | None = None, room: Room | None = None, **desk: Any) -> TestClient:
    """A client of a server in this process; it raises nothing that the server raises."""
    desk.setdefault("goldens", store.parent / "goldens")
    app = gated(
        application(Desk(store, **desk)),
        token=TOKEN,
        hosts=hosts_of(PORT),
        origins=origins_of(PORT),
        audit=audit or Audit(None),
        room=room,
    )
    return TestClient(app, base_url=f"http://{HOST}", headers=BEARER, raise_server_exceptions=False)


@contextmanager
def serving(store: Path, folder: Path, *options: str) -> Iterator[str]:
    """A server as a process of its own, which ends by Ctrl-C; gives its address."""
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(folder / "cache"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_DATA_HOME": str(folder / "data"),
        "XDG_STATE_HOME": str(folder / "state"),
        "AGENT_TT_SERVER_TOKEN": TOKEN,
    }
    words = ["-m", "agent_tt_tui", "serve", "--store", str(store), "--port", "0", *options]
    with subprocess.Popen(
        [sys.executable, *words], env=environment, cwd=folder, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            assert "http://" in line, line + process.stderr.read()
            yield line.rpartition(" ")[2].strip()
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_SECONDS) == 0, process.stderr.read()


def asking(address: str) -> httpx.Client:
    """A client of a server that is a process."""
    return httpx.Client(base_url=address, headers=BEARER, timeout=PATIENCE_SECONDS, trust_env=False)
