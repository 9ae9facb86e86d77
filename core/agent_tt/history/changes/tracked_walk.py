"""Comparing a state whose containers note what is written into them: only that is looked at."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from agent_tt.codec.plain import is_plain_dict, is_plain_scalar
from agent_tt.codec.tlv import tlv
from agent_tt.codec.track_reader import TrackReader
from agent_tt.codec.tracked import TRACKED, TrackedDict, TrackedList
from agent_tt.codec.wire import Wire, is_envelope
from agent_tt.history.changes.nodes import NODES, RUN, DictNode, Leaf, ListNode
from agent_tt.history.changes.walk import Walk
from agent_tt.redaction.names import depends_on_neighbours

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from agent_tt.codec.track_reader import Notes
    from agent_tt.codec.tracked import Tracked
    from agent_tt.codec.wire import Path
    from agent_tt.history.changes.nodes import Child, Node
    from agent_tt.history.changes.ops import Op
    from agent_tt.history.changes.walk import Admit

__all__ = ["TrackedWalk"]

_MISSING: Final = object()


class TrackedWalk(Walk):
    """A walk that asks tracked containers what was written into them.

    Attributes:
        reader: takes their notes.
        believes: whether these are believed; else all of a tracked state is compared.
    """

    __slots__ = ("believes", "reader")

    def __init__(self, admit: Admit) -> None:
        super().__init__(admit)
        self.reader = TrackReader()
        self.believes = True

    def begin(self) -> None:
        """Begin a step."""
        super().begin()
        self.reader.begin()

    def end(self) -> list[Op]:
        """End a step; give what was found."""
        self.reader.end()
        return super().end()

    def first(self, value: object) -> Wire:
        """The whole state, where there is no last checkpoint; its operation is noted."""
        if type(value) in TRACKED:
            self.reader.take(value)  # type: ignore[arg-type]  # that is what it is
        return super().first(value)

    def _update_tracked(self, node: Node, value: Tracked, path: Path) -> Child:
        """The same for a container that notes what is written into it: of one that was this very node, only that."""
        if self._encoder.is_blocked(value):
            return self._replace(node, value, path)
        notes = self.reader.take(value)
        is_known = self.believes and node.live is value and not notes.all
        if is_known and not (notes.changed or notes.places):
            return node
        child: Child
        if isinstance(node, DictNode) and isinstance(value, TrackedDict) and is_known:
            child = self._update_noted_dict(node, value, path, notes)
        elif isinstance(node, Leaf) and isinstance(value, TrackedDict) and is_known:
            before = node.kept()
            wire = self._kept_of_noted(value, before, path, notes)
            child = self._followed(node, before, wire, path)
        elif isinstance(node, DictNode) and is_plain_dict(value):
            child = self._update_dict(node, value, path)
        elif isinstance(node, ListNode) and isinstance(value, TrackedList):
            start = self._noted_front(node, value, path, notes) if is_known else None
            child = self._update_list(node, value, path, start=start)
        else:
            child = self._replace(node, value, path)
        if isinstance(child, NODES):
            child.live = value
        return child

    def differs_somewhere(self, node: Node, value: object, chance: Random) -> bool:
        """Whether a place of a tracked state, taken by chance, is not what was kept of it. Nothing is noted."""
        path: Path = ()
        with ExitStack() as inside:
            while type(value) in TRACKED and not self._encoder.is_blocked(value):
                self._encoder.enter(value)
                inside.callback(self._encoder.leave)
                if isinstance(node, ListNode) and isinstance(value, TrackedList) and 0 < len(node) == len(value):
                    return self._is_other_element(node, value, chance.randrange(len(node)), path)
                if not (isinstance(node, DictNode) and isinstance(value, TrackedDict) and node.children):
                    return False
                key = next(islice(node.children, chance.randrange(len(node.children)), None))
                child, value, path = node.children[key], value.get(key, _MISSING), (*path, key)
                if value is _MISSING or not isinstance(child, NODES):  # or kept under another name
                    return False
                if isinstance(child, Leaf):
                    raw = child.form.raw
                    return tlv(self._encoder.encode(value)) != raw and tlv(self.encode(value, path)) != raw
                node = child
        return False

    def _is_other_element(self, node: ListNode, value: Sequence[object], at: int, path: Path) -> bool:
        raw = node.element(at)
        if tlv(self._encoder.encode(value[at])) == raw:
            return False
        wires, _ = self._encode_items(value, at, at + 1, path, are_wires=False)
        return not wires or tlv(wires[0]) != raw

    def _kept_of_noted(self, value: TrackedDict[Any, Any], before: Wire, path: Path, notes: Notes) -> Wire:
        """Give what may be kept of a tracked dict. `before` is what was kept of it when its notes were last taken."""
        places = notes.places
        is_whole = type(before) is not dict or is_envelope(before) or notes.order or notes.all
        if is_whole or not before.keys() >= places.keys() or any(map(depends_on_neighbours, before)):  # type: ignore[union-attr,arg-type]  # a dict
            return self.encode(value, path)
        kept: dict[str, Wire] = dict(before)  # type: ignore[arg-type]
        self._encoder.enter(value)
        try:
            for key in places:
                item, old = value.get(key, _MISSING), kept[key]
                if item is _MISSING:  # another thread took it out just now
                    continue
                if key not in notes.written and type(item) is TrackedDict and not self._encoder.is_blocked(item):
                    kept[key] = self._kept_of_noted(item, old, (*path, key), self.reader.take(item))
                else:
                    kept[key] = self.encode(item, (*path, key))
        finally:
            self._encoder.leave()
        return kept

    def _update_noted_dict(self, node: DictNode, value: TrackedDict[Any, Any], path: Path, notes: Notes) -> Child:
        before, children = len(self.ops), node.children
        found = [(key, value.get(key, _MISSING)) for key in notes.places]
        items = [(key, item) for key, item in found if item is not _MISSING]
        gone = [key for key, item in found if item is _MISSING]
        new = [key for key, _ in items if key not in children]
        if not (children.keys() >= set(gone) and all(self._is_own_name(key) for key in new)):
            if is_plain_dict(value):  # some keys are kept under another name
                return self._update_dict(node, value, path)
            return self._replace(node, value, path)
        for key in gone:
            self.ops.append(["d", [*path, key]])
            node.remove(key)
        if node.dependent is None:
            node.dependent = set(filter(depends_on_neighbours, children))
        node.dependent.update(filter(depends_on_neighbours, new))
        items += [(key, value[key]) for key in node.dependent if key not in notes.places and key in value]
        self._encoder.enter(value)
        try:
            for key, item in items:
                self._update_entry(node, key, item, path, value)
        finally:
            self._encoder.leave()
        if len(self.ops) > before:
            node.seal()
            node.quiet = None
        if notes.order and list(children) != list(value):
            return self._update_dict(node, value, path)
        return node

    def _is_own_name(self, key: object) -> bool:
        """Whether a new key of a plain dict is kept as it is."""
        return is_plain_dict({key: None}) and self._admit(key, "") == key  # type: ignore[arg-type]  # a text, then

    def _noted_front(self, node: ListNode, value: TrackedList[Any], path: Path, notes: Notes) -> int:
        """As `_equal_front`, of a list with notes; elements before that which were written are compared, and said."""
        start = notes.first // RUN * RUN if notes.first < len(node) else len(node)
        self._encoder.enter(value)
        try:
            # What a text says may depend on the one before it, which may be another one now.
            for at in sorted({*notes.places, *(at + 1 for at in notes.places)}):
                if at < start and (at in notes.places or is_plain_scalar(value[at])):
                    self._update_element(node, value, at, path)
        finally:
            self._encoder.leave()
        return start
