"""What stands for a secret.

In a question it is always `MARK`: a run that is replayed with another key, or with none, asks the same. In an answer it
is as long as the secret and has a number, so that a client parses what it parsed, two secrets are two, and a program
that compares or measures them does as it did. It is made of letters that no address, form, cookie, JSON or XML writes
otherwise (RFC 3986 §2.3). A JSON Web Token loses its signature only: clients read what it claims.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Final

from agent_tt._pattern import lazy_re
from agent_tt.redaction.anchors import ANCHORS, Place
from agent_tt.redaction.keyed import KEYED_MARK

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

MARK: Final = "<redacted>"
JWT_START: Final = "eyJ"
"""`{"` in base64."""

_WORD: Final = "~redacted"
_SHORTEST: Final = 4
_NUMBERED: Final = lazy_re(r"~r(?:edacted|edacte|edact|edac|eda|ed|e)?\d+(?:~(?!r[edact]*\d))+")
_QUOTED: Final = lazy_re(r"%3[Cc]redacted%3[Ee]")
_BEGUN: Final = "~r"
_ANCHORS: Final = frozenset({_BEGUN, "redacted"})
ANCHORS.use("marks", {Place.AS_WRITTEN: frozenset({_BEGUN}), Place.ANYWHERE: _ANCHORS - {_BEGUN}})
_SIGNATURE: Final = "redacted"
_JWT: Final = lazy_re(r"(?<![\w-])eyJ[\w-]+\.[\w-]+\.redactedA*")


def numbered(number: int, length: int) -> str:
    """The mark of a secret in an answer; asterisks where no mark fits in.

    Args:
        number: number of the secret, from 1 on.
        length: of the secret.
    """
    if length < _SHORTEST:
        return "*" * length
    digits = str(number)[3 - length :]
    return f"{_WORD[: max(2, length - len(digits) - 1)]}{digits}".ljust(length, "~")


def same_digits(number: str) -> str:
    """What stands for a secret number in an answer: as long, and a number again, so that a client parses it.

    Args:
        number: as JSON writes it.
    """
    shown, is_first = [], True
    for letter in number:
        shown.append(("1" if is_first else "0") if letter.isdigit() else letter)
        is_first = is_first and not letter.isdigit()
    return "".join(shown)


def is_mark(text: str) -> bool:
    """Whether a text is nothing but the mark of a secret; asterisks are none: they may be what they are."""
    return text == MARK or any(shape.fullmatch(text) for shape in (_NUMBERED, KEYED_MARK, _QUOTED, _JWT))


def may_hold_mark(held: AbstractSet[str]) -> bool:
    """Whether a text may hold a mark of any form; without one `unnumbered` and `canonical` change nothing.

    Args:
        held: the words of `ANCHORS` that it holds.
    """
    return not held.isdisjoint(_ANCHORS)


def unnumbered(text: str) -> str:
    """A text in which marks that an answer gave are as in a question."""
    return _NUMBERED.sub(MARK, text) if _BEGUN in text else text


def canonical(text: str) -> str:
    """A text in which every mark is the same."""
    text = unnumbered(text)
    return _JWT.sub(MARK, _QUOTED.sub(MARK, text)) if "redacted" in text else text


def unsigned(token: str) -> str | None:
    """A JSON Web Token as long as it was, without its signature; None where it is none, or has a very short one."""
    head, _, rest = token.partition(".")
    claims, _, signature = rest.partition(".")
    try:
        is_token = all(isinstance(json.loads(_unpacked(part)), dict) for part in (head, claims))
    except (ValueError, RecursionError):
        return None
    if not is_token or len(signature) < len(_SIGNATURE):
        return None
    return f"{head}.{claims}.{_SIGNATURE.ljust(len(signature), 'A')}"


def _unpacked(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
