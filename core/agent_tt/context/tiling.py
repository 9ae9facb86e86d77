"""Parts a text into tiles by where each part stood before: every character is in exactly one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt.context.index import LEAST, TextIndex
from agent_tt.context.shown import Tile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agent_tt.context.shown import Origin

__all__ = ["Entered", "own_texts"]


class Entered:
    """All texts that entered a run so far, each with all that brought it."""

    def __init__(self) -> None:
        self._index = TextIndex()
        self._origins: list[list[Origin]] = []

    def add(self, origin: Origin, texts: Iterable[str]) -> None:
        """Write down that something brought some texts."""
        for text in texts:
            if not text:
                continue
            number = self._index.add(text)
            if number == len(self._origins):
                self._origins.append([origin])
            elif origin not in self._origins[number]:
                self._origins[number].append(origin)

    def holds(self, text: str) -> bool:
        """Whether a text was brought just as it is."""
        return self._index.whole(text) is not None

    def tiles(self, text: str, own: Origin | None, likely: Callable[[Origin], bool]) -> tuple[Tile, ...]:
        """Part a text into tiles.

        Args:
            text: the text.
            own: what is told of the parts that nothing brought; None where nobody knows. Parts that are too short to be
                told apart stay open, where the rest of the text was brought.
            likely: which of several origins stand before the others.
        """
        parts = self._index.parts(text)
        if not parts:
            return (Tile(0, len(text), () if own is None else (own,)),) if text else ()
        tiles: list[Tile] = []
        end = 0
        for part in (*parts, None):
            start = len(text) if part is None else part.start
            if start > end:
                tiles.append(Tile(end, start, () if own is None or start - end < LEAST else (own,)))
            if part is not None:
                tiles.append(Tile(start, part.end, self._all(part.texts, likely)))
                end = part.end
        return tuple(tiles)

    def _all(self, numbers: Iterable[int], likely: Callable[[Origin], bool]) -> tuple[Origin, ...]:
        found = {origin: None for number in numbers for origin in self._origins[number]}
        return tuple(sorted(found, key=lambda origin: (not likely(origin), origin.place, origin.is_request)))


def own_texts(text: str, tiles: Iterable[Tile], own: Origin | None) -> list[str]:
    """The parts that nothing brought before: from now on they can be found."""
    if own is None:
        return []
    return [text[tile.start : tile.end] for tile in tiles if tile.origins == (own,)]
