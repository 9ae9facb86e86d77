"""Where the checkpoints of a thread's run lie among its steps, as far as the rows of these tell."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import field
from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.interop.threads.entries import Chain, Entry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt.model import Step

__all__ = ["ThreadSteps", "is_inside", "stopped_at"]


def stopped_at(step: Step) -> tuple[str, str] | None:
    """Of a step that a question or an error ended: namespace and id of the checkpoint that it ran from; else None."""
    facts = step.facts
    if step.damaged is not None or facts.source != "task" or facts.parent_checkpoint_id is None:
        return None
    return facts.checkpoint_ns or "", facts.parent_checkpoint_id


def is_inside(namespace: str, around: str, task: str, node: str | None) -> bool:
    """Whether a namespace is that of a subgraph of a task of the namespace around it, or lies in one.

    A task's id is in the name of its subgraph, or the name is its node (of one that remembers).
    """
    enclosing = f"{around}|" if around else ""
    own = namespace.removeprefix(enclosing).split("|")[0] if namespace.startswith(enclosing) else ""
    return namespace != around and own in (node, f"{node}:{task}")


@dataclass(slots=True)
class ThreadSteps:
    """The checkpoints of one run of a thread, and of the runs that it branched off from.

    Attributes:
        run: the run's row number.
        seen: the number of the last step that was looked at.
        by_step: the checkpoint that a step ended with, by the step's number.
        stops: the steps that a question or an error ended, by namespace and id of the checkpoint that they ran from.
        gone_on: the checkpoints from which a superstep came to its end.
    """

    run: int
    seen: int = 0
    by_step: dict[int, Entry] = field(default_factory=dict)
    stops: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    gone_on: set[tuple[str, str]] = field(default_factory=set)
    _entries: dict[tuple[str, str], Entry] = field(default_factory=dict)
    _rows: dict[tuple[int, str], list[Entry]] = field(default_factory=dict)
    _hosted: dict[tuple[str, str], list[Entry]] = field(default_factory=dict)
    _chain: Chain = field(default_factory=Chain)
    _holder: int | None = None

    def follow(self, steps: Iterable[Step], holder: int) -> None:
        """Go on with steps that lie in the run of that row number: one that the run descends from, or itself."""
        if holder != self._holder:
            self._holder, self._chain = holder, Chain()
        for step in steps:
            self.seen = step.number
            entry = self._chain.follow(step, holder)
            if entry is None:
                stopped = stopped_at(step)
                if stopped is not None:
                    self.stops.setdefault(stopped, []).append(step.number)
                continue
            if step.facts.source in (None, "loop"):
                self.gone_on.add((entry.namespace, entry.parent or ""))
            self.by_step[entry.step] = self._entries[entry.namespace, entry.id] = entry
            self._rows.setdefault((holder, entry.namespace), []).append(entry)
            for namespace, host in step.facts.host_checkpoint_ids.items() if entry.namespace else ():
                self._hosted.setdefault((namespace, host), []).append(entry)

    def parent(self, entry: Entry) -> Entry | None:
        """The checkpoint that one went on from; None where there is none, or it is lost."""
        return self._entries.get((entry.namespace, entry.parent or ""))

    def found(self, namespace: str, checkpoint_id: str) -> Entry | None:
        """The checkpoint of that id."""
        return self._entries.get((namespace, checkpoint_id))

    def beside(self, namespace: str) -> list[Entry]:
        """The checkpoints of a namespace, in order."""
        return [entry for entry in self._entries.values() if entry.namespace == namespace]

    def first_after(self, entry: Entry) -> Entry | None:
        """The checkpoint that went on from one first: where its writes lie, once they were taken in."""
        rows = self._rows.get((entry.run, entry.namespace), [])
        at = bisect_right(rows, entry.step, key=lambda row: row.step)
        return next((row for row in rows[at : at + 1] if row.parent == entry.id), None)

    def inside(self, entry: Entry, task: str, node: str | None) -> list[Entry]:
        """The checkpoints of the subgraphs that a task ran, which ran from a checkpoint."""
        hosted = self._hosted.get((entry.namespace, entry.id), ())
        return [each for each in hosted if is_inside(each.namespace, entry.namespace, task, node)]
