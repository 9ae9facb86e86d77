"""What a text must hold to name a secret; names of fields that hold personal data, and what of it may stay.

The fields are those of the profile `strict`, and a project's own. One is said as words, and a name means it when its
last words are these: `birth date` is `birthDate`, `customer_birth_date`, `BIRTH_DATE`. What stands before these in a
name says nothing more.
"""

from __future__ import annotations

import fnmatch
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from agent_tt._pattern import lazy_re
from agent_tt.redaction.anchors import ANCHORS, Place

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

__all__ = ["FIELDS", "FIRST_HINTS", "SECRET_HINTS", "STRICT_FIELDS", "words_of"]

SECRET_HINTS: Final = (
    *("pass", "pwd", "secret", "token", "key", "cookie", "authorization", "credential", "otp", "pin", "cvv", "cvc"),
    *("jwt", "_pat", "-pat"),
)
"""Each name of a secret holds one of these, in any case."""

FIRST_HINTS: Final = frozenset({"pin", "pwd", "cvv", "cvc", "jwt"})
"""Those that a word of a secret begins with, if it holds them."""
_ALL_HINTS: Final = frozenset(SECRET_HINTS)
_OF_PARAMETERS: Final = _ALL_HINTS | {"sig", "auth", "pat"}
"""The same of parameters of a query, which have more names: `sig`, `githubPat`."""
_PLACES: Final = {Place.BEGINS: FIRST_HINTS, Place.ANYWHERE: _OF_PARAMETERS - FIRST_HINTS}
_WORD: Final = lazy_re(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

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
        self._last: frozenset[str] = frozenset()
        ANCHORS.use("fields", _PLACES)

    def use(self, fields: Iterable[str], allow: Iterable[str]) -> None:
        """Take these from now on, and no others.

        Args:
            fields: as words.
            allow: values that stay, `*` for any letters.
        """
        allow = tuple(allow)
        self._allowed = re.compile("|".join(map(fnmatch.translate, allow))) if allow else None
        self._fields = _read(tuple(fields))
        self._longest = max(map(len, self._fields), default=0)
        alone = frozenset(words[-1] for words in self._fields if len(words) == 1)
        self._last = frozenset(words[-1] for words in self._fields)
        ANCHORS.use("fields", {Place.WHOLE: alone, Place.BESIDE: self._last - alone, **_PLACES})

    def __bool__(self) -> bool:
        return bool(self._fields)

    def hints_in(self, held: AbstractSet[str]) -> tuple[list[str], list[str]]:
        """Which of `SECRET_HINTS` a text holds, and the last words of the fields that it may hold.

        Args:
            held: the words of `ANCHORS` that the text holds.
        """
        hints = [] if held.isdisjoint(_ALL_HINTS) else [hint for hint in SECRET_HINTS if hint in held]
        return hints, sorted(held & self._last)

    def may_name_parameter(self, held: AbstractSet[str]) -> bool:
        """Whether a text may hold the name of a parameter that is a secret: those of links have more names.

        Args:
            held: as of `hints_in`.
        """
        return not (held.isdisjoint(_OF_PARAMETERS) and held.isdisjoint(self._last))

    def mean(self, words: tuple[str, ...]) -> bool:
        """Whether a name that consists of these words is one of them."""
        return any(words[-count:] in self._fields for count in range(1, min(self._longest, len(words)) + 1))

    def allow(self, value: str) -> bool:
        """Whether a value stays, though a field, a pattern or a profile says that it goes."""
        return self._allowed is not None and self._allowed.match(value) is not None


FIELDS: Final = _Fields()


@lru_cache(8)
def _read(fields: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
    """The words of each field."""
    return frozenset(words for words in map(words_of, fields) if words)


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name in small letters, without numbers at its end."""
    words = [word.lower() for word in _WORD.findall(name)]
    while words and words[-1].isdigit():
        words.pop()
    return tuple(words)
