"""Answering an expression for one step, with the work counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, assert_never

from agent_tt.querying.expressions import tree
from agent_tt.querying.expressions.lexer import refuse
from agent_tt.querying.expressions.patterns import MOST_WORK, TooMuchWork
from agent_tt.querying.expressions.values import (
    MISSING,
    Missing,
    bounded,
    equal,
    is_number,
    lies_in,
    ordered,
    plain,
    truth,
    type_of,
)

if TYPE_CHECKING:
    from agent_tt.querying.expressions.tree import Expression, Node, Place
    from agent_tt.querying.expressions.values import Value

__all__ = ["Facts", "holds"]

_MOST_TEXT: Final = 1_000_000
"""Longest text that two texts are joined to."""


class Facts(Protocol):
    """What an expression is asked of: a step, and one of its calls."""

    def value(self, root: str, place: Place) -> Value:
        """A value of the state, the step or the call; `MISSING` where there is none."""

    def changed(self, place: Place) -> bool:
        """Whether the step changed the value at a place of the state."""


def holds(expression: Expression, facts: Facts) -> bool:
    """Whether an expression holds.

    Raises:
        InvalidExpression: a pattern would take too long on a text.
    """
    return truth(_Answer(expression, facts).of(expression.root))


class _Answer:
    def __init__(self, expression: Expression, facts: Facts) -> None:
        self._expression = expression
        self._facts = facts
        self._work = 0

    def of(self, node: Node) -> Value:
        match node:
            case tree.Constant(value):
                return value
            case tree.Items(items):
                return self._items(items)
            case tree.Fact(root, place):
                return self._facts.value(root, place)
            case tree.Changed(place):
                return self._facts.changed(place)
            case tree.Both(parts):
                return all(truth(self.of(part)) for part in parts)
            case tree.Either(parts):
                return any(truth(self.of(part)) for part in parts)
            case tree.Negated(inner):
                return not truth(self.of(inner))
            case tree.Related(sign, left, right):
                return _related(sign, self.of(left), self.of(right))
            case tree.Matches():
                return self._matches(node)
            case tree.Operation(sign, left, right):
                return _reckoned(sign, plain(self.of(left)), plain(self.of(right)))
            case tree.Applied(function, of):
                return _applied(function, self.of(of))
            case _:
                assert_never(node)

    def _items(self, nodes: tuple[Node, ...]) -> Value:
        items = [self.of(node) for node in nodes]
        known = [item for item in items if not isinstance(item, Missing)]
        return known if len(known) == len(items) else MISSING

    def _matches(self, node: tree.Matches) -> bool:
        text = plain(self.of(node.text))
        if not isinstance(text, str):
            return False
        try:
            found, work = node.pattern.matches(text, MOST_WORK - self._work)
        except TooMuchWork:
            refuse(
                self._expression.text,
                node.position,
                f"the pattern takes too long on a text of {len(text):,} characters",
                'A text that is in another is found faster: "words" in state.text.',
            )
        self._work += work
        return found


def _related(sign: tree.Relation, left: Value, right: Value) -> bool:
    if isinstance(plain(left), Missing) or isinstance(plain(right), Missing):
        return False
    match sign:
        case "==":
            return equal(left, right)
        case "!=":
            return not equal(left, right)
        case "in":
            return lies_in(left, right)
        case _:
            return ordered(sign, left, right)


def _reckoned(sign: tree.Sum, left: Value, right: Value) -> Value:
    if isinstance(left, str) and isinstance(right, str):
        return left + right if sign == "+" and len(left) + len(right) <= _MOST_TEXT else MISSING
    if not (is_number(left) and is_number(right)):
        return MISSING
    try:
        match sign:
            case "+":
                return bounded(left + right)
            case "-":
                return bounded(left - right)
            case "*":
                return bounded(left * right)
            case "/":
                return bounded(left / right)
            case "%":
                return bounded(left % right)
    except (ZeroDivisionError, OverflowError):
        return MISSING


def _applied(function: str, value: Value) -> Value:
    if function == "exists":
        return not isinstance(value, Missing)
    if function == "type":
        return type_of(value)
    value = plain(value)
    if function == "len":
        return len(value) if isinstance(value, str | list | dict) else MISSING
    return value.lower() if isinstance(value, str) else MISSING
