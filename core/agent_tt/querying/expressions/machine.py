"""The machine that a pattern becomes, and how it goes through a text.

All its states are followed at once through a text, so that the time grows with the text alone (K. Thompson, "Regular
Expression Search Algorithm", CACM 11 (1968)). The sets of states that come up become the nodes of a graph, made when
they are first reached: from then on a character costs one look-up. What that costs is counted, and limited.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from agent_tt._dataclass import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["END", "MOST_WORK", "Needs", "Pattern", "State", "TooMuchWork"]

Needs: TypeAlias = "str | list[Needs] | None"
"""What `Pattern.needs` is."""

END: Final = "\2\2"
"""What stands in `Pattern.needs` for the end of a text."""

_MOST_KEPT: Final = 100_000
"""Known moves from one set of states to the next; then they are forgotten, and found again."""

_CHUNK: Final = 512
"""Characters between two looks at the work that was done, and at whether it is over."""

_MOST_BACK: Final = 1_000
_MOST_ON: Final = 1_000
"""Characters before and after the end of the shortest match in which all of a match is looked for."""

_MOST_LOOKS: Final = 20_000
"""Looks at a state when that is done, before and after each; then what was found by then must do."""

MOST_WORK: Final = 5_000_000
"""Looks at a state, or at a character: about half a second."""


class TooMuchWork(Exception):
    """A text is too long, or a pattern too large, for a match in bounded time."""


@dataclass(slots=True)
class State:
    """One state: it takes a character that `takes` accepts and goes to `out`, or goes to all of `out` without one."""

    kind: Literal["take", "split", "start", "end", "accept"]
    out: list[int] = field(default_factory=list)
    takes: Callable[[str], bool] | None = None


class _Node(dict[str, "_Node"]):
    """A set of states, and where each character that came up leads from it."""

    __slots__ = ("accepts", "ends", "pattern", "states")

    def __init__(self, pattern: Pattern, states: frozenset[int], *, accepts: bool) -> None:
        super().__init__()
        self.pattern = pattern
        self.states = states
        self.accepts = accepts
        self.ends: bool | None = None  # whether it accepts where the text ends; None until that is asked

    def __missing__(self, character: str) -> _Node:
        return self.pattern.follow(self, character)


class Pattern:
    """A pattern that was read. Safe to use from several threads.

    Attributes:
        text: as it was written.
        needs: literals that stand in every text that matches, as an expression of SQLite's FTS5 would have them: a
            text, or a list of texts and lists that begins with "AND" or "OR"; None where there are none.
        any_case: whether upper and lower case are the same.
    """

    def __init__(self, text: str, states: list[State], begin: int, *, any_case: bool, needs: Needs = None) -> None:
        self.text = text
        self.needs = needs
        self.any_case = any_case
        self._states = states
        self._accept = next(n for n, state in enumerate(states) if state.kind == "accept")
        self._begin = begin
        self._first = self._closure((begin,), at_start=True)
        self._again = self._closure((begin,))
        self._nodes: dict[frozenset[int], _Node] = {}
        self._moves = 0
        self._work = 0

    def matches(self, text: str, most_work: int = MOST_WORK) -> tuple[bool, int]:
        """Whether the pattern matches anywhere in a text, and how much work that was.

        Raises:
            TooMuchWork: it would be more than `most_work`.
        """
        end, work = self._run(text, most_work)
        return end is not None, work

    def span(self, text: str, most_work: int = MOST_WORK) -> tuple[tuple[int, int] | None, int]:
        """Where the match that ends first begins, and how far it can be drawn; and how much work that was.

        Of a long match only what lies near the place where it first ends is found.

        Raises:
            TooMuchWork: it would be more than `most_work`.
        """
        end, work = self._run(text, most_work)
        if end is None:
            return None, work
        if self.any_case:
            text = _small(text)
        start = self._begin_of(text, end)
        return (start, self._end_of(text, start, end)), work

    # -------------------------------------------------------------------- the graph

    def _run(self, text: str, most_work: int) -> tuple[int | None, int]:
        """Where the first match ends at the latest (to `_CHUNK` characters), None for no match; and the work."""
        if self.any_case:
            text = _small(text)
        node, before, length = self._node(self._first), self._work, len(text)
        for at in range(0, length, _CHUNK):
            if node.accepts:
                return at, at + self._work - before
            for character in text[at : at + _CHUNK]:
                node = node[character]
            if at + self._work - before > most_work:
                raise TooMuchWork
        work = length + self._work - before
        if work > most_work:
            raise TooMuchWork
        return (length if self._ends(node, at_start=not text) else None), work

    def _ends(self, node: _Node, *, at_start: bool) -> bool:
        """Whether a text that ends at a node matches."""
        if node.ends is None or at_start:
            ends = node.accepts or self._accept in self._closure(node.states, at_start=at_start, at_end=True)
            if at_start:  # of an empty text, which has no node of its own
                return ends
            node.ends = ends
        return node.ends

    def follow(self, node: _Node, character: str) -> _Node:
        """Where a character leads from a node, which remembers it. What was found stays found."""
        if node.accepts:
            node[character] = node
            return node
        following = self._move(node.states, character)
        self._work += len(node.states) + len(following)
        self._moves += 1
        if self._moves > _MOST_KEPT:
            self._nodes, self._moves = {}, 0
            return self._node(following)  # which the forgotten graph is not to lead to
        reached = node[character] = self._node(following)
        return reached

    def _node(self, states: frozenset[int]) -> _Node:
        node = self._nodes.get(states)
        if node is None:
            node = self._nodes[states] = _Node(self, states, accepts=self._accept in states)
        return node

    # -------------------------------------------------------------------- sets of states

    def _move(self, now: Iterable[int], character: str) -> frozenset[int]:
        return self._taken(now, character) | self._again

    def _taken(self, now: Iterable[int], character: str) -> frozenset[int]:
        reached: set[int] = set()
        for number in now:
            state = self._states[number]
            if state.takes is not None and state.takes(character):
                reached.update(state.out)
        return self._closure(tuple(reached))

    def _closure(
        self, begin: tuple[int, ...] | frozenset[int], *, at_start: bool = False, at_end: bool = False
    ) -> frozenset[int]:
        """All states that are reached without taking a character."""
        found, waiting = set(begin), list(begin)
        while waiting:
            state = self._states[waiting.pop()]
            if state.kind == "split" or (state.kind == "start" and at_start) or (state.kind == "end" and at_end):
                for out in state.out:
                    if out not in found:
                        found.add(out)
                        waiting.append(out)
        return frozenset(found)

    # -------------------------------------------------------------------- where a match is

    def _begin_of(self, text: str, latest_end: int) -> int:
        """The earliest place, near the end of the first match, at which that match may begin."""
        begin = max(0, latest_end - _CHUNK - _MOST_BACK)
        # By state, the earliest place at which what leads to it began.
        now: dict[int, int] = dict.fromkeys(self._closure((self._begin,), at_start=begin == 0), begin)
        looks = 0
        for at in range(begin, latest_end):
            if self._accept in now:
                return now[self._accept]
            looks += len(now)
            if looks > _MOST_LOOKS:
                return at
            following: dict[int, int] = {}
            for number, start in sorted(now.items(), key=lambda item: item[1]):
                state = self._states[number]
                if state.takes is not None and state.takes(text[at]):
                    for reached in self._closure(tuple(state.out)):
                        following.setdefault(reached, start)
            for number in self._again:
                following.setdefault(number, at + 1)
            now = following
        ended = self._closure(frozenset(now), at_start=not text, at_end=latest_end == len(text))
        if self._accept in now:
            return now[self._accept]
        if self._accept in ended:  # it takes the end of the text to match
            places = (start for number, start in now.items() if self._accept in self._closure((number,), at_end=True))
            return min(places, default=latest_end)
        return max(0, latest_end - _CHUNK)

    def _end_of(self, text: str, start: int, latest_end: int) -> int:
        """The last place at which a match from `start` may end, not far from where the shortest one does."""
        now, end, looks = self._closure((self._begin,), at_start=start == 0), start, 0
        for at in range(start, min(len(text), latest_end + _MOST_ON)):
            if self._accept in now:
                end = at
            looks += len(now)
            if looks > _MOST_LOOKS:
                return end
            now = self._taken(now, text[at])
            if not now:
                return end
        at = min(len(text), latest_end + _MOST_ON)
        if self._accept in self._closure(now, at_start=not text, at_end=at == len(text)):
            return at
        return end


def _small(text: str) -> str:
    """A text whose letters are small, as long as it was."""
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(small if len(small := each.lower()) == 1 else each for each in text)
