"""The operations that turn one wire value into another: exact to the type and the order of keys, and minimal.

Nothing is said of what did not change. Lists are aligned by element; an element that was edited while its neighbours
moved is still looked into if half of its entries are equal, else it is given as replaced.
"""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING, Final

from agent_tt.codec.carried import leading
from agent_tt.codec.tlv import tlv
from agent_tt.codec.wire import VALUE, Wire, is_envelope
from agent_tt.errors import CorruptDelta
from agent_tt.history.changes.align import changed_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt.codec.wire import Path
    from agent_tt.history.changes.align import Block
    from agent_tt.history.changes.ops import Op

__all__ = ["EXACT_BY_EQUALITY", "diff", "diff_into", "list_diff_into", "same", "text_diff"]

_SHORT_TEXT: Final = 16
"""Characters below which a text that grew is simply set again."""

_MANY: Final = 8
"""Objects of a list that are said to be others one by one, at most, where all of them are."""

EXACT_BY_EQUALITY: Final = frozenset({str, int, bool, type(None)})


def diff(old: Wire, new: Wire) -> list[Op]:
    """The operations that turn `old` into `new`; they share values with `new`.

    Raises:
        CorruptDelta: a value is nested deeper than anything that is ever recorded.
    """
    ops: list[Op] = []
    try:
        diff_into(old, new, (), ops)
    except RecursionError as error:
        raise CorruptDelta("the states are nested too deeply to be ones that were recorded") from error
    return ops


def same(old: object, new: object) -> bool:
    """Whether two wire values are the same by type, sign of zero and order of keys."""
    if type(old) is not type(new) or old != new:
        return False
    if type(old) is list and all(map(is_, old, new)):  # type: ignore[call-overload]  # two lists of one length
        return True
    return type(old) in EXACT_BY_EQUALITY or tlv(old) == tlv(new)


def diff_into(old: Wire, new: Wire, path: Path, ops: list[Op]) -> None:
    """Append the operations that turn `old`, which is at `path`, into `new`."""
    if same(old, new):
        return
    if type(old) is dict and type(new) is dict and is_envelope(old) == is_envelope(new):
        if not is_envelope(new):
            _dict_diff_into(old, new, path, ops)
            return
        if VALUE in old and VALUE in new and same(_header(old), _header(new)):
            diff_into(old[VALUE], new[VALUE], (*path, VALUE), ops)
            return
    elif type(old) is list and type(new) is list:
        start = leading(old, new)
        if start == len(old):
            ops.append(["a", list(path), start, new[start:]])
            return
        old, new = old[start:], new[start:]
        list_diff_into(list(map(tlv, old)), list(map(tlv, new)), old.__getitem__, new, path, ops, start)
        return
    elif type(old) is str and type(new) is str:
        ops.append(text_diff(old, new, path))
        return
    ops.append(["s", list(path), new])


def text_diff(old: str, new: str, path: Path) -> Op:
    """The operation for a text that changed: streamed text only grows."""
    if len(old) >= _SHORT_TEXT and new.startswith(old):
        return ["t", list(path), len(old), new[len(old) :]]
    return ["s", list(path), new]


def list_diff_into(
    old_keys: Sequence[bytes],
    new_keys: Sequence[bytes],
    old_item: Callable[[int], Wire],
    new: Sequence[Wire],
    path: Path,
    ops: list[Op],
    start: int = 0,
) -> None:
    """Append the operations that turn one list into another, from the end to the front.

    Args:
        old_keys: the `tlv` of each old element, from position `start` on.
        new_keys: the `tlv` of each new element, from there on.
        old_item: gives the old element of a key, counted as in `old_keys`.
        new: the new elements of `new_keys`.
        path: where the list is.
        ops: receives the operations.
        start: elements at the front that are known to be equal.
    """
    end = len(old_keys)
    blocks = changed_blocks(old_keys, new_keys)
    if start == 0 and blocks == [(0, end, 0, len(new))] and _is_all_other(old_item, new, end):
        ops.append(["s", list(path), list(new)])
        return
    for block in reversed(blocks):
        front, back = _edited_in_place(block, old_item, new)
        for offset in range(back):
            at = block.old_end - 1 - offset
            diff_into(old_item(at), new[block.new_end - 1 - offset], (*path, start + at), ops)
        first, last = block.old_start + front, block.old_end - back
        items = list(new[block.new_start + front : block.new_end - back])
        if first == end and items:
            ops.append(["a", list(path), start + end, items])
        elif start == first == 0 and last == end:
            ops.append(["s", list(path), items])  # nothing stayed: from here on the list may count as append-only again
        elif first < last or items:
            ops.append(["x", list(path), start + first, last - first, items])
        for offset in reversed(range(front)):
            at = block.old_start + offset
            diff_into(old_item(at), new[block.new_start + offset], (*path, start + at), ops)


def _edited_in_place(block: Block, old_item: Callable[[int], Wire], new: Sequence[Wire]) -> tuple[int, int]:
    """How many elements at the front and at the back of a changed block are old ones that were edited."""
    removed, added = block.old_end - block.old_start, block.new_end - block.new_start
    if removed == added:
        return removed, 0
    shortest = min(removed, added)
    front = back = 0
    while front < shortest and _alike(old_item(block.old_start + front), new[block.new_start + front]):
        front += 1
    while back < shortest - front and _alike(old_item(block.old_end - 1 - back), new[block.new_end - 1 - back]):
        back += 1
    return front, back


def _is_all_other(old_item: Callable[[int], Wire], new: Sequence[Wire], count: int) -> bool:
    """Whether a list of objects gave way to as many that have little in common with those in their places."""
    return len(new) == count >= _MANY and all(
        type(item) is dict and type(old_item(at)) is dict and not _alike(old_item(at), item)
        for at, item in enumerate(new)
    )


def _alike(old: Wire, new: Wire) -> bool:
    if type(old) is not dict or type(new) is not dict:
        return False
    equal = sum(key in new and same(value, new[key]) for key, value in old.items())
    return 2 * equal >= max(len(old), len(new)) > 0


def _dict_diff_into(old: dict[str, Wire], new: dict[str, Wire], path: Path, ops: list[Op]) -> None:
    if not old.keys() <= new.keys():
        ops.extend(["d", [*path, key]] for key in old if key not in new)
    for key, value in new.items():
        if key not in old:
            ops.append(["s", [*path, key], value])
        elif old[key] is not value:  # of the very same object nothing has to be said
            diff_into(old[key], value, (*path, key), ops)
    keys: list[Wire] = [*new]
    if keys != [*old] and keys != [key for key in old if key in new] + [key for key in new if key not in old]:
        ops.append(["o", list(path), keys])


def _header(envelope: dict[str, Wire]) -> Wire:
    return {key: value for key, value in envelope.items() if key != VALUE}
