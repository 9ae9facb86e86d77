"""Drawing of the pieces that the view models lay out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt_tui.status import kind_glyph, step_style
from agent_tt_tui.viewmodel.runs.strip_cells import buckets

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.style import Style

    from agent_tt.model import Step
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.row import Row
    from agent_tt_tui.viewmodel.values.pieces import Piece, PieceRole

_LONGEST_CELL = 3


def add_strip(
    row: Row, steps: Sequence[Step], parts_at: int | None, columns: int, styles: Palette, glyphs: Glyphs
) -> Row:
    """Add the strip of a run's steps: a glyph each, of the rarest kind where several share one.

    Args:
        row: where to.
        steps: the steps.
        parts_at: the step at which the run parts from the one that it stands beside; None for none.
        columns: the columns there are.
        styles: the roles to draw with.
        glyphs: the glyphs.
    """
    shown = buckets(steps, columns)
    cell = max(1, min(_LONGEST_CELL, columns // max(1, len(shown))))
    for index, step in enumerate(shown):
        parts = parts_at is not None and step.number == parts_at
        glyph = glyphs.failed if step.status == "error" else kind_glyph(step.kind, glyphs)
        row.add(glyphs.differs if parts else glyph, styles.yours if parts else step_style(step, styles))
        if index < len(shown) - 1:
            row.add(glyphs.line * (cell - 1), styles.faint)
    return row


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
