"""Saying of a run that something was written into its tracked state in a way that nobody noticed at once."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from agent_tt.codec.paths import format_path, without_envelopes
from agent_tt.model.facts import RunFacts
from agent_tt.model.facts.runs import UnnoticedFacts
from agent_tt.model.facts.stored import RunMeta
from agent_tt.store import ingest_filter
from agent_tt.store.rows import columns
from agent_tt.store.tables.definitions import RUNS

if TYPE_CHECKING:
    from agent_tt.codec.wire import Path
    from agent_tt.store.file.transaction import Transaction

__all__ = ["say_unnoticed"]

_LOG = logging.getLogger(__name__)
_MOST: Final = 20


def say_unnoticed(tx: Transaction, run: int, path: Path, track: str, *, sure: int, step: int | None) -> None:
    """Write down, and warn, that a write was found that a tracked container did not note.

    Args:
        tx: the transaction of the step that holds it.
        run: the run's row number.
        path: where it was written.
        track: the name of the state history.
        sure: the last step before it whose state is known to hold everything; 0 where there is none.
        step: the first step whose state holds it; None where the run has ended.
    """
    place = ingest_filter.admit_text(format_path(without_envelopes(path)) or "the state")
    _LOG.warning(
        "%s was written in a way that a tracked state does not notice (by C code, or as dict.__setitem__(state, …)): "
        "the states after step %s%s may lack it%s",
        *(place, sure, "" if step is None else f" and before step {step}"),
        "" if step is None else "; from now on all of the state is compared after every step",
    )
    ((meta,),) = tx.query("SELECT meta FROM runs WHERE run = ?", (run,)) or [(None,)]
    facts = columns.mapping_from_text(meta)
    metadata = facts.get(RunMeta.metadata.key)
    said = dict(metadata) if isinstance(metadata, dict) else {}
    before = said.get(RunFacts.unnoticed.key)
    now = UnnoticedFacts.found(track, place, sure, step)
    said[RunFacts.unnoticed.key] = [*(before if isinstance(before, list) else []), now][-_MOST:]
    facts[RunMeta.metadata.key] = said
    RUNS.update(tx, (run,), {"meta": columns.mapping_to_text(facts)})
