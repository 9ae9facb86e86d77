"""What differs between two outputs, line by line."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final

from agent_tt.comparing.words import compare_words
from agent_tt.replaying.divergence import ChangedPart

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.model import Output

__all__ = ["changed_lines"]

_MOST_ALIGNED: Final = 2_000
"""Lines between the first and the last that differ up to which they are aligned; else they are one change."""

_MOST_SHOWN: Final = 20_000
"""Characters of one change on either side."""


def changed_lines(recorded: Output, now: Output) -> tuple[ChangedPart, ...]:
    """What differs, in the order of the lines; `path` is `line 3` or `lines 3 to 5` of the recorded output.

    Of an output that is not whole its beginning and its end are compared. Where these are alike, the digests differ,
    and all that is known is that something between them does.
    """
    changes = [*_compared(recorded.text, now.text, "")]
    if not (recorded.is_whole and now.is_whole):
        changes += _compared(recorded.tail or recorded.text, now.tail or now.text, " of the end")
    if not changes:
        sizes = (f"{recorded.size:,} characters", f"{now.size:,} characters")
        changes.append(ChangedPart("between beginning and end", *sizes, tuple(compare_words(*sizes))))
    return tuple(changes)


def _compared(old_text: str, new_text: str, where: str) -> Iterator[ChangedPart]:
    old, new = old_text.splitlines(keepends=True), new_text.splitlines(keepends=True)
    first = next((at for at, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), None)
    if first is None:
        first = min(len(old), len(new))
    left = min(len(old), len(new)) - first
    last = next((at for at in range(left) if old[-1 - at] != new[-1 - at]), left)
    old, new = old[first : len(old) - last], new[first : len(new) - last]
    for begin, end, new_begin, new_end in _stretches(old, new):
        for at, (before, after) in enumerate(_pairs(old[begin:end], new[new_begin:new_end])):
            yield _part(first + begin + at, before, after, where)


def _stretches(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """First and last line (excluded) on both sides of each stretch that differs."""
    if len(old) + len(new) > _MOST_ALIGNED:
        return [(0, len(old), 0, len(new))]
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return [code[1:] for code in matcher.get_opcodes() if code[0] != "equal"]


def _pairs(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Lines that stand for each other; stretches of unlike length as a whole."""
    if len(old) == len(new) <= _MOST_ALIGNED:
        yield from (([before], [after]) for before, after in zip(old, new, strict=True))
    elif old or new:
        yield old, new


def _part(line: int, before: Sequence[str], after: Sequence[str], where: str) -> ChangedPart:
    place = f"line {line + 1}" if len(before) < 2 else f"lines {line + 1} to {line + len(before)}"
    old, new = "".join(before), "".join(after)
    if old.rstrip("\n") != new.rstrip("\n"):
        old, new = old.rstrip("\n"), new.rstrip("\n")
    old, new = old[:_MOST_SHOWN], new[:_MOST_SHOWN]
    return ChangedPart(place + where, old, new, tuple(compare_words(old, new)))
