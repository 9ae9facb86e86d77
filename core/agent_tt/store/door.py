"""The one write door: everything that an agent or a person put in passes here before it is compared or stored.

Rules for secrets and personal data belong here, and nowhere else. There are none yet: everything passes as it is. What
agent-tt says on its own account (ids, statuses, times, the agent's code and process, signatures) does not pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.store.columns import sound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model import ErrorInfo

__all__ = ["admit", "admit_error", "admit_mapping", "admit_state", "admit_text"]


def admit(value: Wire) -> Wire:
    """Arguments, results, pieces of streams and edits, as they may be stored."""
    return value


def admit_mapping(facts: Mapping[str, Wire]) -> dict[str, Wire]:
    """Metadata, as it may be stored."""
    admitted = admit(dict(facts))
    return admitted if isinstance(admitted, dict) else {}


def admit_text(words: str) -> str:
    """Names, tags, notes and decisions, as they may be stored; never with lone surrogates, which UTF-8 cannot hold."""
    admitted = admit(words)
    return sound(admitted) if isinstance(admitted, str) else ""


def admit_state(state: object) -> object:
    """An agent's state, as it may be compared and stored."""
    return state


def admit_error(error: ErrorInfo | None) -> ErrorInfo | None:
    """An exception, as it may be stored."""
    return error
