"""How many passes of its event loop an answer came behind the one before it, of those that a replay gives out.

A recording counts from the answer before, whoever got that. What another recorded call made is not asked again, so an
answer that came behind one of these came as many passes later behind the one before that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.recording.lanes.arrival import AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from agent_tt.codec.wire import Wire

__all__ = ["WITH_ITS_OWN", "given_out", "passes_of"]

WITH_ITS_OWN: Final = -1
"""The passes of a piece that whoever got the piece before it takes by itself."""


def passes_of(turns: Iterable[int | None], paces: Mapping[int, Wire]) -> Iterator[tuple[int, int | None]]:
    """The numbers of one answer, or of its pieces, with the passes that each came behind the number before it.

    None where the loop had come to rest or none is known, `WITH_ITS_OWN` for pieces that came with the one before.
    """
    for index, number in enumerate(turns):
        pace = paces.get(index)
        if number is not None:
            at_once = WITH_ITS_OWN if index and pace == AT_ONCE else None
            yield number, pace if isinstance(pace, int) else at_once


def given_out(asked: Mapping[int, int | None], nested: Mapping[int, int | None]) -> Iterator[tuple[int, int | None]]:
    """The numbers that a replay gives out, in their order, with the passes behind the one of them before.

    Args:
        asked: by number, the passes of what an agent asks again.
        nested: the same of what another recorded call made.
    """
    between: int | None = 0
    for number in sorted({**asked, **nested}):
        if number in nested:
            between = _sum(between, nested[number])
        else:
            passes = asked[number]
            yield number, passes if passes == WITH_ITS_OWN else _sum(between, passes)
            between = 0


def _sum(before: int | None, passes: int | None) -> int | None:
    """Passes one after the other; None where the loop came to rest in one of them."""
    if before is None or passes is None:
        return None
    return before + max(passes, 0)
