"""Comparing a live object with the last checkpoint, part by part: only what differs is encoded, and said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.codec.encode import Encoder
from agent_tt.codec.looking import seen
from agent_tt.codec.parts import take_apart
from agent_tt.codec.plain import is_plain_dict, is_plain_scalar, parts_of
from agent_tt.codec.tlv import from_tlv, tlv
from agent_tt.codec.tracked import TRACKED
from agent_tt.codec.wire import VALUE, Encoded, Wire, is_envelope
from agent_tt.history.changes.census import WORKS, Census
from agent_tt.history.changes.diff import EXACT_BY_EQUALITY, diff_into, list_diff_into, same, text_diff
from agent_tt.history.changes.forms import Form
from agent_tt.history.changes.nodes import NODES, RUN, DictNode, EnvelopeNode, Leaf, ListNode, build
from agent_tt.redaction.keyed import keyed_marks_in
from agent_tt.redaction.marks import MARK
from agent_tt.redaction.names import depends_on_neighbours
from agent_tt.redaction.values import field_in, field_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from agent_tt.codec.tracked import Tracked
    from agent_tt.codec.wire import Path
    from agent_tt.history.changes.nodes import Child, Node
    from agent_tt.history.changes.ops import Op

    Admit: TypeAlias = Callable[[Wire, str], Wire]

__all__ = ["Walk"]

_MISSING: Final = object()
_PLAIN: Final = frozenset({dict, list})
_NOTHING: Final[set[int]] = set()
_FEWEST: Final = 4
"""Entries of a dict that are worth a census."""
_SPARED: Final = 4
"""A census of which more than one in so many roots is loose is made anew."""
_PATIENCE: Final = 16
"""Steps after which a census with loose roots is made anew: it keeps alive what is not a part of the state any more."""
_TOGETHER: Final = 8
"""Elements of a list that are counted together at least."""
_AT_ONCE: Final = 2
"""Runs of a list that are counted for the first time in one step, at most: it may be in vain."""
_MARK: Final = MARK.encode()


def _holds_mark(raw: bytes) -> bool:
    return _MARK in raw or (b"~" in raw and bool(keyed_marks_in(raw.decode("latin-1"))))


def _has_changed(census: Census, value: Sequence[object], begin: int) -> bool:
    now = value[begin : begin + len(census)]
    return len(now) != len(census) or bool(census.changed(now))


class Walk:
    """Compares the parts of one state, step after step.

    Args:
        admit: as of `Shadow`.

    Attributes:
        ops: the operations found so far.
    """

    __slots__ = ("_admit", "_encoder", "_holder", "ops")

    def __init__(self, admit: Admit) -> None:
        self._admit = admit
        self._encoder = Encoder()
        self._holder: tuple[Path, str] = ((), "")
        self.ops: list[Op] = []

    def begin(self) -> None:
        """Begin a step."""
        self._encoder, self.ops = Encoder(), []

    def end(self) -> list[Op]:
        """End a step; give what was found."""
        ops, self.ops = self.ops, []
        return ops

    def first(self, value: object) -> Wire:
        """The whole state, where there is no last checkpoint; its operation is noted."""
        wire = self.encode(value, ())
        self.ops.append(["s", [], wire])
        return wire

    def update(self, node: Node, value: object, path: Path) -> Child:
        """The node of `value`, which was `node` last time; operations are noted."""
        if type(value) is Encoded:
            return self._update_wire(node, value, path)
        if type(value) in TRACKED:
            return self._update_tracked(node, value, path)  # type: ignore[arg-type]  # that is what it is
        if isinstance(node, Leaf):
            if node.form.is_of(value):
                return node
            if type(value) is dict:
                return self._update_leaf(node, value, path)
        elif isinstance(node, DictNode):
            if node.quiet is not None and node.quiet.is_of(value):
                return node
            if is_plain_dict(value) and not self._encoder.is_blocked(value):
                return self._update_dict(node, value, path)
        elif isinstance(node, ListNode):
            if type(value) is list and not self._encoder.is_blocked(value):
                return self._update_list(node, value, path)
        elif not self._encoder.is_blocked(value):
            updated = self._update_envelope(node, value, path)
            if updated is not None:
                return updated
        return self._replace(node, value, path)

    def _update_wire(self, node: Node, value: Encoded, path: Path) -> Child:
        """The same for a wire value: parts that are the very objects of last time are as they were."""
        wire = value.wire
        if isinstance(node, DictNode) and type(wire) is dict and not is_envelope(wire):
            return self._update_dict(node, parts_of(wire), path)
        if isinstance(node, ListNode) and type(wire) is list:
            return self._update_list(node, wire, path, are_wires=True)
        return self._replace(node, value, path)

    def _update_tracked(self, node: Node, value: Tracked, path: Path) -> Child:
        """The same for a tracked container; here, without asking it what was written."""
        return self._replace(node, value, path)

    def _update_leaf(self, node: Leaf, value: dict[str, object], path: Path) -> Child:
        """The same for a small dict: of plain data only the entries that differ are encoded."""
        before = node.kept()
        seen = node.form.snapshot(value)
        if type(before) is not dict or type(seen) is not dict or self._encoder.is_blocked(value):
            return self._replace(node, value, path)
        return self._followed(node, before, self._kept_of(seen, before, path), path)

    def _followed(self, node: Leaf, before: Wire, wire: Wire, path: Path) -> Child:
        """The node of what is kept now, where `node` is that of what was kept before."""
        ops = len(self.ops)
        diff_into(before, wire, path, self.ops)
        if len(self.ops) == ops:
            return node
        return node.followed_by(before, wire) if isinstance(wire, dict | list) else wire

    def _kept_of(self, seen: dict[str, object], before: dict[str, Wire], path: Path) -> Wire:
        """What may be kept of a dict of plain data that nobody changes.

        Args:
            seen: the dict.
            before: what was kept of it the last time; what is the same is taken from there.
            path: where it is.
        """
        is_whole = not is_plain_dict(seen) or is_envelope(before) or any(map(depends_on_neighbours, seen))
        if is_whole or self._encoder.is_blocked(seen):
            return self.encode(seen, path)
        kept: dict[str, Wire] = {}
        self._encoder.enter(seen)
        for key, item in seen.items():
            old = before.get(key, _MISSING)
            if same(old, item):
                kept[key] = old  # type: ignore[assignment]  # it was there
            elif type(old) is dict and type(item) is dict:
                kept[key] = self._kept_of(item, old, (*path, key))
            else:
                kept[key] = self.encode(item, (*path, key))
        self._encoder.leave()
        new = [key for key in kept if key not in before]
        return {self._admit_name(key) if key in new else key: item for key, item in kept.items()} if new else kept

    def _replace(self, node: Node, value: object, path: Path) -> Child:
        wire = self.encode(value, path)
        before = len(self.ops)
        diff_into(node.value(), wire, path, self.ops)
        if len(self.ops) == before:
            return node
        return build(wire) if isinstance(wire, dict | list) else wire

    def _update_dict(self, node: DictNode, value: dict[str, object], path: Path) -> DictNode:
        before = len(self.ops)
        told, candidate = self._known_entries(node, value)
        items = list(value.items())  # at once: another thread may add to the dict meanwhile
        if any(key not in node.children for key, _ in items):
            names = [self._admit_key(key, node) for key, _ in items]
            if names != [key for key, _ in items]:
                told = {}  # what has another name may stand in the place of something that is known
            items = list({name: item for name, (_, item) in zip(names, items, strict=True)}.items())
        keys = [key for key, _ in items]
        known = set(keys)
        if not node.children.keys() <= known:
            for key in [key for key in node.children if key not in known]:
                self.ops.append(["d", [*path, key]])
                node.remove(key)
        self._encoder.enter(value)
        try:
            for key, item in items:
                touched = told.get(key)
                if touched is None:
                    self._update_entry(node, key, item, path, value)
                elif touched:
                    self._update_touched(node, key, item, path, touched)
        finally:
            self._encoder.leave()
        if list(node.children) != keys:
            self.ops.append(["o", list(path), list[Wire](keys)])
            node.reorder(keys)
        is_named_alike = candidate is not None and node.children.keys() == value.keys()
        if candidate is not None and is_named_alike and not candidate.changed([value.get(key) for key in node.counted]):
            node.census, node.patience = candidate, _PATIENCE
        if len(self.ops) > before:
            node.seal()
            node.quiet = node.dependent = None
        elif path and node.quiet is None and node.is_plain:
            node.quiet = Form(tlv(node.value()))  # never from `value`, which another thread may just have changed
        return node

    def _known_entries(self, node: DictNode, value: dict[str, object]) -> tuple[Mapping[str, set[int]], Census | None]:
        """What is known of small containers, and a census to be kept once all entries are compared.

        Returns:
            By key, the `id` of each container that changed in it, or holds one that did; keys of which nothing is
            known are not there.
        """
        if type(value) is not dict or not WORKS:
            node.census, node.seen = None, {}  # nobody is to hold what is in it: it may be about to be tracked
            return {}, None
        census = node.census
        if census is not None:
            changed = census.changed([value.get(key) for key in node.counted])
            node.patience -= bool(census.loose)
            if _SPARED * len(census.loose) <= len(node.counted) and node.patience >= 0:
                known = dict.fromkeys(node.counted, _NOTHING)
                known.update((node.counted[number], touched) for number, touched in changed.items())
                for number in census.loose:
                    del known[node.counted[number]]
                return known, None
            node.census = None
        before = node.seen
        parts = {key: value.get(key) for key, child in node.children.items() if type(child) is Leaf}
        node.seen = {key: id(item) for key, item in parts.items() if type(item) in _PLAIN}
        node.counted = [key for key, seen in node.seen.items() if before.get(key) == seen]
        if len(node.counted) < _FEWEST:
            return {}, None
        candidate = Census([parts[key] for key in node.counted])
        return {}, candidate if candidate.is_sound else None

    def _update_touched(self, node: DictNode, key: str, item: object, path: Path, touched: set[int]) -> None:
        """The same for an entry of which it is known which containers in it hold other texts and numbers."""
        old, place = node.children[key], (*path, key)
        before = old.kept() if isinstance(old, Leaf) else None
        if not isinstance(old, Leaf) or type(item) is not dict or type(before) is not dict:
            self._update_entry(node, key, item, path, {})
            return
        ops = len(self.ops)
        child = self._followed(old, before, self._kept_of_touched(item, before, place, touched), place)
        if len(self.ops) > ops:
            node.set(key, child)

    def _kept_of_touched(
        self, value: dict[str, object], before: dict[str, Wire], path: Path, touched: set[int]
    ) -> Wire:
        """What may be kept of a dict. `before` is what was kept of it; containers not in `touched` are as they were."""
        items = list(value.items())
        if (
            is_envelope(before)
            or [key for key, _ in items] != list(before)
            or any(map(depends_on_neighbours, before))
            or self._encoder.is_blocked(value)
        ):
            return self.encode(value, path)
        kept: dict[str, Wire] = {}
        self._encoder.enter(value)
        try:
            for key, item in items:
                old = before[key]
                if type(item) in _PLAIN:
                    if id(item) not in touched:
                        kept[key] = old
                        continue
                    if type(item) is dict and type(old) is dict:
                        kept[key] = self._kept_of_touched(item, old, (*path, key), touched)
                        continue
                elif same(old, item):
                    kept[key] = old
                    continue
                kept[key] = self.encode(item, (*path, key))
        finally:
            self._encoder.leave()
        return kept

    def _update_entry(self, node: DictNode, key: str, item: object, path: Path, entries: dict[str, object]) -> None:
        old = node.children.get(key, _MISSING)
        if type(old) is type(item) and type(item) in EXACT_BY_EQUALITY and old == item:
            return  # mostly, and at once
        before = len(self.ops)
        child: Child
        if isinstance(old, NODES):
            child = self.update(old, item, (*path, key))
            if len(self.ops) == before:
                return
        elif is_plain_scalar(item):
            if same(old, item):
                return
            admitted, place = self._admit_scalar(entries, key, item, path), (*path, key)
            if admitted is not item and same(old, admitted):
                return
            if type(old) is str and type(admitted) is str:
                self.ops.append(text_diff(old, admitted, place))
            else:
                self.ops.append(["s", list(place), admitted])
            child = admitted if is_plain_scalar(admitted) else None
        else:
            wire = self.encode(item, (*path, key))
            self.ops.append(["s", [*path, key], wire])
            child = build(wire) if isinstance(wire, dict | list) else wire
        node.set(key, child)

    def _update_list(
        self, node: ListNode, value: Sequence[object], path: Path, *, are_wires: bool = False, start: int | None = None
    ) -> ListNode:
        """The same for a list; elements before `start` are as they were, where that is known."""
        old_length = len(node)
        self._encoder.enter(value)
        try:
            candidate, begin = None, 0
            if start is None:
                done = begin = 0 if are_wires else self._counted_front(node, value, path)
                candidate = None if are_wires else self._next_census(node, value, done)
                start = self._equal_front(node, value, path, done, are_wires=are_wires)
            wires, given = self._encode_items(value, start, len(value), path, are_wires=are_wires)
        finally:
            self._encoder.leave()
        if candidate is not None and begin + len(candidate) <= start and not _has_changed(candidate, value, begin):
            node.count(candidate)
        if start == old_length:
            if wires:
                self.ops.append(["a", list(path), old_length, wires])
                node.append(wires, given)
                self._remember(node, value, start, are_wires=are_wires)
            return node
        old_raws, raws = node.element_bytes(start), [tlv(wire) for wire in wires]
        before = len(self.ops)
        old_items = dict[int, Wire]()

        def old_item(index: int) -> Wire:
            if not old_items:
                old_items.update(enumerate(node.items_from(start)))
            return old_items[index]

        list_diff_into(old_raws, raws, old_item, wires, path, self.ops, start)
        if len(self.ops) > before:
            node.replace_from(start, old_raws, wires, raws)
            self._remember(node, value, start, are_wires=are_wires)
        return node

    @staticmethod
    def _remember(node: ListNode, value: Sequence[object], start: int, *, are_wires: bool) -> None:
        """Know elements by themselves the next time, from `start` on, where they are wire values."""
        if are_wires:
            for index in range(start // RUN, len(node.runs)):
                node.runs[index].wires = value[index * RUN : (index + 1) * RUN]

    def encode(self, value: object, path: Path) -> Wire:
        """What may be kept of the value at `path`; elements of a list are held by the list's own field."""
        return self._admit(
            self._encoder.encode(value), field_of(path, is_object=not (is_plain_scalar(value) or type(value) is list))
        )

    def _encode_items(
        self, items: Sequence[object], first: int, end: int, path: Path, *, are_wires: bool
    ) -> tuple[list[Wire], list[Wire]]:
        """What may be kept of a part of a list, and of what; the element before it may say what the first of it is."""
        before = [item for item in items[max(0, first - 1) : first] if is_plain_scalar(item)]
        new = items[first:end]
        encoded = [*before, *(new if are_wires else map(self._encoder.encode, new))]
        admitted = self._admit(encoded, field_of(path, is_object=False))
        return admitted[len(before) :] if type(admitted) is list else [], encoded[len(before) :]

    def _admit_key(self, key: str, node: DictNode) -> str:
        return key if key in node.children else self._admit_name(key)

    def _admit_name(self, key: str) -> str:
        return str(self._admit(key, ""))

    def _admit_scalar(self, entries: dict[str, object], key: str, item: Wire, path: Path) -> Wire:
        """What may be kept of a scalar of a dict."""
        if not depends_on_neighbours(key):
            if path is not self._holder[0]:  # many scalars of one dict may change at once
                self._holder = path, field_of(path, is_object=True)
            return self._admit(item, field_in(self._holder[1], key))
        beside = {name: other for name, other in entries.items() if is_plain_scalar(other)}
        admitted = self._admit({**beside, key: item}, field_of(path, is_object=True))
        return admitted[key] if type(admitted) is dict and key in admitted else None

    def _counted_front(self, node: ListNode, value: Sequence[object], path: Path) -> int:
        """How many elements consist of the objects of last time; what else they hold now is said."""
        done = 0
        if type(value) is not list:
            node.counted.clear()
        for which, census in enumerate(node.counted):
            end = done + len(census)
            changed = census.changed(value[done:end]) if end <= len(value) else census.loose
            if census.loose or end > len(value):
                del node.counted[which:]
                break
            for at in sorted(changed):  # all of them dicts and lists, on which no element beside them depends
                self._update_element(node, value, done + at, path)
            done = end
        return done

    @staticmethod
    def _next_census(node: ListNode, value: Sequence[object], begin: int) -> Census | None:
        """A census of the next elements that none counts, to be kept once they are known to be as they were."""
        end = min(begin + _AT_ONCE * RUN, min(len(node), len(value)) // _TOGETHER * _TOGETHER)
        if end <= begin or type(value) is not list or not WORKS:
            return None
        elements = value[begin:end]
        seen, node.seen = node.seen, (begin, id(elements[0]) if elements else 0)
        if seen != node.seen or len(elements) != end - begin:
            return None  # elements that are made anew each time will be so the next time
        candidate = Census(elements)
        return candidate if candidate.is_sound else None

    def _update_element(self, node: ListNode, value: Sequence[object], at: int, path: Path) -> None:
        wires, _ = self._encode_items(value, at, at + 1, path, are_wires=False)
        if not wires:  # another thread took it out just now
            return
        before, now = node.element(at), tlv(wires[0])
        if before != now:
            diff_into(from_tlv(before), wires[0], (*path, at), self.ops)
            node.set_element(at, wires[0], now)

    def _equal_front(self, node: ListNode, value: Sequence[object], path: Path, done: int, *, are_wires: bool) -> int:
        """How many elements are as they were, in whole runs, of which `done` are known; the old length if all are."""
        for index, run in enumerate(node.runs[done // RUN :], done // RUN):
            at = begin = index * RUN
            now = value[begin : min(begin + RUN, len(node))]
            for size, part in (() if are_wires else run.parts) or ((min(RUN, len(node) - begin), run),):
                if at < done and at + size <= done:
                    at += size
                    continue
                items, before = now[at - begin : at - begin + size], value[max(0, at - 1) : at]
                if not self._is_as_it_was(part, items, before, path, are_wires=are_wires):
                    return begin
                at += size
        return len(node)

    def _is_as_it_was(
        self, form: Form, items: Sequence[object], before: Sequence[object], path: Path, *, are_wires: bool
    ) -> bool:
        """Whether elements are those of a form still, or what may be kept of them is what it says."""
        if form.is_of_same(items) if are_wires else form.is_of(items):
            return True
        if not (are_wires or TRACKED.isdisjoint(map(type, items))) and tlv(
            [self._encoder.encode(item) for item in items]
        ) in (form.raw, form.given):
            return True
        if not (are_wires or not form.is_plain or _holds_mark(form.raw)):
            return False
        live, read = (None if are_wires else form.read(items)) or (None, items)
        seen = [*before, *read]
        if form.raw != tlv(self._encode_items(seen, len(before), len(seen), path, are_wires=are_wires)[0]):
            return False
        if are_wires:
            form.wires = items
        elif live is not None:
            form.hold(live, read)
        return True

    def _update_envelope(self, node: EnvelopeNode, value: object, path: Path) -> Node | None:
        """The node of an object that was one of the same class before; None if it is not such an object now."""
        parts = seen(lambda: take_apart(value), None)  # what raises, the encoder deals with
        if parts is None:
            return None
        self._encoder.enter(value)
        try:
            header = self._encoder.header(parts)
            if not same(header, node.header) or self._encoder.is_blocked(parts.payload):
                return None
            before = len(self.ops)
            payload = self.update(node.payload, parts.payload, (*path, VALUE))
        finally:
            self._encoder.leave()
        if len(self.ops) == before:
            return node
        return EnvelopeNode(header, payload if isinstance(payload, NODES) else build(payload))
