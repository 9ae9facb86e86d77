"""Texts without their secrets: a text, a header, the text in bytes. One that holds none is given back as it is."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

from agent_tt._pattern import lazy_re
from agent_tt.redaction.anchors import ANCHORS
from agent_tt.redaction.given import GIVEN
from agent_tt.redaction.keyed import KEYED
from agent_tt.redaction.marks import (
    JWT_START,
    MARK,
    canonical,
    is_mark,
    may_hold_mark,
    same_digits,
    unnumbered,
    unsigned,
)
from agent_tt.redaction.names import (
    is_secret_cookie,
    is_secret_header,
    is_secret_parameter,
)
from agent_tt.redaction.own import OWN
from agent_tt.redaction.shapes import may_hold_secret, secrets_in

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Sequence

    from agent_tt.redaction.spans import Span

    Hide: TypeAlias = Callable[[str], str]

_SHORTEST: Final = 8
"""Characters of the shortest text that any shape fits."""

_COOKIE: Final = lazy_re(r"(?:^|,)\s*(?P<name>[^=;,\s]+)\s*=\s*\"?(?P<it>[^;\"\s,](?:(?!,\s*[^=;,\s]+=)[^;\"])*)")
"""A cookie at the beginning of a header, or of the next of several that were joined (RFC 6265 §4.1.1)."""
_BINARY_FROM: Final = 2048
REMEMBERED_FROM: Final = 64
"""Characters of the shortest text that is remembered by its hash."""
MOST_REMEMBERED: Final = 50_000
LONG_FROM: Final = 2_048
"""Characters of the shortest text that is remembered as it is."""
_MOST_LONG: Final = 8_000_000
"""Characters of all of these: a few megabytes of documents, which a state that is made anew brings again."""
_OF_END: Final = 32
_NOTHING: Final = ("", "")
_NO_WORDS: Final = frozenset[str]()
_MOST_SHOWN: Final = 500


class Clean:
    """What holds no secret: a conversation says most of its words again and again.

    Short texts as they are, longer ones and whole objects by their hashes. Nothing is known any more once something
    else is secret. So whoever adds what it looked at takes the set before it looks.

    Attributes:
        kept: what is known; to be asked for anew each time.
    """

    def __init__(self) -> None:
        self.kept: set[object] = set()
        GIVEN.told.append(self.forget)

    def seen(self) -> set[object]:
        """What is known, to which more may be added."""
        if len(self.kept) > MOST_REMEMBERED:
            self.forget()
        return self.kept

    def forget(self) -> None:
        """Know nothing any more."""
        self.kept = set()


_Found = TypeVar("_Found")


class _Latest(Generic[_Found]):
    """What was found in the latest texts; see `Clean`.

    Args:
        most: how much is remembered at most.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._forget()
        GIVEN.told.append(self._forget)

    def add(self, kept: dict[object, _Found], known: object, found: _Found, size: int = 1) -> None:
        """Remember what was found in a text.

        Args:
            kept: what was known before it was looked at.
            known: what tells the text.
            found: what was found.
            size: how much that is.
        """
        kept[known] = found
        self._size += size
        if self._size > self._most:
            self._forget()

    def _forget(self) -> None:
        self.kept: dict[object, _Found] = {}
        self._size = 0


CLEAN: Final = Clean()
"""Texts in which nothing was found, and no mark either: they are the same in questions, answers and everywhere."""
SHOWN: Final = _Latest[str](_MOST_SHOWN)
"""As a question has them, those in which something was found, or a mark, by their hashes."""
_LONG: Final = _Latest[tuple[str, str]](_MOST_LONG)
"""Long texts themselves, and as a question has them, by their lengths and ends: to compare two takes a small part of
what a hash takes. They are the very same where nothing was found, and no mark either."""


def is_clean(text: str) -> bool:
    """Whether it is known that nothing is found in a text, and no mark either."""
    size = len(text)
    if size < REMEMBERED_FROM:
        return text in CLEAN.kept
    if size < LONG_FROM:
        return (hash(text), size) in CLEAN.kept
    before, shown = _LONG.kept.get((size, text[:_OF_END], text[-_OF_END:]), _NOTHING)
    return before is shown and before == text


def are_clean(texts: Sequence[str]) -> bool:
    """Whether nothing is found in texts, nor a mark, as far as one look at all of them tells; that is remembered then.

    Args:
        texts: the texts.
    """
    kept, joined = CLEAN.seen(), " ".join(texts)  # as each is searched, with a space at its ends
    if len(joined) >= LONG_FROM or OWN.searches_all or may_hold_secret(joined, ANCHORS.held_in(joined)):
        return False
    if any(secret in joined for secret in GIVEN.secrets):
        return False
    kept.update([text if len(text) < REMEMBERED_FROM else (hash(text), len(text)) for text in texts])
    return True


def asked_text(text: str) -> str:
    """As `asked`, for a text."""
    if is_clean(text):
        return text
    shown = redact_text(text)
    return shown if is_clean(shown) else canonical(shown)


def asked_parameters(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """As `asked`, for a query or form."""
    return [(name, MARK if is_secret_parameter(name) and value else asked_text(value)) for name, value in pairs]


def asked_bytes(data: bytes) -> bytes:
    """As `asked`, for bytes: of the text in them."""
    return cleaned_bytes(data, asked_text)


def redact_text(text: str, *, hide: Hide | None = None) -> str:
    """A text without secrets.

    Args:
        text: any text.
        hide: gives what stands for a secret; None for what stands for one in a question.
    """
    # Most texts end here, a hundred times a call: without a function called for what `is_clean` says.
    size = len(text)
    if size >= LONG_FROM:
        return _long_text(text, hide)
    known = text if size < REMEMBERED_FROM else (hash(text), size)
    seen = CLEAN.kept
    if known in seen:
        return text
    shown_before = SHOWN.kept
    if hide is None and known in shown_before:
        shown = shown_before[known]
        return text if shown == text else shown
    shown, has_mark = _searched(text, hide)
    if shown is not text or has_mark:
        if hide is None:
            SHOWN.add(shown_before, known, shown)
    else:
        seen.add(known)
        if len(seen) > MOST_REMEMBERED:
            CLEAN.forget()
    return shown


def _long_text(text: str, hide: Hide | None) -> str:
    """As `redact_text`, for a text that is remembered as it is."""
    known, kept = (len(text), text[:_OF_END], text[-_OF_END:]), _LONG.kept
    before, shown = kept.get(known, _NOTHING)
    if (before is shown or hide is None) and before == text:
        return text if before is shown else shown
    shown, has_mark = _searched(text, hide)
    if (shown is text and not has_mark) or (shown is not text and hide is None):
        _LONG.add(kept, known, (text, shown), len(text))
    return shown


def _searched(text: str, hide: Hide | None) -> tuple[str, bool]:
    """A text without secrets, and whether it may hold a mark."""
    # Of a short word nothing that it holds is looked for: lengths, counts and numbers.
    is_word = len(text) < _SHORTEST and text.isalnum() and not OWN.searches_all
    held = _NO_WORDS if is_word else ANCHORS.held_in(text)
    if not (held or GIVEN.secrets or OWN.searches_all or "@" in text):  # mostly
        return text, False
    has_mark = bool(held) and may_hold_mark(held)
    shown = unnumbered(text) if has_mark and hide is None else text  # what a replay gave
    hide = hide or marked
    if may_hold_secret(text, held) and (len(text) >= _SHORTEST or OWN.may_take_short(text)):
        found = secrets_in(shown, held if shown is text else None)
        shown = replaced(shown, found, hide) if found else shown
    for secret in GIVEN.secrets:
        if secret in shown:
            shown = shown.replace(secret, hide(secret))
    return shown, has_mark


given_text: Final = functools.partial(redact_text, hide=GIVEN.hide)


def marked(secret: str) -> str:
    """What stands for a secret in a question."""
    return (unsigned(secret) if secret.startswith(JWT_START) else None) or MARK


def cleaned_bytes(data: bytes, clean: Callable[[str], str]) -> bytes:
    """Bytes as `clean` leaves the text in them."""
    if is_binary(data):
        return data
    text = data.decode("latin-1")
    shown = clean(text)
    return data if shown == text else shown.encode("latin-1")


def is_binary(data: bytes) -> bool:
    """Whether bytes are many and no text: pictures, sound, archives. Searching them costs much and finds nothing."""
    return len(data) > _BINARY_FROM and b"\0" in data[:_BINARY_FROM]


def replaced(text: str, spans: list[Span], hide: Hide) -> str:
    """The text with marks in place of the spans.

    Args:
        text: any text.
        spans: where secrets stand in it.
        hide: gives what stands for a secret.
    """
    if not spans:
        return text
    parts, at = [], 0
    for span in spans:
        secret = text[span.start : span.end]
        parts += [text[at : span.start], _hidden(secret, span, hide)]
        at = span.end
    return "".join([*parts, text[at:]])


def _hidden(secret: str, span: Span, hide: Hide) -> str:
    if span.quote is not None:
        return _hidden_number(secret, span.quote, hide)
    return KEYED.mark(span.kind, secret) if span.kind else hide(secret)


def _hidden_number(number: str, quote: str, hide: Hide) -> str:
    """What stands for a number in JSON, which has to stay JSON."""
    return f"{quote}{MARK}{quote}" if hide is marked else same_digits(number)


def header_value(name: str, value: str, hide: Hide | None = None) -> str:
    """The value of a header, without secrets. Of a cookie its name and attributes stay.

    Args:
        name: in any case.
        value: as received.
        hide: gives what stands for a secret; None for what stands for one in a question.
    """
    hide = hide or marked
    if name.lower() == "set-cookie":
        return without_cookies(value, hide)
    if is_mark(value):
        return value
    return hide(value) if is_secret_header(name) else redact_text(value, hide=hide)


def without_cookies(value: str, hide: Hide) -> str:
    """The value of `Set-Cookie` without what its cookies hold where that is secret; `hide` gives what stands for it."""

    def shown(match: re.Match[str]) -> str:
        cookie = match["it"].rstrip()
        if is_mark(cookie) or not is_secret_cookie(match["name"], cookie):
            return match[0]
        start = match.start("it") - match.start()
        return match[0][:start] + hide(cookie) + match[0][start + len(cookie) :]

    return _COOKIE.sub(shown, value)
