r"""Patterns for texts, matched in time that grows with the text alone.

A backtracking matcher such as `re` takes exponential time for patterns like `(a+)+b`, and cannot be interrupted. Here a
pattern becomes a machine of at most `_MOST_STATES` states, all of which are followed at once through the text (K.
Thompson, "Regular Expression Search Algorithm", CACM 11 (1968)); the sets of states that come up are kept, so that a
character usually costs one look-up. What it all costs is counted, and limited.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BadPattern", "Pattern", "TooMuchWork", "compile_pattern"]

_MOST_CHARACTERS: Final = 500
_MOST_STATES: Final = 1_000
_MOST_DEPTH: Final = 20
_MOST_REPEATS: Final = 500
_MOST_KEPT: Final = 20_000
"""Known moves from one set of states to the next; then they are forgotten, and found again."""

MOST_WORK: Final = 5_000_000
"""Looks at a state, or at a character: about half a second."""

_SPECIAL: Final = frozenset(".^$*+?()[]{}|\\")


class BadPattern(ValueError):
    """A pattern cannot be read."""


class TooMuchWork(Exception):
    """A text is too long, or a pattern too large, for a match in bounded time."""


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


@dataclass(slots=True)
class _State:
    """One state: it takes a character that `takes` accepts and goes to `out`, or goes to all of `out` without one."""

    kind: Literal["take", "split", "start", "end", "accept"]
    out: list[int] = field(default_factory=list)
    takes: Callable[[str], bool] | None = None


class Pattern:
    """A pattern that was read. Safe to use from several threads.

    Attributes:
        text: as it was written.
    """

    def __init__(self, text: str, states: list[_State], begin: int, *, any_case: bool) -> None:
        self.text = text
        self._states = states
        self._any_case = any_case
        self._first = self._closure((begin,), at_start=True)
        self._again = self._closure((begin,))
        self._moves: dict[tuple[frozenset[int], str], frozenset[int]] = {}
        self._accept = next(n for n, state in enumerate(states) if state.kind == "accept")

    def matches(self, text: str, most_work: int = MOST_WORK) -> tuple[bool, int]:
        """Whether the pattern matches anywhere in a text, and how much work that was.

        Raises:
            TooMuchWork: it would be more than `most_work`.
        """
        if self._any_case:
            text = text.lower()
        work, now, moves, accept = 0, self._first, self._moves, self._accept
        for character in text:
            if accept in now:
                return True, work
            following = moves.get((now, character))
            if following is None:
                following = self._move(now, character)
                work += len(now) + len(following)
                if len(moves) > _MOST_KEPT:
                    moves.clear()
                moves[now, character] = following
            now = following
            work += 1
            if work > most_work:
                raise TooMuchWork
        return accept in self._closure(now, at_start=not text, at_end=True), work

    def _move(self, now: frozenset[int], character: str) -> frozenset[int]:
        reached: set[int] = set()
        for number in now:
            state = self._states[number]
            if state.takes is not None and state.takes(character):
                reached.update(state.out)
        return self._closure(tuple(reached)) | self._again

    def _closure(
        self, begin: tuple[int, ...] | frozenset[int], *, at_start: bool = False, at_end: bool = False
    ) -> frozenset[int]:
        """All states that are reached without taking a character."""
        found, waiting = set(begin), list(begin)
        while waiting:
            state = self._states[waiting.pop()]
            if state.kind == "split" or (state.kind == "start" and at_start) or (state.kind == "end" and at_end):
                for out in state.out:
                    if out not in found:
                        found.add(out)
                        waiting.append(out)
        return frozenset(found)


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
        self._states: list[_State] = []
        self._depth = 0
        self._built = 0

    def build(self) -> Pattern:
        accept = self._add(_State("accept"))
        parts, end = self._read_either(self._begin)
        if end < len(self._text):
            _bad("a parenthesis is closed that was not opened")
        return Pattern(self._text, self._states, self._either(parts, accept), any_case=self._any_case)

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
            takes, at = self._read_escape(at + 1)
            return _Part(takes=takes), at
        if character in "*+?{":
            _bad(f"there is nothing before {character} that could be repeated")
        return _Part(takes=self._one(character)), at + 1

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

    def _add(self, state: _State) -> int:
        if len(self._states) >= _MOST_STATES:
            _bad(f"it is too large: its repetitions make more than {_MOST_STATES} states")
        self._states.append(state)
        return len(self._states) - 1

    def _either(self, rows: list[list[_Part]], out: int) -> int:
        self._built += 1
        if self._built > 10 * _MOST_STATES:  # repeated empty groups make no state
            _bad("it is too large: it repeats repetitions too often")
        begins = [self._row(row, out) for row in rows]
        return begins[0] if len(begins) == 1 else self._add(_State("split", begins))

    def _row(self, row: list[_Part], out: int) -> int:
        for part in reversed(row):
            out = self._part(part, out)
        return out

    def _part(self, part: _Part, out: int) -> int:
        if part.anchor is not None:
            return self._add(_State(part.anchor, [out]))
        if part.takes is not None:
            return self._add(_State("take", [out], part.takes))
        if part.high is None:
            loop = self._add(_State("split", [out]))
            self._states[loop].out.append(self._either(part.rows, loop))
            out = loop
        else:
            last = out
            for _ in range(part.high - part.low):
                out = self._add(_State("split", [last, self._either(part.rows, out)]))
        for _ in range(part.low):
            out = self._either(part.rows, out)
        return out


@dataclass(slots=True)
class _Part:
    """One part of a pattern: a character, an anchor, or a group that stands `low` to `high` times."""

    rows: list[list[_Part]] = field(default_factory=list)
    takes: Callable[[str], bool] | None = None
    anchor: Literal["start", "end"] | None = None
    low: int = 1
    high: int | None = 1
