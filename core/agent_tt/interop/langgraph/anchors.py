"""What names a row of a branch for good, while numbers move as the thread grows: the id of its checkpoint.

That of a subgraph's checkpoint has its namespace behind it; that of a task without a checkpoint is the checkpoint that
it ran from, a slash and the task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.interop.langgraph.layout import Layout, Row
    from agent_tt.interop.langgraph.rows import CheckpointRow
    from agent_tt.interop.langgraph.runs import Branch

__all__ = ["anchor_at", "anchored_steps", "step_of_anchor"]


def anchor_at(branch: Branch, row: Row | None) -> tuple[str, str | None]:
    """The thread of a branch and what names one of its rows; for None its tip, if it has one."""
    if row is not None:
        return branch.thread.rows.thread, _name(row)
    if branch.tip is None:
        return branch.id, None
    return branch.thread.rows.thread, _checkpoint_name(branch.tip)


def anchored_steps(layout: Layout) -> Mapping[str, int]:
    """The numbers of the rows of a branch by what names them."""
    return {name: row.number for row in layout.rows() if (name := _name(row)) is not None}


def step_of_anchor(steps: Mapping[str, int], anchor: str) -> int | None:
    """The number of the row that a name is for, None where there is none.

    A task whose superstep has come to an end since has no row any more: then it is that of the checkpoint before it.
    """
    found = steps.get(anchor)
    return steps.get(anchor.rpartition("/")[0]) if found is None else found


def _name(row: Row) -> str | None:
    if row.checkpoint is not None:
        return _checkpoint_name(row.checkpoint)
    if row.before is None:
        return None
    (task, *_) = row.tasks
    return f"{_checkpoint_name(row.before)}/{task.id or task.node}"


def _checkpoint_name(checkpoint: CheckpointRow) -> str:
    return f"{checkpoint.id} {checkpoint.namespace}".rstrip()
