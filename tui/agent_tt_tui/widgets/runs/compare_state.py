"""What differs between the states of two runs at the selected pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt.codec.text import summary
from agent_tt.comparing.sequences.tokens import common_length
from agent_tt.comparing.values.words import compare_words
from agent_tt_tui.lines import LineView
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row
from agent_tt_tui.text import clean, cut, cut_start, width
from agent_tt_tui.viewmodel.calls.messages import line_of
from agent_tt_tui.widgets.runs.compare_steps import GUTTER, half

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from textual.strip import Strip

    from agent_tt.comparing.values.states import Change
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.palette import Palette

SIDE_BY_SIDE_FROM: Final = 100
"""From how many columns on both values of a change stand on one row, whatever their length."""

_MOST_CHANGES: Final = 2_000
"""Changes that are shown; the title counts all."""

_PATH_COLUMNS: Final = 20
_SEEN_BEFORE: Final = 100
"""How many characters before the first one that differs are compared, so that whole words are."""

_CONTEXT: Final = 14
"""How many characters of what is the same are kept before the first word that differs."""


class CompareState(LineView):
    """The changes that turn A's state into B's; a long pair of values takes three rows when it is narrow."""

    HELP = "What differs in the state at this pair."

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.changes: Sequence[Change] = ()
        """What is shown."""
        self.edited: Collection[str] = ()
        """Paths that a person edited, drawn as theirs."""
        self.note = ""
        """Stands there where nothing differs."""
        self._rows: list[tuple[int, int]] = []
        self._path_columns = _PATH_COLUMNS

    def show(self, changes: Sequence[Change], edited: Collection[str], note: str) -> None:
        """Show changes, or a note where there are none."""
        self.changes, self.edited, self.note = changes, edited, note
        self._lay_out()
        self.refresh_lines_data()

    def on_resize(self) -> None:
        """Lay the changes out for the new width."""
        self._lay_out()

    def _lay_out(self) -> None:
        wide = self.size.width >= SIDE_BY_SIDE_FROM
        longest = max((width(clean(change.path)) + 1 for change in self.changes[:_MOST_CHANGES]), default=0)
        self._path_columns = max(_PATH_COLUMNS, min(longest, self.size.width // 4 - 10))
        self._rows = []
        for index, change in enumerate(self.changes[:_MOST_CHANGES]):
            self._rows += [(index, 0)] if wide or self._fits(change) else [(index, 1), (index, 2), (index, 3)]

    def _fits(self, change: Change) -> bool:
        if change.op == "move":
            both = width(change.old_path or "") + width(change.path) + 7
        else:
            both = width(summary(change.old, 80)) + width(summary(change.new, 80)) + 7
        return max(_PATH_COLUMNS, width(change.path)) + both <= self.size.width - 4

    @property
    def line_count(self) -> int:
        """How many rows the changes take, at least one for the note."""
        return len(self._rows) + (not self._rows or len(self.changes) > _MOST_CHANGES)

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw one row of a change."""
        glyphs = look_of(self).glyphs
        if not self._rows:
            return Row(glyphs.cut).add(" ").add(self.note, styles.note).strip(width)
        if index >= len(self._rows):
            more = f"{len(self.changes) - _MOST_CHANGES:,} more changes"
            return Row(glyphs.cut).add("  ").add(more, styles.muted).strip(width)
        number, part = self._rows[index]
        change = self.changes[number]
        mine = change.path in self.edited
        glyph, glyph_style = (glyphs.edited if mine else glyphs.differs), styles.yours
        row = Row(glyphs.cut).add("  ")
        if part == 0 and self.size.width >= SIDE_BY_SIDE_FROM:
            side = half(width + 2)
            room = self._path_columns - 1
            path = cut_start(clean(change.path or "state"), room, glyphs.cut)  # its end tells it from its neighbours
            row.column(path, room, styles.strong if styles.on_cursor_row else styles.text)
            row.add(" ").upto_row(_value(change, "a", side - row.cells, styles, glyphs), side - row.cells)
            row.pad_to(side + 2).add(glyph, glyph_style).pad_to(side + GUTTER)
            return row.join(_value(change, "b", width - row.cells, styles, glyphs)).strip(width)
        if part == 0:
            row.add(clean(change.path or "state"), styles.strong).pad_to(_PATH_COLUMNS + 1)
            row.add(" ").join(_value(change, "a", width, styles, glyphs)).add(f" {glyph} ", glyph_style)
            return row.join(_value(change, "b", width, styles, glyphs)).strip(width)
        if part == 1:
            return row.add(clean(change.path or "state"), styles.strong).strip(width)
        side_name = "a" if part == 2 else "b"
        row.add(" " if side_name == "a" else "", styles.text)
        row = (
            Row(glyphs.cut)
            .add("    A " if side_name == "a" else "  ")
            .add("" if side_name == "a" else glyph, glyph_style)
        )
        row.add("" if side_name == "a" else " B ", styles.muted)
        return row.join(_value(change, side_name, width - row.cells, styles, glyphs)).strip(width)


def _value(change: Change, side: str, columns: int, styles: Palette, glyphs: Glyphs) -> Row:
    """One side of a change: what is only there stands out, by word where both are texts."""
    row = Row(glyphs.cut)
    missing = (side == "a" and change.op == "add") or (side == "b" and change.op == "remove")
    if missing:
        return row.add(glyphs.interrupted, styles.faint)
    if change.op == "move":
        return row.add(clean((change.old_path or "") if side == "a" else change.path), styles.muted)
    if change.of:
        row.add(f"{change.of} ", styles.muted)
    old, new = change.old, change.new
    if change.op == "change" and isinstance(old, str) and isinstance(new, str):
        return _words(old, new, side, columns, styles, glyphs)
    said_old, said_new = line_of(old), line_of(new)
    if said_old == said_new:
        said_old = said_new = None  # two messages that differ in what their lines do not show
    if said_old is not None and said_new is not None and said_old[0] == said_new[0]:
        row.add(f"{_speaker(said_old[0], glyphs)} ", styles.muted)
        return row.join(_words(said_old[1], said_new[1], side, max(1, columns - row.cells), styles, glyphs))
    value, said = (old, said_old) if side == "a" else (new, said_new)
    if said is None:
        text = clean(summary(value, max(8, columns)))
    else:
        text = cut(f"{_speaker(said[0], glyphs)} {said[1]}", columns, glyphs.cut)
    return row.add(*(styles.removed(text) if side == "a" else styles.added(text)))


def _speaker(who: str | None, glyphs: Glyphs) -> str:
    """Who speaks, or an arrow where tools are called."""
    return glyphs.to if who is None else who


def _words(old: str, new: str, side: str, columns: int, styles: Palette, glyphs: Glyphs) -> Row:
    row = Row(glyphs.cut)
    if not (old if side == "a" else new):
        return row.add('""', styles.muted)
    own = "removed" if side == "a" else "added"
    shown = 0
    # Only what is near the first difference is compared: this is drawn while somebody scrolls.
    begin = max(0, common_length(old, new) - _SEEN_BEFORE)
    seen = slice(begin, begin + 40 * columns)
    for index, segment in enumerate(compare_words(old[seen], new[seen])):
        if segment.kind not in ("same", own) or row.cells > columns:
            continue
        text = segment.text
        if segment.kind == "same":
            # What is the same before the first difference only has to say where one is.
            if index == 0 and (begin or len(text) > 2 * _CONTEXT):
                text = f"{glyphs.cut} {text[-_CONTEXT:].partition(' ')[2]}"
            row.add(clean(text[: columns + 1]), styles.muted)
        else:
            text = clean(text[: columns + 1])
            row.add(*(styles.removed(text) if side == "a" else styles.added(text)))
            shown += 1
    return row
