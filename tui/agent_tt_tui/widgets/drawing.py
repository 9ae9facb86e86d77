"""Drawing of the pieces that the view models lay out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.style import Style

    from agent_tt_tui.palette import Palette
    from agent_tt_tui.row import Row
    from agent_tt_tui.viewmodel.pieces import Piece, PieceRole


def add_pieces(row: Row, pieces: Iterable[Piece], styles: Palette) -> Row:
    """Add pieces to a row, each in its role; words that were added or removed can be told without colour."""
    for text, role in pieces:
        if role == "added":
            row.add(*styles.added(text))
        elif role == "removed":
            row.add(*styles.removed(text))
        else:
            row.add(text, style_of(role, styles))
    return row


def style_of(role: PieceRole, styles: Palette) -> Style:
    """The style of a role."""
    known: dict[PieceRole, Style] = {
        "text": styles.text,
        "strong": styles.strong,
        "muted": styles.muted,
        "faint": styles.faint,
        "note": styles.note,
        "title": styles.title_blurred,
        "model": styles.model,
        "key": styles.key,
        "new": styles.added_text,
        "added": styles.added_word,
        "removed": styles.removed_word,
        "added_mark": styles.added_mark,
        "removed_mark": styles.removed_mark,
        "changed_mark": styles.changed_mark,
        "yours": styles.yours,
        "failed": styles.failed,
        "failed_text": styles.failed_text,
        "well": styles.well,
        "hit": styles.search_hit,
    }
    return known[role]
