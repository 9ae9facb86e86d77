"""What a text must hold to name a secret; names of fields that hold personal data, and what of it may stay.

The fields are those of the profile `strict`, and a project's own. One is said as words, and a name means it when its
last words are these: `birth date` is `birthDate`, `customer_birth_date`, `BIRTH_DATE`. What stands before these in a
name says nothing more.
"""

from __future__ import annotations

import fnmatch
import itertools
import re
from importlib import import_module
from importlib.util import find_spec
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["FIELDS", "SECRET_HINTS", "STRICT_FIELDS", "words_of"]

SECRET_HINTS: Final = (
    *("pass", "pwd", "secret", "token", "key", "cookie", "authorization", "credential", "otp", "pin", "cvv", "cvc"),
    *("jwt", "_pat", "-pat"),
)
"""Each name of a secret holds one of these, in any case."""

_MANY_WORDS: Final = 32
"""From so many on one pass for all of them is quicker than one for each."""
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

STRICT_FIELDS: Final = (
    *("full name", "first name", "last name", "middle name", "given name", "family name", "maiden name", "surname"),
    *("firstname", "lastname", "fullname", "forename", "display name", "customer name", "contact name", "legal name"),
    *("patient name", "recipient name", "sender name", "billing name", "shipping name", "account holder"),
    *("cardholder", "card holder", "holder name", "cardholder name", "emergency contact", "next of kin"),
    *("birth date", "date of birth", "birthdate", "dob", "birthday", "birth day", "birth place", "place of birth"),
    *("birthplace", "nationality", "gender", "religion", "ethnicity", "marital status", "blood type"),
    *("address", "street", "street name", "house number", "address line", "zip", "zip code", "zipcode"),
    *("postcode", "postal code", "home town", "hometown", "latitude", "longitude"),
    *("email", "e mail", "mail address", "phone", "phone number", "telephone", "mobile", "mobile number", "fax"),
    *("ssn", "social security number", "national id", "tax id", "tax number", "passport", "passport number"),
    *("driver license", "drivers license", "license plate", "licence plate", "insurance number"),
    *("iban", "bic", "account number", "card number", "credit card", "routing number", "sort code"),
    *("ip", "ip address", "mac address"),
)
"""Fields that the profile `strict` adds."""


class _Fields:
    """The fields that hold in this process."""

    def __init__(self) -> None:
        self._fields: frozenset[tuple[str, ...]] = frozenset()
        self._longest = 0
        self._allowed: re.Pattern[str] | None = None
        self._before: dict[str, list[set[str]]] = {}
        self._held: Callable[[str], set[str]] = _search_for(set())

    def use(self, fields: Iterable[str], allow: Iterable[str]) -> None:
        """Take these from now on, and no others.

        Args:
            fields: as words.
            allow: values that stay, `*` for any letters.
        """
        allow = tuple(allow)
        self._allowed = re.compile("|".join(map(fnmatch.translate, allow))) if allow else None
        self._fields = frozenset(words for words in map(words_of, fields) if words)
        self._longest = max(map(len, self._fields), default=0)
        self._before = {hint: [] for hint in {words[-1] for words in self._fields}}
        for words in self._fields:
            self._before[words[-1]].append({word for word in words[:-1] if len(word) > 1})  # `e` is in every text
        before = itertools.chain.from_iterable(self._before.values())
        self._held = _search_for({*SECRET_HINTS, *self._before}.union(*before))

    def __bool__(self) -> bool:
        return bool(self._fields)

    def hints_in(self, lower: str) -> tuple[list[str], list[str]]:
        """Which of `SECRET_HINTS` a text holds, and the last words of which fields whose other words it holds too.

        Args:
            lower: the text in small letters.
        """
        if not self._fields:
            return [hint for hint in SECRET_HINTS if hint in lower], []
        held = self._held(lower)
        last = [hint for hint in held.intersection(self._before) if any(map(held.issuperset, self._before[hint]))]
        return [hint for hint in SECRET_HINTS if hint in held], sorted(last)

    def mean(self, words: tuple[str, ...]) -> bool:
        """Whether a name that consists of these words is one of them."""
        return any(words[-count:] in self._fields for count in range(1, min(self._longest, len(words)) + 1))

    def allow(self, value: str) -> bool:
        """Whether a value stays, though a field, a pattern or a profile says that it goes."""
        return self._allowed is not None and self._allowed.match(value) is not None


def _search_for(words: set[str]) -> Callable[[str], set[str]]:
    """What tells which of these words a text holds: of many in one pass, where the library for that is there."""
    if len(words) < _MANY_WORDS or find_spec("ahocorasick") is None:
        return lambda text: {word for word in words if word in text}
    search: Any = import_module("ahocorasick").Automaton()
    for word in words:
        search.add_word(word, word)
    search.make_automaton()
    return lambda text: set(map(itemgetter(1), search.iter(text)))


FIELDS: Final = _Fields()


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name in small letters, without numbers at its end."""
    words = [word.lower() for word in _WORD.findall(name)]
    while words and words[-1].isdigit():
        words.pop()
    return tuple(words)
