"""Comparing two states, two texts or two runs.

| module | does |
|---|---|
| `states` | what differs between two states, at human paths |
| `items`, `likeness`, `rising` | which items of two lists belong together: the same, moved, edited |
| `state_diff`, `ignoring` | the same under rules that let some differences pass: order, paths, distances, types |
| `setting_back`, `loose_equality` | how that is done: what passes is set back; whether two values are equal then |
| `typed_values` | what typed values hold, whatever their type |
| `deepdiff_format` | what differs as DeepDiff's JSON and as its Delta |
| `patch`, `unified` | the same as a JSON Patch, and as a unified diff |
| `words`, `tokens` | what differs between two texts, by word; what a word is |
| `sequence`, `anchors` | the alignment of two sequences that all of it stands on; of very long ones |
| `moves`, `updates` | what a step did: what it asked and what came back; what it wrote where it asked nothing |
| `costs`, `alignment` | what it costs to set two steps beside each other; the least costly way to do so in a lane |
| `lanes`, `pairing` | which lanes belong together; which steps do, in all of them |
| `lineage`, `rejoining` | what a fork shares with its parent; where runs that parted meet again |
| `effects` | what a run did to the world, and what it was kept from |
| `unrecorded_effects` | the same of what a fork's process did outside its recording |
| `call_changes`, `echoes` | what differs between the calls of two steps; changes of messages that say nothing |
| `because`, `parting` | why runs part, in words and as data; found in the runs themselves |
| `outcome`, `lane_ends`, `rows` | how runs ended, and each lane of them; the lines of a comparison |
| `side`, `runs` | one run, read once; two of them, and all of it together |
| `collector` | Python's collector of cycles rests while very many objects are made |
| `without_effect` | edits of a fork that nothing came of |
| `edited`, `leaves` | what was changed on the way to a run; an edit, value by value |
| `answers`, `table` | equal answers; one run against many |
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from agent_tt.comparing.runs import Comparison
    from agent_tt.comparing.table import Table

__all__ = ["compare", "compare_many"]


def compare(a: str, b: str, *, store: str | Path | None = None) -> Comparison:
    """Compare two recorded runs, step by step.

    ```python
    found = agent_tt.compare("refund-loop", "trip-planner")
    print(found.diverged_at, found.rejoined_at, found.only_a, found.only_b)
    ```

    Args:
        a: One run: its id, a unique prefix of it, its name, `latest` or `NAME~2`.
        b: The other run.
        store: The file they are in; found as the commands find it when not given.

    Returns:
        Which steps belong together (aligned lane by lane, at the least cost that `agent_tt.comparing.costs` counts),
        where the runs part and why, where they meet again, and how each ended; `.to_json()` is what `agent-tt compare
        --json` writes.

    Raises:
        StoreNotFound: There is no store.
        RunNotFound: A run is not in it.
    """
    from agent_tt.comparing.runs import compare_runs
    from agent_tt.sources import open_source
    from agent_tt.store.locate import resolve_store_path

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
        base: The run that all others are compared with: its id, a unique prefix of it, its name, `latest` or `NAME~2`.
        others: The others; None for all that was forked from the base, directly or through other forks.
        archived: Whether forks that were archived are among them; those that are named always are.
        store: The file they are in; found as the commands find it when not given.

    Returns:
        For each run what was changed, where it parts from the base and why, where they meet again, how it ended, and
        how much more it took; equal answers of all of them share a letter. A run that cannot be read is a row with
        its `error`.

    Raises:
        StoreNotFound: There is no store.
        RunNotFound: A run is not in it.
    """
    from agent_tt.comparing.table import TableReader
    from agent_tt.sources import open_source
    from agent_tt.store.locate import resolve_store_path

    with closing(open_source(resolve_store_path(store))) as source:
        named = None if others is None else [source.run(other) for other in others]
        reader = TableReader(source, source.run(base), named, archived=archived)
        for _ in reader.read():
            pass
        return reader.table()
