"""One change of an edit on one row: `window_days 14 → 30`, of a long text the words that differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.codec.text import summary
from agent_tt.comparing.values.edit_leaves import edit_changes
from agent_tt_tui.row import Row
from agent_tt_tui.text import clean, cut_start, show, width

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.values.states import Change
    from agent_tt.model import Edit
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.palette import Palette

_LONG: Final = 40
"""Characters of two texts together from which only the words are shown that differ."""

_WIDE: Final = 1_000

_CONTEXT: Final = 12
"""Characters of what is the same that stand before these."""


def edit_rows(edits: Iterable[Edit]) -> list[tuple[Edit, Change]]:
    """What there is a row for: each change with the edit that makes it."""
    return [(edit, change) for edit in edits for change in edit_changes(edit)]


def edit_row(edit: Edit, change: Change, columns: int, styles: Palette, glyphs: Glyphs) -> Row:
    """Draw one change: where, and what becomes what."""
    row = Row(glyphs.cut).add(f"{glyphs.edited} ", styles.yours)
    room = max(16, columns // 2, columns - row.cells - 3 - _needed(change))
    row.add(cut_start(_where(edit, change, room), room, glyphs.cut), styles.text).add("  ")
    if edit.op == "mute":
        name = "" if edit.value is None else f"{clean(summary(edit.value, 30))} "
        return row.add(f"{name}muted: as if it had never happened", styles.muted)
    if change.op == "move":
        return row.add(f"was at {clean(change.old_path or '')}", styles.muted)
    if change.op == "reorder":
        return row.add(f"other order of {change.of or 'items'}", styles.muted)
    if change.op == "remove":
        room = max(8, columns - row.cells - 1)
        return row.add(*styles.removed(clean(summary(change.old, room)) if change.old is not None else "left out"))
    if change.op == "add":
        return row.add(*styles.added(clean(summary(change.new, max(8, columns - row.cells - 1)))))
    return _changed(row, change.old, change.new, columns, styles, glyphs)


def unmade_row(edit: Edit, reason: str, columns: int, styles: Palette, glyphs: Glyphs) -> Row:
    """Draw why nothing came of an edit."""
    row = Row(glyphs.cut).add(f"{glyphs.edited} ", styles.yours).add("no effect  ", styles.failed)
    where = clean(edit.where or "the whole state")
    return row.add(show(f"{where}: {reason}", columns - row.cells, glyphs.cut), styles.text)


def _needed(change: Change) -> int:
    """Columns that short values of a change take; of long ones, which take what there is, as many as a screen has."""
    shown = [summary(value, _LONG) for value in (change.old, change.new)]
    return sum(map(width, shown)) + 4 if max(map(len, shown)) < _LONG else _WIDE


def _where(edit: Edit, change: Change, room: int) -> str:
    """What is changed, in words; of a call as the command line has it, where words are too long for the row."""
    where = clean(change.path or "the whole state")
    if edit.step is None or edit.call is None or width(where) <= room:
        return where
    in_words = f"{edit.target} of call {edit.call} in step {edit.step}"
    return where.replace(in_words, f"{edit.target} {edit.step}.{edit.call}")


def _changed(row: Row, old: Wire, new: Wire, columns: int, styles: Palette, glyphs: Glyphs) -> Row:
    if isinstance(old, str) and isinstance(new, str) and len(old) + len(new) > _LONG:
        before, was, now = _differing(old, new)
        row.add(f"{glyphs.cut if len(before) > _CONTEXT else ''}{clean(before[-_CONTEXT:])}", styles.muted)
        room = max(8, (columns - row.cells - 4) // 2)
        was, now = (clean(summary(text, room)[1:-1] if len(text) > room else text) for text in (was, now))
    else:
        room = max(16, columns - row.cells - 4)
        least = room // 2
        now = clean(summary(new, max(least, room - len(summary(old, least)))))
        was = clean(summary(old, max(least, room - width(now))))
    if was:
        row.add(*styles.removed(was)).add(f" {glyphs.to} ", styles.muted)
    return row.add(*styles.added(now)) if now else row.add("nothing", styles.muted)


def _differing(old: str, new: str) -> tuple[str, str, str]:
    """What two texts begin with alike, and what of each lies between that and how they end alike: whole words."""
    start = 0
    for a, b in zip(old, new, strict=False):
        if a != b:
            break
        start += 1
    while start and not old[start - 1].isspace():
        start -= 1
    most, end = min(len(old), len(new)) - start, 0
    while end < most and old[-1 - end] == new[-1 - end]:
        end += 1
    while end and not old[len(old) - end].isspace():
        end -= 1
    return old[:start], old[start : len(old) - end], new[start : len(new) - end]
