"""The facts of a run that say which program ran: what starts it once more."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from agent_tt.model.facts.runs import RunFacts, TermFacts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from agent_tt.codec.wire import Wire

__all__ = ["PROGRAM_FACTS", "as_foreign", "below", "program_below"]

PROGRAM_FACTS: Final = (
    RunFacts.script,
    RunFacts.module,
    RunFacts.arguments,
    RunFacts.command,
    RunFacts.python_options,
    RunFacts.calls,
)
"""What the metadata of a run says of the program that ran."""


def program_below(root: Path, metadata: Mapping[str, Wire]) -> dict[str, Wire]:
    """Give those facts with the project's own paths relative to it.

    Args:
        root: the project.
        metadata: of a run.
    """
    said: dict[str, Wire] = {}
    for key, value in ((fact.key, metadata[fact.key]) for fact in PROGRAM_FACTS if fact.is_in(metadata)):
        if isinstance(value, str):
            said[key] = below(root, value)
        elif isinstance(value, list):
            said[key] = [below(root, str(each)) for each in value]
        else:
            said[key] = value
    return said


def as_foreign(metadata: Mapping[str, Wire]) -> dict[str, Wire]:
    """Give metadata that came from elsewhere without what decides what runs here, and what that may do.

    Beside the program these are the effects that somebody said tools have, and the leave to see originals.
    """
    keys = {fact.key for fact in (*PROGRAM_FACTS, RunFacts.effects)}
    said = {key: value for key, value in metadata.items() if key not in keys}
    terms = said.get(RunFacts.fork_terms.key)
    if isinstance(terms, dict):
        said[RunFacts.fork_terms.key] = {key: value for key, value in terms.items() if key != TermFacts.originals.key}
    return said


def below(root: Path, text: str) -> str:
    """A path in the project without the project's own."""
    return text.removeprefix(f"{root}{os.sep}")
