"""Values of a thread that none of its checkpoints holds: of delta channels, and of tasks whose superstep has not ended.

They are put together as those of LangGraph's own databases are, and where that is not known how, they are unknown.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from copy import deepcopy
from typing import TYPE_CHECKING, Final, cast

from agent_tt.codec.wire import envelope_type
from agent_tt.errors import AgentTTError, Damaged
from agent_tt.interop.langgraph.checkpoint import Checkpoint
from agent_tt.interop.langgraph.decode import read_value
from agent_tt.interop.langgraph.envelopes import to_wire
from agent_tt.interop.langgraph.layout import ThreadMap
from agent_tt.interop.langgraph.rebuilding import Rebuilder
from agent_tt.interop.langgraph.rows import CheckpointRow, ThreadRows
from agent_tt.interop.threads.shown import in_snapshot
from agent_tt.model.facts import StepFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.langgraph.rows import CheckpointKey, WriteRow
    from agent_tt.interop.threads.entries import Entry
    from agent_tt.model import Step

__all__ = ["ThreadValues", "delta_channels"]

_DELTA_COUNTS: Final = "counters_since_delta_snapshot"
"""What of a checkpoint's metadata names the delta channels that it does not hold."""
_SEALED_SNAPSHOT: Final = "langgraph:msgpack 7"
"""The class of a snapshot of which only the bytes could be kept."""
_STORED: Final = "stored"


class ThreadValues:
    """Puts together what the checkpoints of one namespace do not hold.

    Args:
        steps: the checkpoints, in order, each with its step.
        channels_of: gives the channels of a checkpoint, shared.
        writes_on: gives the rows of what tasks wrote on top of one.
        written: gives the value of such a row.
    """

    def __init__(
        self,
        steps: Mapping[CheckpointKey, tuple[Entry, Step]],
        channels_of: Callable[[Entry], Mapping[str, Wire]],
        writes_on: Callable[[Entry, Step], Iterable[WriteRow]],
        written: Callable[[WriteRow], Wire],
    ) -> None:
        self._steps, self._channels_of = steps, channels_of
        self._rows = {key: _row(*placed) for key, placed in steps.items()}
        writes = {key: tuple(writes_on(*placed)) for key, placed in steps.items()}
        self._thread = ThreadMap(ThreadRows("", self._rows, writes))
        self._rebuilder = Rebuilder(self._readable, written, lambda value: cast("Wire", value))

    def deltas(self, entry: Entry) -> dict[str, Wire]:
        """The values of the delta channels that a checkpoint does not hold, shared; see `Rebuilder.deltas`."""
        return self._rebuilder.deltas(self._thread, self._rows[entry.namespace, entry.id])

    def whole(self, entry: Entry, state: Wire) -> Wire:
        """The state of a checkpoint with its delta channels, and with what tasks wrote that no checkpoint took in.

        Args:
            entry: the checkpoint.
            state: its state as it is kept; it is changed.
        """
        if not isinstance(state, dict):
            return state
        thread, here = self._thread, self._rows[entry.namespace, entry.id]
        whole = {name: _snapshot(value) for name, value in state.items()} | self.deltas(entry)
        tasks = () if thread.trees[here.namespace].ran_on(here) else thread.tasks(here)
        return deepcopy(self._rebuilder.applied(thread, here, whole, tasks))

    def _readable(self, row: CheckpointRow) -> Checkpoint | None:
        try:
            channels = deepcopy(dict(self._channels_of(self._steps[row.key][0])))
        except AgentTTError:
            return None
        return Checkpoint({name: _snapshot(value) for name, value in channels.items()}, {}, {})


def _row(entry: Entry, step: Step) -> CheckpointRow:
    facts = step.facts
    said = facts.checkpoint_metadata
    metadata: dict[str, Wire] = {StepFacts.source.key: facts.source or "loop"}
    if isinstance(said, dict) and _DELTA_COUNTS in said and envelope_type(said) is None:
        metadata[_DELTA_COUNTS] = said[_DELTA_COUNTS]
    flaw = step.damaged or ""
    return CheckpointRow("", entry.namespace, entry.id, entry.parent, "", metadata, flaw)


def _snapshot(value: Wire) -> Wire:
    """The value of a delta channel's snapshot; any other as it is."""
    held = in_snapshot(value)
    if held is not None:
        return held[0]
    if not isinstance(value, dict) or value.get("class") != _SEALED_SNAPSHOT or envelope_type(value) != "opaque":
        return value
    stored = value.get(_STORED)
    try:
        return to_wire(read_value("msgpack", b64decode(stored, validate=True))) if isinstance(stored, str) else value
    except (Damaged, binascii.Error, ValueError):
        return value


def delta_channels(step: Step) -> list[Wire]:
    """The delta channels that the checkpoint of a step does not hold."""
    said = StepFacts(step.extra).checkpoint_metadata
    counts = said.get(_DELTA_COUNTS) if isinstance(said, dict) else None
    return [*counts] if isinstance(counts, dict) else []
