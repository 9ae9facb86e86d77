"""What a model took its answer from: the places in its request that have words, figures and names of the answer.

A word or a figure that stands in one place of a request only says more than one that is everywhere in it. What the
model said earlier is left out: it only passed on what it had read.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.codec.paths import get
from agent_tt.errors import AgentTTError
from agent_tt.querying.expressions.values import plain
from agent_tt.querying.provenance.entities import Entity, content_words, entities, number_keys, small_numbers
from agent_tt.querying.provenance.origins import METADATA, key_of, leaves, likeness, looks_whole

if TYPE_CHECKING:
    from agent_tt.codec.wire import Path, Wire

__all__ = ["Read", "answer_text", "best_part", "places_in_common", "places_read"]

_OWN_ROLES: Final = frozenset({"assistant", "ai", "model"})
_PEOPLE: Final = frozenset({"user", "human"})
_OFFERED: Final = frozenset({"tools", "functions", "tool_choice", "response_format", "model"})
_THOUGHTS: Final = ("thinking", "reasoning")
_MOST_TEXTS: Final = 2_000
_LONGEST: Final = 100_000
_MOST_TEXT: Final = 1_000_000
"""Characters of a request that are looked at, the last ones."""

_MOST_READ: Final = 8
_SHORT_TEXT: Final = 60
"""Characters of a text of which each word counts, common ones too, before it is said that an answer has none of it."""

_WORDS: Final = re.compile(r"[^\W\d_]{2,}")
_FIGURES: Final = re.compile(r"\d(?:[.,:/-]?\d){2,30}")
"""Figures of all kinds, versions and times among them."""

_FIGURE: Final = 4.0
_NAME_OF: Final = 3.0
_SMALL: Final = 1.5
"""A small figure: it counts where hardly any other place has it, and words beside it are the same too."""

_LEAST_WHOLE: Final = 6
"""Characters of a text from which on it says something that all of it stands there, whatever its words are."""

_LEAST: Final = 2.0
"""A figure that is nowhere else, or two words that are nowhere else."""


@dataclass(frozen=True, slots=True)
class Read:
    """A place in a request.

    Attributes:
        path: where.
        value: what stands there.
        score: how much of the answer it may have brought.
        shared: the words or the figure that both have.
        why: in words.
        is_person: whether it is in a message of a person.
    """

    path: Path
    value: Wire
    score: float
    shared: str
    why: str
    is_person: bool = False


def answer_text(answer: Wire) -> str | None:
    """The words of a model's answer: of a message its content, else its longest text."""
    answer = plain(answer) if isinstance(answer, dict) else answer  # type: ignore[assignment]
    if isinstance(answer, str):
        return answer
    if isinstance(answer, bool) or answer is None:
        return None
    if isinstance(answer, int | float):
        return str(answer)
    if isinstance(answer, dict):
        for key in ("content", "text", "message", "output_text", "parts"):
            found = answer_text(answer[key]) if answer.get(key) else None
            if found:
                return found
    if isinstance(answer, list):
        said = [
            item for item in answer if not isinstance(item, dict) or item.get("type") not in ("thinking", "reasoning")
        ]
        texts = [text for text in map(answer_text, said[:_MOST_TEXTS]) if text]
        return max(texts, key=len, default=None)
    texts = [leaf for path, leaf in leaves(answer) if isinstance(leaf, str) and key_of(path) not in METADATA]
    return max(texts, key=len, default=None)


def places_read(args: Wire, text: str) -> list[Read]:
    """The places of a request that an answer may have been taken from, the likeliest first.

    Args:
        args: the request.
        text: the answer's words.
    """
    said = _said_to_it(args)
    ours = _entities_in(text)
    words = content_words(text)
    whole = text.strip()
    held: list[tuple[set[str], frozenset[str]]] = []
    spread: Counter[str] = Counter()
    known: dict[str | int | float, tuple[set[str], frozenset[str]]] = {}
    for _, leaf in said:
        if leaf not in known:  # what was said twice in the same words is no more common for that
            known[leaf] = _held(leaf, frozenset(ours), words)
            spread.update(known[leaf][0])
            spread.update(known[leaf][1])
        held.append(known[leaf])
    found: list[Read] = []
    for (path, leaf), (keys, common) in zip(said, held, strict=True):
        weights = {key: _weight(key, spread[key]) for key in keys}
        score = sum(weights.values()) + sum(1 / spread[word] for word in common)
        run = likeness(leaf, text, words=True) if isinstance(leaf, str) and (common or keys) else None
        run_words = 0 if run is None else len(content_words(run.shared or text))
        score += max(0, run_words - 1)
        if score < _LEAST and isinstance(leaf, str) and len(whole) >= _LEAST_WHOLE and whole in leaf:
            found.append(Read(path, leaf, _LEAST, whole, "it holds just these words"))
            continue
        if score < _LEAST:
            continue
        best = max(weights, key=lambda key: (weights[key], len(ours[key].text)), default=None)
        if run is not None and (best is None or run_words > weights[best]):
            found.append(Read(path, leaf, score, run.shared, run.why))
        elif best is not None and run_words == 0 and best.startswith("s:") and not common:
            continue  # a small figure alone may stand there by accident
        elif best is not None:
            kind = {"number": "figure", "date": "day", "name": "name"}[ours[best].kind]
            found.append(Read(path, leaf, score, ours[best].text, f"the same {kind}"))
        elif len(common) >= 2:
            shown = sorted(common, key=lambda word: (spread[word], -len(word), word))[:3]
            found.append(Read(path, leaf, score, shown[0], f"the words {', '.join(shown)}"))
    order = {read.path: number for number, read in enumerate(found)}
    likeliest = sorted(found, key=lambda read: (-read.score, -order[read.path]))[:_MOST_READ]
    return [replace(read, is_person=_in_message_of(_PEOPLE, args, read.path, {})) for read in likeliest]


def best_part(value: Wire, text: str) -> tuple[Path, str]:
    """Find the part of a result that an answer uses, and its words; the whole result where no single part does."""
    parts = list(leaves(value))
    if len(parts) < 2:
        return (), ""
    ours = _entities_in(text)
    words = content_words(text)
    best: tuple[float, Path, str] = (0.0, (), "")
    for path, leaf in parts:
        keys, common = _held(leaf, frozenset(ours), words)
        named = content_words(" ".join(str(step).replace("_", " ") for step in path[-1:])) & words
        figures = sum(_SMALL if key.startswith("s:") else _FIGURE for key in keys)
        score = figures + len(common) + (len(named) if keys else 0)
        if score > best[0]:
            first = max((ours[key].text for key in keys), key=len, default="") or next(iter(sorted(common)), "")
            best = (score, path, first)
    return best[1:]


def _held(leaf: Wire, ours: frozenset[str], words: frozenset[str]) -> tuple[set[str], frozenset[str]]:
    """The figures and the words of an answer that a value has."""
    if isinstance(leaf, int | float) and not isinstance(leaf, bool):
        return {*(number_keys(leaf) | _entities_in(str(leaf)).keys()) & ours}, frozenset()
    if not isinstance(leaf, str):
        return set(), frozenset()
    leaf = leaf[:_LONGEST]
    return {key for key in _entities_in(leaf) if key in ours}, content_words(leaf) & words


def _entities_in(text: str) -> dict[str, Entity]:
    """The entities of a text by their keys, figures among them that are too small to say something by themselves."""
    return {key: entity for entity in (*small_numbers(text), *entities(text)) for key in entity.keys}


def _weight(key: str, spread: int) -> float:
    """How much an entity says that stands in so many places."""
    if key.startswith("s:"):
        return _SMALL / spread
    return (_FIGURE if key[0] in "nd" else _NAME_OF) / math.sqrt(spread)


def places_in_common(args: Wire, text: str) -> tuple[list[Read], bool]:
    """All places of a request that have anything of an answer, however little, and whether all of it was looked at.

    What the model said earlier and what is said of its tools are among them.

    Args:
        args: the request.
        text: the answer's words.

    Returns:
        Some places, the newest first, and whether nothing was left out.
    """
    ours, words, spoken = _entities_in(text), content_words(text), frozenset(_WORDS.findall(text.lower()))
    figures = frozenset(_FIGURES.findall(text))
    found: list[Read] = []
    for path, leaf in reversed([*leaves(args)]):
        if key_of(path) in METADATA:
            continue
        keys, common = _held(leaf, frozenset(ours), words)
        if isinstance(leaf, str) and not (keys or common):
            common = figures & frozenset(_FIGURES.findall(leaf[:_LONGEST]))
        if isinstance(leaf, str) and not (keys or common) and len(leaf) <= _SHORT_TEXT:
            common = spoken & frozenset(_WORDS.findall(leaf.lower()))
        if keys or common:
            shared = ours[next(iter(sorted(keys)))].text if keys else min(common)
            found.append(Read(path, leaf, 0.0, shared, f"it has {shared!r} too"))
    return found[:_MOST_READ], looks_whole(args) and len(text) <= _LONGEST


def _said_to_it(args: Wire) -> list[tuple[Path, str | int | float]]:
    """What a request says to a model, place by place: not what the model said itself, nor which tools there are."""
    asked = {key: value for key, value in args.items() if key not in _OFFERED} if isinstance(args, dict) else args
    found: list[tuple[Path, str | int | float]] = []
    own: dict[Path, bool] = {}
    room = _MOST_TEXT
    for path, leaf in reversed([*leaves(asked)]):  # the newest are the likeliest, where not all are looked at
        if not isinstance(leaf, str | int | float) or isinstance(leaf, bool):
            continue
        if key_of(path) in METADATA or _in_message_of(_OWN_ROLES, args, path, own):
            continue
        room -= len(leaf) if isinstance(leaf, str) else 1
        if room < 0 or len(found) == _MOST_TEXTS:
            break
        found.append((path, leaf))
    return found[::-1]


def _in_message_of(roles: frozenset[str], args: Wire, path: Path, known: dict[Path, bool]) -> bool:
    """Whether a place is in a message of somebody."""
    for depth in range(1, len(path)):
        above = path[:depth]
        if above not in known:
            known[above] = _role(args, above) in roles
        if known[above]:
            return True
    return False


def _role(args: Wire, path: Path) -> str | None:
    try:
        message = get(args, path)
    except AgentTTError:
        return None
    if not isinstance(message, dict):
        return None
    role = message.get("role") or message.get("type")
    return role if isinstance(role, str) else None
