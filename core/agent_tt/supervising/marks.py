"""The word in the environment of a process that says which agent it belongs to; see `processes`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MARK", "marked"]

MARK: Final = "AGENT_TT_WITHIN"
"""Environment variable with the marks of the agents a process belongs to, with spaces between, the outermost first."""


def marked(mark: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Give `environment` the mark of one more agent; a new mapping."""
    around = environment.get(MARK)
    return {**environment, MARK: f"{around} {mark}" if around else mark}
