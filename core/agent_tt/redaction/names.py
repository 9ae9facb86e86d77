"""Names of fields, headers and query parameters whose values are secrets.

A name is read as words (`clientSecret`, `client-secret`, `CLIENT_SECRET`), and its last words decide, so that
`token_count`, `max_tokens`, `secret_santa` and `key_points` are what they say they are.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LONGEST_NAME: Final = 100

_SESSION: Final = re.compile(r"sess|sid(?![a-z])|auth|token|csrf|xsrf|jwt|login|remember|secret|ident", re.IGNORECASE)
_SHORTEST_COOKIE: Final = 6
_BY_CHANCE: Final = 16
"""From this length on the value of a cookie is taken for a secret, if there are digits in it."""

_SECRET_WORDS: Final = frozenset(
    {"password", "passwd", "passphrase", "passcode", "secret", "apikey", "authorization", "cookie"}
    | {
        "credential",
        "accesskey",
        "secretkey",
        "privatekey",
        "accesstoken",
        "refreshtoken",
        "idtoken",
        "authtoken",
        "clientsecret",
    }
)
_SECRET_KEYS: Final = frozenset(
    {"api", "access", "secret", "private", "signing", "encryption", "master", "subscription", "auth", "account"}
)
"""What says of a `… key` that it opens something; `public key`, `cache key` and `idempotency key` do not."""

_PLACES: Final = frozenset(
    {"page", "next", "prev", "previous", "continuation", "pagination", "cursor", "sync", "resume", "progress", "cancel"}
    | {"delta", "skip", "scroll"}
    | {"cancellation", "max", "min", "eos", "bos", "pad", "unk", "stop", "start", "end", "special", "mask", "sep"}
    | {"cls", "first", "last", "image", "audio", "video", "per", "prompt", "completion", "input", "output", "text"}
)
"""What says of a `… token` that it is a place in a list, or a piece of text."""


@lru_cache(4096)
def is_secret_field(name: str) -> bool:
    """Whether the value of a field with this name is a secret: `password`, `api_key`, `GITHUB_TOKEN`, …."""
    return _is_secret(name) or is_token(name)


@lru_cache(4096)
def is_token(name: str) -> bool:
    """Whether a field of this name holds a token: a secret, or a piece of a text that a model read or wrote."""
    return _words(name) == ("token",)


def depends_on_neighbours(name: str) -> bool:
    """Whether it takes the other fields of an object to tell what this one holds."""
    return name == "value" or is_token(name)


def _is_secret(name: str) -> bool:
    words = _words(name)
    if not words:
        return False
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last == "token":
        return bool(before) and before not in _PLACES
    if last == "pwd":
        return bool(before)  # alone it is the working directory of a shell
    if last == "key":
        return before in _SECRET_KEYS
    if last in ("string", "value", "binary"):  # how AWS Secrets Manager and its like answer
        return before == "secret"
    return last in _SECRET_WORDS


@lru_cache(4096)
def is_secret_header(name: str) -> bool:
    """Whether the value of the header `name` lets somebody in."""
    lower = name.lower()
    return _words(lower)[-1:] == ("auth",) or is_secret_field(lower)


def is_secret_parameter(name: str) -> bool:
    """Whether a parameter of a query or form is a secret: also `key`, and the signatures of links."""
    words = _words(name)
    return is_secret_field(name) or words[-1:] in (("sig",), ("signature",), ("auth",)) or words == ("key",)


def is_secret_cookie(name: str, value: str) -> bool:
    """Whether what a cookie holds lets somebody in: it is named so, or looks made by chance; `theme=dark` does not."""
    if len(value) < _SHORTEST_COOKIE:
        return False
    if _SESSION.search(name) is not None or is_secret_header(name):
        return True
    return len(value) >= _BY_CHANCE and not value.isalpha() and any(letter.isdigit() for letter in value)


@lru_cache(4096)
def _words(name: str) -> tuple[str, ...]:
    """The words of a name in lower case, without numbers at its end; none of a name too long to be one."""
    if len(name) > _LONGEST_NAME:
        return ()
    words = [word.lower() for word in _WORD.findall(name)]
    while words and words[-1].isdigit():
        words.pop()
    return tuple(words)
