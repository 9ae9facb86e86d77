"""Edits of a fork that had no effect: the agent never reached them, or wrote over them.

They are kept with the fork, in its metadata; see `agent_tt.model.facts.WithoutEffectFacts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.model import Edit, Run

__all__ = ["WithoutEffect", "edits_made", "edits_without_effect"]


@dataclass(frozen=True, slots=True)
class WithoutEffect:
    """An edit that had no effect.

    Attributes:
        edit: the edit.
        reason: why not, in words.
    """

    edit: Edit
    reason: str

    def to_json(self) -> dict[str, Wire]:
        """`{target, path, step, call, reason}`."""
        edit = self.edit
        return {
            "target": edit.target,
            "path": edit.path,
            "step": edit.step,
            "call": edit.call,
            "reason": self.reason,
        }


def edits_without_effect(run: Run) -> tuple[WithoutEffect, ...]:
    """List the edits of a fork that are known to have had no effect."""
    return tuple(WithoutEffect(run.edits[index], reason) for index, reason in _kept(run).items())


def edits_made(run: Run) -> tuple[Edit, ...]:
    """List the edits of a fork but for those that are known to have had no effect."""
    kept = _kept(run)
    return tuple(edit for index, edit in enumerate(run.edits) if index not in kept)


def _kept(run: Run) -> dict[int, str]:
    said = ((entry.edit, entry.reason or "") for entry in run.facts.edits_without_effect)
    return {index: reason for index, reason in said if index is not None and 0 <= index < len(run.edits)}
