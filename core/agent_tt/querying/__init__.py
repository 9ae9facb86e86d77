"""Asking a run.

| module | does |
|---|---|
| `find`, `texts` | searches its texts |
| `predicates` | what a sweep asks of a last state |
| `expressions` | the language of questions such as `state.budget < 0` |
| `watching`, `followed` | where an expression holds: next, previous, all steps, where it began and stopped |
| `blaming` | all writes of a value |
| `trail`, `origins` | the way back from a value to what caused it |
| `oddities` | repeated calls, cycles, retries, outliers, the first error |
| `checkpoints` | how people name a step |
| `differing` | what differs between two named states |
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.querying.blaming import Blame

__all__ = ["blame", "find_steps"]


def blame(run: str, path: str, step: int | str | None = None, *, store: str | Path | None = None) -> Blame:
    """Say who wrote a value, and what caused it.

    ```python
    found = agent_tt.blame("flaky-checkout", "answer")
    for link in found.trail.links:
        print(link.step, link.kind, link.name, link.value)
    ```

    Args:
        run: the run: its id, name, unique id prefix, or `latest`.
        path: the value in the state: `messages[3].content`, `messages[-1]`.
        step: the checkpoint in which it is: a number, `~1`, `@error`; the last one when not given.
        store: the store that holds the run; else the one that this project uses.

    Returns:
        All writes of the value, the last one first, and the trail back to the first words of it.

    Raises:
        NotFound: there is no such store, run, step or path.
        InvalidPath: the path cannot be read.
    """
    from agent_tt.querying.blaming import blame_value
    from agent_tt.sources import open_source
    from agent_tt.store.locate import resolve_store_path

    with closing(open_source(resolve_store_path(store))) as source:
        found = source.run(run)
        number = source.step_count(found.id) if step is None else source.step_number(found, str(step))
        return blame_value(source, found.id, path, number)


def find_steps(run: str, where: str, *, store: str | Path | None = None) -> list[int]:
    """All steps of a run at which an expression holds, in order; 0 is the input.

    ```python
    agent_tt.find_steps("flaky-checkout", 'tool == "charge_card" and args.amount > 100')
    ```

    Args:
        run: the run: its id, name, unique id prefix, or `latest`.
        where: the expression, as `agent_tt.querying.expressions` says.
        store: the store that holds the run; else the one that this project uses.

    Raises:
        NotFound: there is no such store or run.
        InvalidExpression: the expression cannot be read, or would take too long to answer.
    """
    from agent_tt.querying.watching import Watch
    from agent_tt.sources import open_source
    from agent_tt.store.locate import resolve_store_path

    with closing(open_source(resolve_store_path(store))) as source:
        return list(Watch(source, source.run(run).id, where).steps())
