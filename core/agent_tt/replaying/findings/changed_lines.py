"""What differs between two outputs, line by line."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from agent_tt.comparing.sequences.anchors import align_long
from agent_tt.comparing.values.words import compare_words
from agent_tt.replaying.divergence import ChangedPart

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.model import Output

__all__ = ["changed_lines"]

_MOST_SHOWN: Final = 20_000
"""Characters of one change on either side."""

_MOST_CHANGES: Final = 1_000


def changed_lines(recorded: Output, now: Output) -> tuple[ChangedPart, ...]:
    """What differs, in the order of the lines; at most a thousand changes.

    `path` is `line 3` or `lines 3 to 5` of the recorded output, or `line 3 from the end`. Of an output that is not
    whole its beginning and its end are compared. Where these are alike, all that is known is that something between
    them differs.
    """
    is_whole = recorded.is_whole and now.is_whole
    old, new = recorded.text.splitlines(keepends=True), now.text.splitlines(keepends=True)
    stretches = _stretches(old, new, cut_at_end=not is_whole)
    changes = [_part(_place(*stretch[:2]), old, new, stretch) for stretch in stretches]
    if not is_whole:
        old, new = ((each.tail or each.text).splitlines(keepends=True) for each in (recorded, now))
        changes += [
            _part(f"{_place(len(old) - stretch[1], len(old) - stretch[0])} from the end", old, new, stretch)
            for stretch in _stretches(old, new, cut_at_start=True)
        ]
    if not changes:
        sizes = (f"{recorded.size:,} characters", f"{now.size:,} characters")
        changes = [ChangedPart("between beginning and end", *sizes, tuple(compare_words(*sizes)))]
    return tuple(changes[:_MOST_CHANGES])


def _stretches(
    old: list[str], new: list[str], *, cut_at_start: bool = False, cut_at_end: bool = False
) -> Iterator[tuple[int, int, int, int]]:
    """First and last line (excluded) on both sides of each stretch that differs.

    Args:
        old: the recorded lines.
        new: the lines now.
        cut_at_start: the first lines are not whole, and what differs up to there need not differ in the output.
        cut_at_end: so are the last ones.
    """
    if cut_at_start:
        del old[:1], new[:1]
    if cut_at_end:
        del old[-1:], new[-1:]
    pairs = [(-1, -1), *align_long(old, new), (len(old), len(new))]
    for (old_before, new_before), (old_after, new_after) in pairwise(pairs):
        begin, new_begin = old_before + 1, new_before + 1
        if (begin, new_begin) == (old_after, new_after):
            continue
        is_at_cut = (cut_at_start and not begin + new_begin) or (cut_at_end and (old_after, new_after) == pairs[-1])
        if is_at_cut and (begin == old_after or new_begin == new_after):
            continue  # one side only reaches further
        if old_after - begin == new_after - new_begin:
            for at in range(old_after - begin):
                yield begin + at, begin + at + 1, new_begin + at, new_begin + at + 1
        else:
            yield begin, old_after, new_begin, new_after


def _place(begin: int, end: int) -> str:
    return f"line {begin + 1}" if end - begin < 2 else f"lines {begin + 1} to {end}"


def _part(place: str, old: Sequence[str], new: Sequence[str], stretch: tuple[int, int, int, int]) -> ChangedPart:
    begin, end, new_begin, new_end = stretch
    before, after = "".join(old[begin:end]), "".join(new[new_begin:new_end])
    if before.rstrip("\n") != after.rstrip("\n"):
        before, after = before.rstrip("\n"), after.rstrip("\n")
    before, after = before[:_MOST_SHOWN], after[:_MOST_SHOWN]
    words = tuple(compare_words(before, after))
    return ChangedPart(place, before if end > begin else None, after if new_end > new_begin else None, words)
