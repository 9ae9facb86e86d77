"""What secrets look like wherever they stand: keys of providers, tokens, private keys, and logins in addresses.

Sources of the shapes: what the issuers say of their keys (the prefixes that secret scanners know, RFC 7519 for JSON Web
Tokens, RFC 7468 for private keys, RFC 3986 §3.2.1 for logins). One pass tells which words of all shapes a text holds
(`anchors`); it is searched with the patterns of these alone. No pattern takes longer than in proportion to a text,
whatever is in it: from where one may begin, only so far is looked ahead (a digit tells a key from words within its
first 256 characters), or nothing that was passed can begin it again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt._pattern import lazy_re
from agent_tt.redaction.anchors import ANCHORS, Place
from agent_tt.redaction.fields import FIELDS
from agent_tt.redaction.judging import is_placeholder, is_wordy
from agent_tt.redaction.marks import is_mark
from agent_tt.redaction.named import named_secrets
from agent_tt.redaction.names import is_secret_parameter
from agent_tt.redaction.own import OWN
from agent_tt.redaction.spans import Span, apart

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

__all__ = ["may_begin_secret", "may_hold_secret", "secrets_in"]


class _Shape(NamedTuple):
    """What a text must hold, `letter` and one of `words`, and what is searched for then.

    What is found is the group `it` of the pattern, else the whole. Where `is_of_parts`, it is left if the group
    `parts`, else what is found, is words and small numbers that are joined: `sk-learn-contrib-2`.
    """

    letter: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]
    is_of_parts: bool


def _shape(letter: str, words: str, pattern: str, *, is_of_parts: bool = False) -> _Shape:
    return _Shape(letter, tuple(words.split()), lazy_re(pattern), is_of_parts)


_UNDERSCORED: Final = (
    *("ghp", "gho", "ghu", "ghs", "ghr", "github_pat", "hf", "gsk", "npm", "lsv2", "r8", "dop_v1", "whsec", "ek"),
    *("sk_live", "sk_test", "rk_live", "rk_test", "shpat", "shpss", "lin_api", "sntrys", "sntryu", "figd", "phx"),
)
_BEFORE_UNDERSCORE: Final = "|".join(rf"(?<={start}_)(?<![A-Za-z0-9]{start}_)" for start in _UNDERSCORED)
_WITH_DIGIT: Final = r"(?=[\w-]{0,200}\d)"
"""A digit tells a key from words that are joined. Bounded, so that a text of nothing but beginnings takes no longer."""

_SHAPES: Final = (
    _shape("-", "sk-", rf"sk-(?<![A-Za-z0-9]sk-)(?P<parts>{_WITH_DIGIT}[\w-]{{8,}})", is_of_parts=True),
    _shape("-", "glpat- xox xapp-", r"(?<!\w)(?:glpat-[\w-]{12,}|xox[abceprs]-[\w-]{10,}|xapp-[\w-]{10,})"),
    _shape("A", "AKIA ASIA", r"(?<![A-Za-z0-9])A(?:KI|SI)A[A-Z0-9]{12,}"),
    _shape("z", "AIzaSy", r"(?<!\w)AIzaSy[\w-]{20,}"),
    _shape(".", "ya29.", r"(?<!\w)ya29\.[\w-]{10,}"),
    # One letter that is rare in texts leads to all of these; what stands before it stays.
    _shape("_", "_", rf"_(?:{_BEFORE_UNDERSCORE})(?P<it>{_WITH_DIGIT}[\w-]{{10,}})", is_of_parts=True),
    *(
        _shape("-", start, rf"{start}(?<![A-Za-z0-9]{start})(?P<parts>{_WITH_DIGIT}[\w-]{{16,}})", is_of_parts=True)
        for start in ("xai-", "pplx-", "pypi-", "tvly-", "GOCSPX-", "NRAK-", "PMAK-")
    ),
    _shape("G", "SG.", r"(?<!\w)SG\.[\w-]{16,}\.[\w-]{16,}"),
    _shape("v", "hvs. hvb.", r"(?<!\w)hv[sb]\.[\w-]{20,}"),
    _shape("J", "eyJ", r"(?<![\w.-])eyJ[\w-]{5,}\.(?:eyJ[\w-]{3,}\.[\w-]*|[\w-]*\.[\w-]+\.[\w-]+\.[\w-]+)"),
    _shape("A", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1(?P<it>[A-Z0-9]{20,})"),
    _shape("d", "dapi", r"(?<!\w)dapi[0-9a-f]{32}(?![0-9a-f])"),
    _shape("k", "key-", r"key-(?<![\w-]key-)(?P<it>[0-9a-f]{32})(?![0-9a-f])"),  # Mailgun
    _shape(
        "-",
        "PRIVATE",
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?P<it>[^\"]*?)(?:-----END [A-Z ]{0,40}PRIVATE KEY|\Z|(?=\"))",
    ),
    _shape("", "earer EARER", r"(?:[Bb]earer|BEARER)\s{1,40}(?P<it>(?=[\w.~+/-]{0,400}\d)[\w.~+/-]{8,}=*)"),
    _shape("@", "://", r"://[^\s/:@\"'<>\\]{0,256}:(?P<it>[^\s/@\"'<>\\]{1,256})@"),
    _shape("/", "/bot", r"/bot(?P<it>\d{6,12}:[\w-]{20,})"),
    _shape(":", ":AA", r"(?<![\w:])\d{8,12}:AA[\w-]{30,}"),  # Telegram
    _shape("/", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<it>[\w/-]{10,})"),
    _shape("/", "/webhooks/", r"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d{5,30}/(?P<it>[\w-]{20,})"),
    _shape(
        "/",
        "outlook.office webhook.office",
        r"(?:outlook|webhook)\.office(?:365)?\.com/webhookb?2?/(?P<it>[\w@/-]{20,})",
    ),
    # Discord: the id of a bot, a time, and a digest.
    _shape(".", ".", r"\.(?<=[\w-]{22}\.)[\w-]{6}\.(?P<it>[\w-]{27,45})(?![\w.-])", is_of_parts=True),
    *(
        _shape(start[0], start, rf"{start}(?<![A-Za-z0-9]{start})(?P<it>[0-9a-f]{{32}})(?![0-9a-f])")
        for start in ("SK", "AC")  # Twilio; another key may follow at once
    ),
)


_THREE_PARTS: Final = "three parts"
_FORM_OF_PARTS: Final = rb"[-?0-9A-Za-z_]{22}\.[-?0-9A-Za-z_]{6}\.[-?0-9A-Za-z_]{27}"
"""What a text holds that the shape fits whose word is in many texts."""
_LINK: Final = next(shape for shape in _SHAPES if shape.words == ("://",))
"""The shape whose word is in every link, and whose letter is in few texts."""


def _anchors_of(word: str) -> tuple[str, ...]:
    """What a text must hold that holds a word of a shape."""
    if word == "_":
        return tuple(f"{start}_" for start in _UNDERSCORED)
    if word in ("SK", "AC"):  # in the middle of many words, but mostly not before a digit or one of six letters
        return tuple(f"{word}{digit}" for digit in "0123456789abcdef")
    if word == ".":
        return (_THREE_PARTS,)
    return ("PRIVATE KEY",) if word == "PRIVATE" else (word,)


_BY_ANCHOR: Final[dict[str, list[tuple[str, _Shape]]]] = {}
"""By what a text holds: the words of shapes as they are written, and the shapes."""
for _each in _SHAPES:
    for _word in _each.words if _each is not _LINK else ():
        for _anchor in _anchors_of(_word):
            _BY_ANCHOR.setdefault(_anchor, []).append((_word, _each))
ANCHORS.use("shapes", {Place.AS_WRITTEN: frozenset(_BY_ANCHOR) - {_THREE_PARTS}}, {_THREE_PARTS: _FORM_OF_PARTS})

_UNSURE: Final = (
    ("_", lazy_re(rf"(?:{'|'.join(_UNDERSCORED)})_")),
    (".", lazy_re(r"[\w-]{22}\.[\w-]{6}\.[\w.-]{0,46}\Z")),
    ("SK", lazy_re(r"SK[0-9a-f]{0,32}\Z")),
    ("AC", lazy_re(r"AC[0-9a-f]{0,32}\Z")),
)
"""Words that are in many runs, and what of a run leads to a secret there."""
_SURE: Final = lazy_re(
    "|".join(re.escape(word) for shape in _SHAPES for word in shape.words if word not in dict(_UNSURE))
)
"""The words of shapes that are rare enough for a run with one of them to be taken for a secret's beginning."""
_PARAMETER_BEGUN: Final = lazy_re(r"[?&;][\w.%-]{1,60}=")
_PARAMETER: Final = lazy_re(r"[?&;](?:amp;)?(?P<name>[\w.%-]{1,60})=\Z")
_VALUE: Final = lazy_re(r"[^\s&;#\"'<>\\]+")
_BEGINNINGS: Final = "+%"
"""What a telephone number begins with, besides digits and letters, as it is written and in a link."""
_LONGEST_LOGIN: Final = 516
"""Characters of a link up to what ends its login."""
_LONGEST_PARAMETER: Final = 65
"""Characters of its name and of what stands before that."""


def secrets_in(text: str, held: AbstractSet[str] | None = None) -> list[Span]:
    """Where secrets stand in a text, in order and apart from each other.

    Args:
        text: any text, also JSON or a piece of some.
        held: the words of `ANCHORS` that it holds, for who knows them.
    """
    found = _look(text, held)
    # Most shapes begin where a word does: one that follows on another without anything between is seen without that.
    # No other span is left out: what is found behind one must not hang on what stands far behind that.
    while glued := [span for span in found if _is_followed(text, span)]:
        joined = apart([*found, *_look(_hollow(text, glued))])
        if joined == found:
            break
        found = joined
    return found


def _is_followed(text: str, span: Span) -> bool:
    """Whether another secret may begin right where one ends, as if it were a part of its word."""
    following = text[span.end : span.end + 1]
    return following.isalnum() or (bool(following) and following in _BEGINNINGS)


def _hollow(text: str, spans: list[Span]) -> str:
    """A text of the same length, with signs in place of the spans that are no part of a word and no white space."""
    parts, at = [], 0
    for span in spans:
        parts += [text[at : span.start], "\0" * (span.end - span.start)]
        at = span.end
    return "".join([*parts, text[at:]])


def _look(text: str, held: AbstractSet[str] | None = None) -> list[Span]:
    found: list[Span] = []
    held = ANCHORS.held_in(text) if held is None else held
    for shape in _likely(text, held):
        if shape.pattern.search(text) is not None:
            found += _matches(shape, text)
    if held:
        if "=" in text and ("?" in text or "&" in text or ";" in text) and FIELDS.may_name_parameter(held):
            found += _parameters(text)
        found += named_secrets(text, held)
    if OWN.finds_more:
        found += OWN.spans(text, held)
    return apart(found) if found else found


def _likely(text: str, held: AbstractSet[str]) -> list[_Shape]:
    """The shapes whose words a text holds."""
    likely = [_LINK] if _may_hold_link(text) else []
    for anchor in held:
        for word, shape in _BY_ANCHOR.get(anchor, ()):
            if shape.letter in text and word in text and shape not in likely:
                likely.append(shape)
    return likely


def may_hold_secret(text: str, held: AbstractSet[str]) -> bool:
    """Whether a text may hold anything that `secrets_in` finds.

    Args:
        text: any text.
        held: the words of `ANCHORS` that it holds.
    """
    return bool(held) or OWN.searches_all or _may_hold_link(text)


def _may_hold_link(text: str) -> bool:
    """Whether a text may hold a link with a login: only what stands in one word before the sign that ends it counts."""
    letter, (start,) = _LINK.letter, _LINK.words
    at = text.find(letter)
    while at >= 0:
        before = text[max(0, at - _LONGEST_LOGIN) : at]
        if start in before and start in before.rsplit(None, 1)[-1]:
            return True
        at = text.find(letter, at + 1)
    return False


def may_begin_secret(run: str) -> bool:
    """Whether a run of characters without white space and quotes may, with what follows it, be or hold a secret.

    Args:
        run: the run; of a secret that it only begins, what is part of no pattern's words yet is not seen.
    """
    last = run[max(0, *(run.rfind(border) for border in "&;#")) :] if "=" in run else ""
    if last and _PARAMETER_BEGUN.search(last):
        return True
    if _SURE.search(run) is not None:
        return True
    return any(begins.search(run) is not None for word, begins in _UNSURE if word in run)


def _matches(shape: _Shape, text: str) -> Iterator[Span]:
    group = "it" if "it" in shape.pattern.groupindex else 0
    for match in shape.pattern.finditer(text):
        if not shape.is_of_parts or not is_wordy(match.groupdict().get("parts") or match[group]):
            yield Span(*match.span(group))


def _parameters(text: str) -> Iterator[Span]:
    at = text.find("=")
    end = 0
    while at >= 0:
        begun = _PARAMETER.search(text, max(end, at - _LONGEST_PARAMETER), at + 1)
        value = None if begun is None else _VALUE.match(text, at + 1)
        if begun is not None and value is not None:
            end = value.end()
            if is_secret_parameter(begun["name"]) and not is_mark(value[0]) and not is_placeholder(value[0]):
                yield Span(*value.span())
        at = text.find("=", max(at + 1, end))
