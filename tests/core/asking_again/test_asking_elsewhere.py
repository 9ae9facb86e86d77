"""Asking again in other formats, from a file of another program, and in a store on a server."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from tests.core.asking_again.model_server import Given, model_server
from tests.core.asking_again.recorded_talk import KEY, asked_anew, record_openai
from tests.core.interop.test_vcr import ASKED, SAID, answer, exchange
from tests.core.seams.loopback import Loopback

import agent_tt
from agent_tt.asking_again.answers import answers_of
from agent_tt.asking_again.launch import start_again
from agent_tt.asking_again.plan import AgainRequest, plan_again
from agent_tt.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.postgres_server import TestDatabase

GOOGLE_KEY = "AIzaSyA-1234567890abcdefghijklmnopqrstuv"
pytestmark = pytest.mark.warm


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "GOOGLE_GEMINI_BASE_URL", "GEMINI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("GOOGLE_API_KEY", GOOGLE_KEY)


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    server = Loopback()
    yield server
    server.stop()


def ask_gemini(url: str, *, stream: bool) -> None:
    from google import genai

    client = genai.Client(api_key="another-key", http_options={"base_url": url})  # type: ignore[arg-type]
    if stream:
        list(client.models.generate_content_stream(model="gemini-2.0-flash", contents="hi"))
    else:
        client.models.generate_content(model="gemini-2.0-flash", contents="hi")


def ask_responses(url: str, *, stream: bool) -> None:
    import openai

    with openai.OpenAI(base_url=f"{url}/v1", api_key="another-key", max_retries=0) as client:
        answer: Any = client.responses.create(model="gpt-4o-mini", input="hi", stream=stream)
        if stream:
            list(answer)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("ask", "header", "key"),
    [(ask_gemini, "x-goog-api-key", GOOGLE_KEY), (ask_responses, "authorization", f"Bearer {KEY}")],
)
def test_gemini_and_responses_are_asked_as_they_were(
    loopback: Loopback, tmp_path: Path, ask: Any, header: str, key: str, *, stream: bool
) -> None:
    with agent_tt.record("talk", store=tmp_path / "runs.db") as run, run.step("ask"):
        ask(loopback.url, stream=stream)
    answers = asked_anew(tmp_path / "runs.db", run.id, AgainRequest(1, times=2))
    (path, _, body), *again = loopback.seen
    assert [(each[0], json.loads(each[2])) for each in again] == [(path, json.loads(body))] * 2
    assert [{name.lower(): text for name, text in each[1].items()}[header] for each in again] == [key] * 2
    assert [each.status for each in answers.answers] == ["answered"] * 2
    assert all(each.text.startswith("said ") for each in (answers.recorded, *answers.answers))
    assert [each.is_same for each in answers.answers] == [False] * 2  # the server counts on
    assert answers.answers[0].tokens_in == answers.recorded.tokens_in is not None


def test_a_question_in_a_cassette_is_asked_and_its_answers_are_kept_in_the_users_own_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cassette = tmp_path / "tape.yaml"
    played = {"version": 1, "interactions": [exchange([ASKED], {"string": answer(SAID).decode()})]}
    cassette.write_text(yaml.safe_dump(played), encoding="utf-8")
    was = cassette.read_bytes()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENT_TT_STORE", str(tmp_path / "own.db"))
    with model_server() as server, closing(open_source(cassette)) as source:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.address}/v1")
        server.next = [Given(SAID["content"])]
        with start_again(plan_again(source, source.runs()[0], AgainRequest(1))) as handle:
            handle.wait()
        assert handle.store == tmp_path / "own.db"
        assert server.asked[0].body["messages"] == [ASKED]
        with closing(open_source(handle.store)) as own:
            run = own.run(handle.run_id)
            beside = answers_of(own, run, source)
            alone = answers_of(own, run)
    assert [each.is_same for each in (*beside.answers, *alone.answers)] == [True, True]
    assert (beside.recorded.tokens_in, alone.recorded.tokens_in) == (20, None)
    assert cassette.read_bytes() == was


def test_answers_are_kept_in_a_store_on_a_server(postgres: TestDatabase) -> None:
    with model_server() as server:
        run_id = record_openai(postgres.address, server.address)
        answers = asked_anew(postgres.address, run_id, AgainRequest(1, times=2))
        assert len(server.asked) == 3
    assert [each.is_same for each in answers.answers] == [True, True]
    assert answers.run.status == "succeeded"
