"""Why an expression holds at a step: the values that it was asked of, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.codec.paths import format_path
from agent_tt.codec.text import summary
from agent_tt.querying.expressions import tree
from agent_tt.querying.expressions.values import Missing
from agent_tt.querying.watches.step_search import Watch

if TYPE_CHECKING:
    from agent_tt.codec.wire import Path
    from agent_tt.protocols import RunSource
    from agent_tt.querying.expressions import Expression
    from agent_tt.querying.expressions.values import Value

__all__ = ["Reason", "reasons", "reasons_in_words"]

Reason = tuple[str, "Value"]
"""What was asked about, as an expression writes it, and its value; `MISSING` where there was none."""

_MOST: Final = 4
_LONGEST: Final = 60


def reasons(source: RunSource, run_id: str, expression: str | Expression, step: int) -> list[Reason]:
    """What an expression asked about at a step at which it holds, each once, in the order in which it is written.

    Args:
        source: where the run is.
        run_id: the run.
        expression: the expression. Of several calls the first is meant for which it holds.
        step: the step.

    Returns:
        The values, at most a few; none where it does not hold there.

    Raises:
        InvalidExpression: it cannot be read, or takes too long.
        StepNotFound: there is no such step.
    """
    watch = Watch(source, run_id, expression)
    facts = watch.facts_at(step)
    if facts is None:
        return []
    found: dict[str, Value] = {}
    for root, place in tree.facts(watch.expression.root):
        if len(found) == _MOST:
            break
        found.setdefault(_name(root, place), facts.value(root, place))
    return list(found.items())


def reasons_in_words(found: list[Reason]) -> str:
    """`state.budget = -3, tool = "charge"`; "" for none."""
    return ", ".join(
        f"{name} is missing" if isinstance(value, Missing) else f"{name} = {summary(value, _LONGEST)}"
        for name, value in found
    )


def _name(root: str, place: Path) -> str:
    if root in tree.STEP_NAMES:
        return root
    path = format_path(place) if place else ""
    return f"{root}{path}" if path.startswith("[") else f"{root}.{path}" if path else root
