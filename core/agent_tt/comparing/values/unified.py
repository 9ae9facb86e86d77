"""A state as lines of text, and the difference of two states as a unified diff of these, for `patch` and for reading.

The text is YAML (1.1 and 1.2), of which any reader makes the state again: keys sorted, values as JSON but for numbers
such as `1.0e+22`, and a text of several lines as a block of lines. Every state has one text, and two states that differ
have two: types show (`1`, `1.0`, `true`, `"1"`), typed values are the envelopes that they are recorded as. Nothing in
it is a control character but the tabs of such a block.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from agent_tt.comparing.sequences.anchors import align_long
from agent_tt.comparing.sequences.sequence import gaps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_tt.codec.wire import Wire

__all__ = ["state_lines", "unified_diff"]

_CONTEXT: Final = 3
_LONGEST_KEY: Final = 1_000
"""Characters from which on a key has a line of its own: a reader need not look further for the colon than 1,024."""

_FIRST_PAIR: Final = 0x10000
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_RESERVED: Final = frozenset({"false", "n", "no", "null", "off", "on", "true", "y", "yes"})
"""Words that are no texts in YAML."""


def state_lines(state: Wire) -> list[str]:
    """The text of a state, line by line, without the ends of the lines."""
    return list(_lines(state, ""))


def unified_diff(old: Sequence[str], new: Sequence[str], old_name: str, new_name: str) -> Iterator[str]:
    """The unified diff of two texts, line by line; nothing where they are equal.

    Args:
        old: the lines of the one text.
        new: the lines of the other.
        old_name: what the first header says.
        new_name: what the second header says.
    """
    pairs = align_long(old, new)
    gone = [gap for gap in gaps(pairs, len(old), len(new)) if gap[0] < gap[1] or gap[2] < gap[3]]
    if gone:
        yield f"--- {_one_line(old_name)}"
        yield f"+++ {_one_line(new_name)}"
    first = 0
    while first < len(gone):
        last = first
        while last + 1 < len(gone) and gone[last + 1][0] - gone[last][1] <= 2 * _CONTEXT:
            last += 1
        yield from _hunk(old, new, gone[first : last + 1])
        first = last + 1


_Gap = tuple[int, int, int, int]
"""Old lines [first, second) gave way to new lines [third, fourth)."""


def _hunk(old: Sequence[str], new: Sequence[str], gone: Sequence[_Gap]) -> Iterator[str]:
    before = min(_CONTEXT, gone[0][0])
    start, new_start = gone[0][0] - before, gone[0][2] - before
    after = min(_CONTEXT, len(old) - gone[-1][1])
    stop, new_stop = gone[-1][1] + after, gone[-1][3] + after
    yield f"@@ -{_span(start, stop)} +{_span(new_start, new_stop)} @@"
    at = start
    for first, last, new_first, new_last in gone:
        yield from (f" {line}" for line in old[at:first])
        yield from (f"-{line}" for line in old[first:last])
        yield from (f"+{line}" for line in new[new_first:new_last])
        at = last
    yield from (f" {line}" for line in old[at:stop])


def _span(start: int, stop: int) -> str:
    """Lines as a hunk's header counts them: an empty stretch is named by the line before it."""
    return f"{start + 1 if stop > start else start},{stop - start}"


def _lines(value: Wire, indent: str) -> Iterator[str]:
    """The lines of a value that stands by itself."""
    if isinstance(value, dict) and value:
        for key in sorted(value):
            written = _key(key)
            if len(written) > _LONGEST_KEY:
                yield f"{indent}? {written}"
                written = ""
            yield from _entry(f"{indent}{written}:", value[key], indent)
    elif isinstance(value, list) and value:
        for item in value:
            if isinstance(item, (dict, list)) and item:
                inner = _lines(item, f"{indent}  ")
                yield f"{indent}- {next(inner)[len(indent) + 2 :]}"
                yield from inner
            else:
                yield from _entry(f"{indent}-", item, indent)
    else:
        yield from _entry("", value, indent)


def _entry(lead: str, value: Wire, indent: str) -> Iterator[str]:
    """A value behind its key or its dash."""
    if isinstance(value, (dict, list)) and value:
        yield lead
        yield from _lines(value, f"{indent}  ")
    elif isinstance(value, str) and _is_block(value):
        # The figure is the indent, which cannot be told from a first line that begins with blanks; `-` and `+` say
        # whether the text ends with its last line or behind it.
        block = "|2+" if value.endswith("\n") else "|2-"
        yield f"{lead} {block}" if lead else block
        lines = value.removesuffix("\n").split("\n")
        yield from (f"{indent}  {line}" if line else "" for line in lines)
    else:
        written = _number(value) if isinstance(value, float) else _printable(json.dumps(value, ensure_ascii=False))
        yield f"{lead} {written}" if lead else written


def _number(value: float) -> str:
    """A float with a point in it: without one, `1e+22` is a text in YAML 1.1."""
    digits, exponent, power = json.dumps(value).partition("e")
    return f"{digits}.0{exponent}{power}" if exponent and "." not in digits else f"{digits}{exponent}{power}"


def _is_block(text: str) -> bool:
    """Whether a text of several lines can be written as they are."""
    if "\n" not in text.removesuffix("\n") or not text.strip():
        return False
    return text.replace("\n", "").replace("\t", "").isprintable()


def _key(key: str) -> str:
    if _WORD.fullmatch(key) and key.lower() not in _RESERVED:
        return key
    return _printable(json.dumps(key, ensure_ascii=False))


def _printable(text: str) -> str:
    r"""JSON text with what does not print written out: `\u202e`."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    """A character as both JSON and YAML write it; beyond the first 65,536 as YAML does, which knows no pairs."""
    return json.dumps(char)[1:-1] if ord(char) < _FIRST_PAIR else f"\\U{ord(char):08x}"


def _one_line(name: str) -> str:
    return _printable(name.replace("\t", " ").replace("\n", " "))
