"""The rules of a fork's policy: how they are written, kept, and which of them decides."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, get_args

import pytest

from agent_tt import config
from agent_tt.errors import ToolDenied, UsageError
from agent_tt.intercepting.policy import (
    EVERYTHING_LIVE,
    POLICY_VARIABLE,
    ToolPolicy,
    denied,
    effect_of,
    is_about_network,
    is_pattern,
    policy_texts,
)
from agent_tt.intercepting.rules import BOUNDARIES, Rule, check_name, read_assignment, read_rule, rules_of
from agent_tt.model import CallKind

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.model import Effect


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
    [
        "live",
        "deny",
        "ask",
        "recorded",
        "recorded-or-ask",
        "recorded-or-deny",
        'stub:{"a": [1, 1.0, null]}',
        "error:TimeoutError: late",
    ],
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
        ("pay=aks", "--policy pay=aks: 'aks' is not a policy", "Did you mean ask?"),
        ("pay", "'pay' is not NAME=WORD", "for example"),
        ("pay=stub", "stub does not say what is given", "stub:"),
        ("pay=stub:{", "the value of stub: ", ""),
        ("*wirte=live", "*wirte is not a boundary", "Did you mean *write?"),
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
    place = str(tmp_path / "pyproject.toml")
    assert policy.decide("tool", "weather", "read") == Rule("stub", {"degrees": 21}, source="project", place=place)
    mail = Rule("stub", error="TimeoutError: late", source="user", place=str(tmp_path / "user.toml"))
    assert policy.decide("tool", "mail", "write") == mail
    look = policy.decide("tool", "look", "read")
    assert (look.text, look.where) == ("recorded-or-ask", "AGENT_TT_FORK_POLICY")
    assert word(policy, "http", "GET https://a") == "deny"


@pytest.mark.parametrize(
    ("project", "message", "hint"),
    [
        ('policy = { charge = "alive" }', "pyproject.toml: policy.charge: 'alive' is not a policy", "live"),
        ("policy = { charge = { stubb = 1 } }", "policy.charge has no key 'stubb'", "stub"),
        ('policy = "deny"', "policy must be a table", "charge"),
        ('policy = { "*subproces" = "live" }', "*subproces is not a boundary", "*subprocess"),
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


@pytest.mark.parametrize(
    ("kind", "name", "declared", "effect"),
    [
        ("tool", "pay", None, None),
        ("tool", "pay", "read", "read"),
        ("llm", "POST https://a/v1", None, None),
        ("subprocess", "subprocess ls", None, "write"),
        ("subprocess", "subprocess ls", "read", "read"),
        ("socket", "socket a:1", None, "write"),
        ("http", "POST https://a", None, "write"),
        ("http", "DELETE https://a", None, "write"),
        *(("http", f"{method} https://a/b c", None, None) for method in ("GET", "get", "HEAD", "OPTIONS", "TRACE")),
        ("clock", "time.time", None, None),
    ],
)
def test_what_nobody_declared_writes_where_it_may(kind: CallKind, name: str, declared: Effect, effect: Effect) -> None:
    assert effect_of(kind, name, declared) == effect


def test_of_two_rules_that_are_as_strong_the_one_that_was_said_last_decides() -> None:
    first, second = ("?a", Rule("ask")), ("a?", Rule("deny"))
    assert word(ToolPolicy((first, second)), "tool", "aa") == "deny"
    assert word(ToolPolicy((second, first)), "tool", "aa") == "ask"
    again = ToolPolicy((first, second, ("?a", Rule("live"))))
    assert word(again, "tool", "aa") == "live"
    assert [name for name, _ in again.said()] == ["?a", "a?"]
    assert word(ToolPolicy((first, second)).with_rule("?a", Rule("stub", 1)), "tool", "aa") == "stub"


def test_a_pattern_with_more_letters_is_stronger_and_a_boundary_of_its_own_than_one_of_effects() -> None:
    policy = ToolPolicy(
        (("p[ax]y*", Rule("ask")), ("p*", Rule("deny")), ("*http", Rule("ask")), ("*write", Rule("live")))
    )
    assert word(policy, "tool", "pay_card", "write") == "ask"
    assert word(policy, "tool", "post", "write") == "deny"
    assert word(policy, "http", "POST https://a", "write") == "ask"
    assert word(policy, "tool", "send", "write") == "live"
    # Whatever was said first: patterns, also of no letters, before boundaries, that of a kind before that of an effect.
    ask, deny = Rule("ask"), Rule("deny")
    for stronger, weaker in (("*", "*http"), ("?*", "*http"), ("*http", "*read"), ("*", "*read")):
        for rules in (((stronger, ask), (weaker, deny)), ((weaker, deny), (stronger, ask))):
            assert word(ToolPolicy(rules), "http", "GET https://a", None) == "ask"
    for rules in ((("*http", ask), ("*write", deny)), (("*write", deny), ("*http", ask))):
        assert word(ToolPolicy(rules), "http", "POST https://a", "write") == "ask"


@pytest.mark.parametrize("effect", [None, "read", "write"])
@pytest.mark.parametrize("kind", get_args(CallKind))
def test_something_is_decided_about_every_kind_of_call(kind: CallKind, effect: Effect | None) -> None:
    assert ToolPolicy().decide(kind, "x", effect).source == "default"


def test_which_boundary_a_call_is_of() -> None:
    def of(kind: CallKind, effect: Effect | None) -> list[str]:
        return list(ToolPolicy(tuple((name, Rule("ask")) for name in BOUNDARIES)).names(kind, "x", effect))

    def among(kind: CallKind, effect: Effect | None) -> list[str]:
        return list(dict.fromkeys(of(kind, effect)))

    assert among("llm", None) == among("llm", "write") == ["*llm"]
    assert among("tool", None) == among("tool", "read") == ["*read"]
    assert among("tool", "write") == ["*write"]
    assert among("http", "write") == ["*http", "*write"]
    assert among("http", None) == ["*http", "*read"]
    assert among("subprocess", "write") == ["*subprocess", "*write"]
    assert among("subprocess", "read") == ["*read"]  # it is known to change nothing
    assert among("socket", "write") == ["*socket", "*write"]


def test_all_rules_that_fit_a_call_are_named_the_deciding_one_first() -> None:
    rules = ToolPolicy((("ask", Rule("ask")), ("a*", Rule("deny")), ("gpt-*", Rule("live")), ("gpt-5", Rule("live"))))
    assert list(rules.names("llm", "ask", None, model="gpt-5")) == ["gpt-5", "ask", "gpt-*", "a*", "*llm"]
    assert list(rules.names("llm", "ask", None)) == ["ask", "a*", "*llm"]
    assert list(rules.names("llm", "other", None, model="gpt-5"))[:2] == ["gpt-5", "gpt-*"]


def test_a_person_forbids_a_call_inside_another_by_name_pattern_or_boundary() -> None:
    deny = Rule("deny")
    policy = ToolPolicy((("*write", deny), ("pay*", deny), ("pay_back", Rule("live")), ("gpt-5", deny)))
    assert policy.forbids("tool", "pay_card", "write") == deny
    assert policy.forbids("tool", "pay_back", "write") is None
    assert policy.forbids("tool", "send", "write") == deny
    assert policy.forbids("tool", "send", "read") is None
    assert policy.forbids("tool", "send", "write", by_name=True) is None
    assert policy.forbids("tool", "pay_card", "read", by_name=True) == deny
    assert policy.forbids("llm", "x", None, model="gpt-5") == deny
    assert policy.forbids("llm", "x", None) is None
    assert ToolPolicy().forbids("tool", "send", "write") is None  # nobody said so: it is only a default
    requests = ToolPolicy((("*http", deny),))
    assert (requests.forbids("http", "GET https://a", None), requests.forbids("tool", "x", None)) == (deny, None)
    everything = ToolPolicy((("*", deny),))
    assert everything.forbids("tool", "x", "read") == deny
    assert all(everything.forbids(kind, "x", None) is None for kind in ("clock", "rng", "id", "env", "human"))
    assert everything.forbids("tool", "x", "read").source == "you"
    assert policy.denials == tuple(pair for pair in policy.said() if pair[0] != "pay_back")


@pytest.mark.parametrize("of", ["*http", "*socket", "*llm", "socket a:25", "POST https://a", "https://a/*"])
def test_a_program_could_do_what_is_denied_of_the_network(of: str) -> None:
    policy = ToolPolicy(((of, Rule("deny")),))
    assert is_about_network(of)
    assert policy.forbids("subprocess", "subprocess curl", "write") == Rule("deny")
    assert policy.forbids("subprocess", "subprocess curl", "read") is None
    assert policy.forbids("tool", "look", "write") is None
    assert ToolPolicy(((of, Rule("live")),)).forbids("subprocess", "subprocess curl", "write") is None
    said = policy.with_rule("subprocess curl", Rule("live"))
    assert said.forbids("subprocess", "subprocess curl", "write") is None  # this program may


def test_what_is_not_about_the_network() -> None:
    assert not any(map(is_about_network, ("*write", "*read", "*subprocess", "pay", "sockets", "subprocess curl")))
    assert [is_pattern(name) for name in ("*write", "a*", "a?", "[ab]", "XML", "*http*")] == [
        False,
        True,
        True,
        True,
        False,
        True,
    ]


def test_only_what_is_said_of_connections_is_handed_to_the_guard_of_connections() -> None:
    one, other = ("socket a:1", Rule("live")), ("socket a:*", Rule("deny"))
    policy = ToolPolicy((one, ("pay", Rule("ask")), other, ("*socket", Rule("live"))))
    assert policy.of_connections().said() == (one, other)
    assert policy.of_connections().decide("socket", "socket b:1", "write").word == "deny"


def test_a_rule_is_taken_away_again_by_its_name_and_source() -> None:
    file = Rule("ask", source="project", place="p.toml")
    policy = ToolPolicy((("pay", file), ("pay", Rule("live")), ("send", Rule("live"))))
    assert policy.without("pay").said() == (("send", Rule("live")), ("pay", file))
    assert policy.without("pay", "project").said() == ToolPolicy((("pay", Rule("live")), ("send", Rule("live")))).said()
    assert policy.without("gone").said() == policy.said()
    more = policy.with_all([("a", Rule("deny")), ("send", Rule("ask"))])
    assert (word(more, "tool", "a"), word(more, "tool", "send"), word(more, "tool", "pay")) == ("deny", "ask", "live")


def test_a_policy_is_kept_in_short_where_a_name_says_where_its_rule_comes_from() -> None:
    file = Rule("ask", source="project", place="p.toml")
    changed = Rule("deny", source="default")
    policy = ToolPolicy((("pay", Rule("live")), ("pay", file), ("*http", file), ("*read", changed), ("send", file)))
    kept = policy.to_mapping()
    assert kept == {
        "*write": "deny",
        "*read": "deny",
        "*http": {"rule": "ask", "source": "project", "place": "p.toml"},
        "send": {"rule": "ask", "source": "project", "place": "p.toml"},
        "pay": "live",
    }
    assert next(iter(kept)) == "*write"
    assert ToolPolicy().to_mapping() == {"*write": "deny"}
    mine = ToolPolicy((("*write", Rule("live")),))
    assert mine.to_mapping() == {"*write": {"rule": "live", "source": "you", "place": ""}}
    for each in (policy, mine):
        back = ToolPolicy.from_mapping(each.to_mapping())
        assert back.to_mapping() == each.to_mapping()
        assert back.decide("tool", "pay", "write") == each.decide("tool", "pay", "write")


def test_what_is_kept_in_another_form_is_read_as_far_as_it_says_something() -> None:
    read = ToolPolicy.from_mapping(
        {"a": {"rule": "live", "source": "nobody", "place": 7}, "b": {"source": "user"}, "*read": 1}
    )
    said = dict(read.said())
    assert said["a"] == Rule("live")
    assert said["b"] == Rule("deny", source="user")
    assert read.decide("tool", "x", "read") == Rule("deny", source="default")


def test_a_policy_is_handed_on_in_the_environment_and_one_that_is_no_policy_denies_writes() -> None:
    policy = ToolPolicy((("pay", Rule("live")),))
    assert list(policy.to_environment()) == [POLICY_VARIABLE]
    assert ToolPolicy.from_environment(policy.to_environment()) == policy
    assert ToolPolicy.from_environment({}) is None
    for text in ("{", "[1]", "7"):
        handed = ToolPolicy.from_environment({POLICY_VARIABLE: text})
        assert handed == ToolPolicy()
        assert word(handed, "tool", "pay", "write") == "deny"


@pytest.mark.parametrize(
    ("kind", "rule", "site", "says"),
    [
        ("tool", Rule("deny"), {"file": "a.py", "line": 3}, "x y was not run: this fork denies it"),
        ("subprocess", Rule("deny"), {"file": "a.py", "line": 3}, "x y was not started at a.py:3: this fork denies it"),
        ("socket", Rule("deny", source="default"), {}, "x y was not reached: this fork denies it"),
        ("socket", Rule("deny", source="user", place="u.toml"), {"line": 3}, "x y was not reached: u.toml denies it"),
        ("http", Rule("deny", source="environment"), {"file": "f"}, "x y was not run: environment denies it"),
    ],
)
def test_a_denied_call_says_what_was_not_done_where_and_who_said_so(
    kind: CallKind, rule: Rule, site: dict[str, object], says: str
) -> None:
    error = denied("x y", rule, kind, site)
    assert str(error.message) == f"{says} (allow it with --allow 'x y')"
    assert error.tool == "x y"
    assert error.hint == "fork again with --allow 'x y' to let it run"


def test_a_call_that_nothing_records_is_refused_with_what_was_to_be_done_with_it() -> None:
    ToolPolicy().check("http", "GET https://a", None)
    with pytest.raises(ToolDenied, match="POST https://a was not run"):
        ToolPolicy().check("http", "POST https://a", None)
    policy = ToolPolicy((("look up", Rule("recorded", otherwise="ask")), ("go", Rule("live"))))
    policy.check("tool", "go", "write")
    with pytest.raises(ToolDenied, match="look up was not run: its policy is recorded-or-ask, and nothing") as caught:
        policy.check("tool", "look up", None)
    assert caught.value.tool == "look up"
    assert caught.value.hint == "call it inside the agent's recording, or let it run: --allow 'look up'"
    with pytest.raises(ToolDenied, match=r"was not started at a\.py:2"):
        policy.check("subprocess", "subprocess rm", None, {"file": "a.py", "line": 2})


@pytest.mark.parametrize("name", ["*htp", "*writes", "*sockets", "*reads", "*lllm"])
def test_a_name_that_is_nearly_a_boundary_is_refused_with_the_nearest(name: str) -> None:
    with pytest.raises(UsageError, match=rf"^here: \{name} is not a boundary") as caught:
        check_name(name, "here")
    nearest = {"*htp": "*http", "*writes": "*write", "*sockets": "*socket", "*reads": "*read", "*lllm": "*llm"}[name]
    assert caught.value.hint == f"Did you mean {nearest}? Known are *llm, *read, *write, *http, *subprocess, *socket."


@pytest.mark.parametrize("name", [*BOUNDARIES, "http", "*", "*1http", "*http*", "*payments", "write", "*a", "*h ttp"])
def test_a_name_that_is_a_boundary_or_no_word_like_one_is_taken(name: str) -> None:
    check_name(name, "here")


@pytest.mark.parametrize("text", ["", "ask", "=ask", "=", "=stub:1"])
def test_an_assignment_needs_a_name_and_a_word(text: str) -> None:
    with pytest.raises(UsageError, match="is not NAME=WORD") as caught:
        read_assignment(text)
    assert caught.value.hint == 'for example --policy charge=ask or "*http=deny"'


def test_an_assignment_says_in_its_errors_what_was_said() -> None:
    assert read_assignment("a=b=ask") == ("a=b", Rule("ask"))
    assert read_assignment("POST https://a?b=c=deny") == ("POST https://a?b=c", Rule("deny"))
    assert read_assignment('a=stub:{"x": "=ask"}') == ("a", Rule("stub", {"x": "=ask"}))
    assert read_assignment("a=error:E: b=c") == ("a", Rule("stub", error="E: b=c"))
    with pytest.raises(UsageError, match=r"^--policy a=lve: 'lve' is not a policy") as caught:
        read_assignment("a=lve")
    assert caught.value.hint == (
        "Did you mean live? Known are live, recorded, recorded-or-ask, recorded-or-deny, stub, error, ask, deny."
    )
    with pytest.raises(UsageError, match=r"^--policy \*htp=ask: \*htp is not a boundary"):
        read_assignment("*htp=ask")


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("a = { error = 7 }", "policy.a: error must be a text", 'For example { error = "TimeoutError: no answer" }.'),
        ("a = { error = '' }", "policy.a: error must be a text", 'For example { error = "TimeoutError: no answer" }.'),
        ("a = { stubb = 1 }", "policy.a has no key 'stubb'", "Did you mean stub?"),
        ("a = { qqq = 1 }", "policy.a has no key 'qqq'", "Known are stub, error."),
        ("b_c-d = { stub = 1, error = 'E' }", "policy.b_c-d must be a word or a table with one key", "For example "),
        ('"b c" = 7', 'policy."b c" must be a word or a table with one key', "For example "),
        ('"größe x" = 7', 'policy."größe x" must be a word or a table with one key', "For example "),
        ("a = 'error'", "policy.a: error does not say what is given", "for example error:TimeoutError: no answer"),
        ("a = 'stub'", "policy.a: stub does not say what is given", 'for example stub:{"paid": true}'),
        ("a = 'lve'", "policy.a: 'lve' is not a policy", "Did you mean live? Known are "),
    ],
)
def test_a_table_that_cannot_be_read_says_which_entry_and_what_may_stand_there(
    tmp_path: Path, text: str, message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as caught:
        configured(tmp_path, f"[tool.agent-tt.policy]\n{text}\n")
    assert caught.value.message.endswith(message)
    assert str(caught.value.hint).startswith(hint)
