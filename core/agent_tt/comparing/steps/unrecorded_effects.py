"""What the process of a fork did outside the fork's own recording: at import, before it, beside it and after it.

The guard of the fork wrote it down (`agent_tt.forking.outside.outside`). Runs that the process recorded besides are
read too.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final, get_args

from agent_tt.comparing.steps.effects import EffectRow, Effects, effects_in, was_halted
from agent_tt.errors import AgentTTError
from agent_tt.model import CallKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource

__all__ = ["effects_outside"]

_KINDS: Final = frozenset(get_args(CallKind))


def effects_outside(source: RunSource, run: Run) -> Effects:
    """The ledger of what was made or held back where the run's recording did not reach; empty of runs that are no fork.

    Args:
        source: where the run lies.
        run: the run.
    """
    if run.fork_step is None:
        return Effects()
    rows: list[EffectRow] = []
    reads: Counter[str] = Counter()
    models: Counter[str] = Counter()
    for facts in _written(source, run):
        if "run" in facts:
            other = _effects_of_other(source, str(facts["run"]))
            rows += other.rows
            reads.update(other.reads)
            models.update(other.models)
            continue
        row = _row(facts)
        if row.happened == "denied" or row.effect == "write":
            rows.append(row)
        else:
            (models if row.kind == "llm" else reads)[row.name] += 1
    return Effects(tuple(rows), dict(reads), dict(models))


def _written(source: RunSource, run: Run) -> Iterator[Mapping[str, Wire]]:
    for note in source.notes(run.id):
        if note.kind == "effect":
            try:
                facts = json.loads(note.body)
            except ValueError:
                facts = None
            yield facts if isinstance(facts, dict) else {"name": note.body}


def _row(facts: Mapping[str, Wire]) -> EffectRow:
    """The row of one call; what cannot be read counts as something that was made."""
    said, effect = facts.get("kind"), facts.get("effect")
    return EffectRow(
        step=0,
        call=0,
        lane="",
        kind=next((kind for kind in get_args(CallKind) if kind == said), "tool"),
        name=str(facts.get("name", "")),
        effect="write" if effect == "write" or said not in _KINDS else "read" if effect == "read" else None,
        happened="denied" if facts.get("happened") == "denied" else "sent",
        because=str(facts.get("because", "")),
        site={key: facts[key] for key in ("file", "line") if key in facts},
        where=str(facts.get("when", "after")),
    )


def _effects_of_other(source: RunSource, run_id: str) -> Effects:
    try:
        other = source.run(run_id)
        steps = [step for step in source.steps(other.id) if step.calls]
        calls = [call for step in steps for call in source.calls(other.id, step.number)]
    except AgentTTError:  # it was deleted, or cannot be read: that is said where it is looked at
        return Effects()
    found = effects_in(calls, is_running=other.status == "running", is_halted=was_halted(other))
    return replace(found, rows=tuple(replace(row, where=other.name) for row in found.rows))
