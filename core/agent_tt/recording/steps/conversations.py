"""Which model calls belong to one conversation: each conversation has a state history (a track) of its own.

An agent's next call sends what it sent before and more. Agents that work side by side, or one after another with other
instructions, are told apart by that, whichever task or thread they run in.
"""

from __future__ import annotations

import threading
from dataclasses import field
from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt.recording.lanes.lanes import MAIN
from agent_tt.recording.steps.state_histories import MAIN_TRACK

if TYPE_CHECKING:
    from collections.abc import Mapping

_INSTRUCTIONS = ("system", "instructions", "systemInstruction")
_INSTRUCTING = frozenset({"system", "developer"})


@dataclass(slots=True, eq=False)
class Conversation:
    """One conversation so far.

    Attributes:
        track: name of its state history.
        lane: id of the lane that spoke last.
        sent: what its last call sent, turn by turn.
        opening: its provider's word for turns, and its instructions.
        is_waiting: whether a call of it has no answer yet.
    """

    track: str
    lane: str = ""
    sent: list[object] = field(default_factory=list)
    opening: object = ()
    is_waiting: bool = False


class Conversations:
    """All conversations of one process of a run, or of one job of a pool of processes."""

    def __init__(self, process: str = MAIN) -> None:
        """Begin; `process` is its lane: the other processes have no name for its conversations."""
        self._first = MAIN_TRACK if process == MAIN else process
        self._others = "" if process == MAIN else f"{process} "
        self._lock = threading.Lock()
        self._all: list[Conversation] = []

    def choose(self, state: Mapping[str, object], turns: str, lane: str) -> Conversation:
        """The conversation that a call goes on with, or a new one; it waits for its answer from now on.

        That is, first, the one whose turns the call repeats and adds to; else one with the same instructions that
        nobody waits in, the lane's own first.

        Args:
            state: the conversation as it is sent.
            turns: the key of the list of turns in it; "" where it has none.
            lane: id of the lane that asks.
        """
        listed = state.get(turns)
        sent: list[object] = listed if isinstance(listed, list) else [dict(state)]
        opening = [turns, *_instructions(state, sent)]
        with self._lock:
            free = [known for known in self._all if not known.is_waiting]
            fitting = [known for known in free if known.opening == opening]
            going_on = [known for known in fitting if _goes_on(known.sent, sent)]
            own = [known for known in fitting if known.lane == lane]
            found = max(going_on, key=lambda known: len(known.sent), default=None) or next(iter(own or fitting), None)
            if found is None:
                number = len(self._all) + 1
                found = Conversation(self._first if number == 1 else f"{self._others}conversation {number}")
                self._all.append(found)
            found.lane, found.sent, found.opening, found.is_waiting = lane, sent, opening, True
            return found

    def answered(self, conversation: Conversation) -> None:
        """The call of `conversation` is over."""
        with self._lock:
            conversation.is_waiting = False


def _goes_on(before: list[object], now: list[object]) -> bool:
    """Whether `now` repeats `before`; cheap where it does not."""
    size = len(before)
    return 0 < size <= len(now) and before[-1] == now[size - 1] and before == now[:size]


def _instructions(state: Mapping[str, object], sent: list[object]) -> list[object]:
    said = [state[name] for name in _INSTRUCTIONS if state.get(name) is not None]
    first = sent[0] if sent else None
    if isinstance(first, dict) and first.get("role") in _INSTRUCTING:
        said.append(first)
    return said
