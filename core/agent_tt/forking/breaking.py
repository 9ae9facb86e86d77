"""Stopping a fork where an expression begins to hold: looked at in its own process, when a step has ended."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.errors import AgentTTError
from agent_tt.querying.expressions import parse
from agent_tt.querying.expressions.evaluator import holds
from agent_tt.querying.expressions.values import MISSING, at
from agent_tt.querying.watches.kept_watches import asks_moments
from agent_tt.querying.watches.reasons import reasons, reasons_in_words
from agent_tt.querying.watches.step_search import Watch
from agent_tt.recording.store_work import store_at_work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.querying.expressions.tree import Place
    from agent_tt.querying.expressions.values import Value

__all__ = ["StateBreaks", "hold_already"]


class StateBreaks:
    """The expressions of one fork. Safe to use from several threads: steps are looked at in the order of their ends.

    One that asks the state alone stops the fork where it begins to hold: where the fork begins with it, it has to stop
    holding first; each lane with a state of its own is asked for itself. Any other stops it at each step at which it
    holds. One that cannot be answered stops it too: the agent was not to go on past something that nobody can rule out.
    """

    def __init__(self, source: RunSource, run: Run, expressions: Sequence[str]) -> None:
        """Read the expressions.

        Raises:
            InvalidExpression: one cannot be read.
        """
        self._source, self._run_id = source, run.id
        self._watches = [Watch(source, run.id, where) for where in expressions]
        self._held: dict[tuple[int, int], bool] = {}
        """By expression and step: whether it held."""
        self._lock = threading.Lock()
        self._process = os.getpid()

    def why(self, step: int) -> str | None:
        """Why the fork is to stop after a step that has ended; None where it is to go on."""
        if self._process != os.getpid():
            return None  # a process that the agent forked: what it holds of the store is not its own
        with self._lock, store_at_work():
            try:
                kept = self._source.run(self._run_id).fork_step or 0
                if step <= kept:
                    return None
                return self._look(step)
            except AgentTTError as error:
                return f"it was to stop when an expression holds, and after step {step} nobody can say: {error.message}"

    def _look(self, step: int) -> str | None:
        rows = self._source.steps(self._run_id, step, step + 1)
        lost = next((row.facts.state_error for row in rows if row.facts.state_error is not None), None)
        asked = next((watch.expression for watch in self._watches if watch.expression.asks_state), None)
        if lost is not None and asked is not None:
            return (
                f"it was to stop when {asked.text}, and after step {step} nobody can say:"
                f" its state could not be read ({lost})"
            )
        for index, watch in enumerate(self._watches):
            if self._holds(index, step) and (asks_moments(watch.expression) or not self._held_before(index, step)):
                shown = reasons_in_words(reasons(self._source, self._run_id, watch.expression, step))
                return f"it was to stop when {watch.expression.text}, as after step {step}" + (shown and f" ({shown})")
        return None

    def _held_before(self, index: int, step: int) -> bool:
        """Whether an expression held with the state that a step went on from."""
        base = self._source.base_step(self._run_id, step)
        return base is not None and self._holds(index, base)

    def _holds(self, index: int, step: int) -> bool:
        known = self._held.get((index, step))
        if known is None:
            known = self._held[index, step] = self._watches[index].holds_at(step)
        return known


@dataclass(frozen=True, slots=True)
class _StateAlone:
    state: Wire

    def value(self, root: str, place: Place) -> Value:
        return at(self.state, place) if root == "state" else MISSING

    def changed(self, place: Place) -> bool:  # noqa: ARG002  nothing has changed yet
        return False


def hold_already(expressions: Sequence[str], state: Wire) -> list[str]:
    """What is worth knowing before a fork begins with a state, one line for each expression that holds in it.

    Raises:
        InvalidExpression: answering one takes too long.
    """
    read = [parse(where) for where in expressions]
    return [
        f"{each.text} holds already where it begins: it stops when that begins again"
        for each in read
        if not asks_moments(each) and holds(each, _StateAlone(state))
    ]
