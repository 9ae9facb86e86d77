"""`agent-tt again`: what it says before, what it sends, and the answers that it shows, now and later."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.asking_again.model_server import Given, model_server
from tests.core.asking_again.recorded_talk import KEY, record_openai
from tests.patience import PATIENCE_SECONDS
from tests.tui.readme_parts import DOCS, code_blocks

from agent_tt_tui.cli.options import Options

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.core.asking_again.model_server import ModelServer

PAGE = DOCS / "again.md"
pytestmark = pytest.mark.warm


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture
def store(command: Any, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with one recorded question."""
    monkeypatch.setenv("AGENT_TT_STORE", str(tmp_path / "runs.db"))
    record_openai(tmp_path / "runs.db", server.address, temperature=1)
    return tmp_path / "runs.db"


@pytest.mark.usefixtures("store")
def test_a_dry_run_says_what_would_be_sent_and_sends_nothing(command: Any, server: ModelServer) -> None:
    said = command("again", "talk", "1", "--times", "3", "--set", "temperature=0", "--dry-run")
    assert said.code == 0
    for words in (
        f"POST {server.address}/v1/chat/completions",
        "(this machine), with the key in OPENAI_API_KEY",
        "live (default)",
        "7 tok each, as the recorded answer; <$0.001 in all",
        "temperature  1 → 0",
        "Nothing was sent.",
    ):
        assert words in said.out
    assert KEY not in said.out
    assert len(server.asked) == 1
    plan = command("again", "talk@1.1", "--times", "3", "--dry-run", "--json").json
    assert (plan["url"], plan["key"]) == (f"{server.address}/v1/chat/completions", "OPENAI_API_KEY")
    assert plan["expected"]["cost_usd_all"] == pytest.approx(3 * plan["expected"]["cost_usd"])


@pytest.mark.usefixtures("store")
def test_nothing_is_sent_where_nobody_can_be_asked(command: Any, server: ModelServer) -> None:
    said = command("again", "talk", "1")
    assert (said.code, len(server.asked)) == (2, 1)
    assert "--yes" in said.err


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(("typed", "code", "sent"), [("y", 0, 1), ("n", 1, 0)])
def test_it_is_sent_where_the_person_says_yes(
    command: Any, server: ModelServer, monkeypatch: pytest.MonkeyPatch, typed: str, code: int, sent: int
) -> None:
    monkeypatch.setattr(Options, "can_ask", True)
    monkeypatch.setattr("click.confirm", lambda text, **_: print(text) or typed == "y")
    said = command("again", "talk", "1")
    assert (said.code, len(server.asked) - 1) == (code, sent)
    assert f"Send it to {server.address}?" in said.out
    assert ("Nothing was sent." in said.out) == (not sent)


@pytest.mark.usefixtures("store")
def test_the_policy_ask_wants_a_person(
    command: Any, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.agent-tt.policy]\n"*llm" = "ask"\n', encoding="utf-8")
    said = command("again", "talk", "1", "--yes")
    assert (said.code, len(server.asked)) == (2, 1)
    assert "is ask" in said.err


@pytest.mark.usefixtures("store")
def test_the_answers_stand_beside_the_recorded_one_now_and_later(command: Any, server: ModelServer) -> None:
    server.next = [
        Given("Hello."),
        Given("\x1b[31mHi.\x1b[0m"),
        Given("Hello.", ("search", {"query": "x"})),
        Given("slow down", status=429),
    ]
    said = command("again", "talk", "1", "--times", "5", "--yes")
    assert said.code == 5
    rows = [re.split(r"  +", line.strip()) for line in said.out.splitlines()]
    assert [row[1] for row in rows if row[0] in list("12345")] == [
        "≡ the same", "≠ differs", "≠ differs", "✗ failed", "· not sent",
    ]  # fmt: skip
    assert "\x1b" not in said.out
    assert "recorded ≠ answer 2" in said.out
    assert '+ search({"query": "x"})' in said.out
    assert "429 slow down" in said.out
    assert "3 of 5 answers came, 2 differ from the recorded one, 1 failed, 1 not sent" in said.out
    count = len(server.asked)
    later = command("again", "talk/again-1.1")
    assert (later.code, later.out, len(server.asked)) == (0, said.out, count)
    shape = command("again", "talk/again-1.1", "--json").json
    assert [each["same"] for each in shape["answers"]] == [True, False, False, None, None]
    assert shape["answers"][2]["diff"] == ["  Hello.", '+ search({"query": "x"})']
    assert shape["answers"][3]["error"] == "429 slow down"
    assert shape["answers"][4]["tokens_in"] is None
    assert shape["of"]["step"] == 1


def test_ctrl_c_stops_it_and_shows_what_had_come(server: ModelServer, store: Path) -> None:
    server.next = [Given("Hi."), Given(waits=True)]
    words = ["again", "talk", "1", "--times", "4", "--yes", "--json"]
    started = subprocess.Popen(
        [sys.executable, "-m", "agent_tt_tui", *words, "--store", str(store)], stdout=subprocess.PIPE, text=True
    )
    while len(server.asked) < 3:
        assert server.has_come.wait(PATIENCE_SECONDS)
        server.has_come.clear()
    started.send_signal(signal.SIGINT)
    out, _ = started.communicate(timeout=PATIENCE_SECONDS)
    assert started.returncode == 130
    assert [each["status"] for each in json.loads(out)["answers"]] == ["answered", "stopped", "not sent", "not sent"]


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("talk",), 2, "did not ask a model again"),
        (("talk", "9"), 3, "9"),
        (("talk", "1.7"), 2, "no call 7"),
        (("talk", "1", "--set", "temperature"), 2, "PATH=VALUE"),
        (("talk", "1", "--key", "NOT_THERE"), 2, "NOT_THERE is not set"),
        (("talk", "1", "--times", "1000"), 2, "1 to 100 times"),
    ],
)
def test_what_makes_no_sense_is_said(command: Any, server: ModelServer, words: Any, code: int, said: str) -> None:
    ended = command("again", *words, "--yes")
    assert (ended.code, len(server.asked)) == (code, 1)
    assert said in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    "words", [("talk", "1"), ("talk", "1.1"), ("talk@1",), ("talk@1.1",), ("talk", "~0.1"), ("talk@1.1", "1")]
)
def test_a_call_is_named_beside_its_run_or_within_its_name(command: Any, words: tuple[str, ...]) -> None:
    assert command("again", *words, "--dry-run", "--json").json["call"] == 1


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("talk@1", "0"), 2, "names step 1"),
        (("talk@1.1", "1.2"), 2, "names call 1"),
        (("nobody@1.1",), 3, "no run 'nobody'"),
        (("talk@9.1",), 3, "no step 9"),
    ],
)
def test_two_places_and_none_are_told(command: Any, words: tuple[str, ...], code: int, said: str) -> None:
    refused = command("again", *words, "--dry-run")
    assert refused.code == code
    assert said in refused.err


def test_the_page_says_what_happens(
    command: Any, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = PAGE.read_text(encoding="utf-8")
    (program,) = code_blocks(PAGE, "py")
    shown = re.search(r"^sends .*?^```$", page, re.DOTALL | re.MULTILINE)
    line = re.search(r"^agent-tt (again .*)$", page, re.MULTILINE)
    assert shown is not None
    assert line is not None
    monkeypatch.setenv("AGENT_TT_STORE", str(tmp_path / "runs.db"))
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.address}/v1")
    server.next = [
        Given("Yes, we do."),
        Given("Yes, we do."),
        Given("Yes, from 10 to 100 dollars."),
        Given("Yes, we do."),
    ]
    exec(compile(program, "gift_cards.py", "exec"), {"__name__": "gift_cards"})
    said = command(*shlex.split(line[1]), "--yes")
    assert said.code == 0
    told = shown[0].partition("[y/N]: y\n")[2].removesuffix("```")
    assert _plain(said.out) == _plain(told)
    dry = command(*shlex.split(line[1]), "--dry-run").out.replace(server.address, "https://api.openai.com")
    labels = [row.split()[0] for row in shown[0].partition("\n~")[0].splitlines()]
    assert [row.split()[0] for row in dry.partition("\n~")[0].splitlines()[: len(labels)]] == labels
    assert dry.splitlines()[0] == shown[0].splitlines()[0]


def _plain(text: str) -> str:
    """A table without what differs from machine to machine: how long it took, and how wide that is."""
    return re.sub(r" +", " ", re.sub(r"\d+ ms|<1 ms|\d\.\d s", "T", text)).strip()
