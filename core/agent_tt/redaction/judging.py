"""Whether the value of a field with a secret name is a secret, or a placeholder, a type, a count, a word.

Names alone say too little: documentation writes `OPENAI_API_KEY=sk-ant-...`, programs write `password = None`, and a
`token` is also what a model counts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agent_tt._pattern import lazy_re
from agent_tt.redaction.fields import FIELDS
from agent_tt.redaction.marks import is_mark
from agent_tt.redaction.names import is_secret_cookie, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["is_placeholder", "is_secret_number", "is_secret_text", "is_wordy", "looks_made", "secret_cookies"]

_LETTERS: Final = 24
"""From this length on a token is a secret even if it is nothing but letters: no word of a model is as long."""
_MADE: Final = 8
"""Letters of the shortest text that looks made by chance."""
_LONGEST_PLACEHOLDER: Final = 100
_COUNTS: Final[dict[str, int]] = {"token": 100_000, "pin": 100}
_DIGIT: Final = 10
"""Numbers below these are counts, pins of a chip, or flags."""
_PATH: Final = lazy_re(r"(?:[A-Za-z]:)?[/\\~.]|~")

_PLACEHOLDER: Final = lazy_re(
    r"<[^<>]*>|\[[^\[\]]*\]|\{\{[^{}]*\}\}|\{[A-Za-z_][\w.]*\}"  # <key>, [your key], {{ key }}, {key}
    r"|\$[A-Z_][A-Z0-9_]*|\$[a-z_]+|\$\{[^{}]*\}|\$\{\{[^{}]*\}\}|\$\([^()]*\)"  # $KEY, ${KEY}, $(pass key)
    r"|%[A-Za-z_]\w*%|%\(\w+\)s|%s"
    r"|[•.\-_…?#]+|[xX]{3,}"  # xxxx, ...; asterisks may stand for a short secret of an answer
    r"|.*(?:\.\.\.|…|[xX]{5}).*"  # sk-ant-..., AKIAxxxxx
    r"|(?:your|example|dummy|sample|placeholder|redacted)(?:[-_ ].*)?"
    r"|(?:insert|enter|replace|put|add|change)[-_ ](?:your|me|here|this|with|it|in)\b.*|changeme"
    r"|none|null|nil|undefined|nan|true|false|yes|no|n/a|tbd|required|optional|unset|missing"
    r"|str|string|text|int|integer|number|float|bool|boolean|bytes|any|object|dict|list|array|secretstr"
    r"|(?:os|process|env|secrets|config|settings|self|args|this|import\.meta)\.[\w.\[\]\"'()]*",
    re.IGNORECASE,
)
_WORDS_BETWEEN: Final = lazy_re(r"[-_.:/ ]+")
_ONE_COOKIE: Final = lazy_re(r"(?P<name>[^=;,\s\"]{1,100})=\"?(?P<it>[^;,\s\"]{1,4000})")
_SMALL_NUMBER: Final = lazy_re(r"\d{1,3}|(?:19|20)\d\d")


def is_secret_text(name: str, value: str, around: Callable[[], str] | None = None) -> bool:
    """Whether a text under a secret's name is a secret, not a placeholder.

    Args:
        name: the field, variable or option that holds it.
        value: the text.
        around: gives what stands near it; what models say of their own tokens says how likely they were.
    """
    kind = kind_of(name)
    if kind is None or not value or is_placeholder(value):
        return False
    if kind == "token":
        return _is_secret_token(value) and not (around is not None and "logprob" in around().lower())
    return _CHECKS[kind](value)


def is_secret_number(name: str, value: float, around: Callable[[], str] | None = None) -> bool:
    """Whether a number under a secret's name is a secret. No boolean is.

    Args:
        name: the field that holds it.
        value: the number.
        around: gives what stands near it.
    """
    kind = kind_of(name)
    if kind is None or isinstance(value, bool):
        return False
    if kind == "token" and around is not None and "logprob" in around().lower():
        return False
    if kind == "field":
        return not FIELDS.allow(f"{value:.17g}")
    return kind in ("secret", "pin", "token", "pwd") and abs(value) >= _COUNTS.get(kind, _DIGIT)


def is_placeholder(value: str) -> bool:
    """Whether a text stands for a secret that somebody else has: `<key>`, `$KEY`, `sk-ant-...`, `None`."""
    return len(value) <= _LONGEST_PLACEHOLDER and _PLACEHOLDER.fullmatch(value) is not None


def looks_made(value: str) -> bool:
    """Whether a text looks made by chance, as keys are: of some length, no spaces, and no words that are joined."""
    if len(value) < _MADE or any(letter.isspace() for letter in value):
        return False
    return not is_wordy(value) and (len(value) >= _LETTERS or not value.isalpha())


def is_wordy(value: str) -> bool:
    """Whether a text is words and small numbers that are joined: `color-primary-500`, `sk-learn-contrib`."""
    if len(value) > _LONGEST_PLACEHOLDER:
        return False
    parts = _WORDS_BETWEEN.split(value)
    return all(_is_word(part) or _SMALL_NUMBER.fullmatch(part) for part in parts if part)


def _is_word(part: str) -> bool:
    return part.isalpha() and (part.islower() or part.istitle()) and len(part) < _LETTERS


def _is_secret_token(value: str) -> bool:
    if any(letter.isspace() for letter in value):
        return False
    if "-" in value or "_" in value:
        return looks_made(value)
    return len(value) >= _LETTERS or (len(value) > 3 and not value.isalpha())


def _is_pin(value: str) -> bool:
    shown = value.replace(" ", "").replace("-", "")
    return shown.isalnum() and 3 <= len(shown) <= 12 and sum(map(str.isdigit, shown)) >= min(3, len(shown))


def secret_cookies(value: str) -> list[tuple[int, int]]:
    """Where the secrets stand in what a cookie's name holds: in `a=…; b=…` in what lets somebody in, else all of it.

    Args:
        value: the header, or what a field of that name holds.

    Returns:
        Beginning and end of each.
    """
    found = []
    pairs = [*_ONE_COOKIE.finditer(value)]
    for pair in pairs:
        held = pair["it"]
        if not held.strip("="):  # the signs that base64 ends with
            if looks_made(pair["name"]):
                found.append(pair.span())
        elif is_secret_cookie(pair["name"], held) and not is_mark(held) and not is_placeholder(held):
            found.append(pair.span("it"))
    return [(0, len(value))] if not pairs and looks_made(value) else found


_CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    "secret": lambda _: True,
    "credential": lambda value: looks_made(value) or (not value.isalpha() and not is_wordy(value)),
    "pin": _is_pin,
    "pwd": lambda value: _PATH.match(value) is None,
    "cookie": lambda value: bool(secret_cookies(value)),
    "field": lambda value: not FIELDS.allow(value),
    "jwt": lambda value: len(value) >= _MADE and not any(letter.isspace() for letter in value),
}
