"""Where a checkpoint lies, and what is stored of it."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final, cast

from agent_tt._dataclass import dataclass
from agent_tt.interop.threads import shown
from agent_tt.model.facts import StepFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.threads.writes import Write
    from agent_tt.model import Step

__all__ = ["FACTS", "USUAL", "Chain", "Entry", "Saved", "facts_of", "saved_checkpoint", "track_of"]

_MAIN: Final = "main"

_OWN: Final = ("id", "ts", "channel_values")
"""What of a checkpoint is kept elsewhere than with its versions."""
FACTS: Final = ("source", "step")
"""What of its metadata is a fact of the step."""
USUAL: Final[dict[str, Wire]] = {"parents": {}}
"""The rest of the metadata of most checkpoints; it is not kept."""
_PARENT: Final = StepFacts.parent_checkpoint_id.key
_SOURCE: Final = StepFacts.source.key
_SUPERSTEP: Final = StepFacts.langgraph_step.key
_STAMP: Final = StepFacts.checkpoint_ts.key
_TOLD: Final = (_PARENT, _SOURCE, _SUPERSTEP, _STAMP)
"""Facts that are absent where the steps tell them, so that null stands where there is none."""
_FIRST_SUPERSTEP: Final = -1
"""LangGraph counts from the input on; the first step has it."""


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
    said = {name: value for name, value in metadata.items() if name not in FACTS}
    rest = None if said == USUAL else kept(said)[0]
    book, _ = kept({name: value for name, value in checkpoint.items() if name not in _OWN})
    source, step = (metadata.get(name) for name in FACTS)
    checkpoint_id = str(checkpoint["id"])
    extra: dict[str, Wire] = {
        StepFacts.checkpoint_id.key: checkpoint_id,
        _PARENT: parent,
        StepFacts.checkpoint_ns.key: namespace or None,
        _SOURCE: cast("Wire", source),
        _SUPERSTEP: cast("Wire", step),
        StepFacts.next.key: [*shown.next_nodes(checkpoint, unpacked)] or None,
        _STAMP: cast("Wire", checkpoint.get("ts")),
        StepFacts.checkpoint_metadata.key: None if rest == USUAL else rest,
    }
    extra = {key: value for key, value in extra.items() if value is not None or key in _TOLD}
    state = shown.parted(channels, book if isinstance(book, dict) else {})
    return Saved(namespace, checkpoint_id, parent, state, extra, host=StepFacts(extra).graph_checkpoint_id)


class Chain:
    """The checkpoints of a run's steps, one after another: each went on from the one before it, or says otherwise."""

    def __init__(self) -> None:
        self._last: dict[str, str] = {}
        self._is_broken = False

    def follow(self, step: Step, run: int) -> Entry | None:
        """Go on with a step of the run of that row number; None without a checkpoint, or where its parent is lost."""
        facts = step.facts
        if step.damaged is not None:
            self._last.clear()  # it may have been the last one of any namespace
            self._is_broken = True
        if step.damaged is not None or facts.checkpoint_id is None:
            return None
        namespace = facts.checkpoint_ns or ""
        is_told = StepFacts.parent_checkpoint_id.is_in(facts.raw)
        is_lost = self._is_broken and not is_told and namespace not in self._last
        parent = facts.parent_checkpoint_id if is_told else self._last.get(namespace)
        entry = Entry(namespace, facts.checkpoint_id, parent, run, step.number)
        self.add(entry)
        return None if is_lost else entry

    def add(self, entry: Entry) -> None:
        """Go on with a checkpoint."""
        self._last[entry.namespace] = entry.id

    def stored(self, facts: Mapping[str, Wire], namespace: str, number: int, ended_us: int) -> dict[str, Wire]:
        """What is stored of the facts of the checkpoint that comes next.

        Args:
            facts: all of them.
            namespace: its namespace.
            number: the number of its step.
            ended_us: when that is said to have ended.
        """
        told = _told(number, ended_us, self._last.get(namespace))
        return {key: value for key, value in facts.items() if value is None or not _is_same(told.get(key), value)}


def facts_of(step: Step, entry: Entry) -> dict[str, Wire]:
    """The facts of the step that has a checkpoint, with those that the steps tell."""
    return {**_told(step.number, step.ended_us, entry.parent), **step.extra}


def _told(number: int, ended_us: int | None, parent: str | None) -> dict[str, Wire]:
    stamp = None if ended_us is None else shown.stamp(ended_us)
    return {_PARENT: parent, _SOURCE: "loop", _SUPERSTEP: number + _FIRST_SUPERSTEP - 1, _STAMP: stamp}


def _is_same(told: Wire, value: Wire) -> bool:
    return type(told) is type(value) and told == value


def track_of(namespace: str) -> str:
    """The state history of a namespace; one may have the name of the graph's own."""
    if not namespace:
        return _MAIN
    return f"{_MAIN}:" if namespace == _MAIN else namespace
