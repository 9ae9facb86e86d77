"""Where a value was copied from, told by its content: the call whose result, or whose error, holds it.

A program does not say where it took a value from. But a result that is kept is kept as it is, as a part, or written
out as JSON in a message; and a model that answers from what it read uses its words and its figures. The closer the
likeness, and the nearer the call, the likelier the origin: so what is found is a good guess with its reason, and is
shown with it. What is found everywhere (`1`, `"ok"`, `true`) says nothing, unless it stands under the same name.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.codec.wire import TYPE, VALUE, is_envelope
from agent_tt.querying.expressions.values import equal, plain
from agent_tt.querying.provenance.entities import common_entity, content_words, entities, number_keys, only_entity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.codec.wire import Path, Wire
    from agent_tt.model import Call

__all__ = [
    "AS_JSON",
    "METADATA",
    "OTHERWISE",
    "PART",
    "SAME",
    "Likeness",
    "is_telling",
    "key_of",
    "leaves",
    "likeness",
    "looks_whole",
    "read_json",
    "said_by",
    "scalar",
    "weight",
]

METADATA: Final = frozenset(
    {"role", "type", "id", "tool_call_id", "call_id", "class", "set", "finish_reason", "signature", TYPE}
)
"""Keys of a message under which nothing is said."""

_MOST_LEAVES: Final = 5_000
_LONGEST: Final = 100_000
"""Characters of a text that are looked at."""

_MOST_TEXT: Final = 2_000_000
"""Characters of all texts of one origin that are looked at."""

_MOST_WORDS: Final = 300
"""Words of a value that are looked for."""

_LEAST_TEXT: Final = 4
_SHORT: Final = 500
"""Characters up to which a text is about each of its words."""

_LEAST_WORDS: Final = 3
_WORD: Final = re.compile(r"\w+")
_NAME_PART: Final = re.compile(r"[^\W\d_]{3,}")

SAME, AS_JSON, OTHERWISE, PART, WORDS = 4.0, 3.5, 3.2, 2.0, 1.0


@dataclass(frozen=True, slots=True)
class Likeness:
    """That two values are alike.

    Attributes:
        score: how close: 4 the same value, 3.5 written out as JSON, 3.2 written otherwise, between 2 and 3 a part,
            between 1 and 2 words.
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


def looks_whole(value: Wire) -> bool:
    """Whether all of a value is looked at where something is searched in it: it is not too large for that."""
    count, room = 0, _MOST_TEXT
    for _, leaf in leaves(value):
        count += 1
        if isinstance(leaf, str):
            room -= len(leaf)
            if len(leaf) > _LONGEST:
                return False
    return count < _MOST_LEAVES and room >= 0 and _is_short(value)


def _is_short(value: Wire) -> bool:
    """Whether a value holds no more parts, containers among them, than are looked at."""
    waiting, seen = [value], 0
    while waiting:
        node = waiting.pop()
        seen += 1
        if seen >= _MOST_LEAVES:
            return False
        if isinstance(node, list | dict):
            waiting += node if isinstance(node, list) else node.values()
    return True


def scalar(value: Wire) -> Wire:
    """A typed value as the number or text that it stands for, a Decimal or a date; any other value as it is."""
    if not is_envelope(value):
        return value
    found = plain(value)
    return found if isinstance(found, str | int | float) else value


def is_telling(value: Wire) -> bool:
    """Whether a value is so particular that finding it elsewhere says something: not null, true, 1 or `"ok"`."""
    value = scalar(value)
    if isinstance(value, bool) or value is None:
        return False
    if isinstance(value, int | float):
        return bool(number_keys(value))
    if isinstance(value, str):
        return len(value) >= _LEAST_TEXT and bool(content_words(value) or any(map(str.isdigit, value)) or " " in value)
    if isinstance(value, dict) and len(value) > 1:
        return True  # names that stand together say something, whatever they name
    return any(is_telling(leaf) for _, leaf in islice(leaves(value), _MOST_WORDS))


def weight(value: Wire) -> tuple[int, int]:
    """How particular a value is: its entities, then its words."""
    value = scalar(value)
    if isinstance(value, str):
        return len(entities(value[:_LONGEST])), len(content_words(value))
    return (int(bool(is_telling(value))), 0)


def key_of(path: Path) -> str:
    """The name under which the value at a path is kept; empty where it has none."""
    return next((step for step in reversed(path) if isinstance(step, str) and step != VALUE), "")


def said_by(call: Call, value: Wire, *, name: str = "", near: bool = False) -> Likeness | None:
    """How a call's result, or its error, is like a value.

    Args:
        call: the call.
        value: the value.
        name: under which name it is kept.
        near: whether the call was made in the step that wrote the value.
    """
    if call.error is not None:
        return _like_text(call.error.message, value, ()) if isinstance(value, str) else None
    return likeness(call.result, value, name=name, near=near) if call.status == "ok" else None


def likeness(origin: Wire, value: Wire, *, words: bool = False, name: str = "", near: bool = False) -> Likeness | None:
    """The closest likeness of something in `origin` to a value.

    Args:
        origin: where it may have come from.
        value: what is asked about.
        words: whether a few words in common count too.
        name: under which name the value is kept: what is found everywhere counts only under the same name.
        near: whether even null, true and 0 count, under the same name.
    """
    value = scalar(value)
    if isinstance(value, list | dict):
        return _like_container(origin, value) if is_telling(value) else None
    read = read_json(value) if isinstance(value, str) else None
    if read is not None and equal(read, origin):
        return Likeness(AS_JSON, (), "written out as JSON")
    telling = is_telling(value)
    if not telling and not name:
        return None
    best: Likeness | None = None
    room = _MOST_TEXT
    for path, leaf in leaves(origin):
        room -= min(len(leaf), _LONGEST) if isinstance(leaf, str) else 0
        if room < 0:
            break
        found = _like_leaf(leaf, value, path, words=words) if telling else _like_common(leaf, value, path, name, near)
        if found is not None and (best is None or found.score >= best.score):
            best = found
            if best.score == SAME and not words:
                return best
    return best


def _like_leaf(leaf: Wire, value: Wire, path: Path, *, words: bool) -> Likeness | None:
    """How a value that says something by itself is like one that holds no others."""
    if type(leaf) is type(value) or {type(leaf), type(value)} == {int, float}:
        if leaf == value:
            return Likeness(SAME, path, "the same value")
        if isinstance(leaf, str) and isinstance(value, str):
            if value in (_unquoted(leaf), leaf) or leaf == _unquoted(value):
                return Likeness(AS_JSON, path, "written out as JSON")
            return (
                _like_text(leaf, value, path, small=words)
                or _written_otherwise(leaf, value, path)
                or (_like_words(leaf, value, path) if words else None)
                or _within_json(leaf, value, path)
            )
        return None
    if isinstance(leaf, str) and isinstance(value, int | float):
        return _within_json(leaf, value, path) or _number_in(leaf, value, path)
    if isinstance(value, str) and isinstance(leaf, int | float) and not isinstance(leaf, bool):
        found = _number_in(value, leaf, path)
        return None if found is None or (found.score < OTHERWISE and not words) else found
    return None


def _unquoted(text: str) -> str | None:
    """The text that another one is as JSON, in quotes; None for any other."""
    if text[:1] != '"' or text[-1:] != '"' or len(text) > _LONGEST:
        return None
    try:
        inner = json.loads(text)
    except ValueError:
        return None
    return inner if isinstance(inner, str) else None


def _like_common(leaf: Wire, value: Wire, path: Path, name: str, near: bool) -> Likeness | None:  # noqa: FBT001
    """How a value that is found everywhere is like another one: only under the same name."""
    if type(leaf) is not type(value) or leaf != value:
        return None
    ours, theirs = _name_parts(name), _name_parts(key_of(path))
    plain_one = value is None or isinstance(value, bool) or value in ("", 0, 1)
    if ours == theirs if plain_one else ours & theirs:
        if plain_one and not near:
            return None
        return Likeness(SAME, path, "the same value under the same name")
    return None


def _name_parts(name: str) -> frozenset[str]:
    return frozenset(map(str.lower, _NAME_PART.findall(name))) or frozenset({name})


def _number_in(text: str, number: float, path: Path) -> Likeness | None:
    """A number that a text says, or holds: `1,299.00` and 1299."""
    keys = number_keys(number)
    if not keys:
        return None
    alone = only_entity(text[:_LONGEST])
    if alone is not None and alone.keys & keys:
        return Likeness(OTHERWISE, path, "the same number, written otherwise", alone.text)
    entity = next(
        (entity for entity in entities(text[:_LONGEST]) if entity.kind == "number" and entity.keys & keys), None
    )
    if entity is None:
        return None
    return Likeness(PART + 0.4, path, "the number is in the text", entity.text)


def _written_otherwise(leaf: str, value: str, path: Path) -> Likeness | None:
    """One number, or one day, in two ways of writing; or a text that is nothing else, in a longer one."""
    ours = only_entity(value)
    theirs = only_entity(leaf) if len(leaf) <= 60 else None
    if ours is None and theirs is None:
        return None
    entity = common_entity(value, leaf[:_LONGEST])
    if entity is None:
        return None
    what = "day" if entity.kind == "date" else "number"
    if ours is not None and theirs is not None:
        return Likeness(OTHERWISE, path, f"the same {what}, written otherwise", entity.text)
    return Likeness(PART + 0.3, path, f"the same {what} is in the text", entity.text)


def _within_json(leaf: str, value: Wire, path: Path) -> Likeness | None:
    inner = read_json(leaf)
    within = None if inner is None else likeness(inner, value)
    return None if within is None else Likeness(AS_JSON, path, f"in the JSON of it, {within.why}", within.shared)


def _like_container(origin: Wire, value: list[Wire] | dict[str, Wire]) -> Likeness | None:
    """The same list or mapping in an origin, or in a JSON text there."""
    waiting: list[tuple[Path, Wire]] = [((), origin)]
    texts: list[tuple[Path, Wire]] = []
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
        elif isinstance(node, str) and len(texts) < _MOST_WORDS and (inner := read_json(node)) is not None:
            texts.append((path, inner))
    for path, inner in texts:
        if any(type(part) is type(value) and equal(part, value) for part in _containers(inner)):
            return Likeness(AS_JSON, path, "in the JSON of it, the same value")
    return None


def _containers(value: Wire) -> Iterator[Wire]:
    waiting = [value]
    for _ in range(_MOST_LEAVES):
        if not waiting:
            return
        node = waiting.pop()
        if isinstance(node, list | dict):
            yield node
            waiting += node if isinstance(node, list) else node.values()


def _like_text(leaf: str, value: str, path: Path, *, small: bool = False) -> Likeness | None:
    """One text in the other, as whole words; `small`: one small word of a text too."""
    leaf, value = leaf[:_LONGEST], value[:_LONGEST]
    if leaf == value:
        return Likeness(SAME, path, "the same text")
    short, long = sorted((leaf, value), key=len)
    if short not in long or not is_telling(short) or not _holds_words(long, short):
        return None
    is_small = len(short) < 2 * _LEAST_TEXT and " " not in short and not entities(short)
    if is_small and (short == leaf or (short.islower() and not (small and len(long) <= _SHORT))):
        return None  # that a long text has one small word of another says nothing
    why = "a part of it" if short == value else "it holds the words"
    return Likeness(PART + len(short) / (len(long) + 1), path, why, short)


def _holds_words(text: str, words: str) -> bool:
    """Whether a text holds another that neither begins nor ends inside of a word: `heat` is not in `heatpump`."""
    at = text.find(words)
    while at >= 0:
        end = at + len(words)
        cut_before = at > 0 and words[0].isalnum() and text[at - 1].isalnum()
        if not cut_before and not (end < len(text) and words[-1].isalnum() and text[end].isalnum()):
            return True
        at = text.find(words, at + 1)
    return False


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
    if not content_words(shared):
        return None
    return Likeness(WORDS + count / (len(ours) + 1), path, "the same words", shared)


def _joined(words: Sequence[re.Match[str]]) -> str:
    return " ".join(word.group().lower() for word in words)


def read_json(text: str) -> Wire:
    """The list or mapping that a text is, written out; None for any other text."""
    if text[:1] not in ("{", "[") or len(text) > _LONGEST:
        return None
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict | list) else None
