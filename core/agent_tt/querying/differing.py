"""What differs between two checkpoints, by name: of one run, of two, of runs in different files."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from agent_tt.comparing.states import compare_states
from agent_tt.querying.checkpoints import parse_checkpoint, split_file
from agent_tt.sources import open_source
from agent_tt.store.locate import resolve_store_path

if TYPE_CHECKING:
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.states import Change

__all__ = ["diff"]


def diff(a: str, b: str, *, store: str | Path | None = None) -> list[Change]:
    """Say what differs between two recorded states.

    ```python
    for change in agent_tt.diff("refund-loop@1", "refund-loop@3"):
        print(change.op, change.path, change.old, change.new)
    ```

    Args:
        a: the old state: `RUN@STEP`, or `FILE:RUN@STEP` for one of another store or database.
        b: the new state.
        store: the store that holds the runs; else the one that this project uses.

    Returns:
        The changes in the order in which they stand in the states, values being wire values. Two states are equal when
        no change has `makes_a_difference`: what is left then is another order of keys.

    Raises:
        NotFound: there is no such store, run or step.
        UsageError: a text is not `RUN@STEP`.
    """
    return compare_states(_state(a, store), _state(b, store))


def _state(text: str, store: str | Path | None) -> Wire:
    file, rest = split_file(text)
    name, step = parse_checkpoint(rest)
    with closing(open_source(resolve_store_path(store) if file is None else file)) as source:
        run = source.run(name)
        return source.state(run.id, source.step_number(run, step))
