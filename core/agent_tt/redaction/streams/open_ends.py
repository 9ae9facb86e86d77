"""Whether the end of a text may be the beginning of a secret, so that more text is needed to tell.

Patterns of keys and tokens hold no white space, quotes or backslashes, so of those only the last run of other
characters is open. What a text names is open while its value may go on: a quote is not closed, a line is not at its
end, a list or object has no last bracket. Saying that something is open where it is not costs nothing but waiting.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from agent_tt._pattern import lazy_re
from agent_tt.redaction.anchors import ANCHORS
from agent_tt.redaction.fields import FIELDS
from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.json_value import JsonValue, is_description
from agent_tt.redaction.named import names_in
from agent_tt.redaction.names import SCHEMA_PARENTS, kind_of
from agent_tt.redaction.own import OWN
from agent_tt.redaction.shapes import may_begin_secret

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.redaction.spans import Span

__all__ = ["LONGEST_CALM", "LONGEST_HINT", "OpenEnd", "calm_to", "is_word", "open_end", "run_start"]

_STOPS: Final = frozenset("\"'<>\\")
_BEFORE: Final = 400
"""Characters before an open end that tell what it is: the farthest that any pattern looks back."""
_BEFORE_SCHEMA: Final = 4400
"""The same where a JSON schema may be described."""
_AFTER_TOKEN: Final = 220
"""Characters behind a `token` that tell whether a model made it; see `json_value`."""
_SEPARATOR: Final = lazy_re(
    r"\\{0,15}[\"']?\]?(?:\s|\\{1,15}[nrt]){0,60}(?:=>|:=|[:=,>]|is(?=\s|\Z))?(?:\s|\\{1,15}[nrt]){0,60}"
    r"(?:[rbfu]{1,2}(?=\\{0,15}[\"']))?(?P<quote>\\{0,15}[\"'])?"
)
_UNQUOTED: Final = lazy_re(r"[^\s\"'`\\<>]*[ \t]{0,40}\\{0,15}\Z")
_ARGUMENT: Final = lazy_re(r"[^\s\"'\\]{0,500}\Z")
_ELEMENT: Final = lazy_re(r">[^<>\r\n]{0,400}<?\Z")
_WORDS_OF_LOGIN: Final = lazy_re(r"[^\s\"'\\<>]*(?:[ \t]{0,4}[^\s\"'\\<>]*)\Z")
_LONGEST_COOKIES: Final = 4100
_LONGEST_QUOTED: Final = 2100
_BLANK_END: Final = lazy_re(r"[ \t]{0,40}\\{0,15}\Z")
_LONGEST_BLANK: Final = 60
_LOGIN: Final = lazy_re(
    r"(?:-(?:u|U|-user|-proxy-user)[ =\t]{0,4}|-p[ \t]{0,4}|(?i:bearer)\s{1,40}|password\s{1,40})\\{0,7}[\"']?"
    r"(?P<it>[^\s\"'\\]{0,520})\Z"
)
_LONGEST_LOGIN: Final = 600
_TELEGRAM: Final = lazy_re(r"(?<![\w:])\d{1,12}(?::A?)?\Z")

_PLAIN: Final = lazy_re(r"[A-Za-z ,;!?\n]+")
_UNQUOTED_SIGNS: Final = lazy_re(r"[A-Za-z0-9 ,;!?\n_.:/()+%&#=*$-]+")
LONGEST_CALM: Final = 48
"""Characters of plain words, with the run before them, that are known by what they are."""
_LONGEST_LOOK: Final = 256
"""Characters that are looked at at most in place of the whole text."""
LONGEST_HINT: Final = 16
"""Characters before plain words in which a word may begin that says what they are."""
_BEARER: Final = frozenset({"earer", "EARER"})
"""Anchors that stand in front of a secret although they are letters alone, as those of `Bearer`."""
_WHOLE: Final = (
    *("sk-", "glpat-", "xoxa-", "xoxb-", "xoxc-", "xoxe-", "xoxp-", "xoxr-", "xoxs-", "xapp-", "AKIA", "ASIA"),
    *("AIzaSy", "ya29.", "xai-", "pplx-", "pypi-", "tvly-", "GOCSPX-", "NRAK-", "PMAK-", "SG.", "hvs.", "hvb."),
    *("eyJ", "dapi"),
)
"""Beginnings of secrets that are part of them."""
_BEGUN: Final = lazy_re(
    r"(?<![A-Za-z0-9])(?:"
    + "|".join(sorted({re.escape(start[:size]) for start in _WHOLE for size in range(1, len(start))}, key=len)[::-1])
    + r")\Z"
)


class OpenEnd(NamedTuple):
    """Where the open end of a text begins.

    Attributes:
        start: the first character whose judgement may change; the length of the text where none may.
        context: where a text that goes on must begin, so that it is judged as the whole would be.
        is_calm: whether nothing is open, not even a name whose value is still to come; but for what a profile may take
            something out of, if more of it follows.
    """

    start: int
    context: int
    is_calm: bool


def open_end(text: str, found: Sequence[Span], run: int) -> OpenEnd:
    """Tell what more text may change.

    Args:
        text: the text so far.
        found: the secrets in it, were it to end here.
        run: where the last run of characters begins that keys are made of; see `run_start`.
    """
    end = context = len(text)
    if may_begin_secret(text[run:]):
        end = run
    else:
        begun = _BEGUN.search(text, max(run - 1, end - 12)) or _TELEGRAM.search(text, max(run - 1, end - 15))
        if begun is not None:
            end = max(begun.start(), run)
        end = min(end, _given_start(text, run))
    of_own = OWN.open_from(text) if OWN else len(text)
    login = _LOGIN.search(text, max(0, len(text) - _LONGEST_LOGIN))
    if login is not None:
        end = min(end, login.start("it"))
    for name in _open_names(text):
        context = min(context, name.context)
        end = min(end, name.start)
    blank = max(run, len(text) - _LONGEST_BLANK)
    for span in reversed(found):
        if span.end < blank - _LONGEST_BLANK:
            break
        if span.end >= run or _BLANK_END.match(text, span.end):
            end = min(end, span.start)
    # What a login's word says may be still to come.
    is_calm = min(context, end) == len(text) and login is None
    end = min(end, of_own)
    for span in found:
        if span.start < end < span.end:
            end = span.start
    is_calm = is_calm and end == of_own and not (found and found[-1].end > end)
    context = min(context, end)
    is_schema = any(parent in text for parent in SCHEMA_PARENTS)
    return OpenEnd(end, max(0, context - (_BEFORE_SCHEMA if is_schema else _BEFORE)), is_calm)


def calm_to(text: str, before: int, run: int, low: int) -> int | None:
    """Find how much of a text that grew no later piece can change; None where only a look at all of it tells.

    Nothing was open but what a profile may take something out of. So what is found now goes over the end of what there
    was, or begins behind it, and something that stands there tells of it.

    Args:
        text: the text now.
        before: how long it was.
        run: where its last run began then; see `run_start`.
        low: up to where nothing was open.
    """
    end, start = len(text), max(0, min(before - LONGEST_HINT, run, low))
    if end - start > _LONGEST_LOOK or GIVEN.secrets or OWN.searches_all:
        return None
    look = text[start:]
    if low == before and _PLAIN.fullmatch(text, run) is not None:
        held = ANCHORS.words_in(look)
        if any(FIELDS.hints_in(held)) or not held.isdisjoint(_BEARER):
            return None
    elif _UNQUOTED_SIGNS.fullmatch(text, min(run, low)) is None or ANCHORS.held_in(look) or _LOGIN.search(look):
        return None
    now = run_start(text, run)
    if now < end and (
        may_begin_secret(text[now:])
        or _BEGUN.search(text, max(now - 1, end - 12)) is not None
        or _TELEGRAM.search(text, max(now - 1, end - 15)) is not None
    ):
        return None
    return start + OWN.open_from(look) if OWN else end


def is_word(text: str, start: int, run: int) -> bool:
    """Whether what is open for a profile is nothing, or a word: plain words behind it are no part of personal data.

    Args:
        text: the text.
        start: where what is open begins.
        run: where the last run begins.
    """
    return start == len(text) or (start >= run and text[start:].isascii() and text[start:].isalpha())


def run_start(text: str, low: int = 0) -> int:
    """Where the last run begins of characters that keys are made of.

    Args:
        text: the text.
        low: where it begins at the earliest.
    """
    at = len(text)
    while at > low and text[at - 1] not in _STOPS and not text[at - 1].isspace():
        at -= 1
    return at


def _given_start(text: str, run: int) -> int:
    """Where a secret begins that was given before and of which more may follow."""
    firsts = GIVEN.by_first_letter
    for at in range(run, len(text)):
        forms = firsts.get(text[at])
        if forms is not None:
            rest = text[at:]
            if any(form.startswith(rest) and len(form) > len(rest) for form in forms):
                return at
    return len(text)


def _open_names(text: str) -> Iterator[OpenEnd]:
    """Yield the names whose values may go on: where the name ends, and where it begins."""
    for start, last in names_in(text).items():
        if _is_open(
            text, start, last, text[start:last].rstrip(".-")
        ):  # what stands between the name and its value may be read in another way too
            yield OpenEnd(last, max(0, start - 1), is_calm=False)


def _is_open(text: str, start: int, last: int, name: str) -> bool:
    """Whether the value of a name may go on, or has not begun."""
    found = _SEPARATOR.match(text, last)
    if found is None:
        return False
    value, end, quote, kind = found.end(), len(text), found["quote"], kind_of(name)
    if value >= end or _UNQUOTED.match(text, value) or _ELEMENT.match(text, last):
        return True
    if text[max(0, start - 1) : start] == "-" and _ARGUMENT.match(text, value):
        return True
    lower = name.lower()
    if (kind == "cookie" or lower.endswith("cookie")) and end - value < _LONGEST_COOKIES:
        rest = text[value:]
        if not ("\n" in rest or "\r" in rest or "\\" in rest):
            return True
    if lower.endswith("authorization") and _WORDS_OF_LOGIN.match(text, value):
        return True
    return _is_open_quoted(text, start, last, value, quote, kind)


def _is_open_quoted(text: str, start: int, last: int, value: int, quote: str | None, kind: str | None) -> bool:
    end = len(text)
    slashes = (len(quote) - 1) * "\\" if quote else ""
    if quote is not None and quote[-1] == '"' and text.startswith(quote, last):
        closed = JsonValue(text, slashes).end_of_string(value)
        return closed >= end or (kind == "token" and end - closed < _AFTER_TOKEN)
    if quote is not None:
        has_lines = "\n" in text[value:] or "\r" in text[value:]
        closed = text.find(quote, value + 1)
        return (closed < 0 and not has_lines and end - value < _LONGEST_QUOTED) or closed == end - 1
    if text[value] in "[{" and text[last : last + 16].lstrip("\\").startswith('"'):
        held = JsonValue(text, text[last : text.index('"', last)])
        if is_description(text, start, value):
            return False
        for _ in held.secrets(value, text[start:last].rstrip(".-")):
            pass
        return held.at >= end or (kind == "token" and end - held.at < _AFTER_TOKEN)
    return False
