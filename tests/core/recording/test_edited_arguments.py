"""What goes out where a person changed a call: only what differs is made anew, and no mark in place of a secret."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from agent_tt.codec.decode import decode
from agent_tt.errors import NotRebuildable, UsageError
from agent_tt.recording.calls.arguments import FunctionCall, edited_value
from agent_tt.recording.calls.signature import Parameters
from agent_tt.seams.http.http_request import HttpRequest, joined_headers, question_of


class Handle:
    """Something that JSON cannot say."""


@dataclass
class Card:
    holder: str
    number: str
    notes: list[str] = field(default_factory=list)


def pay(amount: int, card: Any = None, *rest: object, memo: str = "", **more: object) -> None: ...


def sent(*args: object, changed: dict[str, Any], **kwargs: object) -> tuple[Any, Any]:
    call = FunctionCall(Parameters(pay), args, kwargs)
    named = call.parameters.bind(args, kwargs)
    assert set(changed) <= set(call.editable(named))
    return call.edited(named, changed, decode)


def test_arguments_are_replaced_by_name_wherever_they_stand() -> None:
    card = Handle()
    args, kwargs = sent(30, card, "a", memo="x", tip=1, changed={"amount": 5, "memo": "y"})
    assert (args, kwargs) == ((5, card, "a"), {"memo": "y", "tip": 1})
    assert args[1] is card
    args, kwargs = sent(30, changed={"rest": ["b", "c"], "more": {"tip": 2}})
    assert (args, kwargs) == ((30, None, "b", "c"), {"memo": "", "tip": 2})


def test_beside_what_differs_the_agents_own_objects_go_out() -> None:
    handle = Handle()
    live = {"to": handle, "lines": [{"secret": "s3cr3t"}, {"price": 1}]}
    opaque = {"$type": "opaque", "class": "a:Handle", "$v": "<Handle>"}
    before: Any = {"to": opaque, "lines": [{"secret": "<redacted>"}, {"price": 1}]}
    after: Any = {"to": opaque, "lines": [{"secret": "<redacted>"}, {"price": 2}], "note": "n"}
    made: Any = edited_value(live, before, after, decode, "order")
    assert made == {"to": handle, "lines": [{"secret": "s3cr3t"}, {"price": 2}], "note": "n"}
    assert made["to"] is handle
    assert made["lines"][0] is live["lines"][0]
    assert live["lines"][1] == {"price": 1}
    longer: Any = {"to": opaque, "lines": [{"secret": "<redacted>"}, {"price": 3}, {"price": 1}]}
    assert edited_value(live, before, longer, decode, "order")["lines"] == [  # type: ignore[index]
        {"secret": "s3cr3t"},
        {"price": 3},
        {"price": 1},
    ]


def test_fields_of_an_object_are_changed_in_a_copy() -> None:
    live = Card("Ann", "4242", ["a"])
    fields: dict[str, Any] = {"holder": "Ann", "number": "<redacted>", "notes": ["a"]}
    before: Any = {"$type": "dataclass", "class": "m:Card", "$v": fields}
    after: Any = {**before, "$v": {**fields, "holder": "Bob"}}
    made = edited_value(live, before, after, decode, "card")
    assert made == Card("Bob", "4242", ["a"])
    assert live.holder == "Ann"


@pytest.mark.parametrize(
    ("after", "kind", "says"),
    [
        ("Bearer <redacted>", UsageError, "token is a mark in place of a secret"),
        ({"a": ["<redacted>"]}, UsageError, r"token\.a\[0\] is a mark"),
        ({"$type": "opaque", "class": "a:b", "$v": "x"}, NotRebuildable, "recorded only as text"),
    ],
)
def test_what_cannot_go_out_is_refused(after: Any, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says):
        edited_value("secret", "<redacted>", after, decode, "token")


def test_no_argument_of_an_unknown_function_can_be_changed() -> None:
    call = FunctionCall(Parameters(dict.fromkeys), ("a",), {})
    assert call.editable({"args": ["a"], "kwargs": {}}) == ()


# ---------------------------------------------------------------- requests


def edited(request: HttpRequest, **changed: Any) -> HttpRequest:
    asked = question_of(request)
    assert asked.given is not None
    made = asked.given.edited(asked.args, changed, decode)
    assert isinstance(made, HttpRequest)
    return made


def request(body: bytes, kind: str) -> HttpRequest:
    headers = [("content-type", kind), ("authorization", "Bearer abc"), ("content-length", str(len(body)))]
    return HttpRequest("POST", "https://host/pay?key=s3cr3t", headers, body)


def test_a_body_is_written_in_the_form_that_it_had_with_its_secrets() -> None:
    json_request = request(b'{"amount": 30, "api_key": "sk-s3cr3t"}', "application/json")
    shown: Any = question_of(json_request).args["body"]
    assert shown["api_key"] == "<redacted>"
    made = edited(json_request, body={**shown, "amount": 5})
    assert made.body == b'{"amount": 5, "api_key": "sk-s3cr3t"}'
    headers = joined_headers(made.headers)
    assert (made.url, headers["authorization"]) == ("https://host/pay?key=s3cr3t", "Bearer abc")
    assert headers["content-length"] == str(len(made.body))
    form = request(b"amount=30&to=a%26b", "application/x-www-form-urlencoded")
    assert edited(form, body=[["amount", "5"], ["to", "a&b"]]).body == b"amount=5&to=a%26b"
    assert edited(request("ä".encode(), "text/plain"), body="ö").body == "ö".encode()
    assert edited(form, url="https://host/other").url == "https://host/other"


def test_a_request_that_cannot_be_written_is_refused() -> None:
    form = request(b"amount=30", "application/x-www-form-urlencoded")
    for changed in ({"body": 5}, {"url": "https://host/pay?key=<redacted>"}, {"url": 3}, {"url": "https://a/"}):
        with pytest.raises(UsageError):
            edited(form, **changed)
    binary = question_of(request(b"\xff\x00", "application/octet-stream"))
    assert binary.given is not None
    assert binary.given.editable(binary.args) == ("url",)
