"""Finding what changed in a live object since the last checkpoint, however it was changed.

The agent's own objects are compared with the byte forms of last time, large ones by runs and branches, and only what
differs is encoded. Comparing plain data runs at the speed of memory and is exact under mutation in place: for 1, 1.0,
True and "1", for NaN and -0.0, for tuple and list, for the order of keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from agent_tt.codec.encode import Encoder
from agent_tt.codec.looking import seen
from agent_tt.codec.parts import take_apart
from agent_tt.codec.plain import is_plain_dict, is_plain_scalar, parts_of
from agent_tt.codec.tlv import tlv
from agent_tt.codec.wire import VALUE, Encoded, Wire, is_envelope
from agent_tt.history.changes.append_only import Births
from agent_tt.history.changes.diff import diff_into, list_diff_into, same, text_diff
from agent_tt.history.changes.forms import Form
from agent_tt.history.changes.nodes import NODES, RUN, DictNode, EnvelopeNode, Leaf, ListNode, build
from agent_tt.history.digest import DIGEST_SIZE
from agent_tt.redaction.keyed import keyed_marks_in
from agent_tt.redaction.marks import MARK
from agent_tt.redaction.names import depends_on_neighbours
from agent_tt.redaction.values import field_in, field_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_tt.codec.wire import Path
    from agent_tt.history.changes.large_parts import PutBlob, Reference
    from agent_tt.history.changes.nodes import Child, Node
    from agent_tt.history.changes.ops import Op

__all__ = ["Shadow"]

Admit: TypeAlias = "Callable[[Wire, str], Wire]"

_MISSING: Final = object()
_MARK: Final = MARK.encode()


def _holds_mark(raw: bytes) -> bool:
    return _MARK in raw or (b"~" in raw and bool(keyed_marks_in(raw.decode("latin-1"))))


def _as_it_is(value: Wire, _field: str) -> Wire:
    return value


class Shadow:
    """The last checkpoint of one state, and what it takes to tell the next one from it.

    Args:
        admit: gives what may be kept of a part of the state, and is told the field that holds it. It is asked only of
            parts that changed, so it costs little; what it gives must be stable: asked of that, it gives the same.
    """

    __slots__ = ("_admit", "_births", "_encoder", "_holder", "_ops", "_root")

    def __init__(self, admit: Admit | None = None) -> None:
        self._admit: Admit = _as_it_is if admit is None else admit
        self._root: Node | None = None
        self._births = Births({})
        self._encoder = Encoder()
        self._holder: tuple[Path, str] = ((), "")
        self._ops: list[Op] = []

    @classmethod
    def from_wire(cls, wire: Wire, births: Mapping[Path, int] | None = None, admit: Admit | None = None) -> Shadow:
        """The shadow of a state that is stored already: where a fork begins.

        Args:
            wire: the stored state.
            births: its append-only lists, as `append_only_births` gave them at that checkpoint.
            admit: as of the class.
        """
        shadow = cls(admit)
        shadow._root = build(wire)
        shadow._births = Births(births or {})
        return shadow

    @property
    def append_only_births(self) -> Mapping[Path, int]:
        """The lists that only grew, by wire path, each with the checkpoint that set it."""
        return self._births.known()

    def reset(self) -> None:
        """Forget the last checkpoint, for one that could not be stored: the next says the whole state."""
        self._root = None
        self._births.clear()

    def step(self, value: object, seq: int) -> tuple[list[Op], bytes]:
        """Take the state as it is now for checkpoint `seq`.

        Returns:
            The operations that lead here from the last checkpoint (they share nothing with `value`) and the digest.
        """
        root, self._root = self._root, None  # an interrupted step leaves no half-updated tree behind
        self._encoder, self._ops = Encoder(), []
        if root is None:
            wire = self._encode(value, ())
            self._ops.append(["s", [], wire])
            root = build(wire)
        else:
            child = self._update(root, value, ())
            root = child if isinstance(child, NODES) else build(child)
        ops, self._ops = self._ops, []
        self._births.follow(ops, seq)
        self._root = root
        return ops, root.token.to_bytes(DIGEST_SIZE, "little")

    def weight(self) -> int:
        """About how many bytes of JSON the last checkpoint is."""
        return 0 if self._root is None else self._root.weight()

    def keyframe(self, put_blob: PutBlob) -> tuple[Wire, list[Reference]]:
        """The last checkpoint as a keyframe.

        Args:
            put_blob: stores plain bytes as a blob and gives its hash in hex.

        Returns:
            The skeleton, and the references to the parts that it leaves out: `[place, kind, what]` of kind `b` a blob,
            `l` blobs of lists to join, `g` blobs of dicts to merge, or `a` the checkpoint that set a list which only
            grew since.
        """
        from agent_tt.history.changes.keyframe_layout import Skeleton

        if self._root is None:
            raise ValueError("there is no checkpoint yet")
        skeleton = Skeleton(self._births.of, put_blob)
        return skeleton.of(self._root, ()), skeleton.references

    # ------------------------------------------------------------ one part at a time

    def _update(self, node: Node, value: object, path: Path) -> Child:
        """The node of `value`, which was `node` last time; operations are noted."""
        if type(value) is Encoded:
            return self._update_wire(node, value, path)
        if isinstance(node, Leaf):
            if node.form.is_of(value):
                return node
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

    def _replace(self, node: Node, value: object, path: Path) -> Child:
        wire = self._encode(value, path)
        before = len(self._ops)
        diff_into(node.value(), wire, path, self._ops)
        if len(self._ops) == before:
            return node
        return build(wire) if isinstance(wire, dict | list) else wire

    def _update_dict(self, node: DictNode, value: dict[str, object], path: Path) -> DictNode:
        before = len(self._ops)
        items = list(value.items())  # at once: another thread may add to the dict meanwhile
        if any(key not in node.children for key, _ in items):
            items = list({self._admit_key(key, node): item for key, item in items}.items())
        keys = [key for key, _ in items]
        known = set(keys)
        if not node.children.keys() <= known:
            for key in [key for key in node.children if key not in known]:
                self._ops.append(["d", [*path, key]])
                node.remove(key)
        self._encoder.enter(value)
        try:
            for key, item in items:
                self._update_entry(node, key, item, path, value)
        finally:
            self._encoder.leave()
        if list(node.children) != keys:
            self._ops.append(["o", list(path), list[Wire](keys)])
            node.reorder(keys)
        if len(self._ops) > before:
            node.seal()
            node.quiet = None
        elif path and node.quiet is None and node.is_plain:
            node.quiet = Form(tlv(node.value()))  # never from `value`, which another thread may just have changed
        return node

    def _update_entry(self, node: DictNode, key: str, item: object, path: Path, entries: dict[str, object]) -> None:
        before = len(self._ops)
        old = node.children.get(key, _MISSING)
        child: Child
        if isinstance(old, NODES):
            child = self._update(old, item, (*path, key))
            if len(self._ops) == before:
                return
        elif is_plain_scalar(item):
            if same(old, item):
                return
            admitted, place = self._admit_scalar(entries, key, item, path), (*path, key)
            if admitted is not item and same(old, admitted):
                return
            if type(old) is str and type(admitted) is str:
                self._ops.append(text_diff(old, admitted, place))
            else:
                self._ops.append(["s", list(place), admitted])
            child = admitted if is_plain_scalar(admitted) else None
        else:
            wire = self._encode(item, (*path, key))
            self._ops.append(["s", [*path, key], wire])
            child = build(wire) if isinstance(wire, dict | list) else wire
        node.set(key, child)

    def _update_list(self, node: ListNode, value: Sequence[object], path: Path, *, are_wires: bool = False) -> ListNode:
        old_length = len(node)
        self._encoder.enter(value)
        try:
            start = self._equal_front(node, value, path, are_wires=are_wires)
            wires, given = self._encode_items(value, start, len(value), path, are_wires=are_wires)
        finally:
            self._encoder.leave()
        if start == old_length:
            if wires:
                self._ops.append(["a", list(path), old_length, wires])
                node.append(wires, given)
                self._remember(node, value, start, are_wires=are_wires)
            return node
        old_raws, raws = node.element_bytes(start), [tlv(wire) for wire in wires]
        before = len(self._ops)
        old_items = dict[int, Wire]()

        def old_item(index: int) -> Wire:
            if not old_items:
                old_items.update(enumerate(node.items_from(start)))
            return old_items[index]

        list_diff_into(old_raws, raws, old_item, wires, path, self._ops, start)
        if len(self._ops) > before:
            node.replace_from(start, wires, raws)
            self._remember(node, value, start, are_wires=are_wires)
        return node

    @staticmethod
    def _remember(node: ListNode, value: Sequence[object], start: int, *, are_wires: bool) -> None:
        """Know elements by themselves the next time, from `start` on, where they are wire values."""
        if are_wires:
            for index in range(start // RUN, len(node.runs)):
                node.runs[index].wires = value[index * RUN : (index + 1) * RUN]

    def _encode(self, value: object, path: Path) -> Wire:
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
        return key if key in node.children else str(self._admit(key, ""))

    def _admit_scalar(self, entries: dict[str, object], key: str, item: Wire, path: Path) -> Wire:
        """What may be kept of a scalar of a dict."""
        if not depends_on_neighbours(key):
            if path is not self._holder[0]:  # many scalars of one dict may change at once
                self._holder = path, field_of(path, is_object=True)
            return self._admit(item, field_in(self._holder[1], key))
        beside = {name: other for name, other in entries.items() if is_plain_scalar(other)}
        admitted = self._admit({**beside, key: item}, field_of(path, is_object=True))
        return admitted[key] if type(admitted) is dict and key in admitted else None

    def _equal_front(self, node: ListNode, value: Sequence[object], path: Path, *, are_wires: bool) -> int:
        """How many elements are as they were, in whole runs; the old length if all are."""
        for index, run in enumerate(node.runs):
            at = begin = index * RUN
            now = value[begin : min(begin + RUN, len(node))]
            for size, part in (() if are_wires else run.parts) or ((len(now), run),):
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
            before = len(self._ops)
            payload = self._update(node.payload, parts.payload, (*path, VALUE))
        finally:
            self._encoder.leave()
        if len(self._ops) == before:
            return node
        return EnvelopeNode(header, payload if isinstance(payload, NODES) else build(payload))
