"""Conversations that a provider keeps: a request names what came before by an id, and sends only what is new.

OpenAI's Responses name the answer before (`previous_response_id`) or a conversation (`conversation`); Anthropic's
`thread` and `previous_message_id` are the same. The state of a step is the whole conversation all the same: what was
sent and answered before, as far as this run saw it, and then what the request sends. Instructions and tools that the
provider keeps with it belong to that.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from agent_tt.recording.steps.model_turns import ModelTurn, Said

__all__ = ["KeptTurns"]

_MOST: Final = 1000
"""So many answers are remembered, the newest."""


class KeptTurns:
    """What was sent and answered so far, by the ids under which the provider keeps it. Used under a lock."""

    def __init__(self) -> None:
        self._turns: OrderedDict[str, tuple[list[object], dict[str, object]]] = OrderedDict()

    def join(self, turn: ModelTurn) -> None:
        """Put what the provider keeps before what a request sends."""
        found = next((self._turns[key] for key in _named(turn) if key in self._turns), None)
        sent = turn.state.get(turn.turns)
        if found is not None and isinstance(sent, list):
            earlier, beside = found
            for key, value in beside.items():
                turn.state.setdefault(key, value)
            turn.state[turn.turns] = [*earlier, *sent]

    def answered(self, turn: ModelTurn, said: Said) -> None:
        """Remember a conversation as it is with an answer."""
        turns = turn.state.get(turn.turns)
        if turn.call is None or not isinstance(turns, list):
            return
        beside = {key: turn.state[key] for key in turn.call.kept_beside if key in turn.state}
        for key in (said.id, turn.call.kept_in):
            if key:
                self._turns.pop(key, None)
                self._turns[key] = turns, beside
        while len(self._turns) > _MOST:
            self._turns.popitem(last=False)


def _named(turn: ModelTurn) -> list[str]:
    if turn.call is None:
        return []
    return [*filter(None, (turn.call.follows, turn.call.kept_in))]
