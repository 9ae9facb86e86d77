r"""Patterns for texts, matched in time that grows with the text alone.

A backtracking matcher such as `re` takes exponential time for patterns like `(a+)+b`, and cannot be interrupted. Here a
pattern becomes a machine of at most `_MOST_STATES` states (`machine`). What it needs in any case, its literals, is read
off as well, so that an index of texts can be asked for them first.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final, Literal, NoReturn

from agent_tt._dataclass import dataclass
from agent_tt.querying.expressions.machine import END, MOST_WORK, Pattern, State, TooMuchWork

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.querying.expressions.machine import Needs

__all__ = ["MOST_WORK", "BadPattern", "Pattern", "TooMuchWork", "compile_pattern"]

_MOST_CHARACTERS: Final = 500
_MOST_STATES: Final = 1_000
_MOST_DEPTH: Final = 20
_MOST_REPEATS: Final = 500
_SHORTEST_NEEDED: Final = 3
"""Characters of the shortest literal that is worth asking an index for."""

_MOST_NEEDED: Final = 64
"""Literals that a pattern is said to need; one of more alternatives is said to need nothing."""

_SPECIAL: Final = frozenset(".^$*+?()[]{}|\\")


class BadPattern(ValueError):
    """A pattern cannot be read."""


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


_CLASSES: Final[dict[str, Callable[[str], bool]]] = {
    "d": str.isdecimal,
    "D": lambda character: not character.isdecimal(),
    "s": str.isspace,
    "S": lambda character: not character.isspace(),
    "w": _is_word,
    "W": lambda character: not _is_word(character),
}
_CONTROLS: Final = {"n": "\n", "t": "\t", "r": "\r"}


def compile_pattern(text: str) -> Pattern:
    """Read a pattern.

    Raises:
        BadPattern: it is too large, or cannot be read; the message says why.
    """
    if len(text) > _MOST_CHARACTERS:
        _bad(f"it has {len(text):,} characters, and {_MOST_CHARACTERS} are the most")
    any_case = text.startswith("(?i)")
    return _Builder(text, 4 if any_case else 0, any_case=any_case).build()


def _bad(why: str) -> NoReturn:
    raise BadPattern(why)


class _Builder:
    """Builds the machine from its end to its beginning: each part is told where to go on.

    A part that is repeated is read once for each repetition, which is why a part is a place in the text.
    """

    def __init__(self, text: str, at: int, *, any_case: bool) -> None:
        self._text, self._begin, self._any_case = text, at, any_case
        self._states: list[State] = []
        self._depth = 0
        self._built = 0

    def build(self) -> Pattern:
        accept = self._add(State("accept"))
        parts, end = self._read_either(self._begin)
        if end < len(self._text):
            _bad("a parenthesis is closed that was not opened")
        begin = self._either(parts, accept)
        return Pattern(self._text, self._states, begin, any_case=self._any_case, needs=_needs(parts))

    # ---------------------------------------------------------------- reading: nested tuples

    def _read_either(self, at: int) -> tuple[list[list[_Part]], int]:
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            _bad(f"it is nested more than {_MOST_DEPTH} deep")
        rows: list[list[_Part]] = [[]]
        while at < len(self._text) and self._text[at] != ")":
            if self._text[at] == "|":
                rows.append([])
                at += 1
                continue
            part, at = self._read_part(at)
            part, at = self._read_repeat(part, at)
            rows[-1].append(part)
        self._depth -= 1
        return rows, at

    def _read_part(self, at: int) -> tuple[_Part, int]:
        character = self._text[at]
        if character == "(":
            at += 1
            if self._text.startswith("?:", at):
                at += 2
            elif self._text[at : at + 1] == "?":
                _bad("of groups that begin with (? there are only (?: and, in front of all, (?i)")
            rows, at = self._read_either(at)
            if self._text[at : at + 1] != ")":
                _bad("a parenthesis is not closed")
            return _Part(rows=rows), at + 1
        if character == "[":
            return self._read_set(at + 1)
        if character in "^$":
            return _Part(anchor="start" if character == "^" else "end"), at + 1
        if character == ".":
            return _Part(takes=lambda each: each != "\n"), at + 1
        if character == "\\":
            literal = self._literal(self._text[at + 1 : at + 2])
            takes, at = self._read_escape(at + 1)
            return _Part(takes=takes, literal=literal), at
        if character in "*+?{":
            _bad(f"there is nothing before {character} that could be repeated")
        return _Part(takes=self._one(character), literal=character), at + 1

    def _literal(self, escaped: str) -> str | None:
        """The one character that an escape stands for; None where it stands for several."""
        return None if escaped in _CLASSES else _CONTROLS.get(escaped, escaped)

    def _read_escape(self, at: int) -> tuple[Callable[[str], bool], int]:
        escaped = self._text[at : at + 1]
        if escaped in _CLASSES and escaped:
            return _CLASSES[escaped], at + 1
        if escaped in _CONTROLS and escaped:
            return self._one(_CONTROLS[escaped]), at + 1
        if not escaped or escaped.isalnum():
            _bad(f"\\{escaped} means nothing here")
        return self._one(escaped), at + 1

    def _one(self, character: str) -> Callable[[str], bool]:
        wanted = character.lower() if self._any_case else character
        return lambda each: each == wanted

    def _read_set(self, at: int) -> tuple[_Part, int]:
        negated = self._text[at : at + 1] == "^"
        at += negated
        tests: list[Callable[[str], bool]] = []
        first = True
        while first or self._text[at : at + 1] != "]":
            first = False
            character = self._text[at : at + 1]
            if not character:
                _bad("a bracket is not closed")
            if character == "\\":
                takes, at = self._read_escape(at + 1)
                tests.append(takes)
                continue
            high = self._text[at + 2 : at + 3]
            if self._text[at + 1 : at + 2] == "-" and high not in ("", "]", "\\"):
                tests.append(self._between(character, high))
                at += 3
            else:
                tests.append(self._one(character))
                at += 1
        every = tuple(tests)
        return _Part(takes=lambda each: any(test(each) for test in every) is not negated), at + 1

    def _between(self, low: str, high: str) -> Callable[[str], bool]:
        if low > high:
            _bad(f"the range {low}-{high} is the wrong way round")
        if not self._any_case:
            return lambda each: low <= each <= high
        return lambda each: low <= each <= high or low <= each.upper() <= high

    def _read_repeat(self, part: _Part, at: int) -> tuple[_Part, int]:
        while at < len(self._text) and self._text[at] in "*+?{":
            sign = self._text[at]
            if sign == "{":
                low, high, at = self._read_counts(at + 1)
            else:
                low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
                at += 1
            if self._text[at : at + 1] == "?":  # "as few as possible": whether it matches is the same
                at += 1
            part = _Part(rows=[[part]], low=low, high=high)
        return part, at

    def _read_counts(self, at: int) -> tuple[int, int | None, int]:
        end = self._text.find("}", at)
        low, comma, high = self._text[at:end].partition(",") if end >= 0 else ("", "", "")
        known = low.isascii() and low.isdecimal() and (not high or (high.isascii() and high.isdecimal()))
        if not known or len(low) > 3 or len(high) > 3 or max(int(low), int(high or 0)) > _MOST_REPEATS:
            _bad(f"counts are written {{2}}, {{2,}} or {{2,5}}, at most {_MOST_REPEATS}")
        if high and int(high) < int(low):
            _bad("the counts are the wrong way round")
        return int(low), int(high) if high else None if comma else int(low), end + 1

    # ---------------------------------------------------------------- building

    def _add(self, state: State) -> int:
        if len(self._states) >= _MOST_STATES:
            _bad(f"it is too large: its repetitions make more than {_MOST_STATES} states")
        self._states.append(state)
        return len(self._states) - 1

    def _either(self, rows: list[list[_Part]], out: int) -> int:
        self._built += 1
        if self._built > 10 * _MOST_STATES:  # repeated empty groups make no state
            _bad("it is too large: it repeats repetitions too often")
        begins = [self._row(row, out) for row in rows]
        return begins[0] if len(begins) == 1 else self._add(State("split", begins))

    def _row(self, row: list[_Part], out: int) -> int:
        for part in reversed(row):
            out = self._part(part, out)
        return out

    def _part(self, part: _Part, out: int) -> int:
        if part.anchor is not None:
            return self._add(State(part.anchor, [out]))
        if part.takes is not None:
            return self._add(State("take", [out], part.takes))
        if part.high is None:
            loop = self._add(State("split", [out]))
            self._states[loop].out.append(self._either(part.rows, loop))
            out = loop
        else:
            last = out
            for _ in range(part.high - part.low):
                out = self._add(State("split", [last, self._either(part.rows, out)]))
        for _ in range(part.low):
            out = self._either(part.rows, out)
        return out


@dataclass(slots=True)
class _Part:
    """One part of a pattern: a character, an anchor, or a group that stands `low` to `high` times."""

    rows: list[list[_Part]] = field(default_factory=list)
    takes: Callable[[str], bool] | None = None
    literal: str | None = None
    anchor: Literal["start", "end"] | None = None
    low: int = 1
    high: int | None = 1


def _needs(rows: list[list[_Part]]) -> Needs:
    """The literals that stand in all that matches, as `Pattern.needs` says them."""
    found = _needed_by_any(rows)
    return found if _count(found) <= _MOST_NEEDED else None


def _needed_by_any(rows: list[list[_Part]]) -> Needs:
    each = [_needed_by_row(row) for row in rows]
    if any(needs is None for needs in each):
        return None
    return each[0] if len(each) == 1 else ["OR", *each]


def _needed_by_row(row: list[_Part]) -> Needs:
    found: list[Needs] = []
    together = ""
    for part in [*row, _Part()]:
        if part.literal is not None or part.anchor == "end":
            together += END if part.literal is None else part.literal
        elif part.anchor is None:
            if len(together) >= _SHORTEST_NEEDED:
                found.append(together)
            together = ""
            inside = _needed_by_any(part.rows) if part.rows and part.low else None
            if inside is not None:
                found.append(inside)
    if not found:
        return None
    return found[0] if len(found) == 1 else ["AND", *found]


def _count(needs: Needs) -> int:
    return sum(map(_count, needs[1:])) if isinstance(needs, list) else 1
