"""The checkpoints of one namespace as a tree, and its branches.

Forks stay in a thread: they are checkpoints with the same parent. A branch is the way from the root to one tip.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from agent_tt.interop.langgraph.rows import CheckpointRow

__all__ = ["Tree", "Way", "branch_names", "run_id_of"]

_SHORT_ID: Final = 8
"""Characters of a tip's id that name its branch: the last, because ids made within minutes begin alike."""

_UNNAMED: Final = "(unnamed)"


class Way(NamedTuple):
    """The way to a tip, as far as it is no older tip's.

    Attributes:
        tip: the last checkpoint of a branch; None for a thread of which only subgraphs are left.
        own: the checkpoints that it does not share with `parent`, the oldest first.
        fork: the checkpoint where it left it; None for the oldest.
        parent: the tip of the branch that it left.
    """

    tip: CheckpointRow | None
    own: list[CheckpointRow]
    fork: CheckpointRow | None = None
    parent: CheckpointRow | None = None


class Tree:
    """Checkpoints of one namespace by id, with their children in the order in which they were made.

    A parent that is not in the file is as good as none. Parents that form a circle are cut once: the oldest checkpoint
    of a circle has none.

    Attributes:
        rows: the checkpoints by id.
        cut: the ids of those whose parent goes on from themselves.
    """

    def __init__(self, rows: Iterable[CheckpointRow]) -> None:
        self.rows = {row.id: row for row in rows}
        self.cut = frozenset(_first_of_circles(self.rows))
        self._children: dict[str, list[CheckpointRow]] = {}
        for row in self.rows.values():
            if (parent := self.parent(row)) is not None:
                self._children.setdefault(parent.id, []).append(row)

    def parent(self, row: CheckpointRow) -> CheckpointRow | None:
        """The checkpoint before it, None at a root."""
        return self.rows.get(row.parent) if row.parent is not None and row.id not in self.cut else None

    def children(self, row: CheckpointRow) -> list[CheckpointRow]:
        """The checkpoints after it, the oldest first."""
        return self._children.get(row.id, [])

    def ran_on(self, row: CheckpointRow) -> bool:
        """Whether the tasks that ran from a checkpoint came to an end: it has a child that they made."""
        return any(child.source == "loop" for child in self.children(row))

    def tips(self) -> list[CheckpointRow]:
        """The last checkpoints of all branches, the newest first."""
        tips = [row for row in self.rows.values() if not self.children(row)]
        return sorted(tips, key=lambda row: row.id, reverse=True)

    def ways(self) -> list[Way]:
        """The ways to all tips, the newest tip first: each checkpoint is on one of them, that of its first child."""
        ways: list[tuple[CheckpointRow, list[CheckpointRow], CheckpointRow | None]] = []
        owner: dict[str, CheckpointRow] = {}
        for tip in self.tips():
            own = [tip]
            before = self.parent(tip)
            while before is not None and self.children(before)[0] is own[-1]:
                own.append(before)
                before = self.parent(before)
            owner |= dict.fromkeys((row.id for row in own), tip)
            ways.append((tip, own[::-1], before))
        return [Way(tip, own, fork, None if fork is None else owner[fork.id]) for tip, own, fork in ways]


def _first_of_circles(rows: Mapping[str, CheckpointRow]) -> Iterator[str]:
    """The oldest of each circle that parents form."""
    seen: set[str] = set()
    for start in rows:
        way: dict[str, None] = {}
        at: str | None = start
        while at is not None and at in rows and at not in seen:
            seen.add(at)
            way[at] = None
            at = rows[at].parent
        if at is not None and at in way:
            yield min(list(way)[list(way).index(at) :])


def run_id_of(thread: str, taken: set[str]) -> str:
    """The run id of a thread: its own, but for the empty one that LangGraph allows: nobody could see or name that."""
    name = thread or _UNNAMED
    while not thread and name in taken:
        name += "'"
    return name


def branch_names(thread: str, tips: list[CheckpointRow], taken: set[str]) -> dict[str, CheckpointRow]:
    """The run ids of a thread's branches: `THREAD` for the newest, `THREAD@<8 characters of the tip's id>` for others.

    Args:
        thread: the thread's id.
        tips: the last checkpoints of its branches, the newest first.
        taken: ids that other threads have.
    """
    names: dict[str, CheckpointRow] = {}
    thread = run_id_of(thread, taken)
    for position, tip in enumerate(tips):
        name = thread if position == 0 else f"{thread}@{tip.id[-_SHORT_ID:]}"
        if position and (name in names or name in taken):
            name = f"{thread}@{tip.id}"
        names[name] = tip
    return names
