"""What is asked of a state in one line: a path, or a path compared with a value: `budget < 0`, `trip.city == "Oslo"`.

Nothing in it is ever run: a path is looked up, and a JSON value is compared.

`==` and `!=` compare whole values; numbers are equal by their value (`1 == 1.0`), but no number equals true or false.
`<`, `<=`, `>` and `>=` hold only between two numbers or two texts. Where the state has nothing at the path, no
comparison holds, `!=` neither.

What is more than that (`state.budget < 0 and len(state.messages) > 4`) is read as an expression, which is asked of the
last step (`querying.expressions`).
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agent_tt.codec.paths import format_path, get, parse_path, to_wire_path
from agent_tt.codec.text import parse_value
from agent_tt.errors import InvalidExpression, InvalidPath, InvalidPredicate, InvalidValue, PathNotFound
from agent_tt.querying.expressions import parse
from agent_tt.querying.expressions.values import MISSING, Missing, is_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.querying.expressions import Expression
    from agent_tt.querying.expressions.values import Value

__all__ = ["Predicate", "parse_predicate"]

_ORDERS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_LONGEST: Final = 2_000
_HINT: Final = """Write a path, or compare one: 'budget < 0', 'trip.city == "Oslo"'."""
_STRING: Final = r'"(?:[^"\\]|\\.)*"'
_APPLIED: Final = re.compile(r"\s*[a-z]+\(")
_COMPARISON: Final = re.compile(
    rf"(?P<path>(?:{_STRING}|[^<>=!\"])*)(?P<operator>==|!=|<=|>=|<|>|=|!)(?P<value>.*)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Predicate:
    """A question about a state.

    Attributes:
        text: as it was written, tidied.
        path: where to look.
        operator: how to compare; "" only looks.
        value: what to compare with.
        expression: a question that is more than a comparison; `querying.watching` answers it.
    """

    text: str
    path: Path
    operator: str = ""
    value: Wire = None
    expression: Expression | None = None

    @property
    def compares(self) -> bool:
        """Whether the answer is yes or no."""
        return bool(self.operator) or self.expression is not None

    def look(self, state: Wire) -> Value:
        """What the state has at the path; `MISSING` where it has nothing.

        `state.budget` is `budget`, unless the state has a key of that name.
        """
        if self.expression is not None:
            return MISSING
        paths = [self.path, self.path[1:]] if self.path[:1] == ("state",) and len(self.path) > 1 else [self.path]
        for path in paths:
            try:
                return get(state, to_wire_path(state, path))
            except PathNotFound:
                continue
        return MISSING

    def holds(self, state: Wire) -> bool:
        """Whether the comparison holds; one that only looks holds where there is something."""
        found = self.look(state)
        if isinstance(found, Missing):
            return False
        if not self.operator:
            return True
        if self.operator in ("==", "!="):
            return _equal(found, self.value) == (self.operator == "==")
        numbers = is_number(found) and is_number(self.value)
        texts = isinstance(found, str) and isinstance(self.value, str)
        return (numbers or texts) and _ORDERS[self.operator](found, self.value)


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
        return Predicate(text.strip(), (), expression=parse(text))
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
        return Predicate(format_path(path), path)
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
    return Predicate(f"{format_path(path)} {sign} {found['value'].strip()}", path, sign, value)


def _path(written: str, text: str) -> Path:
    if not written:
        raise InvalidPredicate(f"{text!r} cannot be read: the path is missing", hint=_HINT)
    try:
        return parse_path(written)
    except InvalidPath as error:
        raise InvalidPredicate(f"{text!r} cannot be read: {error.message}", hint=_HINT) from error


def _equal(one: Wire, other: Wire) -> bool:
    """Equality in which true is not 1. Goes down without recursion: a state may be nested deeper than Python goes."""
    pending = [(one, other)]
    while pending:
        mine, theirs = pending.pop()
        if isinstance(mine, dict) and isinstance(theirs, dict):
            if mine.keys() != theirs.keys():
                return False
            pending += ((mine[key], theirs[key]) for key in mine)
        elif isinstance(mine, list) and isinstance(theirs, list):
            if len(mine) != len(theirs):
                return False
            pending += zip(mine, theirs, strict=True)
        elif isinstance(mine, bool) != isinstance(theirs, bool) or mine != theirs:
            return False
    return True
