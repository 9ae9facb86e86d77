"""Where a checkpoint lies, and what is stored of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from agent_tt.langgraph import shown
from agent_tt.model.facts import StepFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.langgraph.writes import Write

__all__ = ["FACTS", "USUAL", "Entry", "Saved", "saved_checkpoint", "track_of"]

_MAIN: Final = "main"

_OWN: Final = ("id", "ts", "channel_values")
"""What of a checkpoint is kept elsewhere than with its versions."""
FACTS: Final = ("source", "step")
"""What of its metadata is a fact of the step."""
USUAL: Final[dict[str, Wire]] = {"parents": {}}
"""The rest of the metadata of most checkpoints; it is not kept."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a checkpoint lies.

    Attributes:
        namespace, id, parent: what LangGraph calls it, and the checkpoint before it.
        run: the row number of the run that it is in.
        step: the number of its step.
    """

    namespace: str
    id: str
    parent: str | None
    run: int
    step: int


@dataclass(frozen=True, slots=True)
class Saved:
    """A checkpoint as it is stored.

    Attributes:
        namespace, id, parent: what LangGraph calls it, and the checkpoint before it.
        state: its channels and what else it says, as `shown.parted` gives it.
        extra: the facts of its step.
        writes: what tasks wrote on top of it, in the order in which LangGraph applies it, every value given.
        host: of a subgraph's, the checkpoint of the graph that it ran from.
    """

    namespace: str
    id: str
    parent: str | None
    state: dict[str, Wire]
    extra: dict[str, Wire]
    writes: list[Write] = field(default_factory=list)
    host: str | None = None


def saved_checkpoint(
    namespace: str,
    parent: str | None,
    checkpoint: Mapping[str, object],
    metadata: Mapping[str, object],
    kept: Callable[[object], tuple[Wire, object]],
) -> Saved:
    """A checkpoint as it is stored, without what tasks wrote on top of it.

    Args:
        namespace: of the graph or subgraph.
        parent: the id of the checkpoint before it.
        checkpoint: what LangGraph calls so: its id, its channels, their versions.
        metadata: where it came from.
        kept: gives what is stored of a value, and the value unpacked.
    """
    channels: dict[str, Wire] = {}
    unpacked: dict[str, object] = {}
    for name, value in cast("Mapping[str, object]", checkpoint["channel_values"]).items():
        channels[name], unpacked[name] = kept(value)
    rest, _ = kept({name: value for name, value in metadata.items() if name not in FACTS})
    book, _ = kept({name: value for name, value in checkpoint.items() if name not in _OWN})
    source, step = (metadata.get(name) for name in FACTS)
    checkpoint_id = str(checkpoint["id"])
    extra: dict[str, Wire] = {
        StepFacts.checkpoint_id.key: checkpoint_id,
        StepFacts.parent_checkpoint_id.key: parent,
        StepFacts.checkpoint_ns.key: namespace or None,
        StepFacts.source.key: cast("Wire", source),
        StepFacts.langgraph_step.key: cast("Wire", step),
        StepFacts.next.key: [*shown.next_nodes(checkpoint, unpacked)] or None,
        StepFacts.checkpoint_ts.key: cast("Wire", checkpoint.get("ts")),
        StepFacts.checkpoint_metadata.key: None if rest == USUAL else rest,
    }
    extra = {key: value for key, value in extra.items() if value is not None}
    state = shown.parted(channels, book if isinstance(book, dict) else {})
    return Saved(namespace, checkpoint_id, parent, state, extra, host=shown.host(extra))


def track_of(namespace: str) -> str:
    """The state history of a namespace; one may have the name of the graph's own."""
    if not namespace:
        return _MAIN
    return f"{_MAIN}:" if namespace == _MAIN else namespace
