"""Where a value was copied from, told by its content: the call whose result, or whose error, holds it.

A program does not say where it took a value from. But a result that is kept is kept as it is, as a part, or written
out as JSON in a message; and a model that answers from what it read uses its words. The closer the likeness, and the
nearer the call, the likelier the origin: so what is found is a good guess with its reason, and is shown with it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from agent_tt.codec.wire import VALUE
from agent_tt.querying.expressions.values import equal, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.model import Call

__all__ = ["Likeness", "is_telling", "leaves", "likeness", "said_by"]

_MOST_LEAVES: Final = 5_000
_LONGEST: Final = 100_000
"""Characters of a text that are looked at."""

_MOST_TEXT: Final = 2_000_000
"""Characters of all texts of one origin that are looked at."""

_MOST_WORDS: Final = 300
"""Words of a value that are looked for."""

_LEAST_TEXT: Final = 4
_LEAST_WORDS: Final = 3
_WORD: Final = re.compile(r"\w+")

SAME, AS_JSON, PART, WORDS = 4.0, 3.5, 2.0, 1.0


@dataclass(frozen=True, slots=True)
class Likeness:
    """That two values are alike.

    Attributes:
        score: how close: 4 the same value, 3.5 written out as JSON, between 2 and 3 a part, between 1 and 2 words.
        path: where in the origin.
        why: in words.
        shared: the text that both have; empty where all of it is the same.
    """

    score: float
    path: Path
    why: str
    shared: str = ""


def leaves(value: Wire, path: Path = ()) -> Iterator[tuple[Path, Wire]]:
    """The values in a value that hold no others, and their places, some thousands at most."""
    waiting: list[tuple[Path, Wire]] = [(path, value)]
    for _ in range(_MOST_LEAVES):
        if not waiting:
            return
        where, node = waiting.pop()
        if isinstance(node, list):
            waiting += [((*where, n), node[n]) for n in range(min(len(node), _MOST_LEAVES) - 1, -1, -1)]
        elif isinstance(node, dict) and VALUE in node:
            waiting.append(((*where, VALUE), node[VALUE]))
        elif isinstance(node, dict):
            waiting += [((*where, key), node[key]) for key in reversed(node)]
        else:
            yield where, node


def is_telling(value: Wire) -> bool:
    """Whether a value is so particular that finding it elsewhere says something: not null, true, 1 or `"ok"`."""
    value = value if not isinstance(value, dict) else plain(value)  # type: ignore[assignment]
    if isinstance(value, bool) or value is None:
        return False
    if isinstance(value, int | float):
        return abs(value) >= 10 or value != int(value)
    return len(value) >= (_LEAST_TEXT if isinstance(value, str) else 1)


def said_by(call: Call, value: Wire) -> Likeness | None:
    """How a call's result, or its error, is like a value."""
    if call.error is not None:
        return _like_text(call.error.message, value, ()) if isinstance(value, str) else None
    return likeness(call.result, value) if call.status == "ok" else None


def likeness(origin: Wire, value: Wire, *, words: bool = False) -> Likeness | None:
    """The closest likeness of something in `origin` to a value.

    Args:
        origin: where it may have come from.
        value: what is asked about.
        words: whether a few words in common count too.
    """
    if isinstance(value, list | dict):
        return _like_container(origin, value)
    read = _read_json(value) if isinstance(value, str) else None
    if read is not None and equal(read, origin):
        return Likeness(AS_JSON, (), "written out as JSON")
    best: Likeness | None = None
    room = _MOST_TEXT
    for path, leaf in leaves(origin):
        found: Likeness | None = None
        room -= min(len(leaf), _LONGEST) if isinstance(leaf, str) else 0
        if room < 0:
            break
        if type(leaf) is type(value) or {type(leaf), type(value)} == {int, float}:
            if leaf == value:
                found = Likeness(SAME, path, "the same value")
            elif isinstance(leaf, str) and isinstance(value, str):
                found = _like_text(leaf, value, path) or (_like_words(leaf, value, path) if words else None)
        elif isinstance(leaf, str) and (inner := _read_json(leaf)) is not None:
            within = likeness(inner, value)
            found = None if within is None else Likeness(AS_JSON, path, f"in the JSON of it, {within.why}")
        if found is not None and (best is None or found.score >= best.score):
            best = found
            if best.score == SAME and not words:
                return best
    return best


def _like_container(origin: Wire, value: list[Wire] | dict[str, Wire]) -> Likeness | None:
    waiting: list[tuple[Path, Wire]] = [((), origin)]
    for _ in range(_MOST_LEAVES):
        if not waiting:
            break
        path, node = waiting.pop()
        if type(node) is type(value) and len(node) == len(value) and equal(node, value):
            return Likeness(SAME, path, "the same value")
        if isinstance(node, list):
            waiting += [((*path, n), item) for n, item in enumerate(node[:_MOST_LEAVES])]
        elif isinstance(node, dict):
            waiting += [((*path, key), item) for key, item in node.items()]
    return None


def _like_text(leaf: str, value: str, path: Path) -> Likeness | None:
    """One text in the other."""
    leaf, value = leaf[:_LONGEST], value[:_LONGEST]
    if leaf == value:
        return Likeness(SAME, path, "the same text")
    short, long = sorted((leaf, value), key=len)
    if len(short) < _LEAST_TEXT or short not in long:
        return None
    why = "a part of it" if short == value else "it holds the words"
    return Likeness(PART + len(short) / (len(long) + 1), path, why, short)


def _like_words(leaf: str, value: str, path: Path) -> Likeness | None:
    """The longest run of words that two texts have in common."""
    ours = list(islice(_WORD.finditer(value), _MOST_WORDS))
    theirs = " ".join(["", *_WORD.findall(leaf[:_LONGEST].lower()), ""])
    best = (0, 0)
    begin = 0
    for end in range(1, len(ours) + 1):
        while begin < end and f" {_joined(ours[begin:end])} " not in theirs:
            begin += 1
        if end - begin > best[1] - best[0]:
            best = (begin, end)
    count = best[1] - best[0]
    if count < _LEAST_WORDS:
        return None
    shared = value[ours[best[0]].start() : ours[best[1] - 1].end()]
    return Likeness(WORDS + count / (len(ours) + 1), path, "the same words", shared)


def _joined(words: Sequence[re.Match[str]]) -> str:
    return " ".join(word.group().lower() for word in words)


def _read_json(text: str) -> Wire:
    """The list or mapping that a text is, written out; None for any other text."""
    if text[:1] not in ("{", "[") or len(text) > _LONGEST:
        return None
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict | list) else None
