"""What differs between two checkpoints, by name: of one run, of two, of runs in different files."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from agent_tt.comparing.values.ignoring import Ignoring
from agent_tt.comparing.values.state_diff import diff_states
from agent_tt.querying.checkpoints import parse_checkpoint, split_file
from agent_tt.sources import open_source
from agent_tt.store.file.locate import resolve_store_path

if TYPE_CHECKING:
    from collections.abc import Iterable
    from decimal import Decimal
    from pathlib import Path

    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.values.state_diff import StateDiff

__all__ = ["diff"]


def diff(
    a: str,
    b: str,
    *,
    ignore_order: bool = False,
    ignore: Iterable[str] = (),
    tolerance: float | str | Decimal | None = None,
    ignore_type: bool = False,
    store: str | Path | None = None,
) -> StateDiff:
    """Compare two recorded states.

    ```python
    for change in agent_tt.diff("refund-loop@1", "refund-loop@3"):
        print(change.op, change.path, change.old, change.new)
    ```

    Args:
        a: the old state: `RUN@STEP`, or `FILE:RUN@STEP` for one of another store or database.
        b: the new state.
        ignore_order: whether lists of the same items in another order are equal.
        ignore: paths at which nothing counts; `[*]` is any position and any key: `messages[*].id`.
        tolerance: how far apart two numbers of one type may be.
        ignore_type: whether values that differ in type alone are equal: 1 and 1.0, a tuple and a list.
        store: the store that holds the runs; else the one that this project uses.

    Returns:
        A list of the changes in the order in which they stand in the states, values being wire values. The states are
        equal when it does not `differ`: a change that is left then is another order of keys. `ignored` lists what was
        let pass; `to_delta()` and `to_deepdiff()` give the changes in the forms of DeepDiff.

    Raises:
        NotFound: there is no such store, run or step.
        InvalidPath: a path to ignore cannot be read.
        UsageError: a text is not `RUN@STEP`, or the tolerance is not a number from 0 on.
    """
    rules = Ignoring.of(ignore_order=ignore_order, ignore=ignore, tolerance=tolerance, ignore_type=ignore_type)
    return diff_states(_state(a, store), _state(b, store), rules)


def _state(text: str, store: str | Path | None) -> Wire:
    file, rest = split_file(text)
    name, step = parse_checkpoint(rest)
    with closing(open_source(resolve_store_path(store) if file is None else file)) as source:
        run = source.run(name)
        return source.state(run.id, source.step_number(run, step))
