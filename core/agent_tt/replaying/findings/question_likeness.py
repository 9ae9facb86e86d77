"""How much two questions have in common, and which words differ."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from agent_tt._pattern import lazy_re
from agent_tt.codec.text import pretty
from agent_tt.comparing.values.made_anew import has_made_anew, without_ids_and_times
from agent_tt.comparing.values.states import compare_states
from agent_tt.comparing.values.words import Segment, compare_words
from agent_tt.replaying.divergence import ChangedPart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.model import CallKind

__all__ = ["changed_parts", "looks_alike", "looks_made_anew", "looks_reordered", "shared_words"]

_LEAST_SHARED: Final = 0.25
_FEW_WORDS: Final = 6
_WORD: Final = lazy_re(r"\w+")
_NOT_ASKED: Final = frozenset({"headers"})
"""Parts of a request that do not count as what is asked, unless nothing else differs."""


def changed_parts(kind: CallKind, old: Wire, new: Wire) -> tuple[ChangedPart, ...]:
    """What differs between a recorded question and one that is asked now, in the order in which it stands in them."""
    changes = [
        ChangedPart(change.path, change.old, change.new, tuple(compare_words(_text(change.old), _text(change.new))))
        for change in compare_states(old, new)
    ]
    if kind in {"http", "llm"}:
        counted = [change for change in changes if change.path.partition("[")[0].partition(".")[0] not in _NOT_ASKED]
        changes = counted or changes
    return tuple(changes)


def shared_words(changes: Sequence[ChangedPart]) -> float:
    """The part of the words of what changed that both sides share, 0 to 1; 1 where nothing changed."""
    same, changed = _counted(changes)
    return 1.0 if not same and not changed else 2 * same / (2 * same + changed)


def looks_alike(changes: Sequence[ChangedPart]) -> bool:
    """Whether a question is a changed one rather than another: most words are shared, or only a few differ."""
    return _counted(changes)[1] <= _FEW_WORDS or shared_words(changes) >= _LEAST_SHARED


def looks_reordered(changes: Sequence[ChangedPart]) -> bool:
    """Whether both sides have the same words, only elsewhere: lines of a text, or items of a list, in another order."""
    old, new = (Counter(word for text in side for word in _WORD.findall(text)) for side in _sides(changes))
    return old == new and old.total() > 1


_DIGEST: Final = "blake2b"
"""The key under which a question has the digest of a large body, in its place."""


def looks_made_anew(changes: Sequence[ChangedPart]) -> bool:
    """Whether all that differs looks like ids or times, which programs make anew each time."""
    if not changes or looks_reordered(changes):
        return False
    if any(change.path.rpartition(".")[2] == _DIGEST for change in changes):
        return False  # it stands for a text that was too large to keep, of which nothing more is known
    return all(
        old and new and _without_ids(old) == _without_ids(new) for old, new in zip(*_sides(changes), strict=True)
    )


def _sides(changes: Sequence[ChangedPart]) -> tuple[list[str], list[str]]:
    """What changed as text: the old sides, and the new ones."""
    return [_text(change.old) for change in changes], [_text(change.new) for change in changes]


def _without_ids(text: str) -> str:
    return re.sub(r"\d+", "0", without_ids_and_times(text)) if has_made_anew(text) else text


def _counted(changes: Sequence[ChangedPart]) -> tuple[int, int]:
    """Words that are the same on both sides, and words that only one side has."""
    same = changed = 0
    for change in changes:
        for segment in change.words:
            count = len(_WORD.findall(segment.text)) or 1
            if segment.kind == "same":
                same += count if _WORD.search(segment.text) else 0
            else:
                changed += count
    return same, changed


def _text(value: Wire) -> str:
    return "" if value is None else value if isinstance(value, str) else pretty(value)


def shown_words(words: Sequence[Segment], around: int = 24) -> list[Segment]:
    """The words for people: of what is the same only the `around` characters beside a change."""
    shown: list[Segment] = []
    last = len(words) - 1
    for index, segment in enumerate(words):
        if segment.kind != "same":
            shown.append(segment)
            continue
        text, first = segment.text, index == 0
        room = around if first or index == last else 2 * around
        if len(text) <= room + 1:
            shown.append(segment)
        elif first:
            shown.append(Segment("same", "…" + text[-around:]))
        elif index == last:
            shown.append(Segment("same", text[:around] + "…"))
        else:
            shown.append(Segment("same", f"{text[:around]}…{text[-around:]}"))
    return shown
