"""Values as people read and type them."""

from __future__ import annotations

import collections
import datetime as dt
import decimal
import json
import pathlib
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.strategies import Boom, Color, Odd, Pair, Plan, values

from agent_tt.codec.encode import encode
from agent_tt.codec.parse import parse_value
from agent_tt.codec.text import describe, pretty, summary
from agent_tt.codec.tlv import tlv
from agent_tt.errors import InvalidValue

many = settings(max_examples=100, deadline=None)
PARIS = dt.datetime(2026, 1, 2, 3, 4, tzinfo=ZoneInfo("Europe/Paris"))


@pytest.mark.parametrize(
    ("value", "kind", "line"),
    [
        (None, "null", "null"),
        (True, "bool", "true"),
        ("hi\n", "str 3", '"hi\\n"'),
        ({"a": [1, 1.0]}, "dict 1", '{"a": [1, 1.0]}'),
        ({1: 2}, "dict 1", "{1: 2}"),
        ((1,), "tuple 1", "(1,)"),
        (set(), "set 0", "set()"),
        ({2, 1}, "set 2", "{1, 2}"),
        (b'it\'s "x"\0', "bytes 9", 'b"it\'s \\"x\\"\\x00"'),
        (2**70, "int", "1180591620717411303424"),
        (float("nan"), "float", "nan"),
        (PARIS, "datetime", "2026-01-02T03:04:00 Europe/Paris"),
        (dt.timedelta(1, 5), "timedelta", "1 day, 0:00:05"),
        (decimal.Decimal("1.0"), "Decimal", 'Decimal("1.0")'),
        (pathlib.PurePosixPath("/a"), "PurePosixPath", 'PurePosixPath("/a")'),
        (Color.RED, "Color", "Color.RED"),
        (Pair(1, "x"), "Pair", 'Pair(left=1, right="x")'),
        (Plan((1, 2), []), "Plan", "Plan(goal=(1, 2), steps=[])"),
        (Boom("no"), "Boom", 'Boom("no")'),
        (collections.OrderedDict(a=1), "OrderedDict 1", 'OrderedDict({"a": 1})'),
        (np.zeros((2, 3), "<f4"), "ndarray 2×3", "<ndarray 2×3 float32>"),
        (np.float32(1.5), "float32", "float32(1.5)"),
        (Odd(), "opaque Odd", "<odd>"),
    ],
)
def test_a_value_shows_as_what_it_is(value: object, kind: str, line: str) -> None:
    wire = encode(value)
    assert describe(wire) == kind
    assert summary(wire) == line


@pytest.mark.parametrize(
    ("method", "payload", "line"),
    [
        (None, [[], {"content": "go", "id": 1}], 'HumanMessage(content="go", id=1)'),
        ("parse", [["2026"], {}], 'HumanMessage.parse("2026")'),
        (None, [1], "<made class: "),
    ],
)
def test_what_another_system_makes_with_a_constructor_shows_as_the_call(
    method: str | None, payload: Any, line: str
) -> None:
    wire = {"$type": "made", "class": "messages:HumanMessage", "method": method, "$v": payload}
    assert summary(wire).startswith(line)


@many
@given(values, st.integers(1, 120))
def test_a_summary_is_one_printable_line_within_its_limit(value: object, limit: int) -> None:
    wire = encode(value)
    line = summary(wire, limit)
    assert len(line) <= limit
    assert line.isprintable()
    assert describe(wire).isprintable()


class Counting(list):  # type: ignore[type-arg]
    """A list that counts how much of it is read."""

    read = 0

    def __iter__(self) -> Any:
        for item in super().__iter__():
            self.read += 1
            yield item


def test_a_summary_reads_no_more_than_it_shows() -> None:
    many_items: Any = Counting(range(100_000))
    assert summary(many_items).startswith("[0, 1, 2")
    assert many_items.read < 100


def test_escapes_and_bidirectional_marks_do_not_reach_the_text() -> None:
    wire: Any = {"a\x1b[31m": "\x9b1m\u202e\u2028\x7f", "repr": {"$type": "opaque", "repr": "<\x1b]0;x>", "$v": None}}
    for text in (summary(wire, 200), pretty(wire).replace("\n", "")):
        assert text.isprintable()
    assert parse_value(pretty(wire)) == wire


@pytest.mark.parametrize(
    "wire", [{"$type": kind, "$v": 7} for kind in ("int", "bytes", "tuple", "enum", "npscalar", "x")]
)
def test_damaged_envelopes_still_show(wire: Any) -> None:
    assert "7" in summary(wire)
    assert describe(wire)


def test_a_text_with_half_a_pair_of_surrogates_is_a_text_and_not_its_bytes() -> None:
    wire = encode({"said": ["half \ud83d here"], "\ude00": 1, "deep": {"of": "\ud83d"}})
    shown = pretty(wire)
    assert '"half \\ud83d here"' in shown
    assert '"\\ude00"' in shown
    assert '"of": "\\ud83d"' in shown
    assert parse_value(shown) == wire


@given(st.text(st.sampled_from('a\ud83d\ude00\u00e9"\\')))
def test_texts_with_halves_of_pairs_are_read_again_exactly(text: str) -> None:
    """Two halves side by side, which JSON reads as one character, among them."""
    assert parse_value(pretty(encode([text]))) == encode([text])


def test_what_only_looks_like_such_a_text_stays_as_it_is() -> None:
    for payload in ("%%%", "aGFsZg==", 7):  # no base64, a text without halves, no text
        wire: Any = [{"$type": "str", "$v": payload}]
        assert json.loads(pretty(wire)) == wire


@many
@given(values)
def test_what_is_printed_in_full_is_read_again_exactly(value: object) -> None:
    wire = encode(value)
    assert tlv(parse_value(pretty(wire))) == tlv(wire)


@pytest.mark.parametrize(
    ("text", "wire"),
    [
        ("1", 1),
        ("1.0", 1.0),
        ("-0.0", -0.0),
        ("18446744073709551616", {"$type": "int", "$v": "0x10000000000000000"}),
        ('{"$v": 1}', {"$type": "dict", "$v": [["$v", 1]]}),
        ('["\\ud800"]', [{"$type": "str", "$v": "7aCA"}]),
        ('{"$type": "tuple", "$v": [1]}', {"$type": "tuple", "$v": [1]}),
    ],
)
def test_typed_text_becomes_a_wire_value(text: str, wire: Any) -> None:
    assert tlv(parse_value(text)) == tlv(wire)


@pytest.mark.parametrize(
    ("text", "line", "column", "why"),
    [
        ("Paris", 1, 1, "not JSON"),
        ("", 1, 1, "not JSON"),
        ('{"a": 1,\n "b": x}', 2, 7, "not JSON"),
        ('{"a": {"b": 1},\n "b": {"b": 1, "b": 2}}', 2, 16, "occurs twice"),
        ("[1,\n NaN]", 2, 2, "NaN"),
        ("[-Infinity]", 1, 2, "-inf"),
        ("[1e999]", 1, 2, "too large"),
        ("9" * 5000, 1, 1, "digits"),
        ("[" * 250 + "]" * 250, 1, 1, "levels deep"),
        ("[" * 100_000, 1, 1, "levels deep"),
        ('{"x": {"$type": "tuple", "$v": 3}}', 1, 8, "x is not a well-formed typed value"),
        ('{"$type": "mine", "$v": 3}', 1, 2, "does not know"),
    ],
)
def test_what_is_not_a_value_is_refused_with_line_and_column(text: str, line: int, column: int, why: str) -> None:
    with pytest.raises(InvalidValue, match=why) as error:
        parse_value(text)
    assert (error.value.line, error.value.column) == (line, column)


def test_words_without_quotes_are_answered_with_how_to_quote() -> None:
    with pytest.raises(InvalidValue) as error:
        parse_value("New York")
    assert "double quotes" in error.value.hint
