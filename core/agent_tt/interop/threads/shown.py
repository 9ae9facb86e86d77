"""What people see of a checkpoint: the names of its step, its tokens, and how its thread stands."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from agent_tt.codec.wire import VALUE, envelope_type
from agent_tt.interop.langgraph.calls import CallMaker
from agent_tt.interop.langgraph.calls import tokens as used
from agent_tt.interop.langgraph.checkpoint import FORMAT, Checkpoint, is_internal
from agent_tt.interop.langgraph.tasks import tasks_of
from agent_tt.model.facts import CallFacts
from agent_tt.model.kinds import LANGGRAPH_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.langgraph.rows import WriteRow
    from agent_tt.interop.langgraph.tasks import Nodes, Task
    from agent_tt.interop.threads.writes import Write
    from agent_tt.model import ErrorInfo, RunStatus

__all__ = [
    "SNAPSHOT",
    "agent_of",
    "in_snapshot",
    "joined",
    "next_nodes",
    "parted",
    "run_status",
    "stamp",
    "step_name",
    "tells_next",
    "time_us",
    "tokens",
    "where_writes_lie",
    "with_written",
]

SNAPSHOT: Final = "langgraph.checkpoint.serde.types:_DeltaSnapshot"
"""The class of a delta channel's snapshot."""

_CHANNELS: Final = "channels"
_WRITTEN: Final = "written"
"""What tasks wrote to get there, where no channel has it: of a delta channel the state says nothing."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_US: Final = timedelta(microseconds=1)


def parted(channels: Mapping[str, Wire], rest: Mapping[str, Wire]) -> dict[str, Wire]:
    """A state as people see it: the graph's channels, and LangGraph's own ones with the rest of a checkpoint."""
    own: dict[str, Wire] = {name: value for name, value in channels.items() if is_internal(name)}
    shown = {name: value for name, value in channels.items() if name not in own}
    return {**shown, LANGGRAPH_KEY: {**rest, _CHANNELS: own}}


def joined(state: Mapping[str, Wire]) -> tuple[dict[str, Wire], dict[str, Wire]]:
    """The channels, and the rest of the checkpoint, of what `parted` gave."""
    rest = state.get(LANGGRAPH_KEY)
    rest = dict(rest) if isinstance(rest, dict) else {}
    own = rest.pop(_CHANNELS, None)
    rest.pop(_WRITTEN, None)
    shown = {name: value for name, value in state.items() if name != LANGGRAPH_KEY}
    return {**shown, **(own if isinstance(own, dict) else {})}, rest


def with_written(state: dict[str, Wire], written: list[Wire]) -> dict[str, Wire]:
    """A state with what led to it and is in no channel, in place of what it says of that; it shares the other parts."""
    rest = state.get(LANGGRAPH_KEY)
    kept = {name: value for name, value in rest.items() if name != _WRITTEN} if isinstance(rest, dict) else {}
    return {**state, LANGGRAPH_KEY: {**kept, **({_WRITTEN: written} if written else {})}}


def where_writes_lie(state: Mapping[str, Wire]) -> dict[str, Wire]:
    """Where writes are looked for that led to a state: its channels, and what is in none under LangGraph's key."""
    rest = state.get(LANGGRAPH_KEY)
    return {**joined(state)[0], LANGGRAPH_KEY: rest.get(_WRITTEN) if isinstance(rest, dict) else None}


def in_snapshot(wire: Wire) -> list[Wire] | None:
    """The one value in what the snapshot of a delta channel is kept as; None of everything else."""
    if not isinstance(wire, dict) or wire.get("class") != SNAPSHOT or envelope_type(wire) != "made":
        return None
    match wire.get(VALUE):
        case [[_] as held, keywords] if not keywords:
            return held
    return None


def next_nodes(checkpoint: Mapping[str, object], channels: Mapping[str, object]) -> list[str]:
    """The nodes that run next; `channels` are unpacked values."""
    versions, seen, form = (checkpoint.get(key) for key in ("channel_versions", "versions_seen", "v"))
    if not isinstance(versions, dict) or not isinstance(seen, dict) or not isinstance(form, int):
        return []
    return Checkpoint(channels, versions, seen, form).next_nodes(()) or []


def tells_next(state: Mapping[str, Wire]) -> bool:
    """Whether a state, as `parted` gives it, says which nodes run next: LangGraph's before its format 4 do not."""
    _, rest = joined(state)
    form = rest.get("v")
    return type(form) is not int or form >= FORMAT


def step_name(source: Wire, ran: Sequence[Wire]) -> str:
    """A step's name: the nodes that ran, `worker ×4` where several did of one; else where the checkpoint came from."""
    if source != "loop" or not ran:
        return str(source or "loop")
    counts = {name: ran.count(name) for name in map(str, ran)}
    return ", ".join(name if count == 1 else f"{name} ×{count}" for name, count in counts.items())


@lru_cache(64)  # the time of a checkpoint is asked for by the next one as well
def time_us(stamp: str | None) -> int | None:
    """Microseconds since the epoch at a time in ISO 8601; None for what is none."""
    try:
        return None if stamp is None else (datetime.fromisoformat(stamp).astimezone(UTC) - _EPOCH) // _US
    except (ValueError, OverflowError):
        return None


def stamp(at_us: int) -> str | None:
    """The time as LangGraph's checkpoints name it; None of what is no time."""
    try:
        return (_EPOCH + at_us * _US).isoformat()
    except OverflowError:
        return None


def run_status(
    tasks: Iterable[Task], error: Callable[[Task], ErrorInfo | None], following: Sequence[object]
) -> tuple[RunStatus, ErrorInfo | None]:
    """How a thread stands: by what its unfinished tasks ran into, else by whether a node is to run.

    Args:
        tasks: those that ran from its latest checkpoint.
        error: gives the error of one.
        following: the nodes that run next.
    """
    unfinished = [task for task in tasks if not task.results]
    for task in unfinished:
        if task.error is not None:
            return "failed", error(task)
    if any(task.interrupts is not None for task in unfinished):
        return "interrupted", None
    return ("running" if following else "succeeded"), None


def agent_of(namespace: str) -> str | None:
    """The node that a subgraph is in; None for the graph itself."""
    return namespace.rpartition("|")[2].partition(":")[0] or None


def tokens(
    rows: Mapping[WriteRow, Write],
    nodes: Nodes,
    before: Callable[[], Wire],
    inside: Callable[[Task, str], Iterable[Wire]],
) -> tuple[int | None, int | None]:
    """The input and output tokens that models used which ran from a checkpoint; None where nothing tells.

    Args:
        rows: what tasks wrote, every value given.
        nodes: the nodes that ran.
        before: gives the channels of the checkpoint.
        inside: gives what the subgraphs of a task wrote.
    """
    if not any(_may_tell(write.value) for write in rows.values()):
        return None, None
    maker = CallMaker(
        0,
        lambda row: rows[row].value,
        before,
        lambda task: inside(task, task.name(nodes)),
        with_args=False,
        nodes=nodes,
    )
    calls = maker.of_results(tasks_of(rows), {})
    return used(calls, CallFacts.tokens_in), used(calls, CallFacts.tokens_out)


def _may_tell(value: Wire) -> bool:
    """Whether some message in what was written may say what a model used."""
    for item in value if isinstance(value, list) else [value]:
        inner = item.get(VALUE, item) if isinstance(item, dict) else None
        if isinstance(inner, dict) and inner.get("usage_metadata"):
            return True
    return False
