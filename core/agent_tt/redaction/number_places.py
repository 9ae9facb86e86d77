"""Where in a text numbers, accounts and addresses of machines could stand: what each of them holds.

It is told in two passes. The first, over every text, tells whether anything could stand there at all, as all kinds of
numbers in one pattern: that takes half the time of one pattern a kind. The second, over the texts that could hold
something, tells of which kind and where; it ends early where that is nearly everywhere. Only what stands around is then
gone through by the rules of `personal`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

from agent_tt._pattern import lazy_re
from agent_tt.redaction.anchors import ANCHORS, Place, as_searched
from agent_tt.redaction.multiple_search import places_in

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from agent_tt.redaction.multiple_search import FindPlaces

    Parts: TypeAlias = list[tuple[int, int]]

__all__ = [
    "AT",
    "COLONS",
    "DIGITS",
    "DOTTED",
    "IN_WORD",
    "LETTERED",
    "MACHINES",
    "NUMBERS",
    "PARTS",
    "look_for",
    "parts_of",
]

AT: Final = ("@", "%40")
"""One of these is in every e-mail address."""
PARTS: Final = rb"[-+ ./()]"
"""What may part digits."""
IN_WORD: Final = rb"ac-mo-qsu-z_"
r"""With what a word goes on: not with what ends an escape, as in `\n` and `%2b`."""

NUMBERS, MACHINES, COLONS = "a number", "a number or address", "three colons"
"""By what a text is said to hold: what could stand there. One of these, or the sign of mails, is in every text in which
something is found."""
DIGITS, LETTERED, DOTTED = "many digits", "letters and digits", "three dots"
"""What kind of number could stand somewhere."""

_BEFORE: Final = b"[^0-9%b]" % IN_WORD
_NINE: Final = b"[0-9](?:%b{0,2}[0-9]){8}" % PARTS
_EIGHT: Final = b"[+Bb][0-9](?:%b{0,2}[0-9]){7}" % PARTS
"""Of eight digits only a telephone number consists, which begins with a plus."""
_BEFORE_LETTER: Final = b"[0-9]{6,8}(?:-?[A-Z]|[-+][0-9]{3})"
_LETTERS_FIRST: Final = b"[A-Z]{2}[0-9]{2}"
_DOTS: Final = rb"[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]"

_WITH_PLUS: Final = b"[+Bb][0-9](?:%b{0,2}[0-9]){7,}[^0-9]" % PARTS
_TO_THEIR_END: Final = b"%b[0-9](?:%b{0,2}[0-9]){8,}[^0-9]|%b" % (_BEFORE, PARTS, _WITH_PLUS)
"""As `_NINE` and `_EIGHT`, so that not each further digit is a place of its own."""
_APART: Final = b"|".join(
    b"[0-9]{%d}%b{1,2}[0-9]%b" % (first, PARTS, b"(?:%b{0,2}[0-9]){%d}" % (PARTS, 8 - first) if first < 8 else b"")
    for first in range(1, 9)
)
_UNNAMED: Final = b"%b(?:[0-9](?:%b{0,2}[0-9]){10}|00[0-9]{7}|%b)(?:%b{0,2}[0-9])*[^0-9]|%b" % (
    *(_BEFORE, PARTS, _APART, PARTS),
    _WITH_PLUS,
)
"""The same without nine or ten digits that follow on each other, which are ids and times where no word says what they
are."""
_OF_KIND: Final = {
    DIGITS: _TO_THEIR_END,
    LETTERED: b"%b%b|%b" % (_BEFORE, _BEFORE_LETTER, _LETTERS_FIRST),
    DOTTED: b"%b%b" % (_BEFORE, _DOTS),
}
_OF_PERSONAL: Final = {
    NUMBERS: b"%b(?:%b|%b)|%b|%b" % (_BEFORE, _NINE, _BEFORE_LETTER, _LETTERS_FIRST, _EIGHT),
}
_OF_STRICT: Final = {
    MACHINES: b"%b(?:%b|%b|%b)|%b|%b" % (_BEFORE, _NINE, _BEFORE_LETTER, _DOTS, _LETTERS_FIRST, _EIGHT),
}
_OF_ADDRESSES: Final = {COLONS: b":[0-9A-Fa-f]{0,4}:[0-9A-Fa-f]{0,4}:"}
"""An address of fewer colons is taken for something else; that is looked for by itself, because with others it would
take more than both."""

_SIGNS: Final = {
    DIGITS: "0123456789-+ ./()",
    LETTERED: "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 +-",
    DOTTED: "0123456789.",
}
"""Of what a stretch consists beyond which no number of a kind goes on."""
_STRETCHES: Final[dict[str, re.Pattern[str]]] = {
    DIGITS: lazy_re(r"[0-9\-+ ./()]*"),
    LETTERED: lazy_re(r"[A-Z0-9 +\-]*"),
    DOTTED: lazy_re(r"[0-9.]*"),
}
_AFTER: Final = (2, 1, 1)
"""How far behind the last sign of each kind its place is: what is searched begins with a space, and what ends digits is
a part of what is found."""
_FEW: Final = 64
"""A text with fewer places is never gone through as a whole, and a long one not where each has as many characters."""


def look_for(profile: str) -> None:
    """Have texts searched for what must be there for anything of a profile to be found.

    Args:
        profile: its name; "" of none.
    """
    forms = {} if not profile else _OF_STRICT if profile == "strict" else _OF_PERSONAL
    ANCHORS.use("personal", {Place.AS_WRITTEN: frozenset(AT)} if profile else {}, forms, beside="shapes")
    ANCHORS.use("addresses", {}, _OF_ADDRESSES if profile == "strict" else {})


def parts_of(text: str, *, has_addresses: bool, is_named: bool) -> dict[str, Parts]:
    """Find the parts of a text in which numbers could stand, by their kinds, in order and apart from each other.

    Args:
        text: any text.
        has_addresses: whether addresses of machines are looked for.
        is_named: whether a word may say of nine or ten digits what they are.
    """
    kinds = (DIGITS, LETTERED, DOTTED) if has_addresses else (DIGITS, LETTERED)
    places = _finds(kinds, is_named)(as_searched(text), _FEW + len(text) // _FEW)
    if places is None:
        return {kind: [(0, len(text))] for kind in kinds}
    ends: dict[str, list[int]] = {}
    for index, end in places:
        ends.setdefault(kinds[index], []).append(end - _AFTER[index])
    return {kind: [*_stretches(text, kind, sorted(of_kind))] for kind, of_kind in ends.items()}


@cache
def _finds(kinds: tuple[str, ...], is_named: bool) -> FindPlaces:  # noqa: FBT001
    return places_in([_OF_KIND[kind] if is_named or kind != DIGITS else _UNNAMED for kind in kinds])


def _stretches(text: str, kind: str, ends: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the stretches around the ends of what was found."""
    signs, stretch, at = _SIGNS[kind], _STRETCHES[kind], 0
    for end in ends:
        if end > at:
            start = at + len(text[at:end].rstrip(signs))
            match = stretch.match(text, end)
            at = end if match is None else match.end()
            yield start, at
