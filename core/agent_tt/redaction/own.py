r"""The rules that hold: patterns of a project's own, such as `customer = "KD-[0-9]{6}"`, fields, and a profile.

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
from agent_tt.redaction import personal
from agent_tt.redaction.fields import FIELDS, STRICT_FIELDS
from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.names import is_secret_header, kind_of
from agent_tt.redaction.rules import Rules
from agent_tt.redaction.spans import Span, quote_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["OWN", "check_patterns"]

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


class _Unfit(Exception):
    """A pattern cannot be used; the first argument says why, the second what to do."""


class _Pattern(NamedTuple):
    """A pattern, what its matches may begin with, and how many characters they have at most."""

    pattern: re.Pattern[str]
    first: frozenset[int]
    most: int


class _Own:
    """The rules that hold in this process.

    Attributes:
        rules: as they were said.
    """

    def __init__(self) -> None:
        self.rules = Rules()
        self._patterns: tuple[_Pattern, ...] = ()

    def use(self, rules: Rules) -> None:
        """Search with these from now on, and with no others. A pattern that does not fit is left out.

        Patterns of a file are checked here as those of settings are: whoever wrote it may have meant harm.

        Args:
            rules: the rules; the libraries that its profile needs have to be there.
        """
        if rules == self.rules:
            return
        found = []
        for text in rules.patterns.values():
            try:
                found.append(_read(text))
            except _Unfit:
                continue
        self.rules, self._patterns = rules, tuple(found)
        FIELDS.use((*rules.fields, *(STRICT_FIELDS if rules.profile == "strict" else ())), rules.allow)
        kind_of.cache_clear()
        is_secret_header.cache_clear()
        GIVEN.renew()

    def __bool__(self) -> bool:
        return bool(self._patterns or self.rules.profile)

    def spans(self, text: str) -> Iterator[Span]:
        """Yield what they find in a text."""
        found = self._found(text)
        return (span for span in found if not FIELDS.allow(text[span.start : span.end])) if self.rules.allow else found

    def _found(self, text: str) -> Iterator[Span]:
        for own in self._patterns:
            for match in own.pattern.finditer(text):
                yield Span(*match.span(), quote_of(text, *match.span()))
        if self.rules.profile:
            yield from personal.personal_in(text, is_strict=self.rules.profile == "strict")

    def takes_number(self, number: float) -> bool:
        """Whether a number is personal data."""
        return bool(self.rules.profile) and type(number) is int and personal.is_personal_number(number)

    def open_from(self, text: str) -> int:
        """The first place of a text from which more of it may still make a match; its length where there is none."""
        at = min((_begin(text, own) for own in self._patterns), default=len(text))
        return min(at, personal.open_from(text)) if self.rules.profile else at


OWN: Final = _Own()


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
            _read(text)
        except _Unfit as unfit:
            why, hint = unfit.args
            raise UsageError(f"{where}: the pattern {name} {why}", hint=hint) from None


def _begin(text: str, own: _Pattern) -> int:
    for at in range(max(0, len(text) - own.most), len(text)):
        if min(ord(text[at]), _OTHER) in own.first:
            return at
    return len(text)


# ---------------------------------------------------------------- reading


@lru_cache(maxsize=64)
def _read(text: str) -> _Pattern:
    """Read a pattern.

    Raises:
        _Unfit: it cannot be read, or may take too long.
    """
    try:
        pattern = re.compile(text)
        parsed = parser.parse(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise _Unfit(f"cannot be read: {error}", "It is written as Python's module re has it.") from None
    if pattern.flags & ~(re.UNICODE | re.IGNORECASE):
        raise _Unfit("has a flag that is not understood here", "Only (?i) is, in front of all.")
    if not text.isascii():
        raise _Unfit("holds a letter that is not ASCII", r"Write \w or a set such as [^ -~] for it.")
    _, first = _cost(parsed, 0, frozenset({_END}), any_case=bool(pattern.flags & re.IGNORECASE))
    if _END in first:
        raise _Unfit("fits nothing at all, too", "Say what has to be there.")
    most = parsed.getwidth()[1]
    if most > _MOST_CHARACTERS:
        raise _Unfit(f"may fit {most:,} characters", f"At most {_MOST_CHARACTERS} are looked for: repeat less often.")
    return _Pattern(pattern, first, most)


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
                raise _Unfit("changes its flags within", "Write (?i) in front of all.")
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
            raise _Unfit(f"has {what}", "A text may come in pieces: say what stands there, or use \\b or (?<!…).")
        if steps > _MOST_STEPS:
            raise _Unfit(
                "may take too long: too many ways lead through its repetitions",
                "Do not repeat what repeats; end a repetition with something that it does not hold.",
            )
    return steps, first


def _repeated(given: Any, steps: int, first: frozenset[int], *, any_case: bool) -> tuple[int, frozenset[int]]:
    least, most, parts = given
    if most is codes.MAXREPEAT:
        raise _Unfit("repeats without an end", "Say how often at most: {1,64} in place of +, {0,64} in place of *.")
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
