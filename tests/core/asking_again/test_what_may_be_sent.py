"""Which recorded requests can be sent, where to, and with which key; each refusal says why, and nothing is sent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.core.memory_store import MemoryStore

from agent_tt.asking_again.hosts import destination_of
from agent_tt.asking_again.plan import AgainRequest, plan_again
from agent_tt.asking_again.recorded_request import find_request, recorded_request
from agent_tt.errors import AgentTTError, Damaged, UsageError
from agent_tt.model import Call, CallEnd, Edit, NewCall, NewRun, NewStep, StepEnd

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.model import Run

CHAT = "https://api.openai.com/v1/chat/completions"
MESSAGES = "https://api.anthropic.com/v1/messages"
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.0-flash:generateContent"
KEYS = {"OPENAI_API_KEY": "a", "ANTHROPIC_API_KEY": "b", "GEMINI_API_KEY": "c"}
CLAUDE = {"model": "claude-3-5-haiku-latest", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}


def call(url: str = CHAT, *, body: Any = None, method: str = "POST", headers: Any = None, **more: Any) -> Call:
    body = body or {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "hi"}]}
    args = {"method": method, "url": url, "headers": headers or {}, "body": body}
    return replace(Call(1, 1, "llm", f"POST {url}", "ok", args=args), **more)


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"damaged": "its checksum differs"}, Damaged, "is damaged"),
        ({"args": {"messages": []}}, UsageError, "cannot be sent again"),
        ({"args": {"question": "x"}, "kind": "tool"}, UsageError, "asks no model"),
    ],
)
def test_a_call_that_holds_no_whole_request_is_refused(
    changed: dict[str, Any], error: type[AgentTTError], words: str
) -> None:
    with pytest.raises(error, match=words):
        recorded_request(call(**changed))


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (call(body={"size": 90_000, "blake2b": "ab"}), "not kept whole"),
        (call("https://example.com/strange"), "no request that a known provider reads"),
        (call(f"{CHAT}?user=%3Credacted%3E"), "a part of the address"),
        (
            call(
                "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude/converse",
                body={"messages": [{"role": "user", "content": [{"text": "hi"}]}]},
            ),
            "signed",
        ),
        (
            call("https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude/invoke", body=CLAUDE),
            "signed",
        ),
    ],
)
def test_a_request_that_cannot_be_sent_from_here_is_refused(made: Call, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        recorded_request(made)


@pytest.mark.parametrize("mark", ["<redacted>", "my key is ~redacted1~", "write to ~mail4k7xw2qa~~~"])
def test_a_mark_is_not_sent_in_place_of_what_it_stands_for(mark: str) -> None:
    body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": mark}]}
    request = recorded_request(call(body=body))
    with pytest.raises(UsageError, match=r"messages\[0\]\.content was redacted") as refused:
        request.to_bytes()
    assert "--set 'messages[0].content=" in refused.value.hint
    edited = request.edited([Edit("set", "messages[0].content", "all of it")])
    assert b"all of it" in edited.to_bytes()


def test_what_is_known_only_by_its_text_is_not_sent() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": {"$type": "opaque", "class": "X", "repr": "X()"}}]}
    with pytest.raises(UsageError, match="not recorded whole"):
        recorded_request(call(body=body)).to_bytes()


def test_values_that_json_has_go_out_as_they_were() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "ü \ud83d"}], "seed": 2**70, "top_p": 1.0}
    sent = recorded_request(call(body=body)).to_bytes()
    turn = b'{"role": "user", "content": "\xc3\xbc \xed\xa0\xbd"}'
    assert sent == b'{"model": "m", "messages": [%b], "seed": %d, "top_p": 1.0}' % (turn, 2**70)


def test_an_edit_that_leaves_no_request_is_refused() -> None:
    with pytest.raises(UsageError, match="no request to a model any more"):
        recorded_request(call()).edited([Edit("delete", "messages")])


def test_another_model_is_asked_where_the_address_names_it() -> None:
    body = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    made = recorded_request(call(GEMINI, body=body)).edited([], "gemini-2.5-pro")
    assert made.url.endswith("/models/gemini-2.5-pro:generateContent")
    assert made.asked.model == "gemini-2.5-pro"


def test_only_headers_that_say_what_is_asked_are_sent_and_none_that_was_redacted() -> None:
    headers = {"anthropic-version": "2023-06-01", "x-api-key": "<redacted>", "anthropic-beta": "a\r\nx: y"}
    made = recorded_request(call(MESSAGES, body=CLAUDE, headers=headers))
    assert made.headers == (("anthropic-version", "2023-06-01"),)


@pytest.mark.parametrize(
    ("api", "url", "environment", "key", "header"),
    [
        ("openai-chat", CHAT, KEYS, "OPENAI_API_KEY", "authorization"),
        ("anthropic", MESSAGES, KEYS, "ANTHROPIC_API_KEY", "x-api-key"),
        ("anthropic", MESSAGES, {"ANTHROPIC_AUTH_TOKEN": "t"}, "ANTHROPIC_AUTH_TOKEN", "authorization"),
        ("gemini", GEMINI, KEYS, "GEMINI_API_KEY", "x-goog-api-key"),
        ("gemini", GEMINI, {**KEYS, "GOOGLE_API_KEY": "d"}, "GOOGLE_API_KEY", "x-goog-api-key"),
        ("openai-chat", "https://api.groq.com/openai/v1/chat/completions", {"GROQ_API_KEY": "g"}, "GROQ_API_KEY", None),
        ("openai-chat", "http://127.0.0.1:9/v1/chat/completions", KEYS, "OPENAI_API_KEY", "authorization"),
    ],
)
def test_each_server_gets_its_own_key(
    api: str, url: str, environment: dict[str, str], key: str, header: str | None
) -> None:
    found = destination_of(api, url, environment, key=None, carried=None)
    assert found.url == url
    assert found.key is not None
    assert (found.key.variable, found.key.header) == (key, header or "authorization")


@pytest.mark.parametrize(
    ("url", "environment", "words"),
    [
        ("https://evil.example/v1/chat/completions", KEYS, "which key is for evil.example is not known"),
        ("https://api.openai.com.evil.example/v1/chat/completions", KEYS, "which key is for"),
        ("https://api.openai.com@evil.example/v1/chat/completions", KEYS, "more than a host"),
        ("https://api.groq.com/openai/v1/chat/completions", KEYS, "GROQ_API_KEY is not set"),
        ("http://api.openai.com/v1/chat/completions", KEYS, "not encrypted"),
        (CHAT, {}, "OPENAI_API_KEY is not set"),
        (CHAT, {"OPENAI_API_KEY": " "}, "OPENAI_API_KEY is not set"),
        (CHAT, {"OPENAI_API_KEY": "a\nb"}, "OPENAI_API_KEY holds what no header can carry"),
        (CHAT, {"OPENAI_BASE_URL": "nonsense", **KEYS}, "OPENAI_BASE_URL is no address"),
    ],
)
def test_no_key_goes_to_a_server_that_it_is_not_for(url: str, environment: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        destination_of("openai-chat", url, environment, key=None, carried="authorization")


def test_a_server_of_several_forms_gets_its_key_in_the_header_that_carried_it() -> None:
    url = "https://api.deepseek.com/anthropic/v1/messages"
    found = destination_of("anthropic", url, {"DEEPSEEK_API_KEY": "d", **KEYS}, key=None, carried="x-api-key")
    assert found.key is not None
    assert (found.url, found.key.variable, found.key.header, found.key.prefix) == (
        url,
        "DEEPSEEK_API_KEY",
        "x-api-key",
        "",
    )


def test_the_key_of_another_server_is_named() -> None:
    url = "https://models.example/v1/chat/completions"
    found = destination_of("openai-chat", url, {"MINE": "m"}, key="MINE", carried="authorization")
    assert found.key is not None
    assert (found.key.variable, found.key.header, found.key.prefix) == ("MINE", "authorization", "Bearer ")
    assert destination_of("openai-chat", url, {}, key="", carried="authorization").key is None
    assert destination_of("openai-chat", url, {}, key=None, carried="").key is None
    assert destination_of("openai-chat", CHAT, KEYS, key=None, carried="").key is not None
    with pytest.raises(UsageError, match="MINE is not set"):
        destination_of("openai-chat", url, {}, key="MINE", carried=None)


@pytest.mark.parametrize(
    ("api", "url", "variable", "base", "sent"),
    [
        (
            "openai-chat",
            CHAT,
            "OPENAI_BASE_URL",
            "https://gate.example/v2/",
            "https://gate.example/v2/chat/completions",
        ),
        ("anthropic", f"{MESSAGES}?beta=true", "ANTHROPIC_BASE_URL", "http://x:8", "http://x:8/v1/messages?beta=true"),
        ("gemini", GEMINI, "GOOGLE_GEMINI_BASE_URL", "http://x:8", "http://x:8" + GEMINI.partition(".com")[2]),
    ],
)
def test_the_users_variable_says_where(api: str, url: str, variable: str, base: str, sent: str) -> None:
    found = destination_of(api, url, {**KEYS, variable: base}, key=None, carried=None)
    assert (found.url, found.base) == (sent, variable)
    assert found.key is not None
    assert found.is_readable_on_the_way == sent.startswith("http:")


def test_the_variable_of_openai_does_not_move_requests_to_others() -> None:
    url = "https://api.groq.com/openai/v1/chat/completions"
    environment = {"OPENAI_BASE_URL": "https://gate.example/v1", "GROQ_API_KEY": "g"}
    assert destination_of("openai-chat", url, environment, key=None, carried=None).url == url


def test_a_key_in_the_address_is_sent_as_a_header() -> None:
    body = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    made = recorded_request(call(f"{GEMINI}?alt=json&key=<redacted>", body=body))
    assert (made.url, made.carried) == (f"{GEMINI}?alt=json", "x-goog-api-key")


# ------------------------------------------------------------ of a run


def recorded(*urls: str, body: Any = None) -> tuple[MemoryStore, Run]:
    """A run with one step, which asked each address."""
    store = MemoryStore()
    writer = store.begin_run(NewRun("talk"), None)
    number = writer.open_step(NewStep("ask"))
    for url in urls:
        made = call(url, body=body)
        at = writer.begin_call(number, NewCall("llm", made.name, args=made.args, signature="00"))
        writer.end_call(number, at, CallEnd("ok", result=None))
    writer.close_step(number, StepEnd("ok"), None)
    writer.finish("succeeded", None)
    return store, store.run(writer.run_id)


def test_the_only_request_of_a_step_need_not_be_named_and_one_of_several_must() -> None:
    store, run = recorded(CHAT)
    assert find_request(store, run.id, 1, None).number == 1
    store, run = recorded(CHAT, CHAT)
    assert find_request(store, run.id, 1, 2).number == 2
    with pytest.raises(UsageError, match="asked models 2 times") as several:
        find_request(store, run.id, 1, None)
    assert "1.1, 1.2" in several.value.hint
    with pytest.raises(UsageError, match="no call 3"):
        find_request(store, run.id, 1, 3)
    with pytest.raises(UsageError, match="step 0 asked no model"):
        find_request(store, run.id, 0, None)


def test_all_is_said_before_anything_is_sent() -> None:
    hosted = {"type": "web_search_20250305", "name": "web_search"}
    store, run = recorded(MESSAGES, body={**CLAUDE, "tools": [hosted]})
    plan = plan_again(store, run, AgainRequest(1, times=3), KEYS)
    assert (plan.destination.host, plan.rule.text, plan.name) == ("https://api.anthropic.com", "live", "talk/again-1.1")
    assert plan.notes == ("the provider runs tools itself while it answers: web_search",)
    assert (plan.expected.tokens_in, plan.cost_usd) == (None, None)


@pytest.mark.parametrize("times", [0, -1, 101])
def test_how_often_is_bounded(times: int) -> None:
    store, run = recorded(CHAT)
    with pytest.raises(UsageError, match="1 to 100 times"):
        plan_again(store, run, AgainRequest(1, times=times), KEYS)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ('"*llm" = "deny"', "is deny"),
        ('"gpt-4o*" = "recorded"', "is recorded"),
        ('"POST https://api.openai.com/*" = "deny"', "is deny"),
    ],
)
def test_the_policy_of_the_project_is_kept_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: str, words: str
) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.agent-tt.policy]\n{rule}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    store, run = recorded(CHAT)
    with pytest.raises(UsageError, match=words) as refused:
        plan_again(store, run, AgainRequest(1), {**KEYS, "OPENAI_BASE_URL": "https://gate.example/v1"})
    assert "pyproject.toml" in refused.value.message
