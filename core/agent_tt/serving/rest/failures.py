"""Errors as they are answered: in one shape, with a status that says whose mistake it is."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, Final

from agent_tt.errors import (
    AgentFailed,
    AgentTTError,
    Interrupted,
    NotFound,
    QuestionClosed,
    ReadOnlySource,
    Refused,
    StoreBusy,
    StoreUnreadable,
    Untrusted,
    UsageError,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire

__all__ = ["NotAllowed", "TooLong", "TooMany", "failure", "failure_body", "flaws_of", "status_of"]

_LOG: Final = logging.getLogger(__name__)
_MOST: Final = 2_000
_MOST_FLAWS: Final = 8


class NotAllowed(AgentTTError):
    """Whoever started the server has not allowed it."""

    kind = "not_allowed"


class TooLong(AgentTTError):
    """It takes longer than the server works for one request."""

    kind = "too_long"


class TooMany(AgentTTError):
    """As many do it already as may."""

    kind = "too_many"


_STATUSES: Final[tuple[tuple[type[AgentTTError], int], ...]] = (
    (NotAllowed, 403),
    (ReadOnlySource, 403),
    (Untrusted, 403),
    (TooLong, 504),
    (TooMany, 503),
    (NotFound, 404),
    (QuestionClosed, 409),
    (Refused, 409),
    (StoreBusy, 503),
    (StoreUnreadable, 502),
    (Interrupted, 504),
    (AgentFailed, 502),
    (UsageError, 422),
)
"""The status of an error is that of the first of these that it is; of any other 422: what was asked for cannot be."""


def status_of(error: AgentTTError) -> int:
    """The status that an error is answered with."""
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 422)


def failure(error: Exception) -> tuple[int, bytes]:
    """The status and the body of what answers an error; one that nobody raises on purpose is written to the log."""
    if isinstance(error, AgentTTError):
        nearest = error.nearest if isinstance(error, NotFound) else ()
        return status_of(error), failure_body(error.kind, error.message, error.advice, nearest=nearest)
    if isinstance(error, RecursionError):
        return 422, failure_body("damaged", "a value is nested too deep to be sent", "Name a narrower path.")
    _LOG.error("a request failed", exc_info=error)
    what = f"{type(error).__name__}: {error}"
    return 500, failure_body("bug", what, "This is a mistake in agent-tt, not in the request.")


def failure_body(
    kind: str, message: str, hint: str = "", *, nearest: Sequence[str] = (), flaws: Sequence[Wire] = ()
) -> bytes:
    """`{error: {kind, message, hint}}`, with `nearest` and `flaws` where there are some, as ASCII."""
    told: dict[str, Wire] = {"kind": kind, "message": _cut(message, _MOST), "hint": _cut(hint, _MOST)}
    if nearest:
        told["nearest"] = [_cut(name, 200) for name in nearest[:_MOST_FLAWS]]
    if flaws:
        told["flaws"] = [*flaws]
    return json.dumps({"error": told}).encode()


def flaws_of(found: Sequence[Any]) -> list[Wire]:
    """What is wrong with a request, as pydantic says it; without what was given, which may be large or secret."""
    return [
        {"where": ".".join(map(str, each.get("loc", ())))[:200], "what": _cut(str(each.get("msg", "")), 300)}
        for each in found[:_MOST_FLAWS]
    ]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
