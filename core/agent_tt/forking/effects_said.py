"""What people said that tools do when they forked a run: kept with the run, for later forks of it and of its agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from agent_tt.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.config import ToolEffect
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource

__all__ = ["checked_effects", "effects_said"]

_LOOKED_AT: Final = 100
"""Runs, the newest, among which others of the same agent are looked for."""

_EFFECTS: Final = ("read", "write")


def checked_effects(said: Mapping[str, object]) -> dict[str, ToolEffect]:
    """What somebody says that tools do, by name.

    Raises:
        UsageError: an effect is neither `read` nor `write`.
    """
    for name, effect in said.items():
        if not name or effect not in _EFFECTS:
            raise UsageError(f"a tool's effect is read or write, not {effect!r}, which is said of {name!r}")
    return {name: cast("ToolEffect", effect) for name, effect in said.items()}


def effects_said(source: RunSource, run: Run) -> dict[str, ToolEffect]:
    """What was said of tools, by name: for the run itself, else for the newest run of the same agent that says it.

    Args:
        source: where the run lies.
        run: the run.
    """
    others = source.runs(archived=True, limit=_LOOKED_AT) if run.agent else []
    same = [other for other in reversed(others) if other.agent == run.agent]
    found: dict[str, ToolEffect] = {}
    for each in (*same, run):
        said = each.facts.effects.items()
        found.update((name, cast("ToolEffect", effect)) for name, effect in said if effect in _EFFECTS)
    return found
