"""Rules that ask a command or a model: judged where a golden runs, and the model only with leave."""

from __future__ import annotations

import json
import shlex
import sys

import pytest
from tests.core.golden.asking import answering
from tests.core.golden.desk import keep, record
from tests.core.golden.test_golden_rules import counting, evidence
from tests.core.web_server import serving

from agent_tt.errors import UsageError
from agent_tt.golden.evidence import Leave
from agent_tt.golden.golden_file import read_golden
from agent_tt.golden.kinds import rule_from_text
from agent_tt.golden.outside_rules import Judged, Verify
from agent_tt.golden.run_rules import Ends
from agent_tt.golden.running import run_golden


def python(code: str, seconds: float = 60) -> Verify:
    return Verify(shlex.join([sys.executable, "-c", code]), seconds)


def judged(rule, tmp_path, answer="done", **leave):
    run = evidence(counting([1], answer))
    run.leave = Leave(tmp_path, **leave)
    return rule.judge(run)


def test_a_command_is_judged_by_its_exit_code_in_the_root_and_its_end_is_shown(tmp_path):
    (tmp_path / "here.txt").write_text("")
    rule = python(
        "import os, sys; print('first'); print('token=sk-' + 'a' * 48); sys.exit('here.txt' not in os.listdir())"
    )
    assert judged(rule, tmp_path).verdict == "passed"
    (tmp_path / "here.txt").unlink()
    broken = judged(rule, tmp_path)
    assert (broken.verdict, broken.said, broken.shown[0]) == ("failed", "exit code 1", "first")
    assert "aaaa" not in broken.shown[1]
    assert judged(Verify("no-such-command-anywhere"), tmp_path).verdict == "unknown"
    assert judged(Verify("true \0"), tmp_path).verdict == "unknown"
    assert (
        judged(python("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"), tmp_path).said == "ended by signal 9"
    )


def test_a_command_that_takes_too_long_is_ended_and_has_failed(tmp_path):
    waits = python("import threading; print('began', flush=True); threading.Event().wait()", 0.5)
    slow = judged(waits, tmp_path)
    assert (slow.verdict, slow.said) == ("failed", "it takes longer than 0.5 s")


def test_what_is_asked_outside_is_not_asked_where_only_a_run_is_judged(tmp_path):
    run = evidence(counting([1]))
    assert python("open('made', 'w')").judge(run).verdict == "unknown"
    assert Judged("Is it done?", "http://127.0.0.1:1/chat/completions", "m").judge(run).verdict == "unknown"
    halted = evidence(counting([1]), is_whole=False)
    halted.leave = Leave(tmp_path, asks_judges=True)
    assert python("open('made', 'w')").judge(halted).verdict == "unknown"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("says", "verdict"),
    [
        ("Yes, it says that it is done.", "passed"),
        ("**No.**\n\x1b[2JIt does not.", "failed"),
        ("Nobody knows.", "unknown"),
        ("", "unknown"),
        (None, "unknown"),
    ],
)
def test_a_model_judges_with_leave(tmp_path, monkeypatch, says, verdict):
    monkeypatch.setenv("JUDGE_KEY", "secret")
    answer = b"<html>" if says is None else answering(says)
    with serving(lambda _path, _sent: answer) as web:
        rule = Judged("Is it done?", f"{web.url}/v1/chat/completions", "judge-1", key="JUDGE_KEY")
        assert judged(rule, tmp_path).said.startswith("not judged")
        assert web.asked == []
        asked = judged(rule, tmp_path, asks_judges=True)
        assert (asked.verdict, asked.said.isprintable()) == (verdict, True)
        (body,) = map(json.loads, web.bodies)
        assert (web.asked, body["model"]) == (["POST /v1/chat/completions"], "judge-1")
        assert json.loads(body["messages"][1]["content"]) == {"question": "Is it done?", "answer": "done"}
        monkeypatch.delenv("JUDGE_KEY")
        assert "JUDGE_KEY" in judged(rule, tmp_path, asks_judges=True).said
        assert len(web.asked) == 1


def test_a_judge_that_fails_or_sends_elsewhere_judges_nothing(tmp_path):
    with serving({"error": "no"}, status=500) as web:
        rule = Judged("Is it done?", f"{web.url}/chat/completions", "m")
        assert judged(rule, tmp_path, asks_judges=True).said.endswith("gave no answer: status 500")
        web.status = 302
        assert judged(rule, tmp_path, asks_judges=True).verdict == "unknown"
    assert judged(rule, tmp_path, asks_judges=True).verdict == "unknown"  # nobody listens any more


def test_a_key_that_cannot_be_sent_is_not_shown(tmp_path, monkeypatch):
    monkeypatch.setenv("JUDGE_KEY", "not\na header")
    with serving({}) as web:
        rule = Judged("Is it done?", f"{web.url}/chat/completions", "m", key="JUDGE_KEY")
        said = judged(rule, tmp_path, asks_judges=True).said
    assert said.startswith("not judged")
    assert "a header" not in said


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('kind = "judged", asks = "?", model = "m", url = "http://judge.example/v1"', "url: https"),
        ('kind = "judged", asks = "?", model = "m", url = "file:///etc/passwd"', "url: https"),
        ('kind = "judged", asks = "?", model = "m"', "url must be given"),
        ('kind = "verify", command = "echo \'open"', "command: No closing quotation"),
        ('kind = "verify", command = " "', "command: it has no words"),
        ('kind = "verify", command = "true", seconds = 0', "seconds: more than 0"),
        ('kind = "verify", command = "true", seconds = 1e300', "seconds: more than 0"),
    ],
)
def test_what_asks_outside_has_to_make_sense(text, why):
    with pytest.raises(UsageError) as raised:
        rule_from_text(text)
    assert why in raised.value.message


@pytest.mark.warm
def test_a_golden_runs_its_command_and_says_what_was_not_judged(tmp_path):
    record(tmp_path)
    asks = Judged("Is it polite?", "http://127.0.0.1:1/chat/completions", "m")
    golden = keep(tmp_path, rules=[Ends(), python("open('made', 'w')"), asks])
    store = tmp_path / "tests.db"
    result = run_golden(read_golden(golden.path), store=store)
    assert (result.outcome, result.remarks) == ("passed", ["not judged: m says yes: Is it polite?"])
    assert (tmp_path / "made").exists()
    asked = run_golden(read_golden(golden.path), store=store, asks_judges=True)
    assert (asked.outcome, asked.remarks) == ("unknown", [])
    alone = keep(tmp_path, "alone", rules=[asks])
    assert run_golden(read_golden(alone.path), store=store).outcome == "unknown"
