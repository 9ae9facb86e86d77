"""The difference of two texts, by word."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from agent_tt.comparing.sequences.anchors import Effort, align_long
from agent_tt.comparing.sequences.tokens import common_ends, split_phrases, split_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SegmentKind: TypeAlias = Literal["same", "removed", "added"]

_CRUMB = 4
"""Signs and blanks between two changed words up to which they are one change."""

_SHORT = 4_000
"""Characters of both texts together up to which they are compared by word at once."""

_LONG = 8_000
"""Characters, not a phrase of them in common, from which a stretch was replaced and is not compared by word."""


class Segment(NamedTuple):
    """A piece of text that both sides have, or only one of them.

    Attributes:
        kind: `same`, `removed` (only in the old text) or `added` (only in the new one).
        text: The piece, never empty.
    """

    kind: SegmentKind
    text: str


def compare_words(old: str, new: str) -> list[Segment]:
    """Split two texts into what is the same, removed and added.

    The time is bounded for texts of any size: see `agent_tt.comparing.sequences.anchors`. Removed comes before added.

    Args:
        old: The old text.
        new: The new text.

    Returns:
        Segments that read, without the added ones, as `old`, and without the removed ones as `new`.
    """
    start, stop_old, stop_new = common_ends(old, new)
    segments = [Segment("same", old[:start])]
    runs = list(_runs(old[start:stop_old], new[start:stop_new]))
    for run_old, run_new, same in _without_crumbs(runs):
        segments += [Segment("same", run_old)] if same else [Segment("removed", run_old), Segment("added", run_new)]
    segments.append(Segment("same", old[stop_old:]))
    return _joined(segments)


def _runs(old: str, new: str) -> Iterator[tuple[str, str, bool]]:
    """Runs of text that are alike, and of text that are not, in order: of long texts first those of several words."""
    effort = Effort()
    if len(old) + len(new) <= _SHORT:
        yield from _stretches(split_words(old), split_words(new), effort)
        return
    for part_old, part_new, same in _stretches(split_phrases(old), split_phrases(new), effort):
        if same or not part_old or not part_new or len(part_old) + len(part_new) > _LONG:
            yield part_old, part_new, same
        else:
            yield from _stretches(split_words(part_old), split_words(part_new), effort)


def _stretches(old: Sequence[str], new: Sequence[str], effort: Effort) -> Iterator[tuple[str, str, bool]]:
    """Ranges of words that are alike, and of words that are not, in turn."""
    at_old = at_new = 0
    pairs = align_long(old, new, effort)
    for _, group in groupby(enumerate(pairs), key=lambda item: (item[1][0] - item[0], item[1][1] - item[0])):
        run = [pair for _, pair in group]
        (first_old, first_new), length = run[0], len(run)
        yield "".join(old[at_old:first_old]), "".join(new[at_new:first_new]), False
        yield "".join(old[first_old : first_old + length]), "".join(new[first_new : first_new + length]), True
        at_old, at_new = first_old + length, first_new + length
    yield "".join(old[at_old:]), "".join(new[at_new:]), False


def _without_crumbs(runs: Sequence[tuple[str, str, bool]]) -> Iterator[tuple[str, str, bool]]:
    """Runs in which no mere sign or space stands between two changes: three words that became others are one change."""
    changed: list[tuple[str, str]] = []
    for index, (run_old, run_new, same) in enumerate(runs):
        inside = same and _is_crumb(run_old) and 0 < index < len(runs) - 1
        if not same or (inside and all(old and new for old, new, _ in (runs[index - 1], runs[index + 1]))):
            changed.append((run_old, run_new))
            continue
        yield "".join(old for old, _ in changed), "".join(new for _, new in changed), False
        yield run_old, run_new, True
        changed = []
    yield "".join(old for old, _ in changed), "".join(new for _, new in changed), False


def _is_crumb(text: str) -> bool:
    """Whether a text is blank, or a few signs without a letter or digit."""
    return text.isspace() or (len(text) <= _CRUMB and not any(map(str.isalnum, text)))


def _joined(segments: Sequence[Segment]) -> list[Segment]:
    """Leave out empty segments and join neighbours of one kind."""
    kept = [segment for segment in segments if segment.text]
    return [
        Segment(kind, "".join(segment.text for segment in group))
        for kind, group in groupby(kept, key=lambda segment: segment.kind)
    ]
