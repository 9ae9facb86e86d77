"""What the last checkpoint looked like: a tree of byte forms and tokens, cheap to compare with live objects.

A small container, and any envelope that cannot be looked into, is one `Leaf`. A large dict is a `DictNode` of children
(scalars as they are), a large list a `ListNode` of runs, and a large object with parts an `EnvelopeNode` around them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from agent_tt.codec.tlv import from_tlv, tlv
from agent_tt.codec.wire import VALUE, Scalar, Wire, envelope_type, is_envelope
from agent_tt.history.changes.forms import LIST_HEAD, Form, list_head
from agent_tt.history.changes.tallies import retallied, token_of
from agent_tt.history.digest import (
    CONTAINERS,
    SMALL_DICT,
    entry_token,
    flat_list_token,
    list_token,
    polynomial,
    replaced,
    scalar_entry_token,
    small_dict_token,
    sum_token,
    token,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.history.changes.census import Census
    from agent_tt.history.changes.tallies import Tally

__all__ = ["NODES", "RUN", "Child", "DictNode", "EnvelopeNode", "Leaf", "ListNode", "Node", "build"]

RUN: Final = 64
"""Elements of a list that are compared, and kept in keyframes, together."""

_PART: Final = 8
"""Elements added to a run that are compared together while it grows."""

_MOST_COUNTED: Final = 16 * RUN
"""Elements up to which what two parts consist of is joined: one look at many of them is quicker than many."""

_LEAF_SIZE: Final = 4096
"""Bytes from which a container is taken apart."""

_CONTAINER_MARKS: Final = (b"[", b"{")
_ENTRY_WEIGHT: Final = 32
_OPENED: Final = frozenset({"dataclass", "deque", "exception", "namedtuple", "pydantic", "sub", "tuple"})
"""Envelopes whose payload is itself the parts of the object, in an order that the object gives."""


class Leaf:
    """A container in one piece.

    Attributes:
        form: its byte form.
        live: the tracked container that it was compared with last, None where there is none.
        token: its digest as a number.
    """

    __slots__ = ("_kept", "_tally", "form", "live", "token")

    def __init__(self, wire: Wire, raw: bytes, tally: Tally | None = None) -> None:
        self.form = Form(raw)
        self.live: object = None
        self._kept: Wire = None
        self._tally = tally
        self.token = token_of(wire, tally)

    @property
    def is_plain(self) -> bool:
        """Whether it holds no envelope."""
        return self.form.is_plain

    def value(self) -> Wire:
        """The wire value, as new containers."""
        return from_tlv(self.form.raw)

    def kept(self) -> Wire:
        """The wire value, which nobody may change: of what changes often it is at hand."""
        if self._kept is None:
            self._kept = self.value()
        return self._kept

    def followed_by(self, before: Wire, wire: Wire) -> Node:
        """The node of a value that comes after this one, and shares with it what did not change.

        Args:
            before: this one's value.
            wire: the other one.
        """
        raw = tlv(wire)
        if len(raw) >= _LEAF_SIZE:
            return build(wire)
        tally, self._tally = self._tally, None
        node = Leaf(wire, raw, retallied(tally, before, wire))
        node._kept = wire
        return node

    def weight(self) -> int:
        """About how many bytes of JSON it is."""
        return self.form.size


class ListNode:
    """A large list, as runs of `RUN` elements.

    Attributes:
        counted: what the live elements consist of, of so many from the first on as it is known of.
        live: as of a leaf.
        runs: the byte form of each run, itself a list.
        seen: the position and `id` of the first live element that was not counted.
        token: the list's digest as a number.
    """

    __slots__ = ("_containers", "_polynomial", "_sizes", "_tokens", "counted", "live", "runs", "seen", "token")

    def __init__(self, wires: Sequence[Wire]) -> None:
        self.counted: list[Census] = []
        self.live: object = None
        self.runs: list[Form] = []
        self.seen = (0, 0)
        self.token = 0
        self._sizes: list[int] = []
        self._tokens: list[int] = []
        self._polynomial = 0
        self._containers = 0
        self.append(wires)

    def __len__(self) -> int:
        return len(self._sizes)

    @property
    def is_plain(self) -> bool:
        """Whether no element holds an envelope."""
        return all(run.is_plain for run in self.runs)

    def value(self) -> Wire:
        """The wire value, as new containers."""
        return self.items_from(0)

    def items_from(self, start: int) -> list[Wire]:
        """The elements from `start` on, the beginning of a run, as new containers."""
        return [item for run in self.runs[start // RUN :] for item in self.items(run)]

    @staticmethod
    def items(run: Form) -> list[Wire]:
        """The elements of a run, as new containers."""
        items = from_tlv(run.raw)
        return items if type(items) is list else []

    def weight(self) -> int:
        """About how many bytes of JSON it is."""
        return sum(run.size for run in self.runs)

    def count(self, census: Census) -> None:
        """Know what the elements behind those that are counted consist of, as many as the census has roots."""
        while self.counted and len(self.counted[-1]) == len(census) < _MOST_COUNTED:
            census = self.counted.pop().joined(census)
        self.counted.append(census)

    def element_bytes(self, start: int) -> list[bytes]:
        """The byte form of each element from `start` on, the beginning of a run."""
        found, index = [], start
        for run in self.runs[start // RUN :]:
            raw, at = run.raw, LIST_HEAD
            while at < len(raw):
                found.append(raw[at : at + self._sizes[index]])
                at += self._sizes[index]
                index += 1
        return found

    def element(self, at: int) -> bytes:
        """The byte form of one element."""
        first = at // RUN * RUN
        begin = LIST_HEAD + sum(self._sizes[first:at])
        return self.runs[at // RUN].raw[begin : begin + self._sizes[at]]

    def set_element(self, at: int, wire: Wire, raw: bytes) -> None:
        """Put an element (and its byte form) in the place of one that is there."""
        first = at // RUN * RUN
        begin = LIST_HEAD + sum(self._sizes[first:at])
        before = self.runs[at // RUN].raw
        old, now = self._tokens[at], token(wire)
        self._containers += (type(wire) in CONTAINERS) - (before[begin : begin + 1] in _CONTAINER_MARKS)
        self.runs[at // RUN] = Form(before[:begin] + raw + before[begin + self._sizes[at] :])
        self._sizes[at], self._tokens[at] = len(raw), now
        self._polynomial = replaced(self._polynomial, [old], [now], len(self) - at - 1)
        self.token = self._total()

    def append(self, wires: Sequence[Wire], given: Sequence[Wire] = ()) -> None:
        """Add elements at the end.

        Args:
            wires: the elements.
            given: what they are kept of, the same objects where nothing was taken out; empty where that is not known.
        """
        raws = [tlv(wire) for wire in wires]
        taken_from = [raw if one is wire else tlv(one) for raw, wire, one in zip(raws, wires, given, strict=False)]
        self._extend(raws, [token(wire) for wire in wires], wires, taken_from)

    def replace_from(self, start: int, removed: list[bytes], wires: Sequence[Wire], raws: list[bytes]) -> None:
        """Put other elements (and their byte forms) in the place of those from `start` on, the beginning of a run.

        Args:
            start: the first that is replaced.
            removed: what `element_bytes` gives of those that go.
            wires: the elements that come.
            raws: the byte form of each.
        """
        known = dict(zip(removed, self._tokens[start:], strict=True))
        tokens = [known[raw] if raw in known else token(wire) for raw, wire in zip(raws, wires, strict=True)]
        self._containers -= sum(raw[:1] in _CONTAINER_MARKS for raw in removed)
        del self.runs[start // RUN :], self._sizes[start:], self._tokens[start:]
        self._polynomial = polynomial(0, self._tokens)
        self._extend(raws, tokens, wires)

    def _extend(self, raws: list[bytes], tokens: list[int], wires: Sequence[Wire], given: Sequence[bytes] = ()) -> None:
        at = 0
        while at < len(raws):
            filled = len(self._sizes) % RUN
            taken = raws[at : at + RUN - filled]
            run = _list_form(len(taken), b"".join(taken))
            if given:
                run.taken_from(list_head(len(taken)) + b"".join(given[at : at + len(taken)]))
            if filled:
                run = _grown(self.runs.pop(), filled, run, len(taken))
            self.runs.append(run)
            self._sizes.extend(map(len, taken))
            at += len(taken)
        self._tokens.extend(tokens)
        self._polynomial = polynomial(self._polynomial, tokens)
        self._containers += sum(type(wire) in CONTAINERS for wire in wires)
        self.token = self._total()

    def _total(self) -> int:
        if self._containers:
            return list_token(len(self), self._polynomial)
        return flat_list_token(list_head(len(self)) + b"".join([run.body for run in self.runs]))


def _list_form(count: int, body: bytes) -> Form:
    return Form(list_head(count) + body)


def _grown(run: Form, count: int, added: Form, more: int) -> Form:
    """The form of a run and the elements added to it, in parts until it is full."""
    *before, (last, part) = run.parts or [(count, run)]
    if count + more == RUN:
        return _of_parts(RUN, [*before, (last, part), (more, added)])
    if last + more > _PART:
        return Form(None, [*before, (last, part), (more, added)])
    return Form(None, [*before, (last + more, _of_parts(last + more, [(last, part), (more, added)]))])


def _of_parts(count: int, parts: Sequence[tuple[int, Form]]) -> Form:
    """One form in place of several."""
    form = _list_form(count, b"".join([part.body for _, part in parts]))
    if any(part.given for _, part in parts):
        form.given = list_head(count) + b"".join((part.given or part.raw)[LIST_HEAD:] for _, part in parts)
    return form


class DictNode:
    """A large dict.

    Attributes:
        census: what those live entries consist of that `counted` names; None where it is not known.
        children: its entries in order; scalars as they are, containers as nodes.
        counted: the keys of its roots.
        dependent: keys of entries of which others say what they hold; None where they are not known.
        live: as of a leaf.
        patience: steps for which the census is kept though some of its roots are loose.
        quiet: the form of the whole, kept while nothing in it changes: one comparison then replaces the walk.
        seen: the `id` of each live entry that was a small container when it was compared last, by key.
        token: the dict's digest as a number, current after `seal`.
    """

    __slots__ = (
        *("_entry_tokens", "_sum", "census", "children", "counted", "dependent", "live", "patience", "quiet", "seen"),
        "token",
    )

    def __init__(self, wire: dict[str, Wire]) -> None:
        self.census: Census | None = None
        self.children: dict[str, Child] = {}
        self.counted: list[str] = []
        self.live: object = None
        self.dependent: set[str] | None = None
        self.patience = 0
        self.quiet: Form | None = None
        self.seen: dict[str, int] = {}
        self.token = 0
        self._entry_tokens: dict[str, int] = {}
        self._sum = 0
        for key, item in wire.items():
            self.set(key, build(item) if isinstance(item, dict | list) else item)
        self.seal()

    @property
    def is_plain(self) -> bool:
        """Whether no child holds an envelope."""
        return all(child.is_plain for child in self.children.values() if isinstance(child, NODES))

    def set(self, key: str, child: Child) -> None:
        """Set an entry; a new one goes last."""
        now = entry_token(key, child.token) if isinstance(child, NODES) else scalar_entry_token(key, child)
        self._sum += now - self._entry_tokens.get(key, 0)
        self._entry_tokens[key] = now
        self.children[key] = child

    def remove(self, key: str) -> None:
        """Take an entry out."""
        del self.children[key]
        self._sum -= self._entry_tokens.pop(key)

    def reorder(self, keys: Sequence[str]) -> None:
        """Give the entries another order."""
        self.children = {key: self.children[key] for key in keys}

    def seal(self) -> None:
        """Bring the token up to date after changes."""
        if len(self.children) <= SMALL_DICT:
            scalars = {key: child for key, child in self.children.items() if not isinstance(child, NODES)}
            if len(scalars) == len(self.children):
                self.token = small_dict_token(scalars)
                return
        self.token = sum_token(len(self.children), self._sum)

    def value(self) -> Wire:
        """The wire value, as new containers."""
        return dict(self.wire_entries())

    def wire_entries(self) -> Iterator[tuple[str, Wire]]:
        """The entries as wire values, in new containers."""
        for key, child in self.children.items():
            yield key, child.value() if isinstance(child, NODES) else child

    def weight(self) -> int:
        """About how many bytes of JSON it is."""
        return sum(
            child.weight() if isinstance(child, NODES) else len(child) if type(child) is str else 0
            for child in self.children.values()
        ) + _ENTRY_WEIGHT * len(self.children)


class EnvelopeNode:
    """A large object with parts: a dataclass, a model, a tuple, a subclass of dict or list.

    Attributes:
        header: the envelope without its payload.
        live: as of a leaf.
        payload: the payload's node.
        token: the envelope's digest as a number.
    """

    __slots__ = ("header", "live", "payload", "token")

    is_plain: Final = False

    def __init__(self, header: dict[str, Wire], payload: Node) -> None:
        self.header = header
        self.live: object = None
        self.payload = payload
        entries = sum(entry_token(key, token(item)) for key, item in header.items())
        self.token: int = sum_token(len(header) + 1, entries + entry_token(VALUE, payload.token))

    def value(self) -> Wire:
        """The wire value, as new containers."""
        return {**self.header, VALUE: self.payload.value()}

    def weight(self) -> int:
        """About how many bytes of JSON it is."""
        return self.payload.weight() + _ENTRY_WEIGHT * len(self.header)


Node: TypeAlias = Leaf | DictNode | ListNode | EnvelopeNode
Child: TypeAlias = "Node | Scalar"
NODES: Final = (Leaf, DictNode, ListNode, EnvelopeNode)


def build(wire: Wire) -> Node:
    """The node of a wire value."""
    raw = tlv(wire)
    if len(raw) >= _LEAF_SIZE:
        if type(wire) is list:
            return ListNode(wire)
        if is_envelope(wire):
            payload = wire.get(VALUE)
            if envelope_type(wire) in _OPENED and isinstance(payload, dict | list):
                return EnvelopeNode({key: item for key, item in wire.items() if key != VALUE}, build(payload))
        elif type(wire) is dict:
            return DictNode(wire)
    return Leaf(wire, raw)
