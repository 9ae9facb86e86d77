"""Which parts of a request are secrets. They are replaced before anything is hashed or stored."""

from __future__ import annotations

import re
from typing import Final

REDACTED: Final = "<redacted>"
"""Stands for every secret, so that another key asks the same question."""

_SECRET_HEADERS: Final = frozenset(
    {"authorization", "proxy-authorization", "cookie", "set-cookie", "x-goog-api-key", "x-amz-security-token"}
)
_SECRET_WORDS: Final = re.compile(
    r"(?:^|[^a-z])(?:api[-_ ]?key|access[-_ ]?key|access[-_ ]?token|refresh[-_ ]?token|id[-_ ]?token|auth[-_ ]?token"
    r"|client[-_ ]?secret|secret|password|passwd|pwd|token|credential|signature|sig|key|auth)(?:$|[^a-z])"
)


def is_secret_header(name: str) -> bool:
    """Whether the value of the header `name` (lower case) lets somebody in."""
    return name in _SECRET_HEADERS or ((name.startswith("x-") or "api" in name) and is_secret_field(name))


def is_secret_field(name: str) -> bool:
    """Whether a field of a query or form with this name is a secret: `key`, `api_key`, `X-Amz-Signature`, …."""
    return _SECRET_WORDS.search(name.lower()) is not None


def redact_fields(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs, with the values of secret fields replaced."""
    return [(name, REDACTED if is_secret_field(name) else value) for name, value in pairs]
