"""What tasks wrote on top of a checkpoint, kept with the facts of its step.

What a task wrote is `[task, path, [number, channel, value], …]`: without the value where that is null, and with
`[node]` for the path `~__pregel_pull, node`, which nearly every task has. Most values are found in the state of the
next checkpoint: `messages` has grown by a message. Once that is stored, the value makes room for where it lies,
`[number, channel, null, place, changes]`: `place` is `[]` for all of the channel, `[n]` for an item of a list,
`[n, m]` for a part of one; `changes`, absent where there are none, is what turns that part of the state into the value
(a message that had no id yet), as operations of a state's history. A long value that is in no channel goes into that
state all the same, where it is compressed, beside the channels: its place is `["written", n]`.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from operator import is_
from typing import TYPE_CHECKING, Any, Final, cast

import orjson

from agent_tt._dataclass import dataclass
from agent_tt.errors import Damaged
from agent_tt.history.changes.diff import diff
from agent_tt.history.changes.ops import apply
from agent_tt.interop.langgraph.rows import WriteRow
from agent_tt.model.kinds import LANGGRAPH_KEY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from agent_tt.codec.wire import Wire

__all__ = ["Write", "grown", "in_order", "kept_writes", "merged", "read_writes", "rows_of", "shortened"]

_HINT: Final = "`agent-tt verify` says what else is damaged. Fork from an earlier checkpoint, or delete the thread."
_APART: Final = "written"
_PULLED: Final = "~__pregel_pull, "
_SHORT: Final = 96
"""Bytes of JSON up to which a value stays where it is."""


@dataclass(frozen=True, slots=True)
class Write:
    """One value that a task wrote.

    Attributes:
        task, path: LangGraph's id and path of the task.
        number: its place among the task's writes; below 0 for errors, interrupts and answers.
        channel: where it goes.
        value: the value; None where `found` says where it lies.
        found: its place in that channel of the next checkpoint, and what differs.
    """

    task: str
    path: str
    number: int
    channel: str
    value: Wire
    found: tuple[Sequence[Wire], list[Wire]] | None = None

    def to_wire(self) -> Wire:
        """As it is kept, beside the others of its task."""
        kept: list[Wire] = [self.number, self.channel]
        if self.found is None:
            return kept if self.value is None else [*kept, self.value]
        place, changes = self.found
        return [*kept, self.value, list(place), *([changes] if changes else [])]

    def given(self, state: Mapping[str, Wire]) -> Wire:
        """The value that was written; the caller's own, where it lay in the state of the next checkpoint.

        Args:
            state: of that, what `shown.where_writes_lie` gives.

        Raises:
            Damaged: it does not lie there.
        """
        if self.found is None:
            return self.value
        with _named_damage():
            items, changes = self.found
            is_apart = items[:1] == [_APART]
            part = state[LANGGRAPH_KEY if is_apart else self.channel]
            if is_apart or (items and isinstance(part, list)):
                first, *last = items[1:] if is_apart else items
                part = part[first : last[0]] if last else part[first]  # type: ignore[index]  # whole numbers
            return apply(orjson.loads(orjson.dumps(part)), changes)  # type: ignore[arg-type]  # operations


def kept_writes(writes: Iterable[Write]) -> list[Wire]:
    """Writes as they are kept, task by task."""
    tasks: dict[tuple[str, str], list[Wire]] = {}
    for write in writes:
        pulled = write.path.startswith(_PULLED)
        path: Wire = [write.path.removeprefix(_PULLED)] if pulled else write.path
        tasks.setdefault((write.task, write.path), [write.task, path]).append(write.to_wire())
    return list(tasks.values())


def read_writes(kept: Iterable[Wire]) -> list[Write]:
    """Writes as they are kept, in the order in which LangGraph applies them.

    Raises:
        Damaged: they are nothing that `kept_writes` gives.
    """
    found = []
    with _named_damage():
        for of_task in kept:
            task, path, *rows = cast("list[Any]", of_task)  # as `kept_writes` gave it
            if isinstance(path, list):
                path = _PULLED + path[0]
            for number, channel, *given in rows:
                value, *rest = given or [None]
                found_at = ([*rest[0]], [*rest[1]] if len(rest) > 1 else []) if rest else None
                found.append(Write(str(task), str(path), int(number), str(channel), value, found_at))
    return in_order(found)


def in_order(writes: Iterable[Write]) -> list[Write]:
    """Writes in the order in which LangGraph applies them."""
    return sorted(writes, key=lambda write: (write.path, write.task, write.number))


def rows_of(writes: Iterable[Write], namespace: str, checkpoint_id: str) -> dict[WriteRow, Write]:
    """Writes on top of a checkpoint by the rows that LangGraph's own tables would have for them, in that order."""
    key = namespace, checkpoint_id
    return {
        WriteRow("", key, write.task, write.path, write.number, write.channel, ""): write for write in in_order(writes)
    }


@contextmanager
def _named_damage() -> Iterator[None]:
    """Name what facts that are not as they were written raise."""
    try:
        yield
    except (TypeError, ValueError, LookupError, AttributeError, OverflowError, RecursionError) as error:
        what = "what tasks wrote on top of it is not as it was stored"
        raise Damaged(f"{what} ({type(error).__name__}: {error})", hint=_HINT) from error


def merged(kept: Sequence[Write], new: Iterable[Write]) -> list[Write]:
    """Add writes: an ordinary one that is there already stays, an error, a question or an answer takes its place."""
    known = {(write.task, write.number): write for write in kept}
    for write in new:
        if write.number < 0 or (write.task, write.number) not in known:
            known[write.task, write.number] = write
    return list(known.values())


def shortened(
    writes: Iterable[Write], lengths: Mapping[str, int], state: Mapping[str, Wire]
) -> tuple[list[Write], list[Wire]]:
    """Writes with the places of their values in the next state; and long values that are in no channel of it.

    Args:
        writes: in the order in which LangGraph applies them.
        lengths: how many items the channels that are lists had before.
        state: the channels of the next state.
    """
    taken = dict(lengths)
    apart: list[Wire] = []
    return [_shortened(write, taken, state, apart) for write in writes], apart


def _shortened(write: Write, taken: dict[str, int], state: Mapping[str, Wire], apart: list[Wire]) -> Write:
    now = state.get(write.channel)
    if write.number < 0 or write.found is not None:
        return write
    size = len(orjson.dumps(write.value))
    part: Wire = now
    place: list[Wire] = []
    if isinstance(now, list) and write.channel in taken:
        first = taken[write.channel]
        many = isinstance(write.value, list)
        last = first + (len(write.value) if isinstance(write.value, list) else 1)
        if last <= len(now):
            taken[write.channel] = last
            part = now[first:last] if many else now[first]
            place = [first, last] if many else [first]
    if size <= _SHORT:
        return write
    changes = [] if _are_same(part, write.value) else diff(part, write.value)
    if len(orjson.dumps(changes)) * 2 > size:
        place, changes = [_APART, len(apart)], []
        apart.append(write.value)
    return replace(write, value=None, found=(place, changes))  # type: ignore[arg-type]  # operations are wire values


def _are_same(one: Wire, other: Wire) -> bool:
    """Whether two values, or the items of two lists, are the very same objects: what a task wrote, in the state."""
    if type(one) is list and type(other) is list:
        return len(one) == len(other) and all(map(is_, one, other))
    return one is other


def grown(channel: str, writes: Iterable[Write]) -> int:
    """How many items were written to a channel that is a list."""
    return sum(
        len(write.value) if isinstance(write.value, list) else 1
        for write in writes
        if write.channel == channel and write.number >= 0 and write.found is None
    )
