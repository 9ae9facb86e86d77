"""Asking a run where something holds: the next and the previous step, where it began and stopped, all steps.

What lies in the state is followed by operations (`followed`), steps that the index of changes rules out are not looked
at, and calls are read only of steps whose columns fit. The answers are those of a scan of every state.
"""

from __future__ import annotations

from collections import deque
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.codec.sameness import identical
from agent_tt.errors import AgentTTError
from agent_tt.model.as_json import milliseconds
from agent_tt.querying.expressions import parse, tree
from agent_tt.querying.expressions.evaluator import holds
from agent_tt.querying.expressions.values import MISSING, Value, at
from agent_tt.querying.watches.tracked_value import TrackedValue, indexed_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from agent_tt.model import Call, ErrorInfo, Step
    from agent_tt.protocols import Cursor, RunSource
    from agent_tt.querying.expressions import Expression
    from agent_tt.querying.expressions.evaluator import Facts
    from agent_tt.querying.expressions.tree import Place

__all__ = ["Span", "Watch", "call_fact", "step_fact"]

_FIRST_PAGE: Final = 32
_LARGEST_PAGE: Final = 512
_CALL_COLUMNS: Final = frozenset({"name", "kind", "effect", "status", "lane"})


@dataclass(frozen=True, slots=True)
class Span:
    """Steps `first`..`last` (both included) at which it holds: it begins with `first` and stops after `last`."""

    first: int
    last: int


class Watch:
    """An expression and the run that it is asked of. Not safe to use from several threads at once.

    Step 0 is the input: it has a state, and of the facts of a step only its number and the name `input`.
    """

    def __init__(
        self,
        source: RunSource,
        run_id: str,
        expression: str | Expression,
        *,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        """Read the expression; ask nothing yet.

        Args:
            source: where the run is.
            run_id: the run.
            expression: what is asked, as text or read already.
            cancelled: asked for each step and call; a search ends when it says yes, and says nothing of the rest.

        Raises:
            InvalidExpression: it cannot be read.
        """
        self.expression = parse(expression) if isinstance(expression, str) else expression
        self._source, self._run_id, self._cancelled = source, run_id, cancelled
        self._indexed = source.capabilities.indexes
        self._states = _States(source, run_id, self.expression)
        self._wanted = _wanted_columns(self.expression)
        self._of_heads = source.capabilities.pages and _asks_heads(self.expression.root)

    def holds_at(self, step: int) -> bool:
        """Whether it holds at a step.

        Raises:
            StepNotFound: there is no such step.
        """
        self._source.base_step(self._run_id, step)  # which refuses a step that is not there
        return next(self._holding(step, step), None) is not None

    def facts_at(self, step: int) -> Facts | None:
        """What it is asked of at a step where it holds, with the first call of which it does; None where it does not.

        They are good until something else is asked.

        Raises:
            StepNotFound: there is no such step.
        """
        self._source.base_step(self._run_id, step)
        rows = self._source.steps(self._run_id, step, step + 1) if step else []
        at = rows[0] if rows else None
        if self.expression.asks_state:
            self._states.move(step, at)
        return self._fulfilling(step, at)

    def next(self, after: int) -> int | None:
        """The first step after one at which it holds."""
        return next(self.steps(after + 1), None)

    def previous(self, before: int) -> int | None:
        """The last step before one at which it holds."""
        last, size = min(before - 1, self._source.step_count(self._run_id)), _FIRST_PAGE
        while last >= 0 and not self._cancelled():
            first = max(0, last - size + 1)
            newest = deque(self._holding(first, last), maxlen=1)
            if newest:
                return newest[0]
            last, size = first - 1, min(size * 2, _LARGEST_PAGE)
        return None

    def steps(self, first: int = 0, last: int | None = None) -> Iterator[int]:
        """All steps first..last at which it holds, in order, found one after another."""
        end = self._source.step_count(self._run_id)
        end = end if last is None else min(last, end)
        size = _FIRST_PAGE
        while first <= end and not self._cancelled():
            high = min(end, first + size - 1)
            yield from self._holding(first, high)
            first, size = high + 1, min(size * 2, _LARGEST_PAGE)

    def spans(self, first: int = 0, last: int | None = None) -> Iterator[Span]:
        """Where it begins and stops to hold."""
        begun = at_last = None
        for step in self.steps(first, last):
            if begun is None or at_last is None:
                begun = step
            elif step != at_last + 1:
                yield Span(begun, at_last)
                begun = step
            at_last = step
        if begun is not None and at_last is not None:
            yield Span(begun, at_last)

    # ---------------------------------------------------------------- one page of steps

    def _holding(self, first: int, last: int) -> Iterator[int]:
        rows = self._source.steps(self._run_id, max(first, 1), last + 1)
        steps: list[Step | None] = [None, *rows] if first == 0 else list(rows)
        possible: set[int] | None = None
        if self._wanted and self._indexed:
            possible = self._source.steps_calling(self._run_id, first, last, self._wanted)
        if self.expression.asks_state and possible is None:
            self._states.expect(first, last)
        heads: dict[int, list[Call]] | None = None
        if possible is None and self._of_heads and self.expression.asks_calls:
            heads = {}
            for call in self._source.call_heads(self._run_id, max(first, 1), last + 1):
                heads.setdefault(call.step, []).append(call)
        for step in steps:
            number = 0 if step is None else step.number
            if self._cancelled():
                return
            if possible is not None and number not in possible:
                continue
            if self.expression.asks_state:
                self._states.move(number, step)
            calls = None if heads is None else heads.get(number, [])
            if self._fulfilling(number, step, calls) is not None:
                yield number

    def _fulfilling(self, number: int, step: Step | None, calls: Sequence[Call] | None = None) -> _Facts | None:
        """The facts with which it holds at a step: those of the step, with one of its calls; None where it does not.

        What asks of a state holds at no step of which no checkpoint is kept: nobody knows it there.

        Args:
            number: the number of the step.
            step: the step; None for the input.
            calls: its calls, as far as the expression asks about them; None where they are not read yet.
        """
        if self.expression.asks_state and step is not None and step.is_unkept:
            return None
        facts = _Facts(number, step, self._states)
        if not self.expression.asks_calls or step is None or not step.calls:
            return facts if holds(self.expression, facts) else None
        for call in self._source.calls(self._run_id, number) if calls is None else calls:
            if self._cancelled():
                return None
            if holds(self.expression, facts.of(call)):
                return facts.of(call)
        return None


class _States:
    """The values of a run's states that an expression reads, at one step after another."""

    def __init__(self, source: RunSource, run_id: str, expression: Expression) -> None:
        self._source, self._run_id = source, run_id
        self._indexed = source.capabilities.indexes
        self._compared = expression.compared
        self._values = {place: TrackedValue(place) for place in expression.places | expression.compared}
        self._touching: dict[Place, set[int]] = {}
        self._expected = range(0)
        self._cursor: Cursor | None = None
        self._step = -1
        self._track: tuple[str, int] | None = None
        """The track and the number of the checkpoint that the values are of."""

    def expect(self, first: int, last: int) -> None:
        """Steps first..last will be asked about: find out at which of them something may have changed."""
        self._expected = range(first, last + 1)
        if self._indexed:
            self._touching = {
                place: self._source.steps_touching(self._run_id, first, last, indexed_path(place))
                for place in self._values
            }

    def move(self, number: int, step: Step | None) -> None:
        """Stand at a step."""
        before, earlier, self._step = self._track, self._step, number
        self._track = ("main", 0) if step is None else None if step.seq is None else (step.track, step.seq)
        follows = self._track is not None and before == (self._track[0], self._track[1] - 1)
        if follows and not self._indexed:
            follows = self._source.base_step(self._run_id, number) == earlier
        if not follows:
            for value in self._values.values():
                value.forget()
            return
        touched = [value for place, value in self._values.items() if self._may_touch(number, place, value)]
        for value in self._values.values():
            value.stay()
        if touched:
            try:
                for value in touched:
                    value.follow(self._source.changes(self._run_id, number), compare=value.place in self._compared)
            except AgentTTError:  # a damaged row: what is there now is read, as far as it can be
                for value in touched:
                    value.forget()

    def _may_touch(self, number: int, place: Place, value: TrackedValue) -> bool:
        touching = self._touching.get(place)
        known = touching is not None and number in self._expected and value.known and value.is_indexed
        return not known or touching is None or number in touching

    def value(self, place: Place) -> Value:
        """The value at a place, now."""
        followed = self._values[place]
        if not followed.known:
            followed.read(self._state(self._step))
        return followed.value

    def changed(self, place: Place) -> bool:
        """Whether the step changed the value at a place."""
        followed = self._values[place]
        if followed.changed is None:
            base = self._source.base_step(self._run_id, self._step)
            if base is None:
                followed.changed = False
            else:
                before = TrackedValue(place)
                before.read(self._state(base))
                followed.changed = not identical(before.value, self.value(place))
        return followed.changed

    def _state(self, step: int) -> Value:
        try:
            if self._cursor is None:
                self._cursor = self._source.cursor(self._run_id, step)
            return self._cursor.seek(step)
        except AgentTTError:  # a damaged checkpoint holds nothing that could be asked about
            self._cursor = None
            return MISSING


class _Facts:
    """A step, and one of its calls, as an expression asks about them."""

    __slots__ = ("_call", "_number", "_states", "_step")

    def __init__(self, number: int, step: Step | None, states: _States, call: Call | None = None) -> None:
        self._number, self._step, self._states, self._call = number, step, states, call

    def of(self, call: Call | None) -> _Facts:
        """The same step, and another call."""
        return _Facts(self._number, self._step, self._states, call)

    def changed(self, place: Place) -> bool:
        return self._states.changed(place)

    def value(self, root: str, place: Place) -> Value:
        if root == "state":
            return self._states.value(place)
        if root in tree.CALL_NAMES:
            return MISSING if self._call is None else call_fact(self._call, root, place)
        return step_fact(self._number, self._step, root)


_STEP: Final[Mapping[str, Callable[[Step], Value]]] = {
    "name": lambda step: step.name,
    "agent": lambda step: step.agent,
    "kind": lambda step: step.kind,
    "status": lambda step: step.status,
    "lane": lambda step: step.lane,
    "decision": lambda step: step.decision,
    "error": lambda step: _error(step.error),
    "tokens": lambda step: _sum(step.tokens_in, step.tokens_out),
    "tokens_in": lambda step: step.tokens_in,
    "tokens_out": lambda step: step.tokens_out,
    "cost": lambda step: step.cost_usd,
    "cost_usd": lambda step: step.cost_usd,
    "ms": lambda step: milliseconds(step.duration_us),
    "duration_ms": lambda step: milliseconds(step.duration_us),
}
"""What a step says, by the names of `tree.STEP_NAMES`; None where it says nothing."""

_CALL: Final[Mapping[str, Callable[[Call], Value]]] = {
    "name": lambda call: call.name,
    "kind": lambda call: call.kind,
    "effect": lambda call: call.effect,
    "status": lambda call: call.status,
    "lane": lambda call: call.lane,
    "error": lambda call: _error(call.error),
    "ms": lambda call: milliseconds(call.duration_us),
    "duration_ms": lambda call: milliseconds(call.duration_us),
}
"""What a call says, by the names of `tree.CALL_FACTS`; None where it says nothing."""


def step_fact(number: int, step: Step | None, name: str) -> Value:
    """What a step says by one of the names of `tree.STEP_NAMES`; None of a step for the input."""
    if name == "step":
        return number
    if step is None:
        return "input" if name == "name" else MISSING
    return _known(_STEP[name](step))


def call_fact(call: Call, root: str, place: Place) -> Value:
    """What a call says by one of the names of `tree.CALL_NAMES`, and what follows that."""
    match root:
        case "args":
            return at(call.args, place)
        case "result":
            return at(call.result, place) if call.status == "ok" else MISSING
        case "tool":
            return call.name if call.kind == "tool" else MISSING
        case "model":
            named = call.facts.model
            return MISSING if call.kind != "llm" else named if isinstance(named, str) else call.name
    return _known(_CALL[str(place[0])](call))


def _known(value: Value) -> Value:
    return MISSING if value is None else value


def _error(error: ErrorInfo | None) -> Value:
    return None if error is None else error.short


def _sum(*counts: int | None) -> Value:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _asks_heads(node: object) -> bool:
    """Whether all that a part of an expression asks about calls is told without arguments, results and times."""
    if isinstance(node, tuple):
        return all(map(_asks_heads, node))
    if not isinstance(node, tree.Fact):
        inner = fields(node) if is_dataclass(node) else ()
        return all(_asks_heads(getattr(node, each.name)) for each in inner if each.name != "pattern")
    if node.root == "call":
        return node.place[:1] != () and node.place[0] in _CALL_COLUMNS
    return node.root not in ("args", "result")


def _wanted_columns(expression: Expression) -> dict[str, str]:
    """What the columns of a call must be where the expression is to hold, as far as it says so outright."""
    root = expression.root
    wanted: dict[str, str] = {}
    for part in root.parts if isinstance(root, tree.Both) else (root,):
        match part:
            case tree.Related("==", tree.Fact() as fact, tree.Constant(str(text))):
                pass
            case tree.Related("==", tree.Constant(str(text)), tree.Fact() as fact):
                pass
            case _:
                continue
        if fact.root == "tool":
            wanted |= {"kind": "tool", "name": text}
        elif fact.root == "call" and fact.place[0] in _CALL_COLUMNS:
            wanted[str(fact.place[0])] = text
    return wanted
