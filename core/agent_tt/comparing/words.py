"""The difference of two texts, by word."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal, TypeAlias

from agent_tt.comparing.sequence import align

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SegmentKind: TypeAlias = Literal["same", "removed", "added"]

_WORD = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of text that both sides have, or only one of them.

    Attributes:
        kind: `same`, `removed` (only in the old text) or `added` (only in the new one).
        text: The piece, never empty.
    """

    kind: SegmentKind
    text: str


def compare_words(old: str, new: str) -> list[Segment]:
    """Split two texts into what is the same, removed and added.

    The time is bounded for texts of any size: see `agent_tt.comparing.sequence`. Removed comes before added.

    Args:
        old: The old text.
        new: The new text.

    Returns:
        Segments that read, without the added ones, as `old`, and without the removed ones as `new`.
    """
    start, stop_old, stop_new = _common_ends(old, new)
    segments = [Segment("same", old[:start])]
    runs = _runs(_WORD.findall(old[start:stop_old]), _WORD.findall(new[start:stop_new]))
    for run_old, run_new, same in _without_bare_spaces(list(runs)):
        segments += [Segment("same", run_old)] if same else [Segment("removed", run_old), Segment("added", run_new)]
    segments.append(Segment("same", old[stop_old:]))
    return _joined(segments)


def _common_ends(old: str, new: str) -> tuple[int, int, int]:
    """Where a common beginning ends and a common end begins, both at the edge of a word."""
    start = _common_length(old, new)
    while start and not (_edge(old, start) and _edge(new, start)):
        start -= 1
    tail = _common_length(old[start:][::-1], new[start:][::-1])
    while tail and not (_edge(old, len(old) - tail) and _edge(new, len(new) - tail)):
        tail -= 1
    return start, len(old) - tail, len(new) - tail


def _common_length(a: str, b: str) -> int:
    """How many characters two texts have in common at the start, by halving: slices are compared fast."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _edge(text: str, index: int) -> bool:
    """Whether no word or run of spaces goes on across `index`."""
    if index in (0, len(text)):
        return True
    pair = text[index - 1 : index + 1]
    return len(_WORD.findall(pair)) == 2


def _runs(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str, bool]]:
    """Runs of tokens that are alike, and of tokens that are not, in order."""
    at_old = at_new = 0
    pairs = align(old, new)
    for _, group in groupby(enumerate(pairs), key=lambda item: (item[1][0] - item[0], item[1][1] - item[0])):
        run = [pair for _, pair in group]
        (first_old, first_new), length = run[0], len(run)
        yield "".join(old[at_old:first_old]), "".join(new[at_new:first_new]), False
        yield "".join(old[first_old : first_old + length]), "".join(new[first_new : first_new + length]), True
        at_old, at_new = first_old + length, first_new + length
    yield "".join(old[at_old:]), "".join(new[at_new:]), False


def _without_bare_spaces(runs: Sequence[tuple[str, str, bool]]) -> Iterator[tuple[str, str, bool]]:
    """Runs in which no space alone stands between two changes: three words that became others read as one change."""
    changed: list[tuple[str, str]] = []
    for index, (run_old, run_new, same) in enumerate(runs):
        inside = same and run_old.isspace() and 0 < index < len(runs) - 1
        if not same or (inside and all(old and new for old, new, _ in (runs[index - 1], runs[index + 1]))):
            changed.append((run_old, run_new))
            continue
        yield "".join(old for old, _ in changed), "".join(new for _, new in changed), False
        yield run_old, run_new, True
        changed = []
    yield "".join(old for old, _ in changed), "".join(new for _, new in changed), False


def _joined(segments: Sequence[Segment]) -> list[Segment]:
    """Leave out empty segments and join neighbours of one kind."""
    kept = [segment for segment in segments if segment.text]
    return [
        Segment(kind, "".join(segment.text for segment in group))
        for kind, group in groupby(kept, key=lambda segment: segment.kind)
    ]
