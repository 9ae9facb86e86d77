"""Cookies of any length that a server sends back in a body: what is taken out of one place is taken out of each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import requests
from tests.core.seams.runs import recorded, replayed
from tests.core.stored_bytes import contents

if TYPE_CHECKING:
    from pathlib import Path

    from tests.core.seams.loopback import Loopback


@pytest.mark.parametrize(
    ("cookie", "is_secret"),
    [
        ("hop=1", False),
        ("theme=dark", False),
        ("sid=ab12", False),
        ("sid=ab12cd", True),
        ("hop=a1b2c3d4e5f6a7b8", True),
    ],
)
def test_a_cookie_that_comes_back_in_a_body_is_what_it_was_in_a_replay(
    server: Loopback, tmp_path: Path, cookie: str, is_secret: bool
) -> None:
    away = {"Location": "/back", "Set-Cookie": cookie, "Content-Type": "text/plain"}
    body = json.dumps({"cookie": cookie, "cookies": [cookie], "text": f"Cookie: {cookie}"}).encode()
    server.bodies["/away"] = [(302, away, b"")]
    server.bodies["/back"] = [(200, {"Content-Type": "application/json"}, body)]
    seen: list[str] = []

    def agent() -> list[int]:
        with requests.Session() as session:
            given = session.get(f"{server.url}/away").json()
        seen.append(given["cookie"])
        return [len(given["cookie"]), given["cookie"] == given["cookies"][0], given["text"] == f"Cookie: {seen[-1]}"]

    first, kept = recorded(agent, tmp_path / "runs.db")
    server.stop()
    assert replayed(agent, kept) == first == [len(cookie), True, True]
    assert (seen[0] == seen[1]) is not is_secret
    raw = b"".join([kept.store.read_bytes(), *(raw for _, raw in contents(kept.store))])
    assert (cookie.partition("=")[2].encode() in raw) is not is_secret or len(cookie) < 8
