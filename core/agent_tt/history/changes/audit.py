"""Looking for writes into tracked containers that went around their methods, so that nobody noted them.

After each step a place taken by chance is compared as if nothing had been noted, and from time to time all of the state
is: each such look costs in proportion to the state, and comes after so many steps that it adds little to each. Once a
write is found that nobody noted, notes are not believed any more: all of the state is compared after every step.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from agent_tt.codec.tracked import TRACKED

if TYPE_CHECKING:
    from agent_tt.history.changes.nodes import Child, Node
    from agent_tt.history.changes.tracked_walk import TrackedWalk

__all__ = ["Audit"]

_PACE: Final = 8
"""Containers, of those in the state, that are looked at for each step in the long run."""
_LEAST: Final = 128
"""Steps between two looks at all of a state, at least."""


class Audit:
    """Looks for what nobody noted in one state.

    Args:
        walk: compares the state.
        seed: chooses the places.

    Attributes:
        found: the path of the first write that was found now; None where none was.
        is_whole: whether all of the state was looked at now.
    """

    __slots__ = ("_chance", "_spent", "_walk", "found", "is_whole")

    def __init__(self, walk: TrackedWalk, seed: int = 1) -> None:
        self._walk = walk
        self._chance = random.Random(seed)  # noqa: S311  no secret
        self._spent = 0
        self.found: tuple[str | int, ...] | None = None
        self.is_whole = True

    def look(self, node: Node, value: object) -> Child:
        """Look at a state that was just compared, where it is a tracked one; give its node. Operations are noted."""
        self.found, self.is_whole = None, True
        if type(value) not in TRACKED or not self._walk.believes:
            return node
        self._spent += 1
        self.is_whole = self._spent >= max(_LEAST, self._walk.reader.count // _PACE)
        if self.is_whole:
            return self.look_at_all(node, value)
        if self._walk.differs_somewhere(node, value, self._chance):
            return self.look_at_all(node, value)
        return node

    def look_at_all(self, node: Node, value: object) -> Child:
        """Look at all of a tracked state that was just compared; give its node. Operations are noted."""
        walk, self._spent, self.is_whole = self._walk, 0, True
        before = len(walk.ops)
        walk.believes = False
        child = walk.update(node, value, ())
        # What another thread has written since the notes were taken is noted, and will be found in the next step.
        if len(walk.ops) == before or walk.reader.has_more(value):
            walk.believes = True
        else:
            steps = walk.ops[before][1]
            self.found = tuple(step for step in steps if isinstance(step, str | int)) if type(steps) is list else ()
        return child
