"""Names of fields, headers and query parameters whose values are secrets.

A name is read as words (`clientSecret`, `client-secret`, `CLIENT_SECRET`), and its last words decide, so that
`token_count`, `max_tokens`, `secret_santa` and `key_points` are what they say they are. Some names hold a secret
whatever their value is, others only a value that looks like one: `kind_of` tells which, `agent_tt.redaction.judging`
looks at the value.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from agent_tt._pattern import lazy_re
from agent_tt.redaction.fields import FIELDS, words_of

NameKind: TypeAlias = Literal["secret", "token", "credential", "pin", "pwd", "cookie", "jwt", "field"]
"""What a name says of its value.

| kind | for example | a secret is |
|---|---|---|
| `secret` | `password`, `api_key`, `access_token` | any value |
| `token` | `token` | a value that is not a word, count or piece of a text |
| `credential` | `deploy_token`, `smtp_pass`, `github_pat` | a value that looks made by chance |
| `pin` | `pin`, `otp`, `cvv` | a short run of digits, or of digits and letters |
| `pwd` | `pwd` | anything but the path of a folder |
| `cookie` | `cookie` | `name=value`, or a value that looks made by chance |
| `jwt` | `jwt` | a value without spaces, of some length |
| `field` | what a project or profile names | any value |
"""

_LONGEST_NAME: Final = 100

_SESSION: Final = lazy_re(r"sess|sid(?![a-z])|auth|token|csrf|xsrf|jwt|login|remember|secret|ident", re.IGNORECASE)
_SHORTEST_COOKIE: Final = 6
_BY_CHANCE: Final = 16
"""From this length on the value of a cookie is taken for a secret, if there are digits in it."""

_SECRET_WORDS: Final = frozenset(
    {"password", "passwd", "passphrase", "passcode", "secret", "apikey", "authorization"}
    | {
        "credential",
        "accesskey",
        "secretkey",
        "privatekey",
        "accesstoken",
        "refreshtoken",
        "idtoken",
        "authtoken",
        "sessiontoken",
        "bearertoken",
        "clientsecret",
    }
)
_ENDS: Final = ("password", "passwd", "passphrase", "apikey", "secretkey", "accesskey", "privatekey", "authtoken")
"""What a word that is written together ends with: `PGPASSWORD`, `dbpasswd`."""
_SECRET_KEYS: Final = frozenset(
    {"api", "access", "secret", "private", "signing", "encryption", "master", "subscription", "auth", "account"}
    | {"vault"}
)
"""What says of a `… key` that it opens something; `public key`, `cache key` and `idempotency key` do not."""
_OPENING_TOKENS: Final = frozenset(
    {"access", "refresh", "auth", "api", "bearer", "session", "secret", "security", "id", "csrf", "xsrf", "oauth"}
    | {"authorization", "authentication", "personal", "github", "gitlab", "slack", "hf", "bot", "jwt", "login"}
)
"""What says of a `… token` that it lets somebody in, whatever it looks like."""
_PLACES: Final = frozenset(
    {"page", "next", "prev", "previous", "continuation", "pagination", "cursor", "sync", "resume", "progress", "cancel"}
    | {"delta", "skip", "scroll"}
    | {"cancellation", "max", "min", "eos", "bos", "pad", "unk", "stop", "start", "end", "special", "mask", "sep"}
    | {"cls", "first", "last", "image", "audio", "video", "per", "prompt", "completion", "input", "output", "text"}
    | {"design", "color", "colour", "theme", "style", "css"}
)
"""What says of a `… token` that it is a place in a list, a piece of text, or a name of a style."""
_TRIALS: Final = frozenset({"first", "second", "third", "one", "two", "single", "multi", "all", "by", "forward"})
"""What says of a `… pass` that it is one of several goes through something."""
SCHEMA_PARENTS: Final = ("properties", "patternProperties", "$defs", "definitions")
"""Objects of JSON schemas whose entries describe fields."""
_PART_OF_TOKEN: Final = "part of token"  # noqa: S105  a name, no secret
_PINS: Final = frozenset({"pin", "otp", "totp", "cvv", "cvc", "cvv2", "pincode"})


@lru_cache(4096)
def kind_of(name: str) -> NameKind | None:
    """What a name says of its value; None of a name that says nothing of a secret.

    Args:
        name: of a field, variable, option or header.
    """
    words = _words(name)
    if not words:
        return None
    return _secret_kind(name, words) or ("field" if FIELDS and FIELDS.mean(words) else None)


def _secret_kind(name: str, words: tuple[str, ...]) -> NameKind | None:
    last, before = _singular(words[-1]), words[-2] if len(words) > 1 else ""
    if last == "token":
        kind = _kind_of_token(words, before)
        return "secret" if kind == "credential" and name.isupper() else kind  # a variable of the environment
    if last == "key":
        return "secret" if before in _SECRET_KEYS else None
    if last in ("string", "value", "binary"):  # how AWS Secrets Manager and its like answer
        return "secret" if before == "secret" else None
    if last in _SECRET_WORDS or last.endswith(_ENDS):
        return "secret"
    return _kind_of_word(last, before)


def _kind_of_token(words: tuple[str, ...], before: str) -> NameKind | None:
    is_plural = words[-1] != "token"
    if before in _PLACES or (is_plural and before not in _OPENING_TOKENS):  # `tokens` are counted
        return None
    if not before:
        return "token"
    return "secret" if before in _OPENING_TOKENS else "credential"


def _kind_of_word(last: str, before: str) -> NameKind | None:
    if last == "pwd":
        return "secret" if before and before not in ("old", "cur", "current") else "pwd"
    if last in ("pass", "pat"):
        return "credential" if before and before not in _TRIALS else None
    if last == "code":
        return "pin" if before in ("pin", "otp", "cvv", "cvc") else None
    if last in _PINS:
        return "pin"
    if last == "cookie":
        return "cookie"
    return "jwt" if last == "jwt" else None


def is_secret_field(name: str) -> bool:
    """Whether a field with this name may hold a secret: `password`, `api_key`, `GITHUB_TOKEN`, `pin`, …."""
    return kind_of(name) is not None


def within(holder: str, key: str) -> str:
    """Tell which name says what an entry of an object holds: its own, or that of the object.

    `{"secret": {"user": "ann", "hash": "…"}}` holds nothing but secrets; of `{"token": {"id": 5, "text": "a"}}` only
    what looks made by chance is taken for one.

    Args:
        holder: the name that counts for the object; "" of one that no secret name holds.
        key: the entry's own name.
    """
    held = kind_of(holder) if holder else None
    if held is None or (held != "secret" and kind_of(key) is not None):
        return key
    return _PART_OF_TOKEN if held in ("token", "cookie", "credential") else holder


def is_described(holder: str) -> bool:
    """Whether the objects in an object of this name say what a value is like: as in the `properties` of a schema."""
    return holder in SCHEMA_PARENTS


def depends_on_neighbours(name: str) -> bool:
    """Whether it takes the other fields of an object to tell what this one holds."""
    return name == "value" or kind_of(name) == "token"


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


def _singular(word: str) -> str:
    """`password` of `passwords`; `pass` and `totp` as they are."""
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


@lru_cache(4096)
def _words(name: str) -> tuple[str, ...]:
    """The words of a name in lower case, without numbers at its end; none of a name too long to be one."""
    if len(name) > _LONGEST_NAME:
        return ()
    return words_of(name)
