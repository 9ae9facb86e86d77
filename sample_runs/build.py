"""Record the runs that are shipped: run every prebuilt sample and put its run into `runs.db` beside this file.

They are recorded on a simulated clock (`simulated_time.py`): their times are those of an agent with real services.

`python sample_runs/build.py [FILE]`
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

from agent_tt import samples
from agent_tt.store import copy_run, open_store
from agent_tt.store.file.transaction import Transaction
from agent_tt.store.tables.definitions import CALLS, RUNS, STEPS

FIRST_BEGINS = datetime.fromisoformat("2026-03-16T09:04:00+00:00")
APART = timedelta(minutes=17)


def build(target: Path) -> None:
    """Record all shipped runs afresh and replace `target` by a store that holds them and nothing else."""
    with tempfile.TemporaryDirectory(prefix="agent-tt-samples-") as scratch:
        fresh = Path(scratch) / target.name
        with closing(open_store(fresh, create=True)) as store:
            for place, sample in enumerate(sample for sample in samples.names() if sample.prebuilt):
                begins_us = int((FIRST_BEGINS + place * APART).timestamp()) * 1_000_000
                through = ("simulated_time.py", str(begins_us))
                recorded, run_id = samples.record_run(sample, Path(scratch), through=through)
                with closing(open_store(recorded, read_only=True)) as source:
                    copied = copy_run(source, store, run_id, root="")
                store.set_metadata(copied, {"clock": "simulated"})
                print(f"{sample.name}: {sample.title}")
        pack(fresh, forget=Path(scratch))
        target.write_bytes(fresh.read_bytes())


def pack(path: Path, *, forget: Path) -> None:
    """Make a store one small file without a write-ahead log, and forget the machine that recorded it.

    Args:
        path: the store.
        forget: the folder that the agents ran in; tracebacks name files as calls do, relative to the agents' folder.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        prefix = f"{forget / samples.WORKPLACE}/"
        with Transaction(connection) as tx:
            for run, meta in tx.query("SELECT run, json_remove(meta, '$.code.interpreter') FROM runs"):
                RUNS.update(tx, (run,), {"owner": None, "meta": meta})
            for table in (RUNS, STEPS, CALLS):
                key = ", ".join(table.key)
                for *row, error in tx.query(f"SELECT {key}, error FROM {table.name} WHERE error IS NOT NULL"):  # noqa: S608
                    table.update(tx, row, {"error": error.replace(prefix, "")})
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("VACUUM")


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name(samples.SHIPPED_RUNS))
