"""A headless Chromium that a test drives over a pipe, by the DevTools protocol. It reaches no network."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from tests.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--remote-debugging-pipe",
    "--window-size=1400,800",
)  # fmt: skip


_BINARY = 2
"""What says of a frame of a WebSocket that it is no text."""


class Browser:
    """One tab.

    Attributes:
        events: the names of what the browser told.
        problems: what the page's scripts raised, and what its policy refused.
        requests: the addresses that were asked for.
        frames: what came over WebSockets, one after the other.
    """

    def __init__(self, reader: Any, writer: Any) -> None:
        self._reader, self._writer = reader, writer
        self._number = 0
        self._session: str | None = None
        self.events: list[str] = []
        self.problems: list[object] = []
        self.requests: list[str] = []
        self.frames = bytearray()
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: object) -> Any:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        self._writer.write(json.dumps(message).encode() + b"\0")
        self._writer.flush()
        while (told := self._read()).get("id") != self._number:
            pass
        assert "error" not in told, told
        return told["result"]

    def open(self, url: str, ready: str = "window.page") -> None:
        """Go to a page, and wait until it is ready: for an exported page, until it shows its runs."""
        self.send("Page.navigate", url="about:blank")
        self.events.clear()
        self.send("Page.navigate", url=url)
        while "Page.loadEventFired" not in self.events:
            self._read()
        look = f"const look = () => ({ready}) ? done() : setTimeout(look, 5); look();"
        self.run(f"new Promise((done) => {{ {look} }})")

    def run(self, script: str) -> Any:
        """What a script gives, as JSON."""
        told = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds, while the browser goes on."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            assert time.monotonic() < deadline, "it did not come to hold"
            self.run("new Promise((done) => setTimeout(done, 25))")

    def shows(self, text: str) -> bool:
        """Wait until a text came over a WebSocket, drawn in one piece."""
        self.until(lambda: text.encode() in self.frames)
        return True

    def type_key(self, key: str, code: int) -> None:
        """Press a key as a terminal in the page wants to hear of it; `code` is its old number."""
        text = {"text": key} if len(key) == 1 else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.send("Input.dispatchKeyEvent", type="keyDown", key=key)
            self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def text(self, place: str) -> str:
        """What is to be read at a place, with single spaces."""
        return " ".join(self.run(f"document.querySelector({json.dumps(place)}).innerText").split())

    def _read(self) -> dict[str, Any]:
        data = bytearray()
        while not data.endswith(b"\0"):
            piece = self._reader.read(1)
            assert piece, "the browser is gone"
            data += piece
        told: dict[str, Any] = json.loads(data[:-1])
        method, parameters = told.get("method", ""), told.get("params", {})
        self.events.append(method)
        if method in ("Runtime.exceptionThrown", "Log.entryAdded"):
            self.problems.append(parameters)
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Network.webSocketFrameReceived":
            response = parameters["response"]
            data = response["payloadData"]
            self.frames += base64.b64decode(data) if response["opcode"] == _BINARY else data.encode()
        return told


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """A browser with a profile of its own; skips where none is installed."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"no browser is installed: {', '.join(NAMES)}")
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    script = f'exec "$0" "$@" 3<&{to_read} 4>&{from_write}'
    process = subprocess.Popen(
        ["bash", "-c", script, program, *OPTIONS, f"--user-data-dir={profile}"],
        pass_fds=(to_read, from_write),
        stderr=subprocess.DEVNULL,
    )
    os.close(to_read)
    os.close(from_write)
    with os.fdopen(from_read, "rb") as reader, os.fdopen(to_write, "wb") as writer:
        try:
            yield Browser(reader, writer)
        finally:
            process.kill()
            process.wait()
