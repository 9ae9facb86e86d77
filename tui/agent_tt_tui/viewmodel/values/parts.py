"""The parts that a value is unfolded into, reached by position without making rows of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.codec.text import summary
from agent_tt.codec.wire import VALUE, envelope_type, is_envelope

if TYPE_CHECKING:
    from agent_tt.codec.wire import Path, Wire

_WHOLE: Final = frozenset({"complex", "damaged", "enum", "ndarray", "npscalar", "opaque", "range", "timedelta"})
"""Types that are one thing to people although their payload may have parts."""

_MOST_KEY: Final = 40


class Parts:
    """The parts of one value, in order. Base of what is numbered, named or paired."""

    __slots__ = ("inside",)

    def __init__(self, inside: Path) -> None:
        self.inside = inside
        """The way from the value to the container that holds its parts."""

    def __len__(self) -> int:
        raise NotImplementedError

    def label(self, index: int) -> str:
        """How people call a part."""
        raise NotImplementedError

    def value(self, index: int) -> Wire:
        """A part."""
        raise NotImplementedError

    def steps(self, index: int) -> Path:
        """The way from the value to a part, in wire coordinates."""
        raise NotImplementedError

    def position(self, step: str | int) -> int | None:
        """Which part the step after `inside` leads to; None if to none."""
        raise NotImplementedError

    def find(self, path: Path) -> int | None:
        """Which part a path from the value leads into; None if into none."""
        depth = len(self.inside)
        if len(path) <= depth or path[:depth] != self.inside:
            return None
        return self.position(path[depth])

    @property
    def numbered(self) -> bool:
        """Whether the parts have positions rather than names."""
        return False


class Items(Parts):
    """Parts with positions: of a list, a tuple, a set."""

    __slots__ = ("_items",)

    def __init__(self, inside: Path, items: list[Wire]) -> None:
        super().__init__(inside)
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def label(self, index: int) -> str:
        """The position."""
        return str(index)

    def value(self, index: int) -> Wire:
        """An item."""
        return self._items[index]

    def steps(self, index: int) -> Path:
        """The way to an item."""
        return (*self.inside, index)

    def position(self, step: str | int) -> int | None:
        """The step itself, if there is such an item."""
        return step if isinstance(step, int) and 0 <= step < len(self._items) else None

    @property
    def numbered(self) -> bool:
        """Items have positions."""
        return True


class Fields(Parts):
    """Parts with names: of a dict, a dataclass, a model."""

    __slots__ = ("_fields", "_names", "_positions")

    def __init__(self, inside: Path, fields: dict[str, Wire]) -> None:
        super().__init__(inside)
        self._fields = fields
        self._names = list(fields)
        self._positions: dict[str, int] | None = None

    def __len__(self) -> int:
        return len(self._names)

    def label(self, index: int) -> str:
        """The name."""
        return self._names[index]

    def value(self, index: int) -> Wire:
        """The value of a name."""
        return self._fields[self._names[index]]

    def steps(self, index: int) -> Path:
        """The way to a value."""
        return (*self.inside, self._names[index])

    def position(self, step: str | int) -> int | None:
        """Where a name stands."""
        if self._positions is None:
            self._positions = {name: position for position, name in enumerate(self._names)}
        return self._positions.get(step) if isinstance(step, str) else None


class Pairs(Items):
    """Parts with keys that are not all plain text: `[key, value]` pairs."""

    __slots__ = ()

    def label(self, index: int) -> str:
        """The key: as it is where it is text, else as Python writes it."""
        pair = self._items[index]
        key = pair[0] if isinstance(pair, list) and pair else pair
        return key if isinstance(key, str) else summary(key, _MOST_KEY)

    def value(self, index: int) -> Wire:
        """The value of a key."""
        pair = self._items[index]
        return pair[1] if isinstance(pair, list) and len(pair) == 2 else pair

    def steps(self, index: int) -> Path:
        """The way to the value of a key."""
        pair = self._items[index]
        half = (1,) if isinstance(pair, list) and len(pair) == 2 else ()
        return (*self.inside, index, *half)

    @property
    def numbered(self) -> bool:
        """Pairs go by their keys."""
        return False


def parts_of(node: Wire) -> Parts | None:
    """The parts that a value unfolds into; None for a value that is shown whole, and for one that is empty."""
    if isinstance(node, list):
        return Items((), node) if node else None
    if not isinstance(node, dict):
        return None
    if not is_envelope(node):
        return Fields((), node) if node else None
    kind, payload, inside = envelope_type(node), node.get(VALUE), (VALUE,)
    if kind in _WHOLE or not payload:
        return None
    if kind == "made" and isinstance(payload, list) and len(payload) == 2 and isinstance(payload[1], dict):
        return Fields((VALUE, 1), payload[1]) if payload[1] else None
    if isinstance(payload, dict):
        return Fields(inside, payload)
    if not isinstance(payload, list):
        return None
    return Pairs(inside, payload) if "dict" in (kind, node.get("base")) else Items(inside, payload)
