"""What runs printed: rows of `notes` of kind `output`. The newest of a run is the one that holds."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from agent_tt.errors import Damaged
from agent_tt.model import Output
from agent_tt.store import ingest_filter
from agent_tt.store.rows import columns
from agent_tt.store.rows.run_rows import OUTPUT
from agent_tt.store.tables.definitions import NOTES

if TYPE_CHECKING:
    from agent_tt.store.file.transaction import Transaction
    from agent_tt.store.tables.asking import Rows

__all__ = ["admitted", "keep", "output_of"]


def admitted(output: Output) -> Output:
    """What a run printed, as it may be stored."""
    return replace(output, text=ingest_filter.admit_text(output.text), tail=ingest_filter.admit_text(output.tail))


def keep(tx: Transaction, run: int, output: Output, now: int) -> None:
    """Write down what the run of a row number printed."""
    NOTES.insert(tx, (None, run, None, OUTPUT, columns.mapping_to_text(asdict(admitted(output))), now))


def output_of(rows: Rows, run: int) -> Output | None:
    """What the run of a row number printed; None where that was not kept, or cannot be read.

    Raises:
        Damaged: it is not what was recorded.
    """
    found = NOTES.read(rows, "run = ? AND kind = ? ORDER BY note DESC LIMIT 1", (run, OUTPUT))
    if not all(map(NOTES.holds, found)):
        raise Damaged("what the run printed is damaged: it is not what was recorded", hint="Run `agent-tt verify`.")
    facts = columns.mapping_from_text(found[0][4]) if found else {}
    size, text, tail = columns.integer(facts.get("size")), columns.text(facts.get("text")), facts.get("tail", "")
    digest = columns.text(facts.get("digest"))
    if size is None or text is None or digest is None or not isinstance(tail, str):
        return None
    return Output(size, text, tail, digest, columns.integer(facts.get("columns")), columns.integer(facts.get("lines")))
