"""Personal data in texts: what the profiles `personal` and `strict` find by its form.

| word of the mark | what it is | how it is told |
|---|---|---|
| `mail` | e-mail address | RFC 5321 §4.1.2 without quoted names |
| `phone` | telephone number with its country, or as in North America | `phonenumbers`: what each country gives out |
| `card` | payment card | ranges of the issuers and their lengths, ISO/IEC 7812-1 checksum |
| `iban` | account | ISO 13616: length and form of the country, checksum |
| `id` | number that a state gives a person | `stdnum`: form, date and checksum; the ranges of US SSNs |
| `ip` | address of a machine, `strict` alone | RFC 4291, RFC 791; loopback and masks stay |

A text is searched for few things that all of them hold (`number_places`); what stands there is put to the check of its
kind. A number whose check proves little counts only where a word near it says what it is. A text takes time in
proportion to its length.
"""

from __future__ import annotations

import ipaddress
import re
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from agent_tt._pattern import lazy_re
from agent_tt.redaction import phones
from agent_tt.redaction.anchors import as_searched
from agent_tt.redaction.multiple_search import patterns_in
from agent_tt.redaction.number_places import (
    AT,
    COLONS,
    DIGITS,
    DOTTED,
    IN_WORD,
    LETTERED,
    MACHINES,
    NUMBERS,
    PARTS,
    parts_of,
)
from agent_tt.redaction.spans import Span, quote_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from collections.abc import Set as AbstractSet

    from agent_tt.redaction.multiple_search import Find

    Parts: TypeAlias = Iterable[tuple[int, int]]

__all__ = ["LEAST_NUMBER", "is_personal_number", "open_from", "personal_in"]

_B: Final = r"(?:(?<![A-Za-z0-9_.])|(?<=\\[nrt]))"
"""Where a number may begin: also after the end of a line, as JSON writes it."""
_E: Final = r"(?![A-Za-z0-9_])(?!\.\d)"

# ---------------------------------------------------------------- e-mail

_DOMAIN: Final = lazy_re(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})\.){1,6}(?:[A-Za-z]{2,24}|xn--[A-Za-z0-9-]{2,59})(?![A-Za-z0-9-])"
)
_LOCAL: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+'-"
_PLUS: Final = ("%2B", "%2b")
_LONGEST_LOCAL: Final = 64
_NO_MAIL: Final = lazy_re(r"git@[\w.-]{1,64}:|[^@]{1,64}@\dx\.(?:png|jpe?g|gif|webp|svg)")
"""What only looks like one: the address of a repository, a picture for a screen (`icon@2x.png`)."""
_ESCAPED: Final = {"\\": 1, "%": 2}
"""What an escape that ends right before an address takes of it: `\\nann@…`, `%20ann%40…`."""
_LONGEST_MAIL: Final = 330
_OF_MAIL: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._%+'@:-"

# ---------------------------------------------------------------- numbers

_AS_ZEROS: Final = bytes.maketrans(b"123456789", b"000000000")
"""One sign is looked for much faster than one of ten."""
_OF_DATE: Final = rb"000-00-00(?!%b{0,2}+0)" % PARTS
_RUN: Final = lazy_re(rb"0(?<![0%b]0)(?:(?<=[+A-Zb]0)|(?!%b))(?:%b{0,2}+0){7,}+" % (IN_WORD, _OF_DATE, PARTS))
"""Digits, with what may part them: where telephone numbers, cards and most other numbers stand. None begins right after
a letter, and a date alone (2026-11-24, with no plus before it) has too few digits for any."""
_DATE: Final = lazy_re(r"(?:19|20)\d\d-\d\d-\d\d(?: \d\d)?")
"""What most of these are."""
_WORD_SIGNS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.")
_LINE_ENDS: Final = ("\\n", "\\r", "\\t")
_BEFORE_DIGITS: Final = 3
_BESIDE_DIGITS: Final = "- ./()"
_BEFORE_PHONE: Final = ("+", "B", "b")
"""What a telephone number begins with, or the escape of that ends with."""
_CARD: Final = lazy_re(rf"{_B}(?:\d{{4}}([ -]?)\d{{4}}\1\d{{4}}\1\d{{1,7}}|\d{{4}}([ -]?)\d{{6}}\2\d{{4,5}}){_E}")
_CARDS: Final = (
    ((14,), r"3(?:0[0-5]|[689])"),
    ((15,), r"3[47]"),
    ((16,), r"5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)|6(?:011|4[4-9]|5)|35(?:2[89]|[3-8])|62|81|50|5[6-9]|220"),
    ((16, 19), r"4"),
)
"""Lengths and first digits of what issuers give out."""
_STAND_IN: Final = lazy_re(r"10{8,18}")
"""What stands for such a number where a number has to stand: handed on, it counts as one."""
_SHORTEST_CARD, _SHORTEST_NUMBER, _DIGITS_OF_AMERICA = 14, 9, 10
"""Digits."""
LEAST_NUMBER: Final = 10**10
"""No smaller number is taken for one."""
_WORLD: Final = lazy_re(r"(?:(?<![A-Za-z0-9_.+])|(?<=\\[nrt]))(?:\+|%2[Bb]|00)[1-9](?:[ ().\-/]{0,2}\d){6,14}(?!\d)")
_AMERICA: Final = lazy_re(rf"{_B}(?:1[ .-])?(?:\([2-9]\d\d\) ?|[2-9]\d\d[ .-])[2-9]\d\d[ .-]\d{{4}}{_E}")
_SHORTEST_PHONE: Final = 8
_PLUS_BEFORE: Final = {"+": 1, "%": 3}
"""By what a telephone number begins with: how much of it stands for the plus; else `00`."""
_NO_PARTS: Final = str.maketrans("", "", "-+ ./()%Bb")


@cache
def _finds(*patterns: bytes) -> Find:
    return patterns_in(patterns)


class _Numbers:
    """Numbers that states give: their forms, what checks them, and words near them where that proves too little."""

    def __init__(self, *forms: tuple[str, str, str]) -> None:
        self._words = [f"(?i){near}".encode() for _, _, near in forms if near]
        ways = "|".join(f"(?P<n{index}>{form})" for index, (form, _, _) in enumerate(forms))
        self._any = lazy_re(f"{_B}(?:{ways}){_E}")
        self._checks = {
            f"n{index}": (modules.split(), lazy_re(rf"(?<![a-z])(?:{near})", re.IGNORECASE) if near else None)
            for index, (_, modules, near) in enumerate(forms)
        }

    def may_be_named_in(self, text: str) -> bool:
        """Whether a text may hold a word that says what a number near it is."""
        return not text.isascii() or bool(_finds(*self._words)(text.encode()))

    def within(self, text: str, start: int, end: int) -> Iterator[Span]:
        """Yield where they stand in a part of a text."""

        def is_one(match: re.Match[str]) -> bool:
            modules, near = self._checks[match.lastgroup or ""]
            if near is not None and near.search(text, max(0, match.start() - _NEAR), match.start()) is None:
                return False
            return _STAND_IN.fullmatch(match[0]) is not None or any(
                _module(name).is_valid(match[0]) for name in modules
            )

        for match in _each(self._any, text, start, end, is_one):
            yield Span(*match.span(), quote_of(text, *match.span()), kind="id")


_OF_DIGITS: Final = _Numbers(  # no two of them fit the same digits
    (r"\d{3}-\d{2}-\d{4}", "us.ssn", ""),
    (r"\d{11}", "pl.pesel de.idnr be.nn no.fodselsnummer", ""),
    (r"\d\d \d{3} \d{3} \d{3}", "de.idnr", ""),
    (r"\d\d\.\d\d\.\d\d-\d{3}\.\d\d", "be.nn", ""),
    (r"[12] ?\d\d ?\d\d ?\d\d ?\d{3} ?\d{3} ?\d\d", "fr.nir", ""),
    (r"\d{6}/\d{3,4}", "cz.rc", ""),
    (r"756\.\d{4}\.\d{4}\.\d\d|756\d{10}", "ch.ssn", ""),
    (r"\d{6}[-+]\d{4}", "se.personnummer dk.cpr", r"person|pnr|cpr"),
    (r"\d{9}", "nl.bsn", r"bsn|burgerservice|sofi"),
    (r"\d{10}", "gb.nhs se.personnummer dk.cpr", r"nhs|person|pnr|cpr"),
    (r"\d{3} \d{3} \d{4}", "gb.nhs", r"nhs"),
)
_SIZES_ALONE: Final = frozenset({9, 10, 11, 13, 15})
"""How many digits these have where nothing parts them."""
_WITH_LETTERS: Final = _Numbers(
    (r"\d{8}-?[A-Z]", "es.dni", ""),
    (r"[XYZ]-?\d{7}-?[A-Z]", "es.nie", ""),
    (r"[A-Z]{6}\d\d[A-EHLMPRST]\d\d[A-Z]\d{3}[A-Z]", "it.codicefiscale", ""),
    (r"\d{6}[-+A]\d{3}[0-9A-Y]", "fi.hetu", ""),
)
_CAPITALS: Final = lazy_re(r"[A-Z0-9][A-Z0-9 +-]{7,}[A-Z0-9]")
"""Digits and large letters: where numbers with letters stand, and accounts."""
_NEAR: Final = 40
"""Characters before a number in which the word stands that says what it is."""
_SHORTEST_UNNAMED: Final = 11
"""Digits that follow on each other; fewer are a number only where such a word is."""
_IBAN: Final = lazy_re(rf"{_B}[A-Z]{{2}}\d\d(?:[ -]?[A-Z0-9]){{11,30}}")

# ---------------------------------------------------------------- addresses of machines

_IP4: Final = lazy_re(rf"{_B}(?:\d{{1,3}}\.){{3}}\d{{1,3}}{_E}")
_IP6: Final = lazy_re(r"(?<![A-Za-z0-9_:.])(?=[0-9A-Fa-f:]{0,38}[0-9A-Fa-f]{3})[0-9A-Fa-f:]{5,39}(?![A-Za-z0-9_:])")
_LEAST_COLONS: Final = 3

# ---------------------------------------------------------------- what is found

_DIGITS_BEGUN: Final = lazy_re(r"(?:[+%(\d]|[A-Z])[\dA-Z ().\-/+%]*\Z")
_OF_DIGITS_BEGUN: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ ().-/+%"
_NEVER_FIRST: Final = " ).-/"
_LONGEST_DIGITS: Final = 64


def personal_in(text: str, held: AbstractSet[str]) -> list[Span]:
    """Where personal data of the profile that holds stands in a text.

    Args:
        text: any text, also JSON or a piece of some.
        held: the words of `ANCHORS` that it holds.
    """
    found: list[Span] = []
    for sign in AT:
        if sign in held:
            found += _mails(text, sign)
    has_addresses = MACHINES in held
    if has_addresses or NUMBERS in held:
        is_named = _OF_DIGITS.may_be_named_in(text)
        parts = parts_of(text, has_addresses=has_addresses, is_named=is_named)
        if DIGITS in parts:
            found += _numbers(text, parts[DIGITS], is_named=is_named)
        if LETTERED in parts:
            found += _with_letters(text, parts[LETTERED])
        if DOTTED in parts:
            found += _machines(text, _IP4, parts[DOTTED])
    if COLONS in held:
        found += _machines(text, _IP6, [(0, len(text))])
    return found


def _numbers(text: str, parts: Parts, *, is_named: bool) -> Iterator[Span]:
    for first, last in parts:
        alone = text[first:last].strip(_BESIDE_DIGITS)
        if not is_named and _is_short(alone) and text[first - 1 : first] not in _BEFORE_PHONE:  # a time or an id
            continue
        for start, end, count in _runs(text, first, last):
            run = text[start:end]
            is_alone = run.isdigit()
            if _is_in_word(text, start) if is_alone else run[4] == "-" and _is_date(text, start, end):
                continue
            may_be_id = is_named or not is_alone or len(run) >= _SHORTEST_UNNAMED
            yield from _in_digits(text, start, end, count, may_be_id=may_be_id)


def _is_short(run: str) -> bool:
    """Whether digits follow on each other that are a number only where a word near them says so."""
    return len(run) < _SHORTEST_UNNAMED and run.isdigit() and run[:2] != "00"


def _runs(text: str, first: int, last: int) -> Iterator[tuple[int, int, int]]:
    """Yield where digits begin and end, in a part of a text, that may be a number, and how many they are."""
    before = max(0, first - 1)  # what stands before digits tells whether a number begins with them
    for match in _RUN.finditer(as_searched(text[before:last]).translate(_AS_ZEROS)):
        yield before + match.start() - 1, before + match.end() - 1, match[0].count(b"0")


def _with_letters(text: str, parts: Parts) -> Iterator[Span]:
    for start, end in parts:
        for capitals in _CAPITALS.finditer(text, start, end):
            if not capitals[0].isdigit():
                yield from _WITH_LETTERS.within(text, *capitals.span())
                yield from _ibans(text, *capitals.span())


def open_from(text: str) -> int:
    """Find where personal data could begin that the text's next piece would complete; its length where none could.

    Args:
        text: the text so far.
    """
    tail = text[-_LONGEST_MAIL:]
    mail = len(text) - len(tail) + len(tail.rstrip(_OF_MAIL))
    tail = text[-_LONGEST_DIGITS:]
    if not tail.isascii():
        digits = _DIGITS_BEGUN.search(text, max(0, len(text) - _LONGEST_DIGITS))
        return mail if digits is None else min(mail, digits.start())
    begun = tail[len(tail.rstrip(_OF_DIGITS_BEGUN)) :].lstrip(_NEVER_FIRST)  # as the pattern, in a tenth of its time
    return min(mail, len(text) - len(begun))


@lru_cache(4096)
def is_personal_number(number: int) -> bool:
    """Whether a number is that of a payment card, or one that a state gives."""
    return number >= LEAST_NUMBER and next(_in_digits(text := str(number), 0, len(text), len(text)), None) is not None


def _is_in_word(text: str, start: int) -> bool:
    """Whether digits that begin there go on with a word, so that no number begins with them: `ord_123456789`."""
    if not start or text[start - 1] not in _WORD_SIGNS:
        return False
    before = text[max(0, start - 3) : start]
    return before[-2:] not in _LINE_ENDS and before.lower() != "%2b"


def _is_date(text: str, start: int, end: int) -> bool:
    """Whether digits are a date, and no telephone number that a plus begins."""
    return _DATE.fullmatch(text, start, end) is not None and text[start - 1 : start] not in _BEFORE_PHONE


def _is_card(digits: str) -> bool:
    if len(digits) >= _SHORTEST_CARD and _STAND_IN.fullmatch(digits):
        return True
    fits = any(len(digits) in sizes and re.match(first, digits) for sizes, first in _CARDS)
    return fits and bool(_module("luhn").is_valid(digits))


def _mails(text: str, sign: str) -> Iterator[Span]:
    at = text.find(sign)
    while at >= 0:
        domain = _DOMAIN.match(text, at + len(sign))
        if domain is not None:
            start = _start_of_mail(text, at)
            if start < at and _NO_MAIL.match(text, start) is None:
                yield Span(start, domain.end(), kind="mail")
        at = text.find(sign, at + 1)


def _start_of_mail(text: str, end: int) -> int:
    """Where the name of an address begins that ends there; there, where there is none."""
    low = max(0, end - _LONGEST_LOCAL)
    start = low + len(text[low:end].rstrip(_LOCAL))
    while text[start - 3 : start] in _PLUS and start - 3 >= low:
        start = low + len(text[low : start - 3].rstrip(_LOCAL))
    start += len(text[start:end]) - len(text[start:end].lstrip("."))
    return min(end, start + (_ESCAPED.get(text[start - 1], 0) if start else 0))


def _in_digits(text: str, start: int, end: int, count: int, *, may_be_id: bool = True) -> Iterator[Span]:
    """Yield the numbers in a part of a text that is `count` digits, and what parts them."""
    run = text[start:end]
    is_alone = run.isdigit()
    has_zeros = run[:2] == "00" if is_alone else "00" in run
    if has_zeros or "+" in run or text[start - 1 : start] in _BEFORE_PHONE:
        at = max(0, start - _BEFORE_DIGITS)
        while (world := _WORLD.search(text, at, end)) is not None:
            last = _end_of_phone(world[0])
            at = world.start() + (last or 1)  # another number may follow at once
            if last:
                yield Span(world.start(), at, kind="phone")
            if last and world.start() < start and at == end:  # whatever else it is, nothing is left of it
                return
    if count >= _SHORTEST_CARD:
        for card in _each(_CARD, text, start, end, lambda match: _is_card(re.sub(r"\D", "", match[0]))):
            yield Span(*card.span(), quote_of(text, *card.span()), kind="card")
    if count >= _SHORTEST_NUMBER and may_be_id and (not is_alone or count in _SIZES_ALONE):
        yield from _OF_DIGITS.within(text, start, end)
    if count >= _DIGITS_OF_AMERICA and not is_alone:
        for america in _each(_AMERICA, text, max(0, start - 1), end, lambda match: _is_american(match[0])):
            yield Span(*america.span(), kind="phone")


def _each(
    pattern: re.Pattern[str], text: str, start: int, end: int, is_one: Callable[[re.Match[str]], bool]
) -> Iterator[re.Match[str]]:
    """Yield the matches that are one; after one that is none the search goes on within it."""
    end = min(len(text), end + 2)  # what stands behind it tells whether it ends there
    match = pattern.search(text, start, end)
    while match is not None:
        if is_one(match):
            yield match
            start = match.end()
        else:
            start = match.start() + 1
        match = pattern.search(text, start, end)


def _ibans(text: str, at: int, end_of_run: int) -> Iterator[Span]:
    while (match := _IBAN.search(text, at, end_of_run)) is not None:
        at = match.start() + 1
        places = [place for place, letter in enumerate(match[0]) if letter.isalnum()]
        for count in range(len(places), 14, -1):  # words in capitals may follow
            end = match.start() + places[count - 1] + 1
            if _module("iban").is_valid(text[match.start() : end], check_country=False):
                yield Span(match.start(), end, kind="iban")
                at = end
                break


def _end_of_phone(text: str) -> int:
    """How much of a text is a telephone number with its country; 0 where none of it is.

    The longest that a country gives out, else the longest that it could: other digits may follow.
    """
    if "." in text and text.count(".") < 2:  # +1.23456789 is a number
        return 0
    plus = _PLUS_BEFORE.get(text[0], 2)
    counted, number = _digits_of(text), _digits_of(text[plus:])
    if len(counted) < _SHORTEST_PHONE:
        return 0
    if phones.is_valid(number):  # mostly
        return len(text)
    places = [place + 1 for place, letter in enumerate(text) if letter.isdigit()]
    sizes = [
        (size, number[: len(number) - len(counted) + count])
        for count, size in enumerate(places, 1)
        if count >= _SHORTEST_PHONE and not text[size : size + 1].isdigit()
    ][::-1]
    valid = next((size for size, digits in sizes if phones.is_valid(digits)), 0)
    if valid or text.startswith("00"):
        return valid
    return next((size for size, digits in sizes if phones.is_possible(digits)), 0)


def _digits_of(text: str) -> str:
    """Give the digits of a number, without the spaces, dashes, dots and brackets between them."""
    return text.translate(_NO_PARTS)


def _is_american(text: str) -> bool:
    """Whether a number is given out in North America, with its code or without."""
    return phones.is_valid(f"1{_digits_of(text)[-_DIGITS_OF_AMERICA:]}")


def _machines(text: str, form: re.Pattern[str], parts: Parts) -> Iterator[Span]:
    for start, end in parts:
        for match in form.finditer(text, start, end + 2):  # what stands behind it tells whether it ends there
            if _is_machine(match[0]):
                yield Span(*match.span(), kind="ip")


def _is_machine(text: str) -> bool:
    if 0 < text.count(":") < _LEAST_COLONS:
        return False
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified or text.startswith("255."))


@cache
def _library(name: str) -> Any:
    return import_module(name)


def _module(name: str) -> Any:
    return _library(f"stdnum.{name}")
