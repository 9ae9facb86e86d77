"""Patterns of a project's own for what is secret: kept with a run, and taken from there by its replays.

A replay asks what was asked then: with other patterns its questions would be others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.model.facts import RunFacts
from agent_tt.recording.session import SESSION
from agent_tt.redaction.own import OWN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire

__all__ = ["own_patterns", "use_patterns_of"]


def own_patterns() -> dict[str, Wire]:
    """Use the patterns of the project, unless a recorded run answers, whose own hold; what a run keeps of them.

    Raises:
        UsageError: the project's settings cannot be read.
    """
    if all(kept() is None for kept in SESSION.chain.kept_headers):
        from agent_tt import config

        OWN.use(config.load().redaction)
    return RunFacts.redaction.entry(OWN.texts) if OWN.texts else {}


def use_patterns_of(metadata: Mapping[str, Wire]) -> None:
    """Use the patterns that a recorded run keeps."""
    OWN.use(RunFacts.redaction.of(metadata) or {})
