"""One checkpoint: its channels, the state that a user of the graph knows, and the nodes that come next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from agent_tt._dataclass import dataclass
from agent_tt.errors import Damaged
from agent_tt.interop.langgraph.decode import Constructor, Extension, Sealed, unpack_extension
from agent_tt.interop.langgraph.envelopes import to_wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.interop.langgraph.tasks import Task

__all__ = [
    "FORMAT",
    "INPUT_CHANNEL",
    "WHOLE_STATE",
    "Checkpoint",
    "Edges",
    "is_internal",
    "open_checkpoint",
    "visible_state",
]

INPUT_CHANNEL: Final = "__start__"
"""Where an input waits for the first node; also the name of the node that takes it in."""

FORMAT: Final = 4
"""The format of checkpoints whose channels alone say which nodes come next."""

Edges: TypeAlias = "Mapping[str, frozenset[str]]"
"""By node, the nodes that its end starts; a node of which that is not known is missing."""

_BRANCH: Final = "branch:to:"
_START_OF: Final = "start:"
_OLD_BRANCH: Final = 4
"""Parts of `branch:FROM:CONDITION:TO`, as channels were called before format 3."""
_JOIN: Final = "join:"
_PACKETS: Final = "__pregel_tasks"
_TELLING: Final = (_BRANCH, _JOIN, _PACKETS)
"""How channels begin whose values, and not only whether they have one, tell which nodes come next."""
WHOLE_STATE: Final = ("__root__", "__end__")
"""Channels that are the state themselves: of graphs without keys, and of the functional API."""

_PENDING_DEFERRED: Final = 2
"""Deferred channels hold `[value, is the run about to end]`."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint's channels as they are stored.

    Attributes:
        values: by channel; typed values are `Extension`s. Channels without a value are absent.
        versions: of each channel that ever had a value.
        seen: by node, the versions it has already worked on.
        format: number of LangGraph's checkpoint format.
        sends: packets of `Send`s that a checkpoint before format 4 keeps beside its channels.
    """

    values: Mapping[str, object]
    versions: Mapping[str, object]
    seen: Mapping[str, object]
    format: int = FORMAT
    sends: Sequence[object] = ()

    def packets(self) -> list[str]:
        """The nodes that `Send`s name, in order; "" for one that cannot be read."""
        sends: object = self.values.get(_PACKETS) or list(self.sends)
        if isinstance(sends, list) and len(sends) == 2 and all(isinstance(part, list) for part in sends):
            sends = sends[1]  # LangGraph.js keeps what it has seen beside them
        return [_send_node(send) for send in sends] if isinstance(sends, list) else []

    @property
    def visible(self) -> dict[str, object]:
        """The channels that a user of the graph knows.

        Where values are encrypted one by one, those that tell may be sealed.
        Before format 4 a node that had run left its name in a channel of that name, and no channel of the user could be
        called like a node.
        """
        return {
            channel: value for channel, value in self.values.items() if not is_internal(channel) and not (
                self.format < FORMAT and (_old_trigger(channel) or (value == channel and channel in self.seen))
            )
        }  # fmt: skip

    def next_nodes(self, tasks: Sequence[Task], edges: Callable[[], Edges] = dict) -> list[str] | None:
        """The nodes that run next, as `StateSnapshot.next` of the history gives them; None where that is not known.

        Before format 4 a node that had run was followed by whatever the graph's edges say, which are not in the file:
        only what other checkpoints of the thread show of them is known.

        Args:
            tasks: those that ran from here, if any did: they alone know the name of a functional workflow.
            edges: gives what the thread shows of the graph's edges.
        """
        if any(isinstance(value, Sealed) and channel.startswith(_TELLING) for channel, value in self.values.items()):
            return None
        found = [node for node in self.packets() if node]
        if INPUT_CHANNEL in self.values:
            workflow = next((task.node for task in tasks if task.node is not None), None)
            found.append(workflow or INPUT_CHANNEL)
        triggered: dict[str, None] = dict.fromkeys(self.triggers())
        for channel, value in self.values.items():
            if self.format < FORMAT and value == channel and channel in self.seen:
                following = edges().get(channel)
                if following is None:
                    return None
                triggered |= dict.fromkeys(node for node in following if self._is_unseen(channel, node))
        return [*found, *triggered]

    def triggers(self) -> dict[str, list[str]]:
        """The nodes that channels made for it start next, each with those channels."""
        found: dict[str, list[str]] = {}
        for channel, value in self.values.items():
            node = _triggered(channel, value)
            if node is not None and self._is_unseen(channel, node):
                found.setdefault(node, []).append(channel)
        return found

    def edges_shown(self, before: Checkpoint) -> dict[str, frozenset[str]]:
        """What the step from `before` to this checkpoint shows of edges: the nodes that each node's end started."""
        found: dict[str, frozenset[str]] = {}
        for channel, value in before.values.items():
            if value == channel:
                version = before.versions.get(channel)
                found[channel] = frozenset(
                    node for node, seen in self.seen.items() if isinstance(seen, dict) and seen.get(channel) == version
                    and not node.startswith("__")
                )  # fmt: skip
        return found

    def nodes_run_since(self, before: Checkpoint | None) -> list[str]:
        """The nodes that worked between `before` and this checkpoint, where no writes tell."""
        earlier = before.seen if before is not None else {}
        nodes = [node for node, seen in self.seen.items() if seen and earlier.get(node) != seen]
        return [node for node in nodes if not node.startswith("__")] or [
            node for node in nodes if node == INPUT_CHANNEL
        ]

    def _is_unseen(self, channel: str, node: str) -> bool:
        seen = self.seen.get(node)
        known = seen.get(channel) if isinstance(seen, dict) else None
        version = self.versions.get(channel)
        if isinstance(version, str) and isinstance(known, str):
            return version > known
        if isinstance(version, int | float) and isinstance(known, int | float):
            return version > known
        return True


def open_checkpoint(document: object) -> Checkpoint | Sealed:
    """The checkpoint that was unpacked of stored bytes, or how it is sealed.

    Raises:
        Damaged: it is no checkpoint.
    """
    if isinstance(document, Sealed):
        return document
    values = document.get("channel_values") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(values, dict):
        raise Damaged("it is not a checkpoint: it has no channel values")
    number, sends = document.get("v"), document.get("pending_sends")
    return Checkpoint(
        _by_name(values),
        _by_name(document.get("channel_versions")),
        _by_name(document.get("versions_seen")),
        number if isinstance(number, int) else FORMAT,
        sends if isinstance(sends, list) else (),
    )


def visible_state(
    checkpoint: Checkpoint, deltas: Mapping[str, Wire], convert: Callable[[object], Wire] = to_wire
) -> Wire:
    """The state as `StateSnapshot.values` shows it.

    The channels that only LangGraph uses are left out. What the file cannot tell: reducers that no one has written to
    are absent, where LangGraph shows their empty value at an input.

    Args:
        checkpoint: the checkpoint.
        deltas: values of channels that store only changes, shown where the checkpoint has no value of its own.
        convert: makes wire values of channel values.
    """
    for whole in WHOLE_STATE:
        if whole in checkpoint.values:
            return convert(checkpoint.values[whole])
    state = convert(checkpoint.visible)
    if isinstance(state, dict):
        for channel, value in deltas.items():
            state.setdefault(channel, value)
    return state


def is_internal(channel: str) -> bool:
    """Whether a channel is LangGraph's own and no part of the state that its user knows."""
    return channel.startswith((_BRANCH, _JOIN, "__"))


def _by_name(mapping: object) -> Mapping[str, object]:
    return {key: value for key, value in mapping.items() if isinstance(key, str)} if isinstance(mapping, dict) else {}


def _triggered(channel: str, value: object) -> str | None:
    """The node that a channel starts now, if any."""
    if channel.startswith(_BRANCH):
        return channel.removeprefix(_BRANCH) if _is_due(value) else None
    if old := _old_trigger(channel):
        return old
    if not channel.startswith(_JOIN):
        return None
    awaited, _, node = channel.removeprefix(_JOIN).rpartition(":")
    arrived = _members(value[0] if _is_deferred(value) else value)  # type: ignore[index]  # a list of two
    return node if _is_due(value) and _are_all(arrived, awaited) else None


def _old_trigger(channel: str) -> str | None:
    """The node that a channel starts, as channels were called before format 3."""
    if channel.startswith(_START_OF):
        return channel.removeprefix(_START_OF)
    parts = channel.split(":")
    return parts[-1] if parts[0] == "branch" and len(parts) == _OLD_BRANCH else None


def _is_deferred(value: object) -> bool:
    return isinstance(value, list) and len(value) == _PENDING_DEFERRED and isinstance(value[1], bool)


def _is_due(value: object) -> bool:
    return not _is_deferred(value) or value[1] is True  # type: ignore[index]  # a list of two


def _members(value: object) -> list[str]:
    """The names in a stored set."""
    if isinstance(value, Extension):
        try:
            content = unpack_extension(value)
        except Damaged:
            return []
        value = content[2] if isinstance(content, list) and len(content) > 2 else None
    elif isinstance(value, Constructor):
        value = value.arguments[0] if value.arguments else None
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _are_all(arrived: Iterable[str], awaited: str) -> bool:
    """Whether `awaited`, names joined by `+` (which names may contain), is made of the names that arrived."""
    names = set(arrived)
    return len("+".join(names)) == len(awaited) and all(f"+{name}+" in f"+{awaited}+" for name in names)


def _send_node(send: object) -> str:
    if isinstance(send, Extension):
        try:
            content = unpack_extension(send)
        except Damaged:
            return ""
        arguments = content[2] if isinstance(content, list) and len(content) > 2 else None
        if isinstance(arguments, list) and arguments and isinstance(arguments[0], str):
            return arguments[0]
    if isinstance(send, Constructor):
        send = send.keywords
    if isinstance(send, dict) and isinstance(send.get("node"), str):
        return str(send["node"])
    return ""
