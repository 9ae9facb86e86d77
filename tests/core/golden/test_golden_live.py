"""Calls of a golden that are made for real: only those that were asked for, where the policy lets them."""

from __future__ import annotations

from contextlib import closing

import pytest
from tests.core.golden.asking import AGENT, AT_ONCE, OPENAI_LOOP, answering, prompts_in, recorded, words
from tests.core.web_server import OPENAI_ANSWER, serving
from tests.fresh_source import write_source

from agent_tt.errors import UsageError
from agent_tt.forking.outside.ledger import effects_of
from agent_tt.golden.golden_file import read_golden
from agent_tt.golden.run_rules import Ends
from agent_tt.golden.running import run_golden
from agent_tt.golden.value_rules import State
from agent_tt.store import open_store

pytestmark = pytest.mark.warm("httpx", "openai")

RECORD = ("-m", "agent_tt_tui", "record", "--name", "asking")

ANSWERED = (Ends(), State("answers[0]", equals='"30"'))


@pytest.fixture
def server(monkeypatch):
    with serving(OPENAI_ANSWER) as web:
        monkeypatch.setenv("MODEL_SERVER", web.url)
        yield web


def ran(golden, **how):
    return run_golden(read_golden(golden.path), store=golden.path.parent / "tests.db", **how)


def made(result) -> list[str]:
    return [call.name.partition(" http")[0] for call in result.live.made]


def test_exactly_the_changed_calls_go_out_and_what_comes_after_them_is_answered_again(server, tmp_path):
    golden = recorded(tmp_path, server.url, ANSWERED)
    server.forget()
    words(tmp_path, "one", "another", "three", "a fourth")
    halted = ran(golden)
    assert (halted.outcome, halted.live, server.asked) == ("failed", None, [])
    result = ran(golden, live="changed")
    assert (result.outcome, made(result)) == ("passed", ["POST", "POST"]), result.first
    assert prompts_in(server.bodies) == ["another", "a fourth"]
    assert (result.live.answered, result.live.saved.tokens_in, result.live.saved.tokens_out) == (4, 6, 2)
    assert {"asking.py", "words.py"} <= {*result.files}


def test_a_changed_word_of_an_unmodified_openai_loop_fails_and_is_all_that_goes_out(server, tmp_path):
    golden = recorded(tmp_path, server.url, (Ends(),), OPENAI_LOOP, *RECORD)
    server.forget()
    words(tmp_path, "one", "another", "three")
    halted = ran(golden)
    assert (halted.outcome, halted.new_request.kind, server.asked) == ("failed", "changed request", [])
    assert "body.messages[0].content" in halted.first
    result = ran(golden, live="changed")
    assert (result.outcome, prompts_in(server.bodies)) == ("passed", ["another"]), result.first
    assert result.live.answered == 2
    assert {"asking.py", "words.py"} <= {*result.files}


def test_calls_that_are_named_are_made_and_no_others_and_only_where_that_is_wanted(server, tmp_path):
    golden = recorded(tmp_path, server.url, ANSWERED, live='["sea*", "pay"]')
    server.forget()
    assert (ran(golden).outcome, server.asked) == ("passed", [])
    result = ran(golden, live="named")
    assert (result.outcome, made(result), server.asked) == ("passed", ["search"], ["GET /search"]), result.first
    assert result.remarks == ["pay is not made for real: the policy holds it back"]


def test_the_run_says_of_each_call_whether_it_went_out(server, tmp_path):
    golden = recorded(tmp_path, server.url, ANSWERED, live='["pay"]')
    (tmp_path / "pyproject.toml").write_text('[tool.agent-tt.policy]\npay = "live"\n')
    result = ran(golden, live="named")
    with closing(open_store(result.store)) as store:
        effects = effects_of(store, store.run(result.now))
    assert [row.name for row in effects.rows if row.happened == "sent"] == ["pay"]
    assert {row.happened for row in effects.rows} == {"sent", "recorded"}
    assert (effects.reads, effects.models) == ({}, {})


def test_what_writes_is_made_where_the_policy_of_the_project_says_so_by_name(server, tmp_path):
    golden = recorded(tmp_path, server.url, ANSWERED, live='["pay"]')
    server.forget()
    (tmp_path / "pyproject.toml").write_text('[tool.agent-tt.policy]\npay = "live"\n')
    assert (made(ran(golden, live="named")), server.asked) == (["pay"], ["POST /pay"])
    (tmp_path / "pyproject.toml").write_text('[tool.agent-tt.policy]\npay = "live"\n"*http" = "deny"\n')
    server.forget()
    result = ran(golden, live="named")
    assert (result.outcome, made(result), server.asked) == ("passed", [], [])
    (tmp_path / "pyproject.toml").write_text('[tool.agent-tt.policy]\npay = "perhaps"\n')
    assert "not a policy" in ran(golden, live="named").problem


def test_questions_that_are_asked_at_once_go_out_beside_those_that_are_answered(server, tmp_path):
    golden = recorded(tmp_path, server.url, ANSWERED, AT_ONCE)
    server.forget()
    words(tmp_path, "one", "another", "three")
    result = ran(golden, live="changed")
    assert (result.outcome, prompts_in(server.bodies)) == ("passed", ["another", "another"]), result.first
    assert (len(result.live.made), result.live.answered) == (2, 4)


def test_what_a_call_does_that_is_made_for_real_goes_by_the_policy_too(server, tmp_path):
    golden = recorded(tmp_path, server.url, ANSWERED, live='["search"]')
    server.forget()
    paying = AGENT.replace("def search(word):", "def search(word):\n    pay(9)")
    write_source(tmp_path / "asking.py", paying)
    result = ran(golden, live="named")
    assert (result.outcome, server.asked) == ("failed", [])
    assert "pay was not made: its policy is deny (default)" in result.first
    (tmp_path / "pyproject.toml").write_text('[tool.agent-tt.policy]\npay = "ask"\n')
    assert (ran(golden, live="named").outcome, server.asked) == ("failed", [])
    (tmp_path / "pyproject.toml").write_text('[tool.agent-tt.policy]\npay = "live"\n')
    assert (ran(golden, live="named").outcome, server.asked) == ("passed", ["POST /pay", "GET /search"])


def test_what_is_reached_past_all_calls_is_stopped_also_behind_one_that_was_made(server, tmp_path):
    golden = recorded(tmp_path, server.url, ANSWERED, live='["search"]')
    server.forget()
    reaching = AGENT.replace(
        "            pay(3)",
        "            import socket; socket.create_connection(('127.0.0.1', int(SERVER.rpartition(':')[2])))",
    )
    write_source(tmp_path / "asking.py", reaching)
    result = ran(golden, live="named")
    assert (result.outcome, server.asked) == ("failed", ["GET /search"])
    assert "asks what was not recorded at step 2: socket." in result.first


@pytest.mark.parametrize("denied", ["m", "*llm", "POST *", "socket 127.0.0.1:*"])
def test_what_a_person_denies_keeps_a_request_from_going_out(server, tmp_path, denied):
    golden = recorded(tmp_path, server.url, ANSWERED)
    server.forget()
    words(tmp_path, "one", "another", "three")
    (tmp_path / "pyproject.toml").write_text(f'[tool.agent-tt.policy]\n"{denied}" = "deny"\n')
    result = ran(golden, live="changed")
    assert (result.outcome, result.live.made, server.asked) == ("failed", (), [])
    assert "asks what was not recorded at step 1" in result.first


@pytest.mark.parametrize(
    ("says", "passes", "tries", "outcome"),
    [
        (["30", "31", "30"], "2 of 3", ["passed", "failed", "passed"], "passed"),
        (["30", "30"], "2 of 3", ["passed", "passed"], "passed"),
        (["31", "30", "31"], "2 of 3", ["failed", "passed", "failed"], "failed"),
        (["31", "31"], "2 of 3", ["failed", "failed"], "failed"),
    ],
)
def test_a_golden_that_is_live_passes_as_often_as_it_has_to(server, tmp_path, says, passes, tries, outcome):
    golden = recorded(tmp_path, server.url, ANSWERED, live='["*llm"]', passes=f'"{passes}"')
    answers = [answering(text) for text in says for _ in range(3)]
    server.answer = lambda _path, _sent: answers.pop(0)
    result = ran(golden, live="named")
    assert (result.outcome, list(result.tries), answers) == (outcome, tries, [])
    said = [*result.remarks, result.first]
    assert any(
        line.startswith(f"passed {tries.count('passed')} of {len(tries)}, and 2 of 3 are wanted") for line in said
    )
    assert ran(golden).tries == ()


@pytest.mark.parametrize("passes", ['"2 of 1"', '"0 of 3"', '"many"', "2"])
def test_how_often_a_golden_passes_has_to_make_sense(server, tmp_path, passes):
    golden = recorded(tmp_path, server.url, ANSWERED, live='["search"]', passes=passes)
    with pytest.raises(UsageError, match="passes is not what it should be"):
        read_golden(golden.path)
