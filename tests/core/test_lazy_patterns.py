"""A pattern compiled at its first use does as one that was compiled at once, and is not compiled before."""

from __future__ import annotations

import re

import pytest

from agent_tt import _pattern
from agent_tt._pattern import lazy_re


def test_a_pattern_is_compiled_at_its_first_use_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[object, ...]] = []

    def noted(*given: object) -> re.Pattern[str]:
        made.append(given)
        return re.compile(*given)  # type: ignore[call-overload]

    monkeypatch.setattr(_pattern, "compiled", noted)
    pattern = lazy_re(r"(?P<it>b+)", re.IGNORECASE)
    assert made == []
    match = pattern.search("aBBc")
    assert match is not None
    assert match["it"] == "BB"
    assert pattern.search("c") is None
    assert made == [(r"(?P<it>b+)", re.IGNORECASE)]


@pytest.mark.parametrize("text", ["a1b22", b"a1b22"])
def test_it_does_as_a_pattern_that_is_compiled_at_once(text: str | bytes) -> None:
    source = r"\d+" if isinstance(text, str) else rb"\d+"
    mine, theirs = lazy_re(source), re.compile(source)
    assert mine.pattern == theirs.pattern
    assert mine.flags == theirs.flags
    assert mine.findall(text) == theirs.findall(text)
    assert [each.span() for each in mine.finditer(text)] == [each.span() for each in theirs.finditer(text)]
    assert mine.sub(text[:0], text) == theirs.sub(text[:0], text)
    assert mine.fullmatch(text) == theirs.fullmatch(text)


def test_a_name_that_no_pattern_has_is_none_of_its_own() -> None:
    with pytest.raises(AttributeError, match="seek"):
        lazy_re("a").seek  # noqa: B018
