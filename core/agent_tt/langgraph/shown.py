"""What people see of a checkpoint: the names of its step, its tokens, and how its thread stands."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from agent_tt.codec.wire import VALUE
from agent_tt.interop.langgraph.checkpoint import FORMAT, Checkpoint, is_internal
from agent_tt.model.kinds import LANGGRAPH_KEY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.langgraph.writes import Write
    from agent_tt.model import RunStatus

__all__ = [
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

_CHANNELS: Final = "channels"
_WRITTEN: Final = "written"
"""What tasks wrote to get there, where no channel has it: of a delta channel the state says nothing."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_US: Final = timedelta(microseconds=1)

_STATUS_OF: Final[Mapping[str, RunStatus]] = {"__error__": "failed", "__interrupt__": "interrupted"}
"""By the channel of a write, how the thread stands after it."""


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


def run_status(writes: Iterable[Write], following: Sequence[object]) -> RunStatus:
    """How a thread stands: with writes that ended it, or by whether a node is to run."""
    channels = {write.channel for write in writes}
    if "__resume__" not in channels:
        for channel, status in _STATUS_OF.items():
            if channel in channels:
                return status
    return "running" if following else "succeeded"


def tokens(writes: Iterable[Write]) -> tuple[int | None, int | None]:
    """Add up the input and output tokens that the written messages report; None if no message reports any."""
    read = wrote = None
    for write in writes:
        for item in write.value if isinstance(write.value, list) else [write.value]:
            fields = item.get(VALUE) if isinstance(item, dict) else None
            usage = fields.get("usage_metadata") if isinstance(fields, dict) else None
            if isinstance(usage, dict):
                read = (read or 0) + _number(usage.get("input_tokens"))
                wrote = (wrote or 0) + _number(usage.get("output_tokens"))
    return read, wrote


def _number(found: Wire) -> int:
    return found if type(found) is int else 0
