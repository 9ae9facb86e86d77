"""Finding what changed between wire values that nobody changes: each state is made of the parts of the last one.

Who builds such states (the checkpoints of a thread) holds the very objects that did not change, so a step costs what
changed: nothing else is encoded, compared or hashed again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.codec.encode import encode
from agent_tt.codec.tlv import tlv
from agent_tt.codec.wire import Encoded
from agent_tt.history.changes.append_only import Births
from agent_tt.history.changes.diff import diff
from agent_tt.history.changes.keyframe_layout import Skeleton
from agent_tt.history.changes.large_parts import LARGE_TEXT
from agent_tt.history.changes.nodes import RUN, build
from agent_tt.history.changes.tallies import retallied, token_of
from agent_tt.history.digest import DIGEST_SIZE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.large_parts import PutBlob, Reference
    from agent_tt.history.changes.ops import Op
    from agent_tt.history.changes.tallies import Tally

__all__ = ["KeptValues"]


class KeptValues:
    """The last checkpoint of one state, and what it takes to tell the next one from it: a `Shadow` of wire values.

    What it is given, `Encoded`, is kept and must never be changed: the same objects in the next state are unchanged.
    """

    __slots__ = ("_births", "_has_begun", "_root", "_tally")

    def __init__(self) -> None:
        self._births = Births({})
        self._has_begun = False
        self._root: Wire = None
        self._tally: Tally | None = None

    @classmethod
    def from_wire(cls, wire: Wire, births: Mapping[Path, int]) -> KeptValues:
        """Go on from a state that is stored already.

        Args:
            wire: the stored state.
            births: its append-only lists, each with the checkpoint that set it.
        """
        self = cls()
        self._births = Births(births)
        self._has_begun, self._root = True, wire
        return self

    def step(self, value: object, seq: int) -> tuple[list[Op], bytes]:
        """Take the state as it is now for checkpoint `seq`.

        Returns:
            The operations that lead here from the last checkpoint, which share values with the state, and the digest.
        """
        wire = value.wire if type(value) is Encoded else encode(value)
        ops: list[Op] = diff(self._root, wire) if self._has_begun else [["s", [], wire]]
        self._births.follow(ops, seq)
        self._tally = retallied(self._tally, self._root, wire)
        self._has_begun, self._root = True, wire
        return ops, token_of(wire, self._tally).to_bytes(DIGEST_SIZE, "little")

    def weight(self) -> int:
        """About how many bytes of JSON the last checkpoint is."""
        return len(tlv(self._root))

    def keyframe(self, put_blob: PutBlob) -> tuple[Wire, list[Reference]]:
        """The last checkpoint as a keyframe: the skeleton and its references, as `Shadow.keyframe` gives them."""
        skeleton = Skeleton(self._births.of, put_blob)
        root = self._root
        for path, born in self._births.known().items():
            found: Wire = root
            for step in path:
                found = found[step]  # type: ignore[index]  # such a list is reached through dicts alone
            if path and isinstance(found, list) and (len(found) > RUN or len(tlv(found)) >= LARGE_TEXT):
                skeleton.references.append([list(path), "a", born])
                root = _without(root, path)
        return skeleton.of(build(root), ()), skeleton.references


def _without(wire: Wire, path: Path) -> Wire:
    """A value with null at a place in its dicts; everything else is shared with it."""
    if not path:
        return None
    return {**wire, path[0]: _without(wire[path[0]], path[1:])}  # type: ignore[dict-item,index]  # dicts
