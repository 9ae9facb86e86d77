"""Comparing two states, two texts or two runs.

| folder | answers |
|---|---|
| `runs` | how two runs differ, and one from many |
| `steps` | which steps belong together, and what a step did |
| `values` | what differs between two values |
| `sequences` | which items of two lists belong together |
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agent_tt.comparing.runs.comparison import Comparison
    from agent_tt.comparing.runs.table import Table

__all__ = ["compare", "compare_many"]


def compare(a: str, b: str, *, store: str | Path | None = None) -> Comparison:
    """Compare two recorded runs, step by step.

    ```python
    found = agent_tt.compare("refund-loop", "trip-planner")
    print(found.diverged_at, found.rejoined_at, found.only_a, found.only_b)
    ```

    Args:
        a: one run: its id, a unique prefix of it, its name, `latest` or `NAME~2`.
        b: the other run.
        store: the file they are in; found as the commands find it when not given.

    Returns:
        Which steps belong together (aligned lane by lane, at the least cost by `agent_tt.comparing.steps.costs`), where
        the runs diverge and why, where they agree again, and how each ended; `.to_json()` is what `agent-tt compare
        --json` writes.

    Raises:
        StoreNotFound: there is no store.
        RunNotFound: a run is not in it.
    """
    from agent_tt.comparing.runs.comparison import compare_runs
    from agent_tt.sources import open_source
    from agent_tt.store.file.locate import resolve_store_path

    with closing(open_source(resolve_store_path(store))) as source:
        return compare_runs(source, source.run(a), source, source.run(b))


def compare_many(
    base: str, others: Sequence[str] | None = None, *, archived: bool = False, store: str | Path | None = None
) -> Table:
    """Compare one recorded run with many: a row for each, in figures.

    ```python
    for row in agent_tt.compare_many("refund-loop", ["trip-planner"]).rows:
        print(row.run.name, row.changed, row.diverged_at, row.outcome)
    ```

    Args:
        base: the run that all others are compared with: its id, a unique prefix of it, its name, `latest` or `NAME~2`.
        others: the others; None for all that was forked from the base, directly or through other forks.
        archived: whether forks that were archived are among them; those that are named always are.
        store: the file they are in; found as the commands find it when not given.

    Returns:
        For each run what was changed, where it parts from the base and why, where they meet again, how it ended, and
        how much more it took; equal answers of all of them share a letter. A run that cannot be read is a row with
        its `error`.

    Raises:
        StoreNotFound: there is no store.
        RunNotFound: a run is not in it.
    """
    from agent_tt.comparing.runs.table import TableReader
    from agent_tt.sources import open_source
    from agent_tt.store.file.locate import resolve_store_path

    with closing(open_source(resolve_store_path(store))) as source:
        named = None if others is None else [source.run(other) for other in others]
        reader = TableReader(source, source.run(base), named, archived=archived)
        for _ in reader.read():
            pass
        return reader.table()
