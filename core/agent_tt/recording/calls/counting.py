"""What a model call adds to the cost of its step: each token and dollar once, wherever it was said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.model.facts import CallFacts, StepFacts
from agent_tt.model.facts.calls import is_given
from agent_tt.recording.calls.usage import is_refusal, usage_facts, usage_of
from agent_tt.recording.session import SESSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Usage
    from agent_tt.recording.calls.answers import Served
    from agent_tt.recording.open_run import OpenCall, OpenStep

__all__ = ["ModelUsage"]

_UNPRICED: Final = StepFacts.unpriced.key


class ModelUsage:
    """Counts what one model call cost.

    Args:
        step: its step.
        around: the call whose function makes it, or made what makes it.
    """

    def __init__(self, step: OpenStep, around: OpenCall | None) -> None:
        self._step = step
        self._around = around if around is not None and around.asks_a_model else None
        self._inside: set[str] = set()

    def counted(self, figures: Mapping[str, Wire]) -> None:
        """A model call that this one made has counted these figures."""
        self._inside.update(figures)

    def count(self, answer: object, served: Served | None, *, is_free: bool) -> dict[str, Wire]:
        """Add the usage that an answer tells to the step; what the call's facts say of it.

        Args:
            answer: what came back, or the piece of it that tells the usage.
            served: the answer that a link gave; None where the model was asked.
            is_free: whether that answer costs nothing.
        """
        facts = {} if served is None else served.call.meta
        if is_free or CallFacts.made_up.is_in(facts) or is_given(facts):
            return {}
        usage = usage_of(answer)
        meta = usage_facts(usage)
        if not is_refusal(answer):
            self._count_price(usage)
        # A function that asks a model often gives on what the provider said, and that was counted where it was said.
        if meta and self._inside.isdisjoint(meta):
            self._step.count(usage)
            if served is None:
                for counted in SESSION.chain.usage_counted:
                    counted(usage)
        if self._around is not None:
            self._around.counted(meta)
        return meta

    def _count_price(self, usage: Usage) -> None:
        """Count a model call whose price nobody knows, unless it is known of the calls that it made."""
        if usage.cost_usd is not None or not self._inside.isdisjoint((CallFacts.cost_usd.key, _UNPRICED)):
            return
        self._step.extra[_UNPRICED] = (StepFacts.unpriced.of(self._step.extra) or 0) + 1
        if self._around is not None:
            self._around.counted({_UNPRICED: 1})
