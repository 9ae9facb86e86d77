"""The one write door: everything that an agent produced passes here before it is compared or stored.

Rules for secrets and personal data belong here, and nowhere else. There are none yet: everything passes as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.model import ErrorInfo

__all__ = ["admit", "admit_error", "admit_state"]


def admit(value: Wire) -> Wire:
    """Arguments, results, metadata and edits, as they may be stored."""
    return value


def admit_state(state: object) -> object:
    """An agent's state, as it may be compared and stored."""
    return state


def admit_error(error: ErrorInfo | None) -> ErrorInfo | None:
    """An exception, as it may be stored."""
    return error
