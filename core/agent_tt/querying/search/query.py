r"""What is searched for: words, or a pattern, and what the search is kept to.

Several words are looked for in any order, all of them in one text; words in quotes as they stand. Upper and lower case
are told apart only if what is looked for has upper case. Besides words there may be, in any order,

| written | keeps the search to |
|---|---|
| `in:result` | one of the `FIELDS`, or several with commas: `in:error,decision`; the beginning of a name is enough |
| `tool:charge` | arguments, results and errors of calls whose name holds this, and their names |
| `agent:writer` | steps of agents whose name holds this |
| `step:10-20` | these steps; also `step:7`, `step:10-`, `step:-20` |

A pattern is one of `querying.expressions.patterns`: linear in time, whatever it says. What it is kept to is said beside
it then, not in it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NoReturn

from agent_tt._dataclass import dataclass
from agent_tt.codec.folding import find_word, fold, same_letters
from agent_tt.errors import InvalidExpression, UsageError
from agent_tt.querying.expressions.patterns import BadPattern, Pattern, TooMuchWork, compile_pattern
from agent_tt.querying.search.fields import FIELDS
from agent_tt.querying.search.recorded import KINDS, kinds_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.protocols import Needed

__all__ = ["Found", "Query", "parse"]

_MOST_CHARACTERS: Final = 1_000
_MOST_TERMS: Final = 20
_MOST_BUILDING: Final = 1_500_000
_MOST_BUILDING_A_CHARACTER: Final = 0.2
"""Looks at a state of a pattern's machine while it is built, in a whole search: about half a second, and some more for
each character that was searched."""

_PIECE: Final = re.compile(r'(?P<filter>in|tool|agent|step):(?P<value>"[^"]*"?|\S*)|"(?P<quoted>[^"]*)"?|(?P<word>\S+)')
_STEPS: Final = re.compile(r"(?P<first>\d{0,18})(?P<dash>-?)(?P<last>\d{0,18})")
_CAPITALS_OF_CLASSES: Final = re.compile(r"\\.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Found:
    """Where a text holds what is searched for.

    Attributes:
        start: index of the characters that are shown as found; see `Query.place`.
        end: index after them.
        whole: the share of what was searched for that stands there as whole words, 0 to 1.
        together: whether several words stand beside each other as they were written.
    """

    start: int
    end: int
    whole: float
    together: bool = False


_SOMEWHERE: Final = Found(-1, -1, 0.0)


@dataclass(slots=True)
class Query:
    """A search that was read.

    Attributes:
        text: as it was written.
        terms: words and phrases, all of which a text has to hold.
        pattern: what a text has to match instead; None for words.
        kinds: positions in `KINDS` of the texts that are searched.
        tool, agent: what the name of the call or of the agent has to hold, folded; None for any.
        first, last: the first and the last step; None for no bound.
    """

    text: str
    terms: tuple[str, ...]
    pattern: Pattern | None
    kinds: tuple[int, ...]
    tool: str | None = None
    agent: str | None = None
    first: int | None = None
    last: int | None = None
    _is_exact: bool = False
    _phrase: str = ""
    _left: int = _MOST_BUILDING

    def find(self, text: str) -> Found | None:
        """Where a text holds what is searched for; None where it does not.

        Raises:
            InvalidExpression: a pattern takes too much work.
        """
        if self.pattern is not None:
            return _SOMEWHERE if self._matches(self.pattern, text) else None
        shown = same_letters(text) if self._is_exact else fold(text)
        places: list[tuple[int, int]] = []
        whole = 0
        for term in self.terms:
            at, is_whole = find_word(shown, term)
            if at < 0:
                return None
            whole += is_whole
            places.append((at, at + len(term)))
        if not places:
            return Found(0, 0, 0.0)
        if len(places) > 1:
            at, _ = find_word(shown, self._phrase)
            if at >= 0:
                return Found(at, at + len(self._phrase), whole / len(places), together=True)
        return Found(*places[0], whole / len(places))

    def place(self, text: str, found: Found) -> tuple[int, int]:
        """Where what was found begins and ends; of a pattern that is only looked for here, for what is shown."""
        if self.pattern is None:
            return found.start, found.end
        try:
            place, _ = self.pattern.span(_shown(self.pattern, text), len(text) + _MOST_BUILDING)
        except TooMuchWork:
            place = None
        return place or (0, 0)

    @property
    def needed(self) -> Needed:
        """Folded literals that stand in every text that matches, as far as they are known."""
        if self.pattern is not None:
            return _folded(self.pattern.needs)
        if not self.terms:
            return None
        return ["AND", *(fold(term) for term in self.terms)]

    @property
    def needed_somewhere(self) -> list[Needed]:
        """What a run needs that has a hit, each in some text: not only that which is searched for."""
        return [self.needed, self.tool, self.agent]

    def _matches(self, pattern: Pattern, text: str) -> bool:
        try:
            found, work = pattern.matches(_shown(pattern, text), len(text) + max(1_000, self._left))
        except TooMuchWork:
            _refuse(self.text, 0, "the pattern takes too long", "Say more of it literally.")
        self._left += int(_MOST_BUILDING_A_CHARACTER * len(text)) - max(0, work - len(text))
        return found


def _shown(pattern: Pattern, text: str) -> str:
    """A text as a pattern is matched with it."""
    return fold(text) if pattern.any_case else same_letters(text)


def parse(text: str, *, regex: bool = False, fields: Sequence[str] = ()) -> Query:
    """Read what is searched for.

    Args:
        text: words and what the search is kept to, or a pattern.
        regex: whether it is a pattern.
        fields: names of `FIELDS` to keep to, besides what the text says.

    Raises:
        UsageError: there is nothing to search for, or a field is unknown.
        InvalidExpression: the text cannot be read; the place is given.
    """
    if not text.strip():
        raise UsageError("there is nothing to search for", hint="Give a text of at least one character.")
    kinds = frozenset(range(len(KINDS)))
    if fields:
        kinds = frozenset(kind for field in fields for kind in _kinds_named(field))
    if regex:
        return Query(text, (), _pattern(text), tuple(sorted(kinds)))
    if len(text) > _MOST_CHARACTERS:
        _refuse(text, _MOST_CHARACTERS, f"it has {len(text):,} characters, and {_MOST_CHARACTERS:,} are the most")
    return _Reader(text, kinds).query()


class _Reader:
    """Reads words and filters."""

    def __init__(self, text: str, kinds: frozenset[int]) -> None:
        self._text = text
        self._kinds = kinds
        self._words: list[str] = []
        self._tool: str | None = None
        self._agent: str | None = None
        self._first: int | None = None
        self._last: int | None = None

    def query(self) -> Query:
        is_kept = False
        for piece in _PIECE.finditer(self._text):
            if piece["filter"] is None:
                self._words.append(piece["word"] if piece["quoted"] is None else piece["quoted"])
            elif value := piece["value"].strip('"'):
                self._keep(piece["filter"], value, piece.start("value"))
                is_kept = True
        words = list(dict.fromkeys(word for word in self._words if word))
        if len(words) > _MOST_TERMS:
            _refuse(self._text, 0, f"it has {len(words)} words, and {_MOST_TERMS} are the most", "Quote some of them.")
        if not words and not is_kept:
            raise UsageError("there is nothing to search for yet", hint="Give a word, or a name after the colon.")
        is_exact = any(character.isupper() for word in words for character in word)
        change = same_letters if is_exact else fold
        return Query(
            self._text,
            tuple(change(word) for word in words),
            None,
            tuple(sorted(self._kinds)),
            tool=self._tool,
            agent=self._agent,
            first=self._first,
            last=self._last,
            _is_exact=is_exact,
            _phrase=change(" ".join(words)),
        )

    def _keep(self, name: str, value: str, at: int) -> None:
        if name == "tool":
            self._tool = fold(value)
        elif name == "agent":
            self._agent = fold(value)
        elif name == "step":
            self._keep_steps(value, at)
        else:
            self._kinds &= self._fields(value, at)

    def _fields(self, value: str, at: int) -> frozenset[int]:
        found: set[int] = set()
        for field in value.split(","):
            named = [name for name in FIELDS if name.startswith(field)]
            if not named:
                _refuse(self._text, at, f"there is no field {field!r}", f"Fields are {', '.join(FIELDS)}.")
            if field:
                found.update(kind for name in named for kind in kinds_of(name))
            at += len(field) + 1
        return frozenset(found)

    def _keep_steps(self, value: str, at: int) -> None:
        steps = _STEPS.fullmatch(value)
        if steps is None or not (steps["first"] or steps["last"]):
            if value == "-":
                return
            _refuse(self._text, at, "steps are written 7, 10-20, 10- or -20")
        first, last = (int(steps[name]) if steps[name] else None for name in ("first", "last"))
        self._first, self._last = first, last if steps["dash"] else first


def _kinds_named(field: str) -> frozenset[int]:
    if field not in FIELDS:
        raise UsageError(f"there is no field {field!r}", hint=f"Fields are {', '.join(FIELDS)}.")
    return kinds_of(field)


def _pattern(text: str) -> Pattern:
    """A pattern; upper and lower case are told apart only if it has upper case."""
    has_capitals = any(character.isupper() for character in _CAPITALS_OF_CLASSES.sub("", text))
    written = text if has_capitals or text.startswith("(?i)") else f"(?i){text}"
    try:
        return compile_pattern(same_letters(written))
    except BadPattern as error:
        _refuse(text, 0, str(error))


def _folded(needs: Needed) -> Needed:
    if isinstance(needs, list):
        sign, *parts = needs
        return [sign, *(_folded(part) for part in parts)]
    return None if needs is None else fold(needs)


def _refuse(text: str, position: int, why: str, hint: str = "") -> NoReturn:
    raise InvalidExpression(
        f"{text[:80]!r} cannot be searched for: {why}", text=text, why=why, position=position, hint=hint
    )
