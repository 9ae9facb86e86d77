"""What is asked of a run's last state in one line: a path, or a path compared with a value: `budget < 0`.

That is a short form of `querying.expressions`: `state.` may be left out, every name is a key of the state, and any JSON
value can be compared with. It means what it means there. Where the state has nothing at the path, no comparison holds,
`!=` neither. What is more than that (`state.budget < 0 and len(state.messages) > 4`) is read as an expression, which is
asked of the last step.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from agent_tt.codec.paths import format_path, get, parse_path, to_wire_path
from agent_tt.codec.text import parse_value
from agent_tt.errors import InvalidExpression, InvalidPath, InvalidPredicate, InvalidValue, PathNotFound
from agent_tt.querying.expressions import Expression, parse, tree
from agent_tt.querying.expressions.evaluator import holds
from agent_tt.querying.expressions.values import MISSING, is_number

if TYPE_CHECKING:
    from agent_tt.codec.wire import Path, Wire
    from agent_tt.querying.expressions.tree import Node, Place
    from agent_tt.querying.expressions.values import Value

__all__ = ["Predicate", "parse_predicate"]

_ORDERS: Final = ("<", "<=", ">", ">=")
_LONGEST: Final = 2_000
_HINT: Final = """Write a path, or compare one: 'budget < 0', 'trip.city == "Oslo"'."""
_STRING: Final = r'"(?:[^"\\]|\\.)*"'
_APPLIED: Final = re.compile(r"\s*[a-z]+\(")
_COMPARISON: Final = re.compile(
    rf"(?P<path>(?:{_STRING}|[^<>=!\"])*)(?P<operator>==|!=|<=|>=|<|>|=|!)(?P<value>.*)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Predicate:
    """A question about a last state.

    Attributes:
        text: as it was written, tidied.
        expression: what it asks.
        path: where it looks; None of an expression that is more than a path or a comparison of one, which
            `querying.watching` answers.
        compares: whether the answer is yes or no, rather than what lies at the path.
    """

    text: str
    expression: Expression
    path: Path | None = None
    compares: bool = True

    def look(self, state: Wire) -> Value:
        """What the state has at the path; `MISSING` where it has nothing."""
        return MISSING if self.path is None else _look(state, self.path)

    def holds(self, state: Wire) -> bool:
        """Whether the comparison of a path holds; a path alone holds where there is something."""
        return holds(self.expression, _LastState(state))


class _LastState:
    """A state, as an expression asks about it."""

    __slots__ = ("_state",)

    def __init__(self, state: Wire) -> None:
        self._state = state

    def value(self, root: str, place: Place) -> Value:
        return _look(self._state, place) if root == "state" else MISSING

    def changed(self, place: Place) -> bool:  # noqa: ARG002  no path compared with a value asks it
        return False


def _look(state: Wire, path: Path) -> Value:
    """What a state has at a path; `state.budget` is `budget`, unless the state has a key of that name."""
    paths = [path, path[1:]] if path[:1] == ("state",) and len(path) > 1 else [path]
    for each in paths:
        try:
            return get(state, to_wire_path(state, each))
        except PathNotFound:
            continue
    return MISSING


def parse_predicate(text: str) -> Predicate:
    """Read a path, a comparison, or an expression.

    Raises:
        InvalidPredicate: it is none of them; the message says where it cannot be read.
    """
    if _APPLIED.match(text):  # as a path it would be a key with brackets in it
        return _expression(text) or _simple(text)
    try:
        return _simple(text)
    except InvalidPredicate:
        asked = _expression(text)
        if asked is None:
            raise
        return asked


def _expression(text: str) -> Predicate | None:
    try:
        return Predicate(text.strip(), parse(text))
    except InvalidExpression:
        return None


def _simple(text: str) -> Predicate:
    """Read a path, or a comparison."""
    written = text.strip()
    if not written:
        raise InvalidPredicate("nothing is asked", hint=_HINT)
    if len(written) > _LONGEST:
        raise InvalidPredicate(f"a predicate has at most {_LONGEST:,} characters", hint=_HINT)
    found = _COMPARISON.fullmatch(written)
    if found is None:
        path = _path(written, written)
        return _asked(format_path(path), path, tree.Applied("exists", tree.Fact("state", path)), compares=False)
    sign = found["operator"]
    if sign in ("=", "!"):
        raise InvalidPredicate(f"{text!r} cannot be read: {sign} compares nothing", hint="write == or !=")
    path = _path(found["path"].strip(), text)
    try:
        value = parse_value(found["value"])
    except InvalidValue as error:
        why = f"{text!r} cannot be read: after {sign} stands no JSON value"
        raise InvalidPredicate(why, hint=error.hint or _HINT) from error
    if sign in _ORDERS and not (is_number(value) or isinstance(value, str)):
        raise InvalidPredicate(f"{text!r} cannot be read: {sign} compares numbers or texts", hint=_HINT)
    compared = tree.Related(cast("tree.Relation", sign), tree.Fact("state", path), tree.Constant(value))
    return _asked(f"{format_path(path)} {sign} {found['value'].strip()}", path, compared, compares=True)


def _asked(text: str, path: Path, root: Node, *, compares: bool) -> Predicate:
    places, nothing = frozenset({path}), frozenset[tuple[str | int, ...]]()
    return Predicate(text, Expression(text, root, places, nothing, asks_calls=False), path, compares)


def _path(written: str, text: str) -> Path:
    if not written:
        raise InvalidPredicate(f"{text!r} cannot be read: the path is missing", hint=_HINT)
    try:
        return parse_path(written)
    except InvalidPath as error:
        raise InvalidPredicate(f"{text!r} cannot be read: {error.message}", hint=_HINT) from error
