"""What a fork changes while its agent runs, as data, and what it asks of whatever serves recorded answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Edit

__all__ = ["Amendment", "Served"]


class Served(Protocol):
    """What answers the calls of the process from a recording."""

    def next_step(self, lane: str, signature: str) -> int | None:
        """The step of the recorded call that stands next for a lane that asks; None where none is left."""

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
