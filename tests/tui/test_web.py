"""The app in a real browser: it opens, scrubs and forks there; nobody gets in without the token."""

from __future__ import annotations

import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from tests.browser import browser
from tests.patience import PATIENCE_SECONDS

from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DRAWN = "document.body && document.body.classList.contains('-first-byte')"


@contextmanager
def served(store: Path, *words: str, **environment: str) -> Iterator[str]:
    """The address that the command writes, with its token; the command is ended as Ctrl-C ends it."""
    command = [sys.executable, "-m", "agent_tt_tui", "open", *words, "--web", "--store", str(store)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=store.parent,
        env={"PATH": "/usr/bin:/bin", "HOME": str(store.parent), **environment},
    )  # fmt: skip
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(2)
        _, said = process.communicate(timeout=PATIENCE_SECONDS)
        assert "Traceback" not in said, said


@pytest.fixture
def store(sample_runs_file: Path, tmp_path: Path) -> Path:
    path = tmp_path / "runs.db"
    shutil.copy(sample_runs_file, path)
    return path


def asked(address: str, **headers: str) -> tuple[int, Any]:
    """What the server answers, without following where it leads: the status and the headers."""

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_args: object) -> None:
            return None

    request = urllib.request.Request(address, headers={name.replace("_", "-"): said for name, said in headers.items()})
    try:
        answer = urllib.request.build_opener(Stay).open(request, timeout=PATIENCE_SECONDS)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        return answer.status, answer.headers


def test_nobody_gets_in_without_the_token_nor_from_another_page_nor_by_another_name(store: Path) -> None:
    with served(store, "refund-loop") as address:
        page, _, token = address.partition("?token=")
        here = page.removeprefix("http://").rstrip("/")
        assert here.startswith("127.0.0.1:")
        assert len(token) >= 16
        for path in ("", "ws", "static/js/textual.js", "page/focus.js", "download/x"):
            assert asked(page + path)[0] == 401
        assert asked(f"{page}?token={token[:-1]}")[0] == 401
        assert asked(f"{page}ws?token={token}")[0] == 401, "a token in the address opens the page alone"
        assert asked(address, Host="evil.example")[0] == 403
        assert asked(address, Origin="http://evil.example")[0] == 403
        status, headers = asked(address)
        assert (status, headers["Location"]) == (303, "/")
        cookie = headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        status, headers = asked(page, Cookie=cookie.partition(";")[0])
        assert status == 200
        assert "default-src 'self'" in headers["Content-Security-Policy"]
        assert asked(page, Cookie=cookie.partition(";")[0], Origin="http://evil.example")[0] == 403


def test_a_token_of_any_characters_gets_in_by_the_address_that_is_written(store: Path) -> None:
    with served(store, AGENT_TT_WEB_TOKEN='a&b=c+d%41#e ;"f/12345') as address:
        status, headers = asked(address)
        assert status == 303
        page = address.partition("?")[0]
        assert asked(page, Cookie=headers["Set-Cookie"].partition("; HttpOnly")[0])[0] == 200


def test_what_cannot_be_opened_is_said_in_the_terminal_and_served_to_nobody(store: Path) -> None:
    command = [sys.executable, "-m", "agent_tt_tui", "open", "no-such-run", "--web", "--store", str(store)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert done.returncode == 3
    assert "no-such-run" in done.stderr
    assert done.stdout == ""


def test_the_app_opens_scrubs_and_forks_in_a_browser(store: Path, tmp_path: Path) -> None:
    profile = tmp_path / "profile"
    with served(store, "refund-loop", "--at", "1", AGENT_TT_THEME="tt-dark") as address, browser(profile) as tab:
        tab.open(address, DRAWN)
        assert tab.shows("1 of 20 searches used")
        assert all(request.startswith(("http://127.0.0.1:", "data:")) for request in tab.requests)
        page, _, token = address.partition("?")
        assert tab.run("location.href") == page
        assert token.partition("=")[2] not in tab.run("document.cookie")
        tab.type_key("ArrowRight", 39)
        assert tab.shows("2 of 20 searches used")
        tab.type_key("ArrowLeft", 37)
        tab.frames.clear()
        tab.type_key("f", 70)
        assert tab.shows("nothing has run yet")
        assert tab.shows("as refund-loop/fork-1")
        tab.type_key("F", 70)
        tab.until(lambda: _fork(store) not in ("", "running"))
        assert _fork(store) in ("succeeded", "failed")


def _fork(path: Path) -> str:
    """How the fork ended; "" while there is none."""
    with closing(open_store(path)) as store:
        return next((run.status for run in store.runs() if run.name == "refund-loop/fork-1"), "")
