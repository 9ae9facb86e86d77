"""How a row of the state tree says its value, its type and what changed in it."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from agent_tt.codec.text import describe, summary
from agent_tt.codec.wire import envelope_type
from agent_tt.providers.chat import calls_in, message_of
from agent_tt_tui import format as fmt
from agent_tt_tui.text import clean, cut, show, width
from agent_tt_tui.viewmodel.values.brief import brief
from agent_tt_tui.viewmodel.values.pieces import wrap, wrap_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agent_tt.codec.wire import Wire
    from agent_tt.comparing.values.states import Change
    from agent_tt.providers.shapes import Asked, Message
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.viewmodel.values.pieces import Piece, PieceRole
    from agent_tt_tui.viewmodel.values.tree import Mark, TreeRow

_CONTEXT: Final = 16
"""How many characters of what is the same stand before the first word that differs."""

_LONG: Final = 1_000
"""Texts from this length on say how long they are where they are cut."""

_PROSE_LOOKED_AT: Final = 200

_MOST_COUNTED: Final = 20_000
"""Characters of a text that are broken into rows in the tree; of a longer one the beginning is shown."""

_LEAST_SAID: Final = 8
"""Columns from which on the beginning of a message tells something."""

_LEAST_CHANGE: Final = 12
"""Columns from which on two values are told apart on a row."""

_CALLS_LISTED: Final = 8

_FOLDED_ROWS: Final = 6
"""How many rows a folded value may have: a longer one is read by unfolding it."""


def type_text(value: Wire) -> str:
    """The short name of a value's type; long texts have their size."""
    if isinstance(value, str) and len(value) >= _LONG:
        return f"str {fmt.size(len(value)).replace(' ', '')}"
    return clean(describe(value))


def key_text(row: TreeRow, glyphs: Glyphs) -> str:
    """What a row is called; a message by its position and its role."""
    if row.kind == "unchanged":
        first, last = row.span
        return f"{first}{glyphs.span}{last}"
    key = clean(row.key)
    if row.path and isinstance(row.path[-1], int) and row.kind == "value":
        said = message_of(row.value)
        if said is not None:
            return f"{key} {clean(said.role)}"
    return key


def value_pieces(
    row: TreeRow, columns: int, glyphs: Glyphs, *, edited: bool = False, shows_old: bool = True, typed: bool = False
) -> list[Piece]:
    """What a row says of its value.

    Args:
        row: the row.
        columns: columns there are; what is cut here is cut to about that, the rest is the caller's.
        glyphs: the glyphs to use.
        edited: whether the changes are a person's, not the run's.
        shows_old: whether a changed value says what it was; else another pane does.
        typed: whether the type stands beside it, which says how long a list is.
    """
    if row.kind == "unchanged":
        return [(f"{row.span[1] - row.span[0] + 1:,} unchanged", "note")]
    if row.kind == "removed":
        return [(_short(row.value, columns, glyphs), "removed")]
    change = row.change
    if shows_old and change is not None and change.op == "change" and not row.open:
        return list(_changed(change, columns, glyphs))
    if row.unfolds:
        if row.inside and (change is None or change.op != "add"):
            return _counts(row.inside, glyphs, edited=edited)
        if row.open:
            return []
        return _folded(row, columns, glyphs, typed=typed)
    notes = _moved(change)
    return [*_whole(row.value, columns - sum(width(note) for note, _ in notes), glyphs), *notes]


def value_rows(
    row: TreeRow, columns: int, glyphs: Glyphs, *, most: int, key: str, folded: bool = False, typed: bool = False
) -> list[tuple[Piece, ...]]:
    """A value broken into rows so that nothing of it is cut; none for what one row says.

    What is unfolded or gone has one row.

    Args:
        row: the row.
        columns: columns there are.
        glyphs: the glyphs to use.
        most: how many rows there are; where the value takes more, the last one says so.
        key: the key that shows the rest.
        folded: whether folded values are broken into rows too, though they are not new.
        typed: whether the type stands beside it, which says how long a list is.
    """
    value = row.value
    if row.kind != "value" or row.open or value is None or most < 2 or envelope_type(value) == "damaged":
        return []
    if row.unfolds:
        is_new = row.change is not None and row.change.op == "add"
        if not folded and (not is_new or message_of(value) is not None):
            return []
        limit = min(most, _FOLDED_ROWS)
        is_talk = isinstance(value, list) and bool(value) and message_of(value[-1]) is not None
        is_said = message_of(value) is not None or bool(_calls_of(row))
        is_long = not is_said and len(summary(value, columns * _FOLDED_ROWS + 1)) > columns * _FOLDED_ROWS
        if is_long and not is_talk:
            return []
        # How a conversation's last message begins has the rows that there are.
        room = columns * (limit - 1) if is_long else columns * _FOLDED_ROWS
        rows = list(wrap(value_pieces(row, room, glyphs, shows_old=False, typed=typed), columns))
        return rows if len(rows) <= limit else []
    is_read = isinstance(value, str) and (_is_prose(value) or "\n" in value.strip())
    text = str(value) if is_read else clean(summary(value, _MOST_COUNTED + 1))
    rows = list(islice(wrap_text(text[:_MOST_COUNTED], columns, "text", glyphs.cut, limit=_MOST_COUNTED), most + 1))
    if len(text) <= _MOST_COUNTED and len(rows) <= most:
        return rows
    if len(text) <= _MOST_COUNTED:
        every = sum(1 for _ in wrap_text(text, columns, "text", glyphs.cut, limit=len(text)))
        more = f"{every - most + 1:,} more lines: {key}"
    else:
        more = f"goes on, {fmt.size(len(text))} in all"
    return [*rows[: most - 1], ((f"{glyphs.alike} {more}", "note"),)]


def _folded(row: TreeRow, columns: int, glyphs: Glyphs, *, typed: bool) -> list[Piece]:
    role: PieceRole = "text" if row.mark else "muted"
    said = message_of(row.value)
    if said is not None:
        return _said(said, columns, role, glyphs)
    notes = _moved(row.change)
    room = max(1, columns - sum(width(note) for note, _ in notes))
    shown = _conversation(row, room, role, glyphs, typed=typed) if isinstance(row.value, list) else []
    return [*(shown or [(brief(row.value, room, glyphs.cut), role)]), *notes]


def _said(said: Message, columns: int, role: PieceRole, glyphs: Glyphs) -> list[Piece]:
    """What a message says, or the calls that it asks for."""
    if said.calls:
        return _asked(said.calls, columns, role, glyphs)
    return [(show(said.text, columns, glyphs.cut), role)]


def _asked(calls: Sequence[Asked], columns: int, role: PieceRole, glyphs: Glyphs) -> list[Piece]:
    listed = ", ".join(str(call) for call in calls[:_CALLS_LISTED])
    return [(f"{glyphs.to} ", "muted"), (show(listed, columns - width(glyphs.to) - 1, glyphs.cut), role)]


def _calls_of(row: TreeRow) -> Sequence[Asked]:
    """The calls that a list of them asks for, which read as calls however much room there is; none for other lists."""
    listed = row.value
    if row.path[-1:] != ("tool_calls",) or not isinstance(listed, list) or len(listed) > _CALLS_LISTED:
        return []
    calls = calls_in(listed)
    return calls if len(calls) == len(listed) else []


def _conversation(row: TreeRow, columns: int, role: PieceRole, glyphs: Glyphs, *, typed: bool) -> list[Piece]:
    """How many messages a list has and how the last begins, or which calls are asked for; empty where nothing fits."""
    listed = row.value
    if not isinstance(listed, list) or not listed:
        return []
    calls = _calls_of(row)
    if calls:
        several: list[Piece] = [(f"{len(calls)} calls ", "note")] if len(calls) > 1 and not typed else []
        return [*several, *_asked(calls, columns - sum(width(text) for text, _ in several), role, glyphs)]
    if len(summary(listed, columns + 1)) <= columns:
        return []
    last = message_of(listed[-1])
    if last is None:
        return []
    count = "" if typed else f"{len(listed):,}, "
    who = f"{count}{'last ' if len(listed) > 1 else ''}{clean(last.role)}"
    room = columns - width(who) - 2
    begins = _said(last, room, role, glyphs) if room >= _LEAST_SAID else []
    if begins and begins[-1][0].strip():
        return [(f"{who}: ", "note"), *begins]
    return [(who, "note")] if width(who) <= columns else []


def _moved(change: Change | None) -> list[Piece]:
    if change is None or change.op not in ("move", "reorder"):
        return []
    reordered = f"  {change.of or 'keys'} in another order"
    return [(reordered if change.op == "reorder" else f"  was {clean(change.old_path or '')}", "note")]


def _counts(inside: Mapping[Mark, int], glyphs: Glyphs, *, edited: bool) -> list[Piece]:
    if edited:
        return [(f"{glyphs.edited}{sum(inside.values()):,}", "yours")]
    kinds: tuple[tuple[Mark, str, PieceRole], ...] = (
        ("+", glyphs.added, "added_mark"),
        ("~", glyphs.changed, "changed_mark"),
        ("-", glyphs.removed, "removed_mark"),
    )
    pieces: list[Piece] = []
    for mark, glyph, role in kinds:
        if inside.get(mark):
            gap = " " if pieces else ""
            pieces.append((f"{gap}{glyph}{inside[mark]:,}", role))
    return pieces


def _whole(value: Wire, columns: int, glyphs: Glyphs) -> Iterator[Piece]:
    """A value by itself; what is damaged says so."""
    if value is None:
        yield glyphs.interrupted, "faint"
        return
    if envelope_type(value) == "damaged":
        why = value.get("why") if isinstance(value, dict) else None
        yield f"{glyphs.failed} {show(str(why), columns, glyphs.cut)}", "failed_text"
        return
    if isinstance(value, str) and len(value) >= _LONG:
        total = f"  {fmt.size(len(value))}"
        yield show(value, max(1, columns - len(total)), glyphs.cut), "text"
        yield total, "muted"
        return
    yield _short(value, columns, glyphs), "text"


def _is_prose(text: str) -> bool:
    return " " in text[:_PROSE_LOOKED_AT].strip()


def _short(value: Wire, columns: int, glyphs: Glyphs) -> str:
    """One line of a value: prose as it reads, everything else as code."""
    if isinstance(value, str) and _is_prose(value):
        return show(value, max(1, columns), glyphs.cut)
    return cut(clean(summary(value, max(1, columns) + 1)), max(1, columns), glyphs.cut)


def _changed(change: Change, columns: int, glyphs: Glyphs) -> Iterator[Piece]:
    old, new = change.old, change.new
    if isinstance(old, str) and isinstance(new, str) and (" " in old or " " in new):
        yield from _words(old, new, columns, glyphs)
        return
    before, after = (clean(summary(value, max(8, columns))) for value in (old, new))
    if before == after:
        before, after = f"{before} {clean(describe(old))}", f"{after} {clean(describe(new))}"
    if width(before) + 3 + width(after) > columns:
        before = cut(before, max(columns // 3, columns - 3 - width(after)), glyphs.cut)
    if columns >= _LEAST_CHANGE:  # with less room, what it is comes before what it was
        yield before, "removed"
    yield f"{' ' if columns >= _LEAST_CHANGE else ''}{glyphs.to} ", "muted"
    yield after, "added"


def _words(old: str, new: str, columns: int, glyphs: Glyphs) -> Iterator[Piece]:
    """The new text from shortly before what differs, its new words marked; where it has none, the words that went."""
    from agent_tt.comparing.sequences.tokens import common_length
    from agent_tt.comparing.values.words import compare_words

    differs = common_length(old, new)
    near = differs - _CONTEXT
    begin = max(near, new.find(" ", near, differs) + 1) if near > _CONTEXT else 0
    seen = slice(begin, begin + 4 * max(1, columns) + 100)
    segments = compare_words(old[seen], new[seen])
    left_out = "removed" if any(segment.kind == "added" for segment in segments) else "added"
    roles: dict[str, PieceRole] = {"same": "text", "added": "added", "removed": "removed"}
    if begin:
        yield f"{glyphs.cut} ", "muted"
    for segment in segments:
        if segment.kind != left_out:
            yield clean(segment.text), roles[segment.kind]
