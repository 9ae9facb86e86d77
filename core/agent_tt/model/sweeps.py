"""A sweep: what was varied over a fork."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire

__all__ = ["Sweep"]


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep as it lies in the store.

    Attributes:
        id: 12 characters, as of a run.
        run: id of the run that is forked.
        run_name: what that run is called now.
        number: counts the sweeps of the run, from 1.
        step: the step after which the runs begin to differ.
        definition: what is varied; `agent_tt.sweeping.definition` reads it.
        created_us: when it was begun.
        driven: whether a process drives it now.
    """

    id: str
    run: str
    run_name: str
    number: int
    step: int
    definition: Mapping[str, Wire]
    created_us: int
    driven: bool

    @property
    def name(self) -> str:
        """`refund-loop/sweep-1`: what its runs are named after."""
        return f"{self.run_name}/sweep-{self.number}"
