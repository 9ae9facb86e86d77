"""What it costs to set moves of two lanes beside each other: the measure by which runs are aligned.

| couple | cost |
|---|---|
| two moves that did the same (`Move.did`) | 0 |
| a near match: two that did the same kind of thing (`Move.alike`) | by how much they differ, 0.001 to 0.999 |
| a move that the other lane has nothing beside | 1 |
| any other two moves | 2: no less than if each stood alone |

Costs are whole thousandths, and the cost of an alignment is the sum over its couples.

**How much differs.** Each argument of each tool counts the same, and one that only one side has counts in full. An
argument is taken apart into pieces: each number, truth value, null and empty container is one, with the keys that lead
to it; of a text each word is one, of a text of more than 2,000 characters each line. Types count (1, 1.0, true and "1"
are different pieces), places in lists do not. Of an argument differs 1 - 2c / (p + q), where one side has p pieces, the
other q, and c are common to both. A model's answer counts as one argument. So does what a step wrote to the state that
asked neither a tool nor a model: each place with what was written there is one piece. What differs in the name of a
step or in the words of a decision alone costs 0.001. All of it is the same whichever side comes first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.steps.moves import Move

__all__ = ["ALONE", "Costs"]

ALONE: Final = 1_000
"""Thousandths that a move costs which stands alone."""

_LEAST: Final = 1
_MOST: Final = ALONE - 1

_LONG_TEXT: Final = 2_000
"""Characters from which a text is compared by its lines and no more by its words."""

_MOST_PIECES: Final = 4_000
"""Pieces of one argument that are looked at: about a megabyte of text in lines."""

_Piece: TypeAlias = "tuple[object, ...]"
_Parts: TypeAlias = "Mapping[object, frozenset[_Piece]]"


class Costs:
    """Costs of couples; what was found once about a move, or about two, is kept."""

    def __init__(self) -> None:
        self._parts: dict[bytes, _Parts] = {}
        self._near: dict[tuple[bytes, bytes], int] = {}

    def of(self, a: Move | None, b: Move | None) -> int:
        """What a couple costs, in thousandths; None where the other move has nothing beside it."""
        if a is None or b is None:
            return ALONE
        if a.did == b.did:
            return 0
        return self.near(a, b) if a.alike == b.alike else 2 * ALONE

    def near(self, a: Move, b: Move) -> int:
        """What a near match costs, in thousandths: 1 to 999."""
        pair = (a.did, b.did)
        known = self._near.get(pair)
        if known is None:
            known = self._near[pair] = min(max(_unlike(self._parts_of(a), self._parts_of(b)), _LEAST), _MOST)
        return known

    def _parts_of(self, move: Move) -> _Parts:
        parts = self._parts.get(move.did)
        if parts is None:
            parts = self._parts[move.did] = _taken_apart(move)
        return parts


def _unlike(a: _Parts, b: _Parts) -> int:
    """How much differs between two moves, in thousandths."""
    differs = sum(name not in a for name in b) * ALONE
    for name, ours in a.items():
        theirs = b.get(name)
        if theirs is None:
            differs += ALONE
        elif ours != theirs:
            differs += ALONE - 2 * ALONE * len(ours & theirs) // (len(ours) + len(theirs))
    return differs // (len(a.keys() | b.keys()) or 1)


def _taken_apart(move: Move) -> _Parts:
    """The pieces of what a move asked: by tool and argument, or by answer."""
    if not move.asked:
        return {None: frozenset({(move.did,)})}
    parts: dict[object, frozenset[_Piece]] = {}
    for index, asked in enumerate(orjson.loads(move.asked)):
        if move.alike[2] and isinstance(asked, dict):
            parts.update(((index, name), _numbered(_pieces(value, ()))) for name, value in asked.items())
        else:
            parts[index] = _numbered(_pieces(asked, ()))
    return parts


def _numbered(pieces: Iterator[_Piece]) -> frozenset[_Piece]:
    """Pieces as a set, in which the second of two that are equal is another one."""
    seen: dict[_Piece, int] = {}
    found: set[_Piece] = set()
    for piece in pieces:
        times = seen[piece] = seen.get(piece, 0) + 1
        found.add(piece if times == 1 else (*piece, times))
        if len(found) >= _MOST_PIECES:
            break
    return frozenset(found)


def _pieces(value: Wire, path: tuple[str, ...]) -> Iterator[_Piece]:
    """The pieces of a value, each with the keys that lead to it."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _pieces(inner, (*path, key))
    elif isinstance(value, list) and value:
        for inner in value:
            yield from _pieces(inner, path)
    elif isinstance(value, str):
        words = value.split() if len(value) <= _LONG_TEXT else value.splitlines()
        yield from ((path, str, word) for word in words or ("",))
    else:
        yield (path, type(value), value if not isinstance(value, dict | list) else None)
