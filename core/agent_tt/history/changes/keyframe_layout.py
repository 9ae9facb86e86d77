"""A checkpoint as a keyframe: a skeleton, and references to the parts that are stored elsewhere, once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from agent_tt.codec.wire import VALUE, Wire
from agent_tt.history.changes.large_parts import move_out
from agent_tt.history.changes.nodes import NODES, RUN, DictNode, EnvelopeNode, Leaf, ListNode

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_tt.codec.wire import Path
    from agent_tt.history.changes.large_parts import PutBlob, Reference
    from agent_tt.history.changes.nodes import Child

__all__ = ["Skeleton"]


class Skeleton:
    """Makes one keyframe.

    Attributes:
        references: one for each part left out, `[place, kind, what]`; null stands in its place.
    """

    __slots__ = ("_born", "_put_blob", "references")

    def __init__(self, born: Callable[[Path], int | None], put_blob: PutBlob) -> None:
        self._born = born
        self._put_blob = put_blob
        self.references: list[Reference] = []

    def of(self, child: Child, path: Path) -> Wire:
        """What stands at `path` in the skeleton."""
        if isinstance(child, ListNode):
            self._leave_out(child, path)
            return None
        if isinstance(child, DictNode):
            return self._dict(child, path)
        if isinstance(child, EnvelopeNode):
            return {**child.header, VALUE: self.of(child.payload, (*path, VALUE))}
        wire = child.value() if isinstance(child, Leaf) else child
        return move_out(wire, path, self.references, self._put_blob)

    def _leave_out(self, node: ListNode, path: Path) -> None:
        born = self._born(path)
        if born is not None:
            self.references.append([list(path), "a", born])
        else:
            hashes = [self._put_blob(orjson.dumps(node.items(run))) for run in node.runs]
            self.references.append([list(path), "l", list(hashes)])

    def _dict(self, node: DictNode, path: Path) -> Wire:
        if len(node.children) <= RUN or not all(_is_small(child) for child in node.children.values()):
            return {key: self.of(child, (*path, key)) for key, child in node.children.items()}
        entries = list(node.wire_entries())
        groups = [dict(entries[at : at + RUN]) for at in range(0, len(entries), RUN)]
        self.references.append([list(path), "g", [self._put_blob(orjson.dumps(group)) for group in groups]])
        return None


def _is_small(child: Child) -> bool:
    """Whether a child goes into a blob together with its neighbours."""
    return isinstance(child, Leaf) or not isinstance(child, NODES)
