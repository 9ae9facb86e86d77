"""Texts without their secrets: a text, a header, the text in bytes. One that holds none is given back as it is."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final, TypeAlias

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
    from collections.abc import Callable

    from agent_tt.redaction.spans import Span

    Hide: TypeAlias = Callable[[str], str]

_SHORTEST: Final = 8
"""Characters of the shortest text that any shape fits."""

_COOKIE: Final = re.compile(r"(?:^|,)\s*(?P<name>[^=;,\s]+)\s*=\s*\"?(?P<it>[^;\"\s,](?:(?!,\s*[^=;,\s]+=)[^;\"])*)")
"""A cookie at the beginning of a header, or of the next of several that were joined (RFC 6265 §4.1.1)."""
_BINARY_FROM: Final = 2048
_REMEMBERED_FROM: Final = 64
"""Characters of the shortest text that is remembered by its hash."""
_MOST_REMEMBERED: Final = 50_000
_MOST_SHOWN: Final = 500


class Clean:
    """What holds no secret: a conversation says most of its words again and again.

    Short texts as they are, long ones and whole objects by their hashes.
    """

    def __init__(self) -> None:
        self.version = -1
        self.kept: set[object] = set()

    def seen(self) -> set[object]:
        """What is known to be clean; to be asked for anew each time, since there may be one more secret."""
        version, seen = GIVEN.version, self.kept
        if self.version != version or len(seen) > _MOST_REMEMBERED:
            seen = self.kept = set()
            self.version = version
        return seen


_CLEAN: Final = Clean()
"""Texts in which nothing was found, and no mark either: they are the same in questions, answers and everywhere."""


class _Shown:
    """The latest texts in which something was found, as a question has them, by their hashes; see `Clean`."""

    def __init__(self) -> None:
        self.version = -1
        self.kept: dict[object, str] = {}

    def now(self) -> dict[object, str]:
        """What holds; to be asked for anew each time, since there may be one more secret."""
        version = GIVEN.version
        if self.version != version or len(self.kept) > _MOST_SHOWN:
            self.kept = {}
            self.version = version
        return self.kept


_SHOWN: Final = _Shown()


def _remembered(text: str) -> object:
    return text if len(text) < _REMEMBERED_FROM else (hash(text), len(text))


def is_clean(text: str) -> bool:
    """Whether it is known that nothing is found in a text, and no mark either."""
    return _CLEAN.version == GIVEN.version and _remembered(text) in _CLEAN.kept


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
    # Most texts end here, a hundred times a call: without a function called for what `seen` and `_remembered` say.
    known = text if len(text) < _REMEMBERED_FROM else (hash(text), len(text))
    if _CLEAN.version == GIVEN.version and known in _CLEAN.kept:
        return text
    seen = _CLEAN.seen()
    shown_before = _SHOWN.now() if hide is None else None
    if shown_before and known in shown_before:
        return shown_before[known]
    held = ANCHORS.held_in(text)
    has_mark = bool(held) and may_hold_mark(held)
    shown = unnumbered(text) if has_mark and hide is None else text  # what a replay gave
    hide = hide or marked
    if may_hold_secret(text, held) and (len(text) >= _SHORTEST or OWN.may_take_short(text)):
        found = secrets_in(shown, held if shown is text else None)
        shown = replaced(shown, found, hide) if found else shown
    for secret in GIVEN.secrets:
        if secret in shown:
            shown = shown.replace(secret, hide(secret))
    if shown is text and not has_mark:
        seen.add(known)
    elif shown is not text and shown_before is not None:
        shown_before[known] = shown
    return shown


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
