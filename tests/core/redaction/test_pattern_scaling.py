"""No pattern that texts of agents are searched with takes longer than in proportion to the text.

Each pattern is given texts made of what it looks for: its letters and words, over and over. What is compared is the
time that the processor spends in this thread, on a text and on one four times as long: what is quadratic takes sixteen
times as long.
"""

from __future__ import annotations

import importlib
import itertools
import pkgutil
import re
import time
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any

import pytest

import agent_tt.providers
import agent_tt.recording
import agent_tt.redaction
import agent_tt.seams
from agent_tt._pattern import lazy_re

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGES = (agent_tt.redaction, agent_tt.recording, agent_tt.seams, agent_tt.providers)
PATTERNS = (re.Pattern, type(lazy_re("")))
"""Those that are compiled when they are first used are patterns, too."""
FEWEST = 120
"""So many there are at least: a test of none proves nothing."""
LENGTH = 2_000
LONGER = 4
AT_ONE_PLACE = ("judging._PLACEHOLDER", "named._WAYS", "policy._REQUEST", "native_libraries._INSTALLED", "bodies._DATA")
AT_ONE_PLACE += tuple(
    f"open_ends._{name}"
    for name in ("SEPARATOR", "UNQUOTED", "ARGUMENT", "ELEMENT", "WORDS_OF_LOGIN", "BLANK_END", "LOGIN")
)
AT_ONE_PLACE += ("growing._MARK_BEGUN",)
"""Patterns that are only asked whether they match at one place, or in a text of bounded length."""
WORTH_COMPARING_S = 0.02
MOST = 9.0
"""Between 4, what is linear, and 16, what is quadratic."""
LEAST_ROUNDS, MOST_ROUNDS = 3, 30


def patterns() -> dict[str, re.Pattern[Any]]:
    """Every pattern that is kept in a module, by where it is."""
    found: dict[str, re.Pattern[Any]] = {}
    for package in PACKAGES:
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            todo = [(f"{info.name}.{name}", value) for name, value in vars(importlib.import_module(info.name)).items()]
            while todo:
                name, value = todo.pop()
                if isinstance(value, PATTERNS):
                    pattern = re.compile(value.pattern, value.flags)
                    if pattern not in found.values():
                        found[name] = pattern
                elif isinstance(value, (tuple, list)):
                    todo += [(f"{name}[{index}]", item) for index, item in enumerate(value)]
                elif isinstance(value, dict):
                    todo += [(f"{name}[{key!r}]", item) for key, item in value.items()]
    return found


def parts_of(parsed: Any) -> Iterator[Any]:
    """The parsed patterns inside one."""
    for op, argument in parsed:
        if op in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            yield argument[2]
        elif op is codes.SUBPATTERN:
            yield argument[3]
        elif op is codes.BRANCH:
            yield from argument[1]
        elif op in (codes.ASSERT, codes.ASSERT_NOT):
            yield argument[1]
        elif op is codes.ATOMIC_GROUP:
            yield argument


_OF_CATEGORY = {codes.CATEGORY_WORD: "w", codes.CATEGORY_DIGIT: "7", codes.CATEGORY_SPACE: " "}


def letters_of(parsed: Any) -> set[str]:
    """A letter of each kind that a pattern looks for."""
    found: set[str] = set()
    for op, argument in parsed:
        if op is codes.LITERAL:
            found.add(chr(argument))
        elif op in (codes.ANY, codes.NOT_LITERAL):
            found.add("x")
        for kind, value in argument if op is codes.IN else ():
            if kind is codes.NEGATE:
                found.add("x")
            elif kind is codes.CATEGORY:
                found.add(_OF_CATEGORY.get(value, "x"))
            else:
                found.add(chr(value if kind is codes.LITERAL else value[0]))
    return found.union(*map(letters_of, parts_of(parsed)))


def words_of(parsed: Any) -> set[str]:
    """The words in a pattern."""
    runs = itertools.groupby(parsed, key=lambda part: part[0] is codes.LITERAL)
    found = {"".join(chr(argument) for _, argument in run) for is_word, run in runs if is_word}
    return found.union(*map(words_of, parts_of(parsed)))


def spent(pattern: re.Pattern[Any], text: Any, *, at_one_place: bool) -> float:
    before = time.thread_time()
    if at_one_place:
        pattern.match(text)
    else:
        for _ in pattern.finditer(text):
            pass
    return time.thread_time() - before


def least_spent(pattern: re.Pattern[Any], text: Any, *, at_one_place: bool) -> tuple[float, float]:
    """The least time for a text, and for one that is longer; measured on while that looks quadratic.

    Work that others do on the machine makes a measurement longer and never shorter. So the least of many is nearer to
    the truth on both sides: what is quadratic stays so, however often it is measured.
    """
    short = long = float("inf")
    for round_ in range(1, MOST_ROUNDS + 1):
        short = min(short, spent(pattern, text, at_one_place=at_one_place))
        long = min(long, spent(pattern, text * LONGER, at_one_place=at_one_place))
        if round_ >= LEAST_ROUNDS and long < MOST * short:
            break
    return short, long


def test_the_patterns_are_found() -> None:
    assert len(patterns()) >= FEWEST


@pytest.mark.parametrize("name", patterns())
def test_a_pattern_takes_time_in_proportion_to_a_text(name: str) -> None:
    pattern = patterns()[name]
    at_one_place = any(part in name for part in AT_ONE_PLACE)
    parsed = parser.parse(pattern.pattern, pattern.flags)
    letters, words = sorted(letters_of(parsed))[:10], sorted(words_of(parsed), key=len)[-5:]
    pieces = {*letters, *words, *(a + b for a in words for b in letters), *(b + a for a in words for b in letters)}
    for piece in sorted(pieces):
        text = piece * (LENGTH // len(piece))
        whole = text.encode("latin-1", "replace") if isinstance(pattern.pattern, bytes) else text
        if spent(pattern, whole * LONGER, at_one_place=at_one_place) > WORTH_COMPARING_S:
            short, long = least_spent(pattern, whole, at_one_place=at_one_place)
            assert long < MOST * short, f"{name} on {piece!r}: {short:.4f} s, then {long:.4f} s"
