"""What an expression is once it is read: a tree, and what has to be known of a step to answer it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_tt.codec.wire import Wire
    from agent_tt.querying.expressions.patterns import Pattern

__all__ = [
    "CALL_FACTS",
    "CALL_NAMES",
    "FUNCTIONS",
    "STEP_NAMES",
    "Applied",
    "Both",
    "Changed",
    "Constant",
    "Either",
    "Expression",
    "Fact",
    "Items",
    "Matches",
    "Negated",
    "Node",
    "Operation",
    "Place",
    "Related",
    "facts",
]

STEP_NAMES: Final = (
    *("step", "name", "agent", "kind", "status", "lane", "decision", "error"),
    *("tokens", "tokens_in", "tokens_out", "cost", "cost_usd", "ms", "duration_ms"),
)
CALL_NAMES: Final = ("tool", "model", "args", "result", "call")
CALL_FACTS: Final = ("name", "kind", "effect", "status", "error", "ms", "duration_ms", "lane")
FUNCTIONS: Final = ("len", "type", "exists", "lower")

Place: TypeAlias = "tuple[str | int, ...]"
"""A path as it was asked for: keys and positions, negative ones counted from the end."""

Relation: TypeAlias = Literal["==", "!=", "<", "<=", ">", ">=", "in"]
Sum: TypeAlias = Literal["+", "-", "*", "/", "%"]


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that was written down."""

    value: Wire


@dataclass(frozen=True, slots=True)
class Items:
    """A list that was written down."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """A value of the step: `root` is `state`, or one of the names, and `place` leads on from there."""

    root: str
    place: Place


@dataclass(frozen=True, slots=True)
class Changed:
    """Whether the step changed the value at a place of the state."""

    place: Place


@dataclass(frozen=True, slots=True)
class Applied:
    """A function of a value."""

    function: str
    of: Node


@dataclass(frozen=True, slots=True)
class Operation:
    """Two numbers, or two texts, made one."""

    sign: Sum
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Related:
    """Two values compared."""

    sign: Relation
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Matches:
    """Whether a text matches a pattern; `position` is where the pattern stands."""

    text: Node
    pattern: Pattern
    position: int


@dataclass(frozen=True, slots=True)
class Negated:
    """The opposite."""

    of: Node


@dataclass(frozen=True, slots=True)
class Both:
    """All of several."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """One of several."""

    parts: tuple[Node, ...]


Node: TypeAlias = (
    "Constant | Items | Fact | Changed | Applied | Operation | Related | Matches | Negated | Both | Either"
)


def facts(node: Node) -> Iterator[tuple[str, Place]]:
    """What a part of an expression asks about, in the order in which it is written: root and place.

    What is asked whether it changed counts as the value of the state that it is.
    """
    match node:
        case Fact(root, place):
            yield root, place
        case Changed(place):
            yield "state", place
        case Items(nodes) | Both(nodes) | Either(nodes):
            for each in nodes:
                yield from facts(each)
        case Related(_, left, right) | Operation(_, left, right):
            yield from facts(left)
            yield from facts(right)
        case Applied(_, inner) | Negated(inner):
            yield from facts(inner)
        case Matches(text):
            yield from facts(text)
        case Constant():
            return


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression that was read.

    Attributes:
        text: as it was written.
        root: what it says.
        places: the places of the state whose values it reads.
        compared: the places of the state that it compares with what was there before the step.
        asks_calls: whether it is about a call.
    """

    text: str
    root: Node
    places: frozenset[Place]
    compared: frozenset[Place]
    asks_calls: bool

    @property
    def asks_state(self) -> bool:
        """Whether it is about the state."""
        return bool(self.places or self.compared)
