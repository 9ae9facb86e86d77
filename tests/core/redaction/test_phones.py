"""Telephone numbers: what is told of their digits is what `phonenumbers` tells of them as they are written."""

from __future__ import annotations

from functools import cache

import phonenumbers
import pytest
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st

from agent_tt.redaction import personal, phones

KINDS = (*range(11), 27, 28)
CODES = sorted(phonenumbers.COUNTRY_CODE_TO_REGION_CODE)


@cache
def _examples() -> list[str]:
    """A number of each kind of each country, and of those without one: digits alone."""
    regions = sorted({region for regions in phonenumbers.COUNTRY_CODE_TO_REGION_CODE.values() for region in regions})
    found = [phonenumbers.example_number_for_type(region, kind) for region in regions for kind in KINDS]
    found += [phonenumbers.example_number_for_non_geo_entity(code) for code in CODES]
    numbers = (number for number in found if number is not None)
    return sorted({phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)[1:] for number in numbers})


def _told(text: str, region: str | None, check: str) -> bool:
    try:
        return bool(getattr(phonenumbers, check)(phonenumbers.parse(text, region)))
    except phonenumbers.NumberParseException:
        return False


def test_every_example_of_the_library_is_valid():
    assert len(_examples()) > 1_000
    for digits in _examples():
        assert phones.is_valid(digits) == _told(f"+{digits}", None, "is_valid_number")
        assert phones.is_possible(digits) == _told(f"+{digits}", None, "is_possible_number")


digits_of = st.one_of(
    st.builds(
        lambda digits, at, other, cut: (digits[:at] + other + digits[at + len(other) :])[:cut],
        st.sampled_from(_examples()),
        st.integers(0, 8),
        st.text("0123456789", max_size=6),
        st.integers(6, 15),
    ),
    st.builds(
        lambda code, dialled, rest: f"{code}{dialled}{rest}",
        st.sampled_from(CODES),
        st.sampled_from(["", "0", "00", "1", "8", "06", "044"]),
        st.text("0123456789", min_size=1, max_size=14),
    ),
)


@settings(max_examples=2_000, deadline=None)
@for_all(digits_of)
def test_digits_are_valid_and_possible_as_the_library_tells(digits: str):
    assert phones.is_valid(digits) == _told(f"+{digits}", None, "is_valid_number")
    assert phones.is_possible(digits) == _told(f"+{digits}", None, "is_possible_number")


@settings(max_examples=500, deadline=None)
@for_all(st.one_of(st.text("0123456789", max_size=20), st.text("0123456789٣", max_size=12)))
def test_any_digits_are_valid_as_the_library_tells(digits: str):
    assert phones.is_valid(digits) == _told(f"+{digits}", None, "is_valid_number")


def _end_by_the_library(text: str) -> int:
    """As `_end_of_phone`, each part of the text told by the library as it is written."""
    places = [place + 1 for place, letter in enumerate(text) if letter.isdigit()]
    sizes = [size for count, size in enumerate(places, 1) if count >= 8 and not text[size : size + 1].isdigit()][::-1]
    if "." in text and text.count(".") < 2:
        return 0
    plain = text.replace("%2B", "+").replace("%2b", "+")
    plain = f"+{plain[2:]}" if plain.startswith("00") else plain
    cut = len(text) - len(plain)
    valid = [size for size in sizes if _told(plain[: size - cut], None, "is_valid_number")]
    possible = [size for size in sizes if _told(plain[: size - cut], None, "is_possible_number")]
    return next(iter(valid or ([] if text.startswith("00") else possible)), 0)


@settings(max_examples=2_000, deadline=None)
@for_all(
    digits_of,
    st.sampled_from(["+", "00", "%2B", "%2b"]),
    st.lists(st.sampled_from(["", "", "", " ", "-", ".", "/", "(", ") ", " (", "--", "٣"]), min_size=1, max_size=6),
)
def test_a_number_ends_where_the_library_tells_however_it_is_written(digits: str, plus: str, between: list[str]):
    text = plus + "".join(digit + between[at % len(between)] for at, digit in enumerate(digits[:15]))
    for match in personal._WORLD.finditer(text):
        assert personal._end_of_phone(match[0]) == _end_by_the_library(match[0])


@pytest.mark.parametrize("form", ["({}) {}-{}", "({}){} {}", "{}-{}-{}", "{} {} {}", "{}.{}.{}"])
@pytest.mark.parametrize("code", ["", "1-", "1 ", "1."])
@settings(max_examples=100, deadline=None)
@for_all(st.from_regex(r"\A[2-9][0-9]{2}\Z"), st.from_regex(r"\A[2-9][0-9]{2}\Z"), st.from_regex(r"\A[0-9]{4}\Z"))
def test_numbers_as_north_america_writes_them_are_those_of_the_library(
    form: str, code: str, area: str, exchange: str, line: str
):
    text = code + form.format(area, exchange, line)
    match = personal._AMERICA.fullmatch(text)
    assert match is not None
    assert personal._is_american(match[0]) == _told(text, "US", "is_valid_number")
