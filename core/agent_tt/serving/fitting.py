"""Making a value fit: what is too large is cut, in its place stands that something was, and a list says what and where.

In place of what was cut stands `{"$type": "left_out", "$v": "list 20"}`: an envelope, which no recorded value of a
user's own looks like. The list beside the answer is what counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt._dataclass import dataclass
from agent_tt.codec.text import describe
from agent_tt.codec.wire import TYPE, VALUE
from agent_tt.serving.text import length, written

if TYPE_CHECKING:
    from agent_tt.codec.wire import Path, Wire

__all__ = ["LEAST", "LeftOut", "cut_text", "fit", "fitting"]

LEAST: Final = 120
"""Characters below which nothing is fitted: as much as it takes to say what was left out."""

_MARK: Final = "left_out"
_LONGEST_KEY: Final = 200


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One thing that an answer does not show, or not whole.

    Attributes:
        path: where in the value, in wire coordinates.
        what: what is there, `text 12000`, and how much of it is shown.
    """

    path: Path
    what: str


def fit(value: Wire, limit: int, *, depth: int | None = None) -> tuple[Wire, list[LeftOut]]:
    """A value as far as it can be written with `limit` characters, and what of it is not there.

    Args:
        value: the value; it is not changed.
        limit: characters, as `written` counts them; at least `LEAST` are taken.
        depth: how many levels of containers are opened; None opens all.
    """
    left: list[LeftOut] = []
    limit = max(limit, LEAST)
    return _fit(value, limit, (), left, depth), left


def cut_text(text: str, limit: int) -> str:
    """Cut a text off where `written` would take more than `limit` characters for it, and put `…` there."""
    if len(text) + 2 <= limit and len(written(text)) <= limit:
        return text
    return text[: fitting(text, limit - 1)] + "…"


def fitting(text: str, limit: int) -> int:
    """Count the characters from the beginning of a text for which `written` takes at most `limit`."""
    low, high = 0, min(len(text), limit)
    while low < high:  # escapes make some characters six
        middle = (low + high + 1) // 2
        if len(written(text[:middle])) <= limit:
            low = middle
        else:
            high = middle - 1
    return low


def _fit(value: Wire, limit: int, path: Path, left: list[LeftOut], depth: int | None) -> Wire:
    is_open = depth is None or depth > 0 or not isinstance(value, list | dict) or not value
    if is_open and depth is None and length(value, limit) <= limit:
        return value
    if isinstance(value, str):
        cut = cut_text(value, limit)
        if cut != value:
            left.append(LeftOut(path, f"text {len(value)}, its first {len(cut) - 1} characters are shown"))
        return cut
    if not isinstance(value, list | dict):
        return value
    if not is_open or limit < LEAST:
        left.append(LeftOut(path, describe(value)))
        return _mark(describe(value))
    inner = None if depth is None else depth - 1
    if isinstance(value, list):
        return _fit_list(value, limit, path, left, inner)
    return _fit_dict(value, limit, path, left, inner)


def _fit_list(value: list[Wire], limit: int, path: Path, left: list[LeftOut], depth: int | None) -> Wire:
    shown: list[Wire] = []
    room = limit - LEAST // 2  # for the mark at the end
    for index, item in enumerate(value):
        fitted = _part(item, room, limit, (*path, index), left, depth)
        if fitted is None:
            left.append(LeftOut(path, f"list {len(value)}, its first {index} items are shown"))
            return [*shown, _mark(f"{len(value) - index} more")]
        part, room = fitted
        shown.append(part)
    return shown


def _fit_dict(value: dict[str, Wire], limit: int, path: Path, left: list[LeftOut], depth: int | None) -> Wire:
    shown: dict[str, Wire] = {}
    room = limit - LEAST // 2
    for index, (key, item) in enumerate(value.items()):
        taken = length(key, _LONGEST_KEY) + 1
        fitted = None if taken > _LONGEST_KEY else _part(item, room - taken, limit, (*path, key), left, depth)
        if fitted is None:
            left.append(LeftOut(path, f"{describe(value)}, its first {index} keys are shown"))
            return {**shown, "…": _mark(f"{len(value) - index} more keys")}
        shown[key], room = fitted
    return shown


def _part(
    item: Wire, room: int, limit: int, path: Path, left: list[LeftOut], depth: int | None
) -> tuple[Wire, int] | None:
    """A part that fits into what room is left, and the room after it; None where there is none."""
    most = min(room - 1, max(limit // 2, LEAST))
    if most < LEAST and length(item, most) > most:
        return None
    before = len(left)
    part = _fit(item, most, path, left, depth)
    taken = length(part, limit) + 1
    if taken > room:
        del left[before:]
        return None
    return part, room - taken


def _mark(what: str) -> Wire:
    return {TYPE: _MARK, VALUE: what}
