"""Finding what changed in a live object since the last checkpoint, however it was changed.

The agent's own objects are compared with the byte forms of last time, large ones by runs and branches, and only what
differs is encoded. Of tracked containers (`agent_tt.codec.tracked`) only what they noted is compared, and `audit`
looks for what they did not. Comparing plain data runs at the speed of memory and is exact under mutation in place: for
1, 1.0, True and "1", for NaN and -0.0, for tuple and list, for the order of keys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from agent_tt.codec.tracked import TRACKED
from agent_tt.history.changes.append_only import Births
from agent_tt.history.changes.audit import Audit
from agent_tt.history.changes.nodes import NODES, build
from agent_tt.history.changes.tracked_walk import TrackedWalk
from agent_tt.history.digest import DIGEST_SIZE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.large_parts import PutBlob, Reference
    from agent_tt.history.changes.nodes import Child, Node
    from agent_tt.history.changes.ops import Op

__all__ = ["Shadow"]

Admit: TypeAlias = "Callable[[Wire, str], Wire]"


def _as_it_is(value: Wire, _field: str) -> Wire:
    return value


class Shadow:
    """The last checkpoint of one state, and what it takes to tell the next one from it.

    Args:
        admit: gives what may be kept of a part of the state, and is told the field that holds it. It is asked only of
            parts that changed, so it costs little; what it gives must be stable: asked of that, it gives the same.
    """

    __slots__ = ("_audit", "_births", "_live", "_root", "_walk")

    def __init__(self, admit: Admit | None = None) -> None:
        self._walk = TrackedWalk(_as_it_is if admit is None else admit)
        self._audit = Audit(self._walk)
        self._root: Node | None = None
        self._live: object = None
        self._births = Births({})

    @classmethod
    def from_wire(cls, wire: Wire, births: Mapping[Path, int] | None = None, admit: Admit | None = None) -> Shadow:
        """The shadow of a state that is stored already: where a fork begins.

        Args:
            wire: the stored state.
            births: its append-only lists, as `append_only_births` gave them at that checkpoint.
            admit: as of the class.
        """
        shadow = cls(admit)
        shadow._root = build(wire)
        shadow._births = Births(births or {})
        return shadow

    @property
    def append_only_births(self) -> Mapping[Path, int]:
        """The lists that only grew, by wire path, each with the checkpoint that set it."""
        return self._births.known()

    def reset(self) -> None:
        """Forget the last checkpoint, for one that could not be stored: the next says the whole state."""
        self._root = self._live = None
        self._births.clear()

    def step(self, value: object, seq: int) -> tuple[list[Op], bytes]:
        """Take the state as it is now for checkpoint `seq`.

        Returns:
            The operations that lead here from the last checkpoint (they share nothing with `value`) and the digest.
        """
        root, self._root = self._root, None  # an interrupted step leaves no half-updated tree behind
        walk = self._walk
        walk.begin()
        if root is None:
            root = build(walk.first(value))
        else:
            root = _node(self._audit.look(_node(walk.update(root, value, ())), value))
        ops = walk.end()
        self._live = value if type(value) in TRACKED else None
        self._births.follow(ops, seq)
        self._root = root
        return ops, root.token.to_bytes(DIGEST_SIZE, "little")

    @property
    def unnoticed(self) -> Path | None:
        """Where the last step found a write into a tracked container that nobody noted; None where it found none.

        It is in the operations of that step. The state may have held it before.
        """
        return self._audit.found

    @property
    def is_certain(self) -> bool:
        """Whether the last step compared all of the state, and did not rely on what tracked containers noted."""
        return self._audit.is_whole

    def look_again(self) -> Path | None:
        """Look for writes that nobody noted in all of a tracked state, at the end of its run; give the place of one.

        No step may follow.
        """
        live, root, walk = self._live, self._root, self._walk
        if live is None or root is None or not walk.believes:
            return None
        walk.begin()
        self._audit.look_at_all(_node(walk.update(root, live, ())), live)
        return self._audit.found

    def weight(self) -> int:
        """About how many bytes of JSON the last checkpoint is."""
        return 0 if self._root is None else self._root.weight()

    def keyframe(self, put_blob: PutBlob) -> tuple[Wire, list[Reference]]:
        """The last checkpoint as a keyframe.

        Args:
            put_blob: stores plain bytes as a blob and gives its hash in hex.

        Returns:
            The skeleton, and the references to the parts that it leaves out: `[place, kind, what]` of kind `b` a blob,
            `l` blobs of lists to join, `g` blobs of dicts to merge, or `a` the checkpoint that set a list which only
            grew since.
        """
        from agent_tt.history.changes.keyframe_layout import Skeleton

        if self._root is None:
            raise ValueError("there is no checkpoint yet")
        skeleton = Skeleton(self._births.of, put_blob)
        return skeleton.of(self._root, ()), skeleton.references


def _node(child: Child) -> Node:
    return child if isinstance(child, NODES) else build(child)
