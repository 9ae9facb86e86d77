"""The rules of a fork's policy: how they are written, kept, and which of them decides."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agent_tt import config
from agent_tt.errors import ToolDenied, UsageError
from agent_tt.recording.policy import EVERYTHING_LIVE, Rule, ToolPolicy, policy_texts, read_rule
from agent_tt.recording.policy_tables import read_assignment, rules_of

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.model import CallKind, Effect


def word(policy: ToolPolicy, kind: CallKind, name: str, effect: Effect | None = None) -> str:
    return policy.decide(kind, name, effect).word


def test_models_and_reads_run_and_everything_else_is_denied_by_default() -> None:
    policy = ToolPolicy()
    assert word(policy, "llm", "ask") == word(policy, "tool", "look", "read") == word(policy, "http", "GET x") == "live"
    assert word(policy, "tool", "pay", "write") == word(policy, "http", "POST x", "write") == "deny"
    assert word(policy, "subprocess", "rm", "write") == word(policy, "socket", "socket a:1", "write") == "deny"
    assert word(policy, "clock", "time.time") == "live"


def test_a_name_comes_before_a_pattern_and_a_pattern_before_a_boundary() -> None:
    rules = {"*write": "ask", "*": "deny", "pay_*": "recorded", "pay_card": "live", "*http": "deny", "gpt-5*": "ask"}
    policy = ToolPolicy(tuple((name, Rule(read_rule(said).word)) for name, said in rules.items() if name != "*"))
    assert word(policy, "tool", "pay_card", "write") == "live"
    assert word(policy, "tool", "pay_cash", "write") == "recorded"
    assert word(policy, "tool", "send", "write") == "ask"
    assert word(policy, "http", "GET https://a", "read") == "deny"
    assert policy.decide("llm", "POST https://a/v1", None, model="gpt-5-mini").word == "ask"
    assert policy.decide("llm", "POST https://a/v1", None, model="o4").word == "live"
    assert word(policy.with_rule("*", Rule("stub")), "tool", "send", "write") == "stub"


def test_the_strongest_source_that_says_anything_decides() -> None:
    user = Rule("live", source="user", place="/u.toml")
    project = Rule("ask", source="project", place="/p.toml")
    policy = ToolPolicy((("pay", user), ("*write", project)))
    assert policy.decide("tool", "pay", "write") == project
    said = policy.with_rule("*write", Rule("deny")).with_rule("p*", Rule("live"))
    assert word(said, "tool", "pay", "write") == "live"
    assert word(said.without("p*"), "tool", "pay", "write") == "deny"
    assert said.without("p*").without("*write").decide("tool", "pay", "write") == project


@pytest.mark.parametrize(
    "text",
    ["live", "deny", "ask", "recorded", "recorded-or-ask", 'stub:{"a": [1, 1.0, null]}', "error:TimeoutError: late"],
)
def test_a_rule_reads_as_it_is_written_and_survives_being_kept(text: str) -> None:
    rule = read_rule(text, source="project", place="/p/pyproject.toml")
    assert rule.text == text
    policy = ToolPolicy((("pay", rule), ("*read", rule), ("send", Rule("live"))))
    kept = json.loads(json.dumps(policy.to_mapping()))
    assert ToolPolicy.from_mapping(kept) == policy
    assert policy_texts(kept) == {"*write": "deny", "*read": text, "pay": text, "send": "live"}
    assert ToolPolicy.from_environment(policy.to_environment()) == policy


def test_what_is_kept_in_unknown_words_is_denied() -> None:
    policy = ToolPolicy.from_mapping({"*llm": "sometimes", "look": {"rule": 3}, "*write": "live"})
    assert word(policy, "llm", "ask") == word(policy, "tool", "look", "read") == "deny"
    assert word(policy, "tool", "pay", "write") == "live"
    assert ToolPolicy.from_environment({"AGENT_TT_POLICY": "no json"}) == ToolPolicy()
    assert word(EVERYTHING_LIVE, "socket", "socket a:1", "write") == "live"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("pay=aks", "--policy pay=aks: 'aks' is no word of a policy", "Did you mean ask?"),
        ("pay", "'pay' is not NAME=WORD", "for example"),
        ("pay=stub", "stub does not say what is given", "stub:"),
        ("pay=stub:{", "the value of stub: ", ""),
        ("*wirte=live", "*wirte is no boundary", "Did you mean *write?"),
    ],
)
def test_a_rule_that_cannot_be_read_is_one_clear_line(text: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_assignment(text)
    assert message in caught.value.message
    assert "\n" not in caught.value.message
    assert hint in caught.value.hint


def test_an_assignment_may_name_a_request_and_hold_anything_in_its_value() -> None:
    name, rule = read_assignment('POST https://host/a?b=stub:{"url": "x=stub:1"}')
    assert (name, rule.value) == ("POST https://host/a?b", {"url": "x=stub:1"})
    assert read_assignment("POST https://host:1/a=deny") == ("POST https://host:1/a", Rule("deny"))
    assert read_assignment("pay=error:TimeoutError: a=b")[1].error == "TimeoutError: a=b"


def configured(tmp_path: Path, project: str, user: str = "", environment: str | None = None) -> ToolPolicy:
    (tmp_path / "pyproject.toml").write_text(project, encoding="utf-8")
    (tmp_path / "user.toml").write_text(user, encoding="utf-8")
    given = {} if environment is None else {"AGENT_TT_FORK_POLICY": environment}
    return ToolPolicy(rules_of(config.load(tmp_path, given, tmp_path / "user.toml").policies))


def test_policies_are_read_from_project_user_and_environment(tmp_path: Path) -> None:
    project = '[tool.agent-tt.policy]\ncharge = "ask"\n"*http" = "deny"\nweather = { stub = { degrees = 21 } }\n'
    user = 'policy = { charge = "live", mail = { error = "TimeoutError: late" } }'
    policy = configured(tmp_path, project, user, '{"look": "recorded-or-ask"}')
    charge = policy.decide("tool", "charge", "write")
    assert (charge.word, charge.source, charge.where) == ("ask", "project", str(tmp_path / "pyproject.toml"))
    assert policy.decide("tool", "weather", "read").value == {"degrees": 21}
    assert policy.decide("tool", "mail", "write").error == "TimeoutError: late"
    look = policy.decide("tool", "look", "read")
    assert (look.text, look.where) == ("recorded-or-ask", "AGENT_TT_FORK_POLICY")
    assert word(policy, "http", "GET https://a") == "deny"


@pytest.mark.parametrize(
    ("project", "message", "hint"),
    [
        ('policy = { charge = "alive" }', "pyproject.toml: policy.charge: 'alive' is no word", "live"),
        ("policy = { charge = { stubb = 1 } }", "policy.charge has no key 'stubb'", "stub"),
        ('policy = "deny"', "policy must be a table", "charge"),
        ('policy = { "*subproces" = "live" }', "*subproces is no boundary", "*subprocess"),
        ("policy = { charge = 3 }", "policy.charge must be a word", "ask"),
    ],
)
def test_a_configured_policy_that_cannot_be_read_names_the_file(
    tmp_path: Path, project: str, message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as caught:
        configured(tmp_path, f"[tool.agent-tt]\n{project}\n")
    assert message in caught.value.message
    assert str(tmp_path) in caught.value.message
    assert hint in caught.value.hint


def test_what_no_recording_reaches_is_only_made_where_it_is_live() -> None:
    policy = ToolPolicy((("pay", Rule("live")), ("send", Rule("ask"))))
    policy.check("tool", "pay", "write")
    for name in ("send", "charge"):
        with pytest.raises(ToolDenied, match=f"{name} was not run"):
            policy.check("tool", name, "write")
