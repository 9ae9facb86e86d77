"""The two values of a change, each as pieces: what only one side has stands out, by word where both are texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.codec.text import summary
from agent_tt.comparing.sequences.tokens import common_length
from agent_tt.comparing.values.words import compare_words
from agent_tt_tui.text import clean, cut, width
from agent_tt_tui.viewmodel.calls.messages import line_at

if TYPE_CHECKING:
    from agent_tt.comparing.values.states import Change
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.viewmodel.values.pieces import Piece, PieceRole

MOST_TEXT: Final = 4_000
"""Characters of a value that is shown in full."""

_SEEN_BEFORE: Final = 100
"""How many characters before the first one that differs are compared, so that whole words are."""

_CONTEXT: Final = 14
"""How many characters of what is the same are kept before the first word that differs."""


def side_pieces(change: Change, side: str, columns: int | None, glyphs: Glyphs) -> list[Piece]:
    """One side of a change: what is only there stands out, by word where both are texts.

    Args:
        change: The change.
        side: `a` or `b`.
        columns: For about so many columns; None for all of it.
        glyphs: The glyphs.
    """
    own: PieceRole = "removed" if side == "a" else "added"
    missing = (side == "a" and change.op == "add") or (side == "b" and change.op == "remove")
    if missing:
        return [(glyphs.interrupted, "faint")]
    if change.op == "move":
        return [(clean((change.old_path or "") if side == "a" else change.path), "muted")]
    pieces: list[Piece] = [(f"{change.of} ", "muted")] if change.of else []
    old, new = change.old, change.new
    if change.op == "change" and isinstance(old, str) and isinstance(new, str):
        return pieces + word_pieces(old, new, side, columns, glyphs)
    said_old, said_new = line_at(change.path, old), line_at(change.path, new)
    if said_old == said_new:
        said_old = said_new = None  # two messages that differ in what their lines do not show
    if said_old is not None and said_new is not None and said_old[0] == said_new[0]:
        pieces.append((f"{_speaker(said_old[0], glyphs)} ", "muted"))
        return pieces + word_pieces(said_old[1], said_new[1], side, columns, glyphs)
    value, said = (old, said_old) if side == "a" else (new, said_new)
    most = MOST_TEXT if columns is None else columns
    if said is None:
        return [*pieces, (clean(summary(value, max(8, most))), own)]
    return [*pieces, (cut(f"{_speaker(said[0], glyphs)} {said[1]}", most, glyphs.cut), own)]


def _speaker(who: str | None, glyphs: Glyphs) -> str:
    """Who speaks, or an arrow where tools are called."""
    return glyphs.to if who is None else who


def word_pieces(old: str, new: str, side: str, columns: int | None, glyphs: Glyphs) -> list[Piece]:
    """One side of two texts, its own words marked; the arguments are those of `side_pieces`."""
    if not (old if side == "a" else new):
        return [('""', "muted")]
    own: PieceRole = "removed" if side == "a" else "added"
    pieces: list[Piece] = []
    if columns is None:
        roles: dict[str, PieceRole] = {"same": "muted", own: own}
        segments = compare_words(old[:MOST_TEXT], new[:MOST_TEXT])
        pieces = [(clean(each.text), roles[each.kind]) for each in segments if each.kind in roles]
        left = len(old if side == "a" else new) - MOST_TEXT
        return [*pieces, (f" {glyphs.cut} {left:,} more characters", "note")] if left > 0 else pieces
    # Only what is near the first difference is compared: this is drawn while somebody scrolls.
    begin = max(0, common_length(old, new) - _SEEN_BEFORE)
    seen = slice(begin, begin + 40 * columns)
    for index, segment in enumerate(compare_words(old[seen], new[seen])):
        if segment.kind not in ("same", own) or sum(width(text) for text, _ in pieces) > columns:
            continue
        text = segment.text
        # What is the same before the first difference only has to say where one is.
        if segment.kind == "same" and index == 0 and (begin or len(text) > 2 * _CONTEXT):
            text = f"{glyphs.cut} {text[-_CONTEXT:].partition(' ')[2]}"
        pieces.append((clean(text[: columns + 1]), "muted" if segment.kind == "same" else own))
    return pieces


def word_lines(old: str, new: str, side: str) -> list[list[Piece]]:
    """One side of two texts in its own lines, its own words marked."""
    own: PieceRole = "removed" if side == "a" else "added"
    lines: list[list[Piece]] = [[]]
    for segment in compare_words(old, new):
        if segment.kind not in ("same", own):
            continue
        for number, text in enumerate(segment.text.split("\n")):
            if number:
                lines.append([])
            if text:
                lines[-1].append((clean(text), "muted" if segment.kind == "same" else own))
    return lines
