"""What secrets look like wherever they stand: keys of providers, tokens, private keys, and logins in addresses.

Sources of the shapes: what the issuers say of their keys (the prefixes that secret scanners know, RFC 7519 for JSON Web
Tokens, RFC 7468 for private keys, RFC 3986 §3.2.1 for logins). A text is searched for single letters first, which costs
next to nothing, then for words, and for patterns only where it holds one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt.redaction.marks import is_mark
from agent_tt.redaction.names import is_secret_field, is_secret_parameter, is_token

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Span(NamedTuple):
    """Where a secret stands in a text."""

    start: int
    end: int


class _Shape(NamedTuple):
    """What a text must hold, every one of `letters` and one of `words`, and what is searched for then.

    What is found is the group `it` of the pattern, else the whole.
    """

    letters: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]


def _shape(letters: str, words: str, pattern: str) -> _Shape:
    return _Shape(letters, tuple(words.split()), re.compile(pattern))


_UNDERSCORED: Final = (
    *("ghp", "gho", "ghu", "ghs", "ghr", "github_pat", "hf", "gsk", "npm", "lsv2", "r8", "dop_v1", "whsec", "ek"),
    *("sk_live", "sk_test", "rk_live", "rk_test"),
)
_BEFORE_UNDERSCORE: Final = "|".join(rf"(?<={start}_)(?<![A-Za-z0-9]{start}_)" for start in _UNDERSCORED)

_SHAPES: Final = (
    # A digit tells a key from words that are joined: `sk-learn-contrib`.
    _shape("-", "sk-", r"(?<![A-Za-z0-9])sk-(?=[\w-]*\d)[\w-]{8,}"),
    _shape("-", "glpat- xox xapp-", r"(?<!\w)(?:glpat-[\w-]{12,}|xox[abceprs]-[\w-]{10,}|xapp-[\w-]{10,})"),
    _shape("AI", "AKIA ASIA", r"(?<![A-Za-z0-9])A(?:KI|SI)A[A-Z0-9]{12,}"),
    _shape("zSy", "AIzaSy", r"(?<!\w)AIzaSy[\w-]{20,}"),
    _shape(".29", "ya29.", r"(?<!\w)ya29\.[\w-]{10,}"),
    # One letter that is rare in texts leads to all of these; what stands before it stays.
    _shape("_", "_", rf"_(?:{_BEFORE_UNDERSCORE})(?P<it>(?=[\w-]*\d)[\w-]{{10,}})"),
    _shape(
        "-",
        "xai- pplx- pypi- tvly- GOCSPX-",
        r"(?<![A-Za-z0-9])(?:xai|pplx|pypi|tvly|GOCSPX)-(?=[\w-]*\d)[\w-]{16,}",
    ),
    _shape("G.", "SG.", r"(?<!\w)SG\.[\w-]{16,}\.[\w-]{16,}"),
    _shape("J.", "eyJ", r"(?<![\w.-])eyJ[\w-]{5,}\.(?:eyJ[\w-]{3,}\.[\w-]*|[\w-]*\.[\w-]+\.[\w-]+\.[\w-]+)"),
    _shape(
        "-V",
        "PRIVATE",
        r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----"
        r"(?P<it>[^\"]*?)(?:-----END [A-Z ]*PRIVATE KEY|\Z|(?=\"))",
    ),
    _shape("", "earer", r"(?i:bearer)\s+(?P<it>(?=[\w.~+/-]*\d)[\w.~+/-]{8,}=*)"),
    _shape(
        "z",
        "uthorization",
        r"[Aa]uthorization\\?[\"']?\s*[:=,]\s*\\?[\"']?(?i:basic)\s+(?P<it>[\w+/-]{4,}=*)",
    ),
    _shape("@:", "://", r"://[^\s/:@\"'<>\\]{0,256}:(?P<it>[^\s/@\"'<>\\]{1,256})@"),
    _shape("/:", "/bot", r"/bot(?P<it>\d{6,12}:[\w-]{20,})"),
)
_PARAMETER: Final = re.compile(r"[?&;](?:amp;)?(?P<name>[\w.%-]{1,60})=(?P<it>[^\s&;#\"'<>\\]+)")
_FIELD: Final = re.compile(r"\"(?P<name>[\w. -]{1,60})\"\s*:\s*\"(?P<it>[^\"\\\r\n]*(?:\\.[^\"\\\r\n]*)*)")
# A text of JSON that is JSON itself, as the arguments of a tool that a model calls; not one that only quotes some.
_NESTED: Final = re.compile(r"\"(?:\s|\\[nrt])*[\[{][^\"\\]*(?:\\.[^\"\\]*)*")
_NESTED_FIELD: Final = re.compile(
    r"\\\"(?P<name>[\w. -]{1,60})\\\"\s*:\s*\\\""
    r"(?P<it>[^\"\\\r\n]*(?:(?:\\\\(?:\\[\"\\]|[^\"\\])|\\[^\"\\])[^\"\\\r\n]*)*)"
)
_NAMED: Final = re.compile(
    r"(?P<name>[A-Za-z_][\w-]{1,60})(?P<quote>\\?[\"'])?\s?[:=]\s?(?P<open>\\?[\"'])(?P<it>(?:(?!(?P=open))[^\r\n]){1,2000})(?P=open)"
)
_FLAG: Final = re.compile(r"(?<!\S)--?(?P<name>[A-Za-z][\w-]{1,60})=(?P<it>[^\s\"']+)")
_LETTERS: Final = 24
"""From this length on a token is a secret even if it is nothing but letters: no word of a model is as long."""


def secrets_in(text: str, *, is_json: bool = False, is_report: bool = False) -> list[Span]:
    """Where secrets stand in a text, in order and apart from each other.

    Args:
        text: any text.
        is_json: whether it is JSON, or a part of some: then what its fields with secret names hold counts too.
        is_report: whether it is what Python or an agent says of its values: `Config(password='…')`.
    """
    found = [span for shape in _SHAPES if _may_match(shape, text) for span in _matches(shape, text)]
    if "=" in text and ("?" in text or "&" in text or ";" in text):
        found += _named(_PARAMETER, text, is_secret_parameter)
    if is_json:
        found += _fields(text)
    if is_report:
        found += _named(_NAMED, text, is_secret_field)
        found += _named(_FLAG, text, is_secret_field)
    return apart(found) if found else found


def is_secret_token(value: str, around: str) -> bool:
    """Whether what a field `token` holds lets somebody in.

    Args:
        value: what it holds.
        around: what stands near it; what models say of their own tokens says how likely they were.
    """
    if any(letter.isspace() for letter in value) or "logprob" in around.lower():
        return False
    return len(value) >= _LETTERS or (len(value) > 3 and not value.isalpha())


def _may_match(shape: _Shape, text: str) -> bool:
    for letter in shape.letters:  # one letter is found many times faster than a word
        if letter not in text:
            return False
    return any(word in text for word in shape.words)


def _matches(shape: _Shape, text: str) -> Iterator[Span]:
    group = "it" if "it" in shape.pattern.groupindex else 0
    return (Span(*match.span(group)) for match in shape.pattern.finditer(text))


def _named(pattern: re.Pattern[str], text: str, is_secret: Callable[[str], bool]) -> Iterator[Span]:
    for match in pattern.finditer(text):
        if is_secret(match["name"]) and not is_mark(match["it"]):
            yield Span(*match.span("it"))


def _fields(text: str) -> Iterator[Span]:
    found = [*_FIELD.finditer(text)]
    if "\\" in text:
        found += [match for part in _NESTED.finditer(text) for match in _NESTED_FIELD.finditer(text, *part.span())]
    for match in found:
        name, value = match["name"], match["it"]
        if not is_secret_field(name) or not value or is_mark(value):
            continue
        if is_token(name) and not is_secret_token(value, text[max(0, match.start() - 200) : match.end() + 200]):
            continue
        yield Span(*match.span("it"))


def apart(found: list[Span]) -> list[Span]:
    """The spans in order, those that overlap joined, empty ones left out."""
    joined: list[Span] = []
    for span in sorted(found):
        if joined and span.start < joined[-1].end:
            joined[-1] = Span(joined[-1].start, max(span.end, joined[-1].end))
        elif span.end > span.start:
            joined.append(span)
    return joined
