"""Headers of requests that count as part of a question, beside those that always do.

They are said for a project (`[tool.agent-tt] headers = ["x-tenant"]`) or a run (`record(..., headers=["x-tenant"])`),
kept with the run, and taken from there by its replays: what counted then counts now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.model.facts import RunFacts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent_tt.codec.wire import Wire


def headers_of(metadata: Mapping[str, Wire]) -> frozenset[str]:
    """The names that a run keeps, in lower case."""
    return frozenset(name.lower() for name in RunFacts.headers.of(metadata) or ())


def as_metadata(headers: Iterable[str] | None) -> dict[str, Wire]:
    """What a run keeps of the names that were said for it; of those of its project where none were.

    Raises:
        UsageError: the project's settings cannot be read.
    """
    if headers is None:
        from agent_tt import config

        headers = config.load().headers
    names = tuple(sorted({name.strip().lower() for name in headers if name.strip()}))
    return RunFacts.headers.entry(names) if names else {}
