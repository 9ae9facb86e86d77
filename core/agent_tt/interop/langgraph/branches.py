"""The checkpoints of one namespace as a tree, and its branches.

Forks stay in a thread: they are checkpoints with the same parent. A branch is the way from the root to one tip.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt.interop.langgraph.rows import CheckpointRow

__all__ = ["Tree", "branch_names", "run_id_of"]

_SHORT_ID: Final = 8
"""Characters of a tip's id that name its branch: the last, because ids made within minutes begin alike."""

_UNNAMED: Final = "(unnamed)"


class Tree:
    """Checkpoints of one namespace by id, with their children in the order in which they were made.

    A parent that is not in the file is as good as none. Parents that form a circle are cut where it is first closed.
    """

    def __init__(self, rows: Iterable[CheckpointRow]) -> None:
        self.rows = {row.id: row for row in rows}
        self._children: dict[str, list[CheckpointRow]] = {}
        for row in self.rows.values():
            if row.parent is not None and row.parent != row.id:
                self._children.setdefault(row.parent, []).append(row)

    def parent(self, row: CheckpointRow) -> CheckpointRow | None:
        """The checkpoint before it, None at a root."""
        return self.rows.get(row.parent) if row.parent is not None and row.parent != row.id else None

    def children(self, row: CheckpointRow) -> list[CheckpointRow]:
        """The checkpoints after it, the oldest first."""
        return self._children.get(row.id, [])

    def ran_on(self, row: CheckpointRow) -> bool:
        """Whether the tasks that ran from a checkpoint came to an end: it has a child that they made."""
        return any(child.source == "loop" for child in self.children(row))

    def path(self, tip: CheckpointRow) -> list[CheckpointRow]:
        """From the root to `tip`."""
        path: dict[str, CheckpointRow] = {}
        row: CheckpointRow | None = tip
        while row is not None and row.id not in path:
            path[row.id] = row
            row = self.parent(row)
        return list(reversed(path.values()))

    def tips(self) -> list[CheckpointRow]:
        """The last checkpoints of all branches, the newest first."""
        tips = [row for row in self.rows.values() if not self.children(row)]
        reached = self._ancestors(tips)
        for row in sorted(self.rows.values(), key=lambda row: row.id, reverse=True):
            if row.id not in reached:  # only parents in a circle have no tip
                tips.append(row)
                reached |= self._ancestors([row])
        return sorted(tips, key=lambda row: row.id, reverse=True)

    def first_tip_from(self, row: CheckpointRow) -> CheckpointRow:
        """The tip that the first run from here on led to."""
        seen = {row.id}
        while (children := self.children(row)) and children[0].id not in seen:
            row = children[0]
            seen.add(row.id)
        return row

    def fork_point(self, tip: CheckpointRow) -> CheckpointRow | None:
        """Where the way to `tip` left an older one; None for the oldest branch."""
        path = self.path(tip)
        for before, after in zip(reversed(path[:-1]), reversed(path[1:]), strict=True):
            if self.children(before)[0].id != after.id:
                return before
        return None

    def _ancestors(self, rows: Iterable[CheckpointRow]) -> set[str]:
        reached: set[str] = set()
        for start in rows:
            row: CheckpointRow | None = start
            while row is not None and row.id not in reached:
                reached.add(row.id)
                row = self.parent(row)
        return reached


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
