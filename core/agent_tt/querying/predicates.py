"""What a sweep asks of how a run ended, in one line: a path, a comparison, or any expression.

It is `querying.expressions`, asked of the last step, in which `state.` may be left out: `budget < 0`,
`len(messages) > 4 and not error`. A name means what it means everywhere: `tokens > 2000` is about the tokens of the
last step, `error` asks whether it failed. Only where no fact has that name, or the fact holds nothing like
`error.code`, is it a key of the state; a key that is named as a fact is written `state.tokens`.

A path alone (`answer`, `payment.amount`) asks what lies there. A path may be written as edits write it
(`["odd key"]`, `my-key`) where it stands alone or is compared with a JSON value, which may be a mapping.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, cast

from agent_tt._dataclass import dataclass
from agent_tt.codec.parse import parse_value
from agent_tt.codec.paths import format_path, parse_path
from agent_tt.errors import InvalidPath, InvalidValue
from agent_tt.querying.expressions import Expression, parse, tree
from agent_tt.querying.expressions.lexer import MOST_CHARACTERS
from agent_tt.querying.expressions.values import MISSING, at

if TYPE_CHECKING:
    from agent_tt.codec.wire import Wire
    from agent_tt.querying.expressions.tree import Place
    from agent_tt.querying.expressions.values import Value

__all__ = ["Predicate", "parse_predicate"]

_FACTS: Final = frozenset({*tree.STEP_NAMES, *tree.CALL_NAMES})
_STRING: Final = r'"(?:[^"\\]|\\.)*"'
_SHORT: Final = re.compile(
    rf"(?P<path>(?:{_STRING}|[^<>=!\"'()+*/%])+)(?:(?P<operator>==|!=|<=|>=|<|>)(?P<value>[^=~].*))?", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Predicate:
    """A question about a run's last step.

    Attributes:
        text: as it was written, tidied.
        expression: what it asks; `querying.watches.step_search` answers it.
        path: of the state, where it is a path alone, or one that is compared with a value; else None.
        compares: whether the answer is yes or no, rather than what lies at the path.
    """

    text: str
    expression: Expression
    path: Place | None
    compares: bool

    def look(self, state: Wire) -> Value:
        """What the state has at the path; `MISSING` where it has nothing."""
        return MISSING if self.path is None else at(state, self.path)


def parse_predicate(text: str) -> Predicate:
    """Read a path, a comparison, or an expression.

    Raises:
        InvalidExpression: it is none of them; the error says where it cannot be read.
    """
    written = text.strip()
    expression = _short(written) or parse(written, bare_state=True)
    match expression.root:
        case tree.Fact("state", place):
            return Predicate(expression.text, expression, place, compares=False)
        case tree.Related(_, tree.Fact("state", place), tree.Constant()):
            return Predicate(expression.text, expression, place, compares=True)
    return Predicate(expression.text, expression, None, compares=True)


def _short(written: str) -> Expression | None:
    """A path as edits write it, alone or compared with a JSON value; None of anything else."""
    found = _SHORT.fullmatch(written) if len(written) <= MOST_CHARACTERS else None
    if found is None:
        return None
    try:
        path = parse_path(found["path"].strip())
        value = parse_value(found["value"]) if found["operator"] else None
    except (InvalidPath, InvalidValue):
        return None
    if path[0] in _FACTS or path == ("state",):
        left = parse(found["path"].strip(), bare_state=True)
        shown = left.text
    else:
        place = path[1:] if path[0] == "state" else path
        left = Expression("", tree.Fact("state", place), frozenset({place}), frozenset(), asks_calls=False)
        shown = format_path(path)
    if not found["operator"]:
        return Expression(shown, left.root, left.places, left.compared, left.asks_calls)
    root = tree.Related(cast("tree.Relation", found["operator"]), left.root, tree.Constant(value))
    text = f"{shown} {found['operator']} {found['value'].strip()}"
    return Expression(text, root, left.places, left.compared, left.asks_calls)
