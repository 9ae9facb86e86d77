"""Effects that are done once for a key: what a store says of the call that has the key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from agent_tt.model.steps import Call

__all__ = ["Holder", "HolderState"]

HolderState: TypeAlias = Literal["done", "running", "unknown"]


@dataclass(frozen=True, slots=True)
class Holder:
    """The earlier call that has a key.

    Attributes:
        run: id of its run.
        step: its step.
        call: its number in there.
        state: `done`; `running`, in a process that is there; `unknown`: it may have happened.
        made: the call with its answer; None unless it is done and its answer is kept.
        why: of one that is unknown, or whose answer is not kept: the reason, in words that follow its place.
    """

    run: str
    step: int
    call: int
    state: HolderState
    made: Call | None = None
    why: str = ""

    @property
    def where(self) -> str:
        """Its place, in words."""
        return f"call {self.call} of step {self.step} of run {self.run}"
