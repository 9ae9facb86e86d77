r"""Patterns of a project's own, such as `customer = "KD-[0-9]{6}"`: which can be used, and what matches begin with.

A text is searched with patterns from each of its places, and it may come in pieces. So a pattern has to end (no `+`,
`*` or `{2,}`), and from one place it may take `_MOST_STEPS` at most, whatever stands there: then all of a text takes
time in proportion to its length. How many it takes is counted on the pattern itself, from its end to its beginning: a
repetition is tried again with less only where what follows could begin within it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from re import _constants as codes  # type: ignore[attr-defined]  # what a pattern is made of, which `re` tells nowhere else
from re import _parser as parser  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agent_tt.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Pattern", "Unfit", "check_patterns", "read_pattern"]

_MOST_STEPS: Final = 2_000
_MOST_CHARACTERS: Final = 400
"""Characters that a match may have."""

_OTHER, _END = 128, 129
"""In a set of characters: those that are not ASCII; and the end of the pattern."""
_ALL: Final = frozenset(range(_OTHER + 1))
_CLASSES: Final = {
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_WORD: r"\W",
}
_REPEATS: Final = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
_ONE: Final = (codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN)
_UNKNOWN: Final = {
    codes.AT: r"^, $, \A or \Z",
    codes.ASSERT: "(?=…)",
    codes.ASSERT_NOT: "(?!…)",
    codes.GROUPREF: "a reference to a group",
}


class Unfit(Exception):
    """A pattern cannot be used; the first argument says why, the second what to do."""


class Pattern(NamedTuple):
    """A pattern, what its matches may begin with, and how many characters they have at most."""

    pattern: re.Pattern[str]
    first: frozenset[int]
    most: int

    def begin(self, text: str) -> int:
        """Find where a match could begin that the text's next piece would complete; its length where none could."""
        for at in range(max(0, len(text) - self.most), len(text)):
            if min(ord(text[at]), _OTHER) in self.first:
                return at
        return len(text)


def check_patterns(texts: Mapping[str, str], where: str) -> None:
    """Refuse patterns that cannot be used.

    Args:
        texts: the patterns by name.
        where: what says them, for the message.

    Raises:
        UsageError: one cannot be read, or may take too long.
    """
    for name, text in texts.items():
        try:
            read_pattern(text)
        except Unfit as unfit:
            why, hint = unfit.args
            raise UsageError(f"{where}: the pattern {name} {why}", hint=hint) from None


# ---------------------------------------------------------------- reading


@lru_cache(maxsize=64)
def read_pattern(text: str) -> Pattern:
    """Read a pattern.

    Raises:
        Unfit: it cannot be read, or may take too long.
    """
    try:
        pattern = re.compile(text)
        parsed = parser.parse(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise Unfit(f"cannot be read: {error}", "It is written as Python's module re has it.") from None
    if pattern.flags & ~(re.UNICODE | re.IGNORECASE):
        raise Unfit("has a flag that is not understood here", "Only (?i) is, in front of all.")
    if not text.isascii():
        raise Unfit("holds a letter that is not ASCII", r"Write \w or a set such as [^ -~] for it.")
    _, first = _cost(parsed, 0, frozenset({_END}), any_case=bool(pattern.flags & re.IGNORECASE))
    if _END in first:
        raise Unfit("fits nothing at all, too", "Say what has to be there.")
    most = parsed.getwidth()[1]
    if most > _MOST_CHARACTERS:
        raise Unfit(f"may fit {most:,} characters", f"At most {_MOST_CHARACTERS} are looked for: repeat less often.")
    return Pattern(pattern, first, most)


def _cost(parts: Any, steps: int, first: frozenset[int], *, any_case: bool) -> tuple[int, frozenset[int]]:
    """The most steps that parts take with all that follows them, and what they may begin with.

    Args:
        parts: what a pattern is made of, in order.
        steps: the most that what follows takes.
        first: what that may begin with.
        any_case: whether upper and lower case are the same.
    """
    for op, given in reversed(list(parts)):
        if op in _ONE:
            steps, first = steps + 1, _set(op, given, any_case=any_case)
        elif op in _REPEATS:
            steps, first = _repeated(given, steps, first, any_case=any_case)
        elif op is codes.SUBPATTERN:
            if given[1] or given[2]:
                raise Unfit("changes its flags within", "Write (?i) in front of all.")
            steps, first = _cost(given[3], steps, first, any_case=any_case)
        elif op is codes.ATOMIC_GROUP:
            steps, first = _cost(given, steps, first, any_case=any_case)
        elif op is codes.BRANCH:
            ways = [_cost(way, steps, first, any_case=any_case) for way in given[1]]
            steps, first = sum(way[0] for way in ways), frozenset[int]().union(*(way[1] for way in ways))
        elif op is codes.AT and given in (codes.AT_BOUNDARY, codes.AT_NON_BOUNDARY):
            steps += 1
        elif op in (codes.ASSERT, codes.ASSERT_NOT) and given[0] < 0:
            steps += _cost(given[1], 0, frozenset({_END}), any_case=any_case)[0] + 1
        else:
            what = _UNKNOWN.get(op, "a part that is not understood here")
            raise Unfit(f"has {what}", "A text may come in pieces: say what stands there, or use \\b or (?<!…).")
        if steps > _MOST_STEPS:
            raise Unfit(
                "may take too long: too many ways lead through its repetitions",
                "Do not repeat what repeats; end a repetition with something that it does not hold.",
            )
    return steps, first


def _repeated(given: Any, steps: int, first: frozenset[int], *, any_case: bool) -> tuple[int, frozenset[int]]:
    least, most, parts = given
    if most is codes.MAXREPEAT:
        raise Unfit("repeats without an end", "Say how often at most: {1,64} in place of +, {0,64} in place of *.")
    if len(parts) == 1 and parts[0][0] in _ONE:
        each = _set(*parts[0], any_case=any_case)
        ways = most - least + 1 if each & first else 1
        return most + ways * max(steps, 1), each if least else each | first
    for times in range(most, 0, -1):
        once, begins = _cost(parts, steps, first, any_case=any_case)
        steps, first = (once, begins) if times <= least else (once + steps, begins | first)
        if steps > _MOST_STEPS:
            break  # which `_cost` says
    return steps, first


def _set(op: Any, given: Any, *, any_case: bool) -> frozenset[int]:
    """The characters that one part takes."""
    if op is codes.ANY:
        return _ALL - {ord("\n")}
    if op in (codes.LITERAL, codes.NOT_LITERAL):
        found = {min(given, _OTHER)}
    else:
        found = set().union(*(_of_set(kind, value) for kind, value in given if kind is not codes.NEGATE))
    if any_case:
        found |= {ord(chr(each).swapcase()) for each in found if each < _OTHER}
    is_negated = op is codes.NOT_LITERAL or (op is codes.IN and given[0][0] is codes.NEGATE)
    return (_ALL - found) | {_OTHER} if is_negated else frozenset(found)


def _of_set(kind: Any, value: Any) -> set[int]:
    if kind is codes.CATEGORY:
        takes = re.compile(_CLASSES[value])
        return {_OTHER, *(each for each in range(_OTHER) if takes.match(chr(each)))}
    low, high = (value, value) if kind is codes.LITERAL else value
    return {min(each, _OTHER) for each in range(low, min(high, _OTHER) + 1)} or {_OTHER}
