"""Entities in a text: numbers, dates and names of things that say where it was taken from, however they are written.

`1,299.00`, `1299.0` and `1.299,00` are one number; `12.5%` is also 0.125; `14 May 2026`, `May 14th` and `2026-05-14`
are one day. An entity is so particular that meeting it elsewhere is not an accident: `10` is none, nor is `ok`.
"""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Entity", "common_entity", "content_words", "entities", "number_keys", "only_entity", "small_numbers"]

_MOST_ENTITIES: Final = 2_000
"""Entities of one text; the rest of a longer text is not looked at."""

_LEAST_DIGITS: Final = 3
"""Significant digits of a number that says something by itself."""

_LONGEST_ENTITY: Final = 60
"""Characters of a text that is an entity and nothing else."""

_MONEY_DIGITS: Final = 4
"""Digits from which on an amount with two decimals also stands for as many hundredths."""

_MOST_DIGITS: Final = 40
_LONGEST_TEXT: Final = 20_000
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH: Final = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
_YEAR_FIRST: Final = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})(?!\d)")
_DAY_FIRST: Final = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?{_MONTH}(?:,?\s+(\d{{4}}))?\b", re.I)
_MONTH_FIRST: Final = re.compile(rf"\b{_MONTH}\s+(\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(\d{{4}}))?\b", re.I)
_DOTTED: Final = re.compile(r"\b(\d{1,2})([./])(\d{1,2})\2(\d{4})\b")
_NUMBER: Final = re.compile(r"(?<![\w.,])(?<!\w-)(?:[-−](?=\d))?\d{1,30}(?:[.,'’\u00a0\u202f]\d{1,30}){0,10}(?![\w])")
_NAME: Final = re.compile(r"[^\W_][\w@#:/-]*(?:\.\w[\w@#:/-]*){0,8}")
_WORD: Final = re.compile(r"[^\W\d_]{4,}")
_THOUSANDS: Final = re.compile(r"\d{1,3}([.,'’\u00a0\u202f])\d{3}(?:\1\d{3})*")
_COMMON_WORDS: Final = """
about after again also been before being both call could does done each error every false find first following found
from gave given have here high into item just know last like list made make many message more most much must name need
next none null okay only other over part please result said same says seen some start state status step still success
sure take text than that their them then there these they thing this those time true type undefined under user uses
using value very want well were what when where which while will with word work would your yours
"""
_COMMON: Final = frozenset(_COMMON_WORDS.split())


@dataclass(frozen=True, slots=True)
class Entity:
    """One entity.

    Attributes:
        keys: what it is, however it was written; two entities that share one are the same.
        text: as it was written.
        year: of a date, its year; None where the text does not say it, and for other entities.
        kind: `number`, `date` or `name`.
    """

    keys: frozenset[str]
    text: str
    kind: str
    year: int | None = None


def entities(text: str) -> tuple[Entity, ...]:
    """The entities in a text, each once, in the order of their kinds: dates, numbers, names."""
    return _entities(text) if len(text) <= 20_000 else _found(text)


@lru_cache(maxsize=512)
def _entities(text: str) -> tuple[Entity, ...]:
    return _found(text)


def _found(text: str) -> tuple[Entity, ...]:
    taken: list[tuple[int, int]] = []
    found: dict[frozenset[str], Entity] = {}
    for each, start, end in (*_dates(text), *_numbers(text), *_names(text)):
        if len(found) >= _MOST_ENTITIES:
            break
        if each.kind != "date" and any(start < till and begun < end for begun, till in taken):
            continue
        if each.kind == "date":
            taken.append((start, end))
        found.setdefault(each.keys, each)
    return tuple(found.values())


def small_numbers(text: str) -> tuple[Entity, ...]:
    """List the numbers in a text that are too common to identify anything: `14`, `10`, `2026`."""
    return _small_numbers(text[:_LONGEST_TEXT])


@lru_cache(maxsize=512)
def _small_numbers(text: str) -> tuple[Entity, ...]:
    found: dict[str, Entity] = {}
    for match in _NUMBER.finditer(text):
        written = match.group()
        is_year = len(written) == 4 and written[:2] in ("19", "20")
        for exact in _readings(written.lstrip("-−")):
            if (is_year or not _keys(exact)) and len(exact.as_tuple().digits) <= _MOST_DIGITS:
                key = f"s:{abs(exact.normalize()):f}"
                found.setdefault(key, Entity(frozenset({key}), written, "number"))
        if len(found) >= _MOST_ENTITIES:
            break
    return tuple(found.values())


def only_entity(text: str) -> Entity | None:
    """The entity that a text consists of, up to a currency, a unit or a percent sign; None for any other text."""
    return _only_entity(text) if len(text) <= _LONGEST_ENTITY else None


@lru_cache(maxsize=4_096)
def _only_entity(text: str) -> Entity | None:
    found = _found(text)
    if len(found) != 1 or found[0].kind == "name":
        return None
    rest = re.sub(r"[\s$€£¥%.,()-]", "", text.replace(found[0].text, ""))
    return found[0] if len(rest) <= 3 else None


def common_entity(ours: str, theirs: str) -> Entity | None:
    """The most particular entity of one text that another has too, as the first wrote it."""
    best: Entity | None = None
    others = entities(theirs)
    if not others:
        return None
    by_key = {key: other for other in others for key in other.keys}
    for entity in entities(ours):
        other = next((by_key[key] for key in entity.keys if key in by_key), None)
        if other is None or (entity.year is not None and other.year is not None and entity.year != other.year):
            continue
        if best is None or len(entity.text) > len(best.text):
            best = entity
    return best


def number_keys(number: float) -> frozenset[str]:
    """The keys of a number; empty for one that says nothing by itself: 0, 10, 200."""
    try:
        exact = Decimal(repr(number))
    except InvalidOperation:
        return frozenset()
    return _keys(exact)


def content_words(text: str) -> frozenset[str]:
    """The words of a text that are not in every text."""
    return frozenset(word for word in map(str.lower, _WORD.findall(text[:20_000])) if word not in _COMMON)


# ---------------------------------------------------------------- numbers


def _keys(exact: Decimal) -> frozenset[str]:
    if not exact.is_finite() or len(exact.as_tuple().digits) > _MOST_DIGITS or abs(exact.adjusted()) > _MOST_DIGITS:
        return frozenset()
    digits = exact.normalize().as_tuple().digits
    if len(digits) < _LEAST_DIGITS and not (len(digits) == 2 and abs(exact) >= 1_000):
        return frozenset()
    return frozenset({f"n:{abs(exact.normalize()):f}"})


def _numbers(text: str) -> Iterator[tuple[Entity, int, int]]:
    for found in _NUMBER.finditer(text):
        written = found.group()
        keys: set[str] = set()
        for exact in _readings(written.lstrip("-−")):
            keys |= _keys(exact)
            if len(exact.as_tuple().digits) >= _MONEY_DIGITS and exact.as_tuple().exponent == -2:
                keys.add(f"n:{(exact * 100).normalize():f}")  # 136.84, kept as 13684 cents
            if text[found.end() : found.end() + 2].lstrip().startswith("%") and keys:
                keys |= {f"n:{(exact / 100).normalize():f}"}
        if keys and not (len(written) == 4 and written[:2] in ("19", "20")):  # a year is in every text
            yield Entity(frozenset(keys), written, "number"), found.start(), found.end()


def _readings(written: str) -> Iterator[Decimal]:
    """What a number may be: a comma or a dot before three digits may part thousands, or begin the decimals."""
    plain = written
    for mark in "'’\u00a0\u202f":
        plain = plain.replace(mark, "")
    commas, dots = plain.count(","), plain.count(".")
    if _THOUSANDS.fullmatch(plain):  # 1,299 and 1.299.000
        yield Decimal(re.sub(r"[.,]", "", plain))
        if commas + dots == 1 and dots:
            yield Decimal(plain)
    elif commas and dots:
        decimal = max(plain.rfind(","), plain.rfind("."))
        yield Decimal(re.sub(r"[.,]", "", plain[:decimal]) + "." + plain[decimal + 1 :])
    elif commas == 1:
        yield Decimal(plain.replace(",", "."))
    elif dots <= 1 and not commas:
        yield Decimal(plain)


# ---------------------------------------------------------------- dates and names


def _dates(text: str) -> Iterator[tuple[Entity, int, int]]:
    for found in _YEAR_FIRST.finditer(text):
        yield from _date(found, int(found[1]), int(found[2]), int(found[3]))
    for found in _DAY_FIRST.finditer(text):
        yield from _date(found, _year(found[3]), _month(found[2]), int(found[1]))
    for found in _MONTH_FIRST.finditer(text):
        yield from _date(found, _year(found[3]), _month(found[1]), int(found[2]))
    for found in _DOTTED.finditer(text):
        first, second, year = int(found[1]), int(found[3]), int(found[4])
        # 14.5.2026 is said day first; 5/6/2026 may be either, and so tells nothing unless one of them is not a month.
        if found[2] == "." or first > 12:
            yield from _date(found, year, second, first)
        elif second > 12:
            yield from _date(found, year, first, second)


def _date(found: re.Match[str], year: int | None, month: int, day: int) -> Iterator[tuple[Entity, int, int]]:
    try:
        date(2000 if year is None else year, month, day)
    except ValueError:
        return
    yield Entity(frozenset({f"d:{month}-{day}"}), found.group(), "date", year), found.start(), found.end()


def _year(text: str | None) -> int | None:
    return None if text is None else int(text)


def _month(text: str) -> int:
    return _MONTHS.index(text[:3].lower()) + 1


def _names(text: str) -> Iterator[tuple[Entity, int, int]]:
    """Words that name one thing: with letters and digits (`HA312`, `field-2023-114`), or an address of a person."""
    for found in _NAME.finditer(text):
        name = found.group().rstrip(":/-")
        digits = sum(map(str.isdigit, name))
        letters = sum(map(str.isalpha, name))
        if len(name) >= 4 and letters and (digits >= 2 or (digits and letters >= 3) or name.find("@") > 0):
            yield Entity(frozenset({f"w:{name.lower()}"}), name, "name"), found.start(), found.start() + len(name)
