"""What a fork changes while its agent runs, as data, and what it asks of whatever serves recorded answers."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Call, Edit

__all__ = ["Amendment", "Served"]


class Served(Protocol):
    """What answers the calls of the process from a recording."""

    def next_call(self, lane: str, signature: str) -> Call | None:
        """Give the recorded call that answers the next one of the lane that asks; None where none is left."""

    def refuse_edit(self, message: str, step: int | None) -> BaseException:
        """What to raise because an edit cannot be applied: the agent halts."""

    def passed(self) -> None:
        """An edit has been applied: from here on it need not do what was recorded."""


@dataclass(frozen=True, slots=True)
class Amendment:
    """What one fork changes.

    Attributes:
        step: the last step that it kept.
        states: edits of the state, by the step after whose end they are made (0: of the input).
        before: the states that these edits are for.
        requests: edits of every later request.
        root: the project root.
        run_id: the fork.
        places: where the edits of `states` stand among all that the fork has, by the same steps.
        request_places: the same of `requests`.
        kept_calls: lanes and numbers of the calls of the step behind `step` that were given their recorded answer,
            edited or not: they were asked before anything was changed. No edit of requests holds for them.
        answers: of those states that are conversations the id under which the provider keeps them, by the same steps.
    """

    step: int
    states: Mapping[int, tuple[Edit, ...]] = field(default_factory=dict)
    before: Mapping[int, Wire] = field(default_factory=dict)
    requests: tuple[Edit, ...] = ()
    root: str | None = None
    run_id: str = ""
    places: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    request_places: tuple[int, ...] = ()
    answers: Mapping[int, str] = field(default_factory=dict)
    kept_calls: frozenset[tuple[str, int]] = frozenset()
