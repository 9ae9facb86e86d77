"""Secrets that the agent was given: recognised when it passes them on, under whatever name.

They come from answers, and from variables of the environment whose names say what they hold. A replay gives the agent
a mark in place of such a secret (or another secret, from another environment), and whatever it asks with it then holds
a mark. So a question that is recorded has the same mark wherever the secret itself stands in it, also as addresses and
forms write it.
"""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, quote_plus, unquote

from agent_tt.redaction.judging import is_secret_text
from agent_tt.redaction.marks import JWT_START, is_mark, numbered, unsigned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SHORTEST_GIVEN: Final = 4
"""Letters of the shortest secret that is recognised."""
_SHORTEST_OF_ENVIRONMENT: Final = 6
"""Another environment may not have it, so it must not be part of another word."""
_LONGEST: Final = 16_384
_MOST: Final = 256
_MOST_NUMBERS: Final = 10_000
_ANY: Final = "surrogatepass"
"""How halves of a letter outside of Unicode's first plane are written, which no encoding has."""
_DIGITS: Final = 8
"""Digits that no other number of a run is likely to have."""
_LETTERS: Final = 16
"""Letters that no word is likely to have."""


class Given:
    """The latest of these secrets, of this process.

    Attributes:
        version: another number whenever there is one more.
        secrets: the secrets, each in every way in which it is written, the longest first.
        by_first_letter: the same by their first letters.
        told: is called whenever the version is another.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forms: dict[str, frozenset[str]] = {}
        self._numbers: dict[str, int] = {}
        self._count = 0
        self.version = 0
        self.secrets: tuple[str, ...] = ()
        self.by_first_letter: dict[str, tuple[str, ...]] = {}
        self.told: list[Callable[[], None]] = []

    def add(self, secret: str) -> None:
        """Remember one that is told from a word or number, and long enough."""
        if _is_common(secret) or not SHORTEST_GIVEN <= len(secret) <= _LONGEST or is_mark(secret):
            return
        with self._lock:
            if secret in self._forms:
                return
            self._forms[secret] = _forms_of(secret)
            while len(self._forms) > _MOST:
                del self._forms[next(iter(self._forms))]
            self._changed()

    def hide(self, secret: str, *, size: int | None = None) -> str:
        """Remember a secret that is in an answer.

        Args:
            secret: as it is written there.
            size: how long what stands for it is to be, if not as the secret.

        Returns:
            What stands for it there: as long, and the same each time.
        """
        size = len(secret) if size is None else size
        if is_mark(secret) and size == len(secret):
            return secret
        plain = _said(secret)
        with self._lock:
            number = self._numbers.get(plain)
            if number is None:
                self._count += 1
                number = self._count
            for form in (plain, *_forms_of(plain)):
                self._numbers.setdefault(form, number)
            while len(self._numbers) > _MOST_NUMBERS:
                del self._numbers[next(iter(self._numbers))]
        self.add(plain)
        token = unsigned(secret) if secret.startswith(JWT_START) and size == len(secret) else None
        return token or numbered(number, size)

    def begin(self, environment: Mapping[str, str]) -> None:
        """Begin a run: what others were given says nothing of its questions; what its environment gives does.

        Args:
            environment: the variables of the process.
        """
        self.forget()
        self.learn(environment)

    def learn(self, environment: Mapping[str, str]) -> None:
        """Remember what the environment gives by now: a program may read its secrets from a file first."""
        for name, value in environment.items():
            if len(value) >= _SHORTEST_OF_ENVIRONMENT and is_secret_text(name, value):
                self.add(value)

    def forget(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._forms.clear()
            self._numbers.clear()
            self._count = 0
            self._changed()

    def renew(self) -> None:
        """Say that something else is secret now, so that nothing counts as clean that was looked at before."""
        with self._lock:
            self._tell()

    def _changed(self) -> None:
        forms = {form for forms in self._forms.values() for form in forms}
        self.secrets = tuple(sorted(forms, key=len, reverse=True))
        firsts: dict[str, list[str]] = {}
        for form in forms:
            firsts.setdefault(form[0], []).append(form)
        self.by_first_letter = {letter: tuple(known) for letter, known in firsts.items()}
        self._tell()

    def _tell(self) -> None:
        self.version += 1
        for each in self.told:
            each()


GIVEN: Final = Given()


def _is_common(secret: str) -> bool:
    """Whether other words or numbers of a run may be the same."""
    if any(letter.isspace() for letter in secret):
        return True
    if secret.isdigit():
        return len(secret) < _DIGITS
    is_word = secret.isalpha() and (secret.islower() or secret.isupper() or secret.istitle())
    return is_word and len(secret) < _LETTERS


def _forms_of(secret: str) -> frozenset[str]:
    """How a secret is written: as it is, in addresses, forms and JSON; one that stood in an address, also as it is."""
    quoted = (quote(secret, safe=safe, errors=_ANY) for safe in ("", "/"))
    forms = {secret, *quoted, quote_plus(secret, errors=_ANY), unquote(secret)}
    forms |= {json.dumps(secret, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False)}
    return frozenset(form for form in forms if len(form) >= SHORTEST_GIVEN)


def _said(secret: str) -> str:
    """A secret as JSON says it, without the backslashes."""
    if "\\" not in secret:
        return secret
    try:
        return str(json.loads(f'"{secret}"'))
    except ValueError:
        return secret
