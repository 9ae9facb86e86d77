"""Many signs and patterns found in one pass: what is found is what one search after the other finds."""

from __future__ import annotations

import re
import threading
from functools import cache, partial
from importlib.util import find_spec

import pytest
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st

from agent_tt.redaction import anchors, multiple_search, number_places, shapes
from agent_tt.redaction.multiple_search import patterns_in, places_in, signs_in

pytestmark = pytest.mark.skipif(find_spec("hyperscan") is None, reason="Hyperscan is not installed here")

PATTERNS = (
    *number_places._OF_PERSONAL.values(),
    *number_places._OF_STRICT.values(),
    *number_places._OF_ADDRESSES.values(),
    *number_places._OF_KIND.values(),
    number_places._UNNAMED,
    shapes._FORM_OF_PARTS,
)
PIECES = (
    *(b" ", b"a", b"pin", b"PIN", b"_", b"0", b"1234", b"56789", b"+49 170 ", b"2026-11-24T08:21:21Z", b"::1:"),
    *(b"fe80:", b".10", b".255", b"AB12", b"12345678-Z", b"\0", b"\n", b"\\n", b"x" * 22, b".abcdef.", b"w" * 27),
    *(b"?", b"%2B", b"b"),
)  # fmt: skip
SIGNS = (*{piece: None for piece in PIECES if len(piece) < 8}, b"pi", b"in")
finder = cache(lambda make, said: make(said))  # made once: that takes as long as a thousand searches
half = range(0, len(SIGNS), 2)
half_once = partial(signs_in, once=half)
texts = st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join)


@settings(max_examples=300, deadline=None)
@for_all(texts)
def test_signs_are_found_wherever_they_stand(text: bytes):
    places = [
        (index, match.start() + len(sign))
        for index, sign in enumerate(SIGNS)
        for match in re.finditer(b"(?=" + re.escape(sign) + b")", text)
    ]
    assert sorted(finder(signs_in, SIGNS)(text)) == sorted(places)


@settings(max_examples=300, deadline=None)
@for_all(texts)
def test_a_sign_of_which_one_place_is_enough_is_told_once(text: bytes):
    told, every = finder(half_once, SIGNS)(text), finder(signs_in, SIGNS)(text)
    of_others = [place for place in every if place[0] not in half]
    assert sorted(place for place in told if place[0] not in half) == sorted(of_others)
    assert sorted(index for index, _ in told if index in half) == sorted({index for index, _ in every if index in half})
    assert set(told) <= set(every)


@settings(max_examples=500, deadline=None)
@for_all(texts)
def test_patterns_are_found_that_re_finds(text: bytes):
    found = {index for index, _ in finder(patterns_in, PATTERNS)(text)}
    assert found == {index for index, pattern in enumerate(PATTERNS) if re.search(pattern, text, re.DOTALL)}


@settings(max_examples=300, deadline=None)
@for_all(texts, st.integers(0, 20))
def test_every_place_is_told_or_that_there_are_too_many(text: bytes, most: int):
    patterns = (*number_places._OF_KIND.values(), number_places._UNNAMED)
    found = finder(places_in, patterns)(text, most)
    ends = {
        (index, end)
        for index, pattern in enumerate(patterns)
        for end in range(len(text) + 1)
        if re.search(b"(?:%b)\\Z" % pattern, text[:end], re.DOTALL)
    }
    assert found is None if len(ends) > most else set(found or ()) == ends


@settings(max_examples=200, deadline=None)
@for_all(texts)
def test_a_text_too_long_for_one_go_is_searched_in_several(text: bytes):
    find = finder(signs_in, (b"pin", b"1234", b"\n"))
    with pytest.MonkeyPatch.context() as short:
        short.setattr(multiple_search, "_MOST", 12)
        short.setattr(multiple_search, "_LONGEST_FOUND", 4)
        in_parts = find(text)
    assert set(in_parts) == set(find(text))


def test_threads_search_at_the_same_time():
    text, found = b"pin 1234 " * 20_000, []
    find = signs_in([b"pin", b"1234"])
    threads = [threading.Thread(target=lambda: found.append(len(find(text)))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [40_000] * 6


def test_a_machine_that_the_library_was_not_made_for_is_searched_one_by_one(monkeypatch: pytest.MonkeyPatch):
    import hyperscan

    class NotMade:
        def compile(self, **_: object) -> None:
            raise hyperscan.error("the processor lacks something")

    monkeypatch.setattr(hyperscan, "Database", NotMade)
    multiple_search.is_at_once.cache_clear()
    anchors._searches_for.cache_clear()
    try:
        assert signs_in([b"pin"])(b"a pin, a pin") == [(0, 5), (0, 12)]
        assert patterns_in([b"p[aeiou]n"])(b"a pin") == [(0, 5)]
        assert places_in([b"p[aeiou]n"])(b"a pin", 64) is None
    finally:
        multiple_search.is_at_once.cache_clear()
        anchors._searches_for.cache_clear()
