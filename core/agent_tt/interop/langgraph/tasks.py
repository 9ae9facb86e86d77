"""What the writes stored with a checkpoint say about the tasks that ran from it.

A task path is `~__pregel_pull, <node>` for a node that an edge triggered, `~__pregel_push, <i>, …` for packet i of the
checkpoint's `Send`s, and `~__pregel_push, ~<path of the caller>, …` for a task of the functional API. An error
survives a successful retry: a task may have both an error and results. What `update_state` writes in the name of a node
has paths of its own and can have that node's task id: it is nothing that the task did.

Old writes, and those of LangGraph.js, have no task path: a task is all that has one task id then, and `naming` finds
out which node it ran. Writes that no task made have ids that are made from the checkpoint's.
"""

from __future__ import annotations

import re
import uuid
from collections import Counter
from dataclasses import field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agent_tt.interop.langgraph.rows import WriteRow

__all__ = ["NO_TASK", "RESULTLESS", "STOPS", "Nodes", "Task", "numbered", "tasks_of"]

_PULLED: Final = re.compile(r"~__pregel_pull, (?P<node>.+)", re.DOTALL)
_SENT: Final = re.compile(r"~__pregel_push, (?P<packet>\d{10})(?:, .*)?", re.DOTALL)
_BY_HAND: Final = "~__interrupt__, "
_CALLED: Final = re.compile(r"(?:~__pregel_push, )+~__pregel_pull, (?P<node>.+?)(?:, \d{10}, \d{10})+", re.DOTALL)

_EDITS: Final = ("__interrupt__", "__input__", *(f"__interrupt__:{number}" for number in range(1, 9)))
"""From what, and a checkpoint's id, the ids are made under which `update_state` and an input are written."""

_SAVED_AT_EXIT: Final = re.compile(r"(0000\d{4}|ffffffff)-.*")
"""Made-up task ids of changes to delta channels in a run that is saved only when it ends."""

NO_TASK: Final = "00000000-0000-0000-0000-000000000000"
"""The task id under which a `Command` that a person gave to the whole graph is stored: its answer and its update."""

RESULTLESS: Final = frozenset({"__error__", "__interrupt__", "__resume__", "__scheduled__", "__error_source_node__"})
"""Channels of writes that are about a task and not by it."""


STOPS: Final = frozenset({"__error__", "__interrupt__"})
"""Channels of writes that stopped a task."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """What a checkpoint says about the nodes of the tasks that ran from it.

    Attributes:
        packets: the nodes that its `Send`s name.
        by_task: the nodes of tasks of which no path tells, by task id, as far as they are known.
    """

    packets: tuple[str, ...] = ()
    by_task: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Task:
    """One task that ran, or began to run, from a checkpoint.

    Attributes:
        id: LangGraph's id; "" where only a namespace or a called task shows that it ran.
        node: the node it ran; None for a `Send`, whose packet says, and where there is no task path.
        packet: for a `Send`: which one.
        error: the write that holds its error.
        interrupts: the write that holds its questions to a person.
        resumes: the write that holds the answers.
        results: what it wrote, in order.
        called: results of the functional API's tasks that it called.
    """

    id: str
    node: str | None
    packet: int | None = None
    error: WriteRow | None = None
    interrupts: WriteRow | None = None
    resumes: WriteRow | None = None
    results: tuple[WriteRow, ...] = ()
    called: tuple[Task, ...] = field(default=())

    @property
    def is_nameless(self) -> bool:
        """Nothing that was written tells which node it ran."""
        return self.node is None and self.packet is None

    @property
    def stopped(self) -> bool:
        """It failed, or waits for a person, or once did."""
        return self.error is not None or self.interrupts is not None

    @property
    def was_answered(self) -> bool:
        """It asked, and went on with an answer: an open question is all that such a task has, besides older answers."""
        return self.interrupts is not None and bool(
            self.results or (self.error is not None and self.resumes is not None)
        )

    @property
    def answers_taken(self) -> int:
        """How many answers it took on the way to its results; 0 if they do not tell.

        Each time that a task takes an answer it writes it down, before its results: those are numbered on from there.
        """
        return max(self.results[0].index, 0) if self.results else 0

    def name(self, nodes: Nodes) -> str:
        """The node, or `task` where nothing tells."""
        if self.node is not None:
            return self.node
        if self.packet is None:
            return nodes.by_task.get(self.id, "task")
        return (nodes.packets[self.packet] if self.packet < len(nodes.packets) else "") or "task"


def tasks_of(writes: Iterable[WriteRow]) -> tuple[Task, ...]:
    """The tasks that wrote, in LangGraph's order (that of the writes); called ones within their callers."""
    grouped: dict[str, list[WriteRow]] = {}
    for write in writes:
        if write.task_id != NO_TASK and not write.task_path.startswith(_BY_HAND):
            grouped.setdefault(write.task_id, []).append(write)
    tasks: dict[tuple[str | None, int | None, str], Task] = {}
    callers: dict[str, list[Task]] = {}
    for task_id, rows in grouped.items():
        path = rows[0].task_path
        caller_node, node, packet = _read_path(path)
        if caller_node is not None:
            callers.setdefault(caller_node, []).append(_task(task_id, None, None, rows))
        elif node is not None or packet is not None:
            tasks[node, packet, ""] = _task(task_id, node, packet, rows)
        elif not RESULTLESS.isdisjoint([row.channel for row in rows]) or (not path and not _is_made_up(rows[0])):
            tasks[None, None, task_id] = _task(task_id, None, None, rows)
    for node, calls in callers.items():
        caller = tasks.get((node, None, ""), Task("", node))
        tasks[node, None, ""] = replace(caller, called=tuple(calls))
    return tuple(tasks.values())


@lru_cache(maxsize=4096)
def _read_path(path: str) -> tuple[str | None, str | None, int | None]:
    """The node that called the task, its own node, and its packet: the one of them that its path tells, if it does.

    The paths of a database are few.
    """
    if (called := _CALLED.fullmatch(path)) is not None:
        return called["node"], None, None
    if (pulled := _PULLED.fullmatch(path)) is not None:
        return None, pulled["node"], None
    sent = _SENT.fullmatch(path)
    return None, None, None if sent is None else int(sent["packet"])


def _is_made_up(write: WriteRow) -> bool:
    """Whether a write without a task path was made by no task."""
    if _SAVED_AT_EXIT.fullmatch(write.task_id):
        return True
    if write.task_id[14:15] != "5":  # the version of all such names, and of few that tasks have
        return False
    try:
        checkpoint = uuid.UUID(write.checkpoint[1])
    except ValueError:
        return False
    return any(str(uuid.uuid5(checkpoint, name)) == write.task_id for name in _EDITS)


def numbered(nodes: Iterable[str]) -> list[str]:
    """The nodes of tasks, each once, with its number of tasks: `["plan"]`, `["worker ×4", "late"]`."""
    counts = Counter(nodes)
    return [name if count == 1 else f"{name} ×{count}" for name, count in counts.items()]


def _task(task_id: str, node: str | None, packet: int | None, rows: Sequence[WriteRow]) -> Task:
    if RESULTLESS.isdisjoint([row.channel for row in rows]):
        return Task(task_id, node, packet, results=tuple(rows))
    special = {row.channel: row for row in rows if row.channel in RESULTLESS}
    return Task(
        task_id,
        node,
        packet,
        error=special.get("__error__"),
        interrupts=special.get("__interrupt__"),
        resumes=special.get("__resume__"),
        results=tuple(row for row in rows if row.channel not in RESULTLESS),
    )
