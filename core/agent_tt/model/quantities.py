"""Lengths of time and sizes as people write them: `90s`, `12h`, `30d`, `2w`; `500 MB`, `2GB`."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from agent_tt._pattern import lazy_re
from agent_tt.errors import UsageError

__all__ = ["moment", "period", "size"]

_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400}
_PERIOD: Final = lazy_re(r"([0-9]{1,9})([smhdw])")
_SIZE: Final = lazy_re(r"([0-9]{1,9})(?:\.([0-9]{1,3}))? ?([KMGT]?)B", re.IGNORECASE)
_POWERS: Final = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_SECOND_US: Final = 1_000_000


def period(text: str) -> int:
    """A length of time in microseconds.

    Raises:
        UsageError: it is not one.
    """
    found = _PERIOD.fullmatch(text.strip())
    if found is None:
        raise UsageError(
            f"{text!r} is not a length of time", hint="Write a number with s, m, h, d or w: 90s, 12h, 30d, 2w."
        )
    return int(found[1]) * _SECONDS[found[2]] * _SECOND_US


def size(text: str) -> int:
    """A size in bytes; one KB is 1,024 of them.

    Raises:
        UsageError: it is not one.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{text!r} is not a size", hint="Write a number with B, KB, MB, GB or TB: 500MB, 2GB.")
    return int(float(f"{found[1]}.{found[2] or 0}") * 1024 ** _POWERS[found[3].upper()])


def moment(text: str, now_us: int) -> int:
    """A moment in microseconds since the epoch: a length of time before now, or a date or time in ISO form (else UTC).

    Raises:
        UsageError: it is neither.
    """
    if _PERIOD.fullmatch(text.strip()):
        return now_us - period(text)
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(
            f"{text!r} is neither a length of time nor a date", hint="Write 30d, 12h, 2026-03-02 or 2026-03-02T09:30."
        ) from None
    return round((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * _SECOND_US)
