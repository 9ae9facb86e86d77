"""Calls that nothing records, in a process that runs a fork: its policy holds for them all the same.

They are made before, beside or after the agent's recording, or in a thread that none reaches. What is denied there has
no row of its own, so who runs the fork is told of it, and writes it down.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from agent_tt.errors import ToolDenied
from agent_tt.recording.adoption import process_policy
from agent_tt.recording.call_site import call_site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent_tt.model import CallKind, Effect

    Told: TypeAlias = Callable[[ToolDenied], None]

__all__ = ["check_unrecorded", "telling"]

_TOLD: list[Told] = []


@contextmanager
def telling(told: Told) -> Iterator[None]:
    """Let `told` hear of what is denied where nothing records it, while the block lasts."""
    _TOLD.append(told)
    try:
        yield
    finally:
        _TOLD.remove(told)


def check_unrecorded(kind: CallKind, name: str, effect: Effect | None) -> None:
    """Refuse a call that no recording reaches, where the policy of this process does not let it be made.

    Raises:
        ToolDenied: it may not be made.
    """
    policy = process_policy()
    if policy is None:
        return
    try:
        policy.check(kind, name, effect, call_site(None))
    except ToolDenied as denial:
        for told in _TOLD:
            told(denial)
        raise
