"""Names of fields that hold personal data (those of the profile `strict`, and a project's own), and what may stay.

A field is said as words, and a name means it when its last words are these: `birth date` is `birthDate`,
`customer_birth_date`, `BIRTH_DATE`. No name of a field says more than its last words do.
"""

from __future__ import annotations

import fnmatch
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["FIELDS", "STRICT_FIELDS", "words_of"]

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
    """The fields that hold in this process.

    Attributes:
        hints: a word of each, in small letters, that a text must hold to name it.
    """

    def __init__(self) -> None:
        self._fields: frozenset[tuple[str, ...]] = frozenset()
        self._longest = 0
        self._allowed: re.Pattern[str] | None = None
        self.hints: tuple[str, ...] = ()

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
        self.hints = tuple(sorted({words[-1] for words in self._fields}))

    def __bool__(self) -> bool:
        return bool(self._fields)

    def mean(self, words: tuple[str, ...]) -> bool:
        """Whether a name that consists of these words is one of them."""
        return any(words[-count:] in self._fields for count in range(1, min(self._longest, len(words)) + 1))

    def allow(self, value: str) -> bool:
        """Whether a value stays, though a field, a pattern or a profile says that it goes."""
        return self._allowed is not None and self._allowed.match(value) is not None


FIELDS: Final = _Fields()


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name in small letters, without numbers at its end."""
    words = [word.lower() for word in _WORD.findall(name)]
    while words and words[-1].isdigit():
        words.pop()
    return tuple(words)
