"""The effects ledger of a run: what it did to the world, and what it was kept from.

It is not a second record. Each row is a call of the run (`agent_tt.comparing.steps.effects`), whose status and facts
say whether it was made as it was, made otherwise, denied, refused, or answered without being made. Of a fork only its
own calls count, from its fork step on; what its process did outside its recording counts with them. What only read is
counted, not listed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from agent_tt.comparing.steps.effects import EffectRow, Effects, effects_in
from agent_tt.comparing.steps.unrecorded_effects import effects_outside

if TYPE_CHECKING:
    from agent_tt.model import Call, Run
    from agent_tt.protocols import RunSource

__all__ = ["EffectRow", "Effects", "effects_of"]


def effects_of(source: RunSource, run: Run, *, values: bool = True) -> Effects:
    """The ledger of a run, also of one that goes on.

    Args:
        source: where the run lies.
        run: the run.
        values: whether the rows have arguments, results and errors; a summary needs none.
    """
    return _in_run(source, run, values=values).plus(effects_outside(source, run))


def _in_run(source: RunSource, run: Run, *, values: bool) -> Effects:
    start = (run.fork_step or 0) + 1
    is_running = run.status == "running"
    if not source.capabilities.pages:
        calls = source.call_page(run.id, start, source.step_count(run.id) + 1)
        return effects_in(calls, is_running=is_running)
    heads = source.call_heads(run.id, start)
    effects = effects_in(heads, is_running=is_running)
    if not values:
        return effects
    by_place = {(head.step, head.number): head for head in heads}
    return replace(
        effects,
        rows=tuple(_filled(row, source.with_values(run.id, by_place[row.step, row.call])) for row in effects.rows),
    )


def _filled(row: EffectRow, call: Call) -> EffectRow:
    return replace(row, args=call.args, result=call.result, error="" if call.error is None else call.error.short)
