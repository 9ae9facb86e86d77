"""Which lists have only grown since they were set: they are stored once, as the log itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.history.changes.ops import op_path

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.history.changes.ops import Op

__all__ = ["Births"]

_CONTAINERS: Final = frozenset({dict, list})


class Births:
    """The append-only lists of a state, each with the checkpoint that set it.

    A list counts while it is reached through dicts alone and nothing but appends happens to it or inside it.
    """

    __slots__ = ("_seqs",)

    def __init__(self, seqs: Mapping[Path, int]) -> None:
        self._seqs = dict(seqs)

    def known(self) -> Mapping[Path, int]:
        """The checkpoint that set each list, by the list's wire path."""
        return dict(self._seqs)

    def of(self, path: Path) -> int | None:
        """The checkpoint that set the list at `path`; None if it did not only grow."""
        return self._seqs.get(path)

    def clear(self) -> None:
        """Forget all lists."""
        self._seqs.clear()

    def follow(self, ops: Iterable[Op], seq: int) -> None:
        """Take in the operations of checkpoint `seq`."""
        begins = {known[0] if known else None for known in self._seqs}
        for op in ops:
            code = op[0]
            # Most operations set a text or a number where no known list lies at, above or below.
            if code == "s" and type(op[2]) not in _CONTAINERS and _begins_elsewhere(op[1], begins):
                continue
            path = op_path(op)
            inside = next((depth for depth, step in enumerate(path) if type(step) is int), None)
            if inside is not None:
                self._seqs.pop(path[:inside], None)
            elif code == "x":
                self._seqs.pop(path, None)
            elif code in ("s", "d"):
                self._end(path)
                if code == "s":
                    self._begin(op[2], path, seq)
                    begins = {known[0] if known else None for known in self._seqs}

    def _end(self, path: Path) -> None:
        for known in [known for known in self._seqs if known[: len(path)] == path]:
            del self._seqs[known]

    def _begin(self, value: Wire, path: Path, seq: int) -> None:
        if type(value) is list:
            self._seqs[path] = seq
        elif type(value) is dict:
            for key, item in value.items():
                self._begin(item, (*path, key), seq)


def _begins_elsewhere(steps: Wire, begins: Collection[str | int | None]) -> bool:
    """Whether a path begins with none of these steps, and nothing begins at the root."""
    if type(steps) is not list or not steps or type(steps[0]) is not str:
        return False
    return steps[0] not in begins and None not in begins
