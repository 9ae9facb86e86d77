"""The effects ledger of a run: what it did to the world, and what it was kept from.

It is not a second record. Each row is a call of the run (`agent_tt.comparing.steps.effects`), whose status and facts
say whether it was made as it was, made otherwise, denied, refused, or answered without being made. Of a fork only its
own calls count, from its fork step on; what its process did outside its recording counts with them. What only read is
counted, not listed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.comparing.steps.effects import EffectRow, Effects, effects_between
from agent_tt.comparing.steps.unrecorded_effects import effects_outside

if TYPE_CHECKING:
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource

__all__ = ["EffectRow", "Effects", "effects_of"]


def effects_of(source: RunSource, run: Run, *, values: bool = True) -> Effects:
    """The ledger of a run, also of one that goes on.

    Args:
        source: where the run lies.
        run: the run.
        values: whether the rows have arguments, results and errors; a summary needs none.
    """
    return effects_between(source, run, (run.fork_step or 0) + 1, values=values).plus(effects_outside(source, run))
