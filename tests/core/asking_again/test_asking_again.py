"""A recorded question is sent again, by what the server saw and what the store keeps of it."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.asking_again.model_server import Given, model_server
from tests.core.asking_again.recorded_talk import (
    KEY,
    OTHER_KEY,
    asked_anew,
    planned,
    read,
    record_anthropic,
    record_openai,
)
from tests.effort import Effort
from tests.patience import PATIENCE_SECONDS

from agent_tt.asking_again.answers import MOST_TIMES, Answer, answers_of, text_diff
from agent_tt.asking_again.launch import start_again
from agent_tt.asking_again.plan import AgainRequest
from agent_tt.errors import UsageError
from agent_tt.model import Edit, NewRun
from agent_tt.model.facts import AskedAgainFacts, RunFacts
from agent_tt.sources import open_source
from agent_tt.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.core.asking_again.model_server import ModelServer

pytestmark = pytest.mark.warm


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", OTHER_KEY)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("record", "header", "key"),
    [(record_openai, "authorization", f"Bearer {KEY}"), (record_anthropic, "x-api-key", OTHER_KEY)],
)
def test_what_is_sent_is_what_was_recorded_with_the_users_key(
    server: ModelServer, store: Path, record: Callable[..., str], header: str, key: str, *, stream: bool
) -> None:
    run_id = record(store, server.address, stream=stream)
    answers = asked_anew(store, run_id, AgainRequest(1, times=2))
    first, *again = server.asked
    assert [(each.path, each.body, each.headers[header]) for each in again] == [(first.path, first.body, key)] * 2
    assert again[0].headers.get("anthropic-version") == first.headers.get("anthropic-version")
    assert "idempotency-key" not in again[0].headers
    assert [(each.status, each.text, each.is_same) for each in answers.answers] == [("answered", "Hello.", True)] * 2
    assert (answers.recorded.text, answers.is_over, answers.run.status) == ("Hello.", True, "succeeded")
    took = [(each.tokens_in, each.tokens_out) for each in answers.answers]
    assert took == [(answers.recorded.tokens_in, answers.recorded.tokens_out)] * 2


def test_no_key_is_kept(server: ModelServer, store: Path) -> None:
    server.next = [Given(), Given(f"your key is {KEY}")]
    answers = asked_anew(store, record_openai(store, server.address))
    assert KEY not in answers.answers[0].text
    kept = b"".join(file.read_bytes() for file in store.parent.iterdir() if file.is_file())
    assert KEY.encode() not in kept


def test_edits_go_out_and_stand_with_the_answers(server: ModelServer, store: Path) -> None:
    run_id = record_openai(store, server.address, temperature=1)
    edits = (Edit("set", "messages[0].content", "hello"), Edit("delete", "temperature"))
    answers = asked_anew(store, run_id, AgainRequest(1, edits=edits, model="gpt-4o"))
    was, sent = (each.body for each in server.asked)
    expected = {**was, "model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}
    del expected["temperature"]
    assert sent == expected
    assert [each.path for each in answers.asked.edits] == ["messages[0].content", "temperature"]
    assert answers.asked.model == "gpt-4o"


def test_an_answer_that_differs_says_in_what(server: ModelServer, store: Path) -> None:
    server.next = [Given("one\ntwo"), Given("one\n2"), Given("one\ntwo", ("search", {"query": "x"})), Given("one\ntwo")]
    answers = asked_anew(store, record_openai(store, server.address), AgainRequest(1, times=3))
    assert [each.is_same for each in answers.answers] == [False, False, True]
    assert [each.number for each in answers.differing] == [1, 2]
    assert text_diff(answers.recorded, answers.answers[0]) == ["  one", "- two", "+ 2"]
    assert answers.answers[1].tools == ('search({"query": "x"})',)
    assert text_diff(answers.recorded, answers.answers[1])[-1] == '+ search({"query": "x"})'
    assert text_diff(answers.recorded, answers.answers[2]) == []


def test_an_unknown_price_of_one_is_not_zero_in_the_sum(server: ModelServer, store: Path) -> None:
    answers = asked_anew(store, record_openai(store, server.address), AgainRequest(1, times=2))
    assert answers.cost_usd == pytest.approx(2 * (answers.recorded.cost_usd or 0))
    unknown = (Edit("set", "stream", True),)
    assert answers.cost_usd
    assert asked_anew(store, answers.asked.run or "", AgainRequest(1, edits=unknown)).came


@pytest.mark.parametrize("said_by", ["the project", "the run"])
def test_what_the_project_or_the_run_takes_out_is_taken_out_of_edits_and_answers(
    server: ModelServer, store: Path, monkeypatch: pytest.MonkeyPatch, said_by: str
) -> None:
    patterns = {"customer": "KD-[0-9]{6}"}
    if said_by == "the project":
        settings = "[tool.agent-tt.redaction]\ncustomer = 'KD-[0-9]{6}'\n"
        (store.parent / "pyproject.toml").write_text(settings, encoding="utf-8")
    run_id = record_openai(store, server.address, redact={"patterns": patterns} if said_by == "the run" else None)
    monkeypatch.chdir(store.parent)
    server.next = [Given("it is KD-123456")]
    answers = asked_anew(store, run_id, AgainRequest(1, edits=(Edit("set", "messages[0].content", "KD-654321?"),)))
    assert server.asked[-1].body["messages"][0]["content"] == "KD-654321?"
    assert answers.answers[0].text.startswith("it is ")
    kept = json.dumps([answers.answers[0].text, answers.asked.raw])
    assert "KD-123456" not in kept
    assert "KD-654321" not in kept
    rows = b"".join(file.read_bytes() for file in store.parent.glob("runs.db*"))
    assert b"KD-123456" not in rows
    assert b"KD-654321" not in rows


@pytest.mark.parametrize(("status", "words"), [(401, "Incorrect API key"), (429, "Rate limit"), (500, "overloaded")])
def test_it_stops_at_the_first_error_and_asks_nothing_twice(
    server: ModelServer, store: Path, status: int, words: str
) -> None:
    run_id = record_openai(store, server.address)
    server.next = [Given(), Given(words, status=status)]
    answers = asked_anew(store, run_id, AgainRequest(1, times=4))
    assert len(server.asked) == 3
    assert [each.status for each in answers.answers] == ["answered", "failed", "not sent", "not sent"]
    assert answers.answers[1].error == f"{status} {words}"
    assert (answers.run.status, answers.is_over) == ("failed", True)


@pytest.mark.parametrize("raw", [b"<html>Log in to this network</html>", b"{}", b'{"choices": []}'])
def test_what_is_no_answer_of_a_model_is_not_counted_as_one(server: ModelServer, store: Path, raw: bytes) -> None:
    run_id = record_openai(store, server.address)
    server.next = [Given(raw=raw)]
    answers = asked_anew(store, run_id)
    assert (answers.answers[0].status, answers.run.status) == ("failed", "failed")
    assert "no answer of a model" in answers.answers[0].error


def test_a_redirect_does_not_take_the_key_along(server: ModelServer, store: Path) -> None:
    run_id = record_openai(store, server.address)
    server.next = [Given(status=307, headers={"Location": f"{server.address}/elsewhere"})]
    answers = asked_anew(store, run_id)
    assert [each.path for each in server.asked] == ["/v1/chat/completions"] * 2
    assert (answers.run.status, answers.answers[0].status) == ("failed", "failed")


def test_a_server_that_is_gone_is_said(store: Path) -> None:
    with model_server() as server:
        run_id = record_openai(store, server.address)
    answers = asked_anew(store, run_id, AgainRequest(1, times=2))
    assert [each.status for each in answers.answers] == ["failed", "not sent"]
    assert "refused" in answers.answers[0].error


def test_an_answer_that_does_not_come_in_time_is_said(server: ModelServer, store: Path) -> None:
    run_id = record_openai(store, server.address)
    server.next = [Given(waits=True)]
    answers = asked_anew(store, run_id, AgainRequest(1, times=2, seconds=0.05))
    assert [each.status for each in answers.answers] == ["failed", "not sent"]
    assert "timed out" in answers.answers[0].error


def test_somebody_stops_it(server: ModelServer, store: Path) -> None:
    run_id = record_openai(store, server.address)
    server.next = [Given(), Given(waits=True)]
    with start_again(planned(store, run_id, AgainRequest(1, times=3))) as handle:
        while len(server.asked) < 3:
            assert server.has_come.wait(PATIENCE_SECONDS)
            server.has_come.clear()
        waiting = read(store, handle.run_id)
        handle.stop()
    assert [each.status for each in waiting.answers] == ["answered", "waiting", "waiting"]
    answers = read(store, handle.run_id)
    assert [each.status for each in answers.answers] == ["answered", "stopped", "not sent"]
    assert answers.run.status == "interrupted"


def test_it_says_which_call_it_asked_and_names_no_code_that_could_be_run(server: ModelServer, store: Path) -> None:
    run_id = record_openai(store, server.address)
    answers = asked_anew(store, run_id)
    assert (answers.asked.run, answers.asked.step, answers.asked.call) == (run_id, 1, 1)
    assert (answers.run.name, answers.run.tags) == ("talk/again-1.1", ("again",))
    assert (answers.run.code.entry, answers.run.facts.script, answers.run.facts.module) == (None, None, None)
    with closing(open_source(store)) as source, pytest.raises(UsageError, match="did not ask a model again"):
        answers_of(source, source.run(run_id))


def test_the_recorded_answer_is_known_where_its_run_is_gone(server: ModelServer, store: Path) -> None:
    server.next = [Given("was"), Given("is")]
    answers = asked_anew(store, record_openai(store, server.address))
    with closing(open_store(store)) as opened:
        opened.delete_runs([answers.asked.run or ""])
    without = read(store, answers.run.id)
    assert (without.recorded.text, without.recorded.tokens_in) == ("was", None)
    assert [each.is_same for each in without.answers] == [False]


def test_the_users_variable_names_another_server(
    server: ModelServer, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = record_openai(store, server.address)
    with model_server() as other:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{other.address}/proxied/v1/")
        plan = planned(store, run_id)
        assert plan.destination.host == other.address
        assert any("OPENAI_BASE_URL" in note for note in plan.notes)
        asked_anew(store, run_id)
        assert [each.path for each in other.asked] == ["/proxied/v1/chat/completions"]
    assert len(server.asked) == 1


TEXT = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=12).map("\n".join)


@given(TEXT, TEXT)
def test_a_difference_holds_all_lines_of_both_answers_in_order(old: str, new: str) -> None:
    before, after = Answer(0, "answered", old, ("look(1)",)), Answer(1, "answered", new, ("look(2)",))
    lines = text_diff(before, after)
    assert [line[2:] for line in lines if line[0] in " -"] == before.lines
    assert [line[2:] for line in lines if line[0] in " +"] == after.lines


def test_answers_of_any_length_are_compared_at_once_and_any_count_that_a_file_says_is_bounded(store: Path) -> None:
    many = [f"{number % 7}" for number in range(20_000)]
    before = Answer(0, "answered", "\n".join(["same", *many, "end"]))
    after = Answer(1, "answered", "\n".join(["same", *reversed(many), "end"]))
    with Effort() as effort:
        lines = text_diff(before, after)
    assert (lines[0], lines[-1], len(lines)) == ("  same", "  end", 40_000)
    assert effort.lines < 1_000_000
    with closing(open_store(store, create=True)) as opened:
        facts = AskedAgainFacts.of_call("gone", 1, 1, times=10**15, edits=(), model=None)
        run_id = opened.begin_run(NewRun("odd", metadata=RunFacts.asked_again.entry(facts)), None).run_id
        answers = answers_of(opened, opened.run(run_id))
    assert len(answers.answers) == MOST_TIMES
    assert answers.recorded.status == "failed"
