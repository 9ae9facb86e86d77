"""Wire values without their secrets, and everything else as it was."""

from __future__ import annotations

import base64
import datetime as dt
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus, unquote

import pytest
from hypothesis import example, settings
from hypothesis import given as for_all
from hypothesis import strategies as st

from agent_tt.codec.decode import decode
from agent_tt.codec.encode import encode
from agent_tt.redaction import named
from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.marks import MARK, canonical, is_mark, numbered
from agent_tt.redaction.texts import redact_text
from agent_tt.redaction.values import asked, given, redact

if TYPE_CHECKING:
    from collections.abc import Iterator


def _segment(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


JWT = f"{_segment({'alg': 'RS256'})}.{_segment({'sub': 'alice', 'exp': 1999999999})}.c2lnbmF0dXJlc2lnbmF0dXJl"
PRIVATE_KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nQWxhZGRpbg==\n-----END RSA PRIVATE KEY-----\n"
SHAPES = {
    "sk-proj-Abc123Def456Ghi789": "sk-proj-Abc123Def456Ghi789",
    "sk-ant-api03-AAbb_cc-11": "sk-ant-api03-AAbb_cc-11",
    "ghp_0123456789abcdefghijABCDEFGHIJ012345": "0123456789abcdefghij",
    "github_pat_11ABCDEFG0aBcDeFgHiJ_kL": "11ABCDEFG0aBcDeFgHiJ_kL",
    "glpat-abcdefghij0123456789": "abcdefghij0123456789",
    "xoxb-123456789012-abcdefABCDEF": "123456789012-abcdefABCDEF",
    "AKIAIOSFODNN7EXAMPLE": "IOSFODNN7EXAMPLE",
    "AIzaSyD-0123456789abcdefghijABCDEFGHIJ0": "D-0123456789",
    "sk_live_4eC39HqLyjWDarjtT1zdp7dc": "4eC39HqLyjWDarjtT1zdp7dc",
    "hf_AbCdEfGhIjKlMnOp0123": "AbCdEfGhIjKlMnOp0123",
    JWT: "c2lnbmF0dXJlc2lnbmF0dXJl",
    PRIVATE_KEY: "MIIEvQIBADANBgkqhkiG9w0",
    "Bearer abc.def-123/456": "abc.def-123/456",
    "{'Authorization': 'Basic dXNlcjpwdw=='}": "dXNlcjpwdw==",
    "postgres://admin:pa55word@db.local/x": "pa55word",
    "https://host/x?key=k3yk3y&q=1&access_token=t0k": "k3yk3y",
    "https://host/x?sv=1&sig=aBc%2F1": "aBc%2F1",
}
HARMLESS: list[Any] = [
    {"token_count": 5, "max_tokens": 7, "prompt_tokens_details": {"cached_tokens": 1}},
    {"logprobs": {"content": [{"token": "internationalization2", "logprob": -0.5, "bytes": [1], "top_logprobs": []}]}},
    {"nextPageToken": "CAEQAA==", "next_token": "abc123def", "pagination_token": "p4g3", "progressToken": "p1"},
    {"type": "thinking", "thinking": "hm", "signature": "EqQBCgIYAhIM0123456789abcdefghij"},
    {"sha": "4116c22f0a9d8e7b6c5d4e3f2a1b0c9d8e7f6a5b", "tokens": ["t0ken1", "x9"], "deltaToken": "ab12cd34"},
    {"thoughtSignature": "CqQBAdHtim9abc123", "b64_json": "iVBORw0KGgo=", "tool_use_id": "toolu_01A09q90", "v": "*"},
    {"encrypted_content": "gAAAAABo0123456789", "key": "lang", "value": "en", "public_key": "ssh-rsa AAAA0"},
    {"id": "call_0123456789abcdefABCDEF", "idempotency_key": "3f2a9c10-1", "cache_key": "v1/abc"},
    ["password", "reset"],
    {"pwd": "/home/ann1/x", "cwd": "/tmp/x1"},
    ["--verbose", "--key-points", "3"],
    {"role": "user", "content": "How do I use a token? task-list-for-2024-and-2025, scikit-learn 1.2, monkey=1"},
    {"password": "", "secret": None, "api_key": False, "token": 5, "author": "x1y2z3w4"},
    "import os\npassword = input('your password: ')\nkey = data['key']\n",
    "https://example.org/a?page=2&keyword=x#top and mail me@example.org",
    encode(b"\x00\xff\x10 binary \x89PNG"),
]


@pytest.fixture(autouse=True)
def _nothing_was_given() -> Iterator[None]:
    GIVEN.forget()
    yield
    GIVEN.forget()


@pytest.mark.parametrize(("text", "secret"), SHAPES.items(), ids=range(len(SHAPES)))
def test_secrets_are_known_by_their_shape_wherever_they_stand(text: str, secret: str):
    around = f"before {text} after"
    assert secret in around
    places: list[Any] = [around, [around], {"x": {"y": around}}, {around: 1}, encode((around,))]
    for place in places:
        shown = json.dumps(redact(place))
        assert secret not in shown
    assert secret.encode() not in bytes(decode(redact(encode(around.encode()))))  # type: ignore[arg-type]
    assert str(redact(around)).startswith("before ")


@pytest.mark.parametrize(
    "name", ["password", "db_password", "clientSecret", "API_KEY", "x-api-key", "refresh_token", "githubToken", "token"]
)
def test_fields_are_secret_by_their_names(name: str):
    assert redact({name: "s3cret!x"}) == {name: MARK}
    assert redact({"a": [{name: "s3cret!x"}]}) == {"a": [{name: MARK}]}
    assert redact({"name": name, "value": "s3cret!x"}) == {"name": name, "value": MARK}
    assert redact(["run", f"--{name}", "s3cret!x"]) == ["run", f"--{name}", MARK]
    assert redact([f"--{name}=s3cret!x"]) == [f"--{name}={MARK}"]
    assert "s3cret" not in redact_text(json.dumps({"q": 1, name: "s3cret!x"}))
    assert "s3cret" not in redact_text(json.dumps({"args": json.dumps({name: 's3cret"!x'})}))


@pytest.mark.parametrize("value", HARMLESS, ids=range(len(HARMLESS)))
def test_what_is_no_secret_stays_the_very_object(value: Any):
    assert redact(value) is value
    assert asked(value) is value
    assert given(value) is value


wires = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(sorted(SHAPES)),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["password", "token", "value"]), inner),
    max_leaves=10,
)


@for_all(wires)
@example({"Token": {"": "Bearer 000_000_"}})
def test_without_secrets_it_stays_as_it_is(value: Any):
    wire = encode(value)
    once = redact(wire)
    assert redact(once) == once
    assert asked(once) == asked(wire) == asked(asked(wire))


def test_a_question_is_the_same_with_the_mark_that_a_replay_gave():
    for secret in ("opaque-t0ken-of-some-length", JWT, "hunter2"):
        answer = {"access_token": secret}
        handed_on = given(answer)["access_token"]  # type: ignore[index,call-overload]
        assert is_mark(handed_on)
        assert len(handed_on) == len(secret)
        assert asked({"session": secret}) == asked({"session": handed_on}) == {"session": MARK}
        for text in ("x {}", "<{}>", "{};{}", "?a={}&b=c", '{{"x": "{}"}}'):
            assert asked(text.replace("{}", secret)) == asked(text.replace("{}", handed_on)), text
            assert asked(encode(text.replace("{}", secret).encode())) == asked(
                encode(text.replace("{}", handed_on).encode())
            )
    assert canonical(f"a {numbered(7, 40)} b %3Credacted%3E") == f"a {MARK} b {MARK}"


@for_all(st.integers(1, 2000), st.integers(0, 60))
def test_marks_are_as_long_as_secrets_and_known_wherever_they_stand(number: int, length: int):
    mark = numbered(number, length)
    assert len(mark) == length
    assert length < 4 or canonical(f"Bearer {mark}.") == f"Bearer {MARK}."
    assert quote_plus(mark) == mark or length < 4


@pytest.mark.parametrize("text", [*SHAPES, "a b"], ids=range(len(SHAPES) + 1))
def test_a_state_is_kept_alike_with_a_secret_and_with_what_a_replay_gave(text: str):
    answer = {"log": [f"he said: {text}"], "password": "hunter2", "n": 1}
    assert redact(given(answer)) == redact(answer)


@pytest.mark.parametrize("start", ["SK", "AC"])
@pytest.mark.parametrize(
    "next_key", ["sk-proj-Abc123Def456Ghi789", "xoxb-123456789012-abcdefABCDEF", "AKIAIOSFODNN7EXAMPLE"]
)
def test_keys_that_follow_on_each_other_are_taken_out(start: str, next_key: str):
    hexadecimal = "0123456789abcdef" * 2
    shown = redact_text(f"a {start}{hexadecimal}{next_key} b")
    assert hexadecimal not in shown
    assert next_key not in shown
    assert redact_text(f"{start}{hexadecimal}0") == f"{start}{hexadecimal}0"


def test_marks_that_touch_are_two():
    assert canonical(numbered(1, 12) + numbered(2, 30) + numbered(3, 6)) == MARK * 3


def test_two_secrets_are_two_and_one_is_one():
    first = given({"token": "abc123def", "refresh_token": "abc123xyz", "again": {"password": "abc123def"}})
    assert first == {"token": "~redact1~", "refresh_token": "~redact2~", "again": {"password": "~redact1~"}}


@pytest.mark.parametrize("secret", ["a+b/c==0123", 'quo"te\\1', "sp%20ace1x", "12345678", "AbCdEfGh"])
def test_a_secret_is_known_as_addresses_and_forms_write_it(secret: str):
    mark = given({"token_secret": secret})["token_secret"]  # type: ignore[index,call-overload]
    for written in (secret, quote(secret, safe=""), quote_plus(secret), unquote(secret)):
        assert asked(f"?x={written}&y") == asked(f"?x={mark}&y") == f"?x={MARK}&y"


def test_a_secret_that_was_given_is_known_under_another_name_later():
    assert redact({"code": "abc123def"}) == {"code": "abc123def"}
    given({"token": "abc123def", "password": "word"})
    assert redact({"code": "my abc123def"}) == {"code": f"my {MARK}"}
    assert redact("a word") == "a word"  # too common to be told from any other
    GIVEN.forget()
    assert redact({"code": "abc123def"}) == {"code": "abc123def"}


def test_secrets_of_the_environment_are_known_from_the_beginning():
    given({"token": "abc123def"})
    GIVEN.begin({"SERVICE_TOKEN": "from-env-99", "PASSWORD": "word", "PWD": "/home/ann1", "GPG_KEY": "A035C8C19219"})
    assert redact("a from-env-99 b") == f"a {MARK} b"
    for text in ("a word", "at /home/ann1", "A035C8C19219", "abc123def"):
        assert redact(text) == text


def test_a_token_still_says_when_it_ends():
    shown = str(redact(JWT))
    assert len(shown) == len(JWT)
    head, payload, signature = shown.split(".")
    for part in (head, payload, signature):
        base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    assert payload == JWT.split(".")[1]  # clients read who somebody is, and when it ends
    assert signature != JWT.split(".")[2]


def test_reports_show_no_values_of_secret_names():
    text = "Config(api_key='abc', \"password\": 'pw 1') --token=xyz1 host='h'"
    assert redact_text(text) == (f"Config(api_key='{MARK}', \"password\": '{MARK}') --token={MARK} host='h'")


@settings(max_examples=400, deadline=None)
@for_all(
    st.lists(
        st.sampled_from(
            (
                *(
                    "password",
                    "PASSWORD",
                    "api_key",
                    "token",
                    "Cookie",
                    "authorization",
                    "pin",
                    "otp",
                    "login ",
                    "user ",
                ),
                *(
                    "ann",
                    "hunter2x",
                    "k3y9Zq81",
                    "4711",
                    "a1b2c3d4e5f6a7b8c9",
                    " ",
                    "\t",
                    "\n",
                    "\\n",
                    '"',
                    "'",
                    "[",
                    "]",
                ),
                *(
                    ":",
                    "=",
                    ":=",
                    "=>",
                    ">",
                    "</",
                    "<",
                    ",",
                    "-",
                    "--",
                    " is ",
                    "is",
                    ";",
                    ".",
                    "/",
                    "curl",
                    "mysql",
                    "sshpass",
                ),
            )
        ),
        max_size=9,
    ).map("".join)
)
def test_no_text_names_a_secret_without_one_of_the_signs_that_are_looked_for_first(text):
    found = [*named.named_secrets(text)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(named, "_SIGNS", ("",))
        assert [*named.named_secrets(text)] == found


@for_all(
    st.lists(
        st.tuples(
            st.sampled_from(["hop", "sid", "theme", "session", "csrftoken", "id"]),
            st.sampled_from(["1", "a1", "dark", "ab12cd", "a1b2c3d4e5f6a7b8c9", "<key>", "QUJDRA==", "="]),
        ),
        max_size=4,
    )
)
def test_cookies_lose_the_same_in_a_text_as_in_a_value(pairs: list[tuple[str, str]]):
    cookies = "; ".join(f"{name}={value}" for name, value in pairs) or "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
    for value in ({"cookie": cookies}, {"cookies": [cookies]}):
        assert json.loads(redact_text(json.dumps(value))) == redact(value)


@pytest.mark.parametrize("value", [range(1000, 5000), dt.timedelta(days=4711), complex(4711, 815)])
def test_of_a_value_of_a_few_numbers_a_mark_takes_the_place_of_all_so_that_a_state_with_it_is_rebuilt(value: object):
    shown = redact(encode({"cvv": value, "count": value}))
    assert isinstance(shown, dict)
    assert (shown["cvv"], decode(shown["count"])) == (MARK, value)
    assert redact(shown) == shown
    small = encode({"cvv": dt.timedelta(seconds=1)})
    assert redact(small) == small
