"""Which node a task ran, where its writes have no task path.

LangGraph.js makes a task's id from the checkpoint, the node and what triggered it, so a guess is proved by making the
id again. Elsewhere a node is known where a subgraph's namespace says so, where the task wrote its name (before format
4), or where only one node is left.
"""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from agent_tt.interop.langgraph.checkpoint import Checkpoint
    from agent_tt.interop.langgraph.rows import CheckpointRow
    from agent_tt.interop.langgraph.tasks import Task

__all__ = ["nodes_by_task"]

_PULL: Final = "__pregel_pull"
_PUSH: Final = "__pregel_push"


def nodes_by_task(
    checkpoint: Checkpoint,
    row: CheckpointRow,
    tasks: Iterable[Task],
    candidates: Sequence[str],
    guests: Iterable[str],
) -> Mapping[str, str]:
    """The nodes of the tasks that ran from a checkpoint and have no path, by task id, as far as they are known.

    Args:
        checkpoint: what they ran from.
        row: its row.
        tasks: the tasks.
        candidates: the nodes that ran next, once for each task; empty where that is not known.
        guests: the namespaces of subgraphs that ran from there.
    """
    unnamed = {task.id: task for task in tasks if task.is_nameless}
    if not unnamed:
        return {}
    made = dict(_made_ids(checkpoint, row))
    hosts = {task: node for guest in guests for node, _, task in [guest.rpartition("|")[2].rpartition(":")]}
    found: dict[str, str] = {}
    for task in unnamed.values():
        own = next((write.channel for write in task.results if write.channel in candidates), None)
        node = made.get(task.id) or hosts.get(task.id) or own
        if node:
            found[task.id] = node
    left = list(candidates)
    for node in found.values():
        if node in left:
            left.remove(node)
    if len(set(left)) == 1 and len(left) >= len(unnamed) - len(found):
        found |= dict.fromkeys(unnamed.keys() - found.keys(), left[0])
    return found


def _made_ids(checkpoint: Checkpoint, row: CheckpointRow) -> Iterator[tuple[str, str]]:
    """The ids that LangGraph.js gives the tasks of a checkpoint, with their nodes."""
    try:
        base = uuid.UUID(row.id)
    except ValueError:
        return
    step = str((row.superstep if row.superstep is not None else -1) + 1)
    inside = f"{row.namespace}|" if row.namespace else ""

    def made(node: str, kind: str, why: object) -> tuple[str, str]:
        parts = json.dumps([inside + node, step, node, kind, why], separators=(",", ":"), ensure_ascii=False)
        return str(uuid.uuid5(base, parts)), node

    for node, channels in checkpoint.triggers().items():
        yield made(node, _PULL, sorted(channels))
    for index, node in enumerate(checkpoint.packets()):
        yield made(node, _PUSH, str(index))
