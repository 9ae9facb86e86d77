"""A hold of a run: somebody has asked that its agent waits before its next calls."""

from __future__ import annotations

from agent_tt._dataclass import dataclass

__all__ = ["Hold"]


@dataclass(frozen=True, slots=True)
class Hold:
    """A hold that stands: whoever holds the run is there.

    Attributes:
        id: its number in the store.
        run_id: the run.
        when: the expression that has to hold where a call waits; "" for every call.
        by: where it is held from: `command`, `app` or `program`.
        since_us: since when.
        process: id of the process that holds it.
    """

    id: int
    run_id: str
    when: str = ""
    by: str = ""
    since_us: int = 0
    process: int = 0
