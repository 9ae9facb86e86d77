"""Which recorded call answers a question.

For a lane that asks a question: (1) at its first question it is bound to a recorded lane; (2) the next call of that
lane, (3) a later one of it, (4) one of a lane beside it answers, the first of these whose question is the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from agent_tt._dataclass import dataclass
from agent_tt.recording.runs.child_process import is_beside_jobs
from agent_tt.replaying.tape.tape import TapeLane, label_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.replaying.tape.tape import Tape, TapeCall

__all__ = ["Match", "Matching"]


@dataclass(frozen=True, slots=True)
class Match:
    """What answers a question.

    Attributes:
        lane: the recorded lane that the asking lane goes along.
        call: the recorded call, None where none answers.
        how: `next`, `later` in the lane, or from a `sibling`.
        skipped: the calls of the lane that were to come before, where it is a later one.
        moved: whether the lane was bound to a recorded lane of another id just now.
        alternatives: how many other calls would have answered the same question as well.
    """

    lane: TapeLane
    call: TapeCall | None
    how: Literal["next", "later", "sibling"] = "next"
    skipped: tuple[TapeCall, ...] = ()
    moved: bool = False
    alternatives: int = 0


class Matching:
    """Finds the recorded calls for one replay. Not locked: the replay asks it one question at a time."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._bound: dict[str, TapeLane] = {}
        self._parents: dict[str, str] = {}
        """By what lanes were made in: where the lane of the recording was made that one of them goes along."""

    def bound(self, lane_id: str) -> TapeLane | None:
        """The recorded lane that a lane goes along, or will; None for one of which nothing was recorded."""
        return self._bound.get(lane_id) or self._tape.lanes.get(lane_id)

    def find(self, lane_id: str, signature: str) -> Match:
        """What answers the question of `lane_id`."""
        lane, moved, alternatives = self._lane(lane_id, signature)
        upcoming = lane.next()
        if upcoming is not None and upcoming.signature == signature:
            return Match(lane, upcoming, moved=moved, alternatives=alternatives)
        later = lane.asking(signature)
        if later is not None:
            return Match(lane, later, "later", tuple(lane.before(later)))
        beside = [call for call in self._tape.asking(signature) if self._are_siblings(lane, call.lane)]
        if beside:
            # Those that were served before count, too: each of them may have been meant for this one.
            return Match(lane, beside[0], "sibling", alternatives=self._tape.times_asked(signature) - 1)
        return Match(lane, None)

    def along(self, lane_id: str, signature: str) -> TapeLane:
        """The recorded lane that a lane would go along with that question; it is not bound to it."""
        return self._bound.get(lane_id) or self._choose(lane_id, signature)[0]

    def _lane(self, lane_id: str, signature: str) -> tuple[TapeLane, bool, int]:
        """The recorded lane of a lane, whether it was bound to another one just now, and how many others fitted."""
        known = self._bound.get(lane_id)
        if known is not None:
            return known, False, 0
        lane, alternatives = self._choose(lane_id, signature)
        lane.is_bound = True
        self._bound[lane_id] = lane
        if lane.calls:
            self._parents.setdefault(lane_id.rpartition("/")[0], lane.parent)
        return lane, lane.id != lane_id, alternatives

    def _choose(self, lane_id: str, signature: str) -> tuple[TapeLane, int]:
        own = self._tape.lanes.get(lane_id)
        if own is not None and not own.is_bound:
            upcoming = own.next()
            if upcoming is not None and upcoming.signature == signature:
                return own, 0
        fitting = [
            lane
            for lane in self._tape.starting_with(signature)
            if lane.is_untouched and not lane.is_bound and lane.is_beside_jobs == is_beside_jobs(lane_id)
        ]
        if fitting:
            return self._likest(lane_id, fitting)
        if own is not None and not own.is_bound:
            return own, 0
        return TapeLane(lane_id), 0

    def _likest(self, lane_id: str, lanes: Sequence[TapeLane]) -> tuple[TapeLane, int]:
        """Of lanes that all begin with the question of `lane_id`, the one it most likely was; how many others fitted.

        A lane beside it comes first, then one of where a lane beside it went; then the one of the same number in its
        parent, then one that was made by a function of the same name, then one whose question was answered, then
        the one that was created first.
        """
        parent, _, own = lane_id.rpartition("/")
        label, moved_to = label_of(own), self._parents.get(parent)

        def unlike(lane: TapeLane) -> tuple[bool, ...]:
            return (
                not parent or lane.parent != parent,
                lane.parent != moved_to,
                lane.id.rpartition("/")[2] != own,
                lane.label != label,
                lane.calls[0].never_came,
            )

        return min(lanes, key=unlike), len(lanes) - 1

    def _are_siblings(self, lane: TapeLane, other: TapeLane) -> bool:
        are_alike = lane.is_beside_jobs == other.is_beside_jobs  # a job's answer is never that of its worker
        return lane is not other and bool(lane.parent) and lane.parent == other.parent and are_alike
