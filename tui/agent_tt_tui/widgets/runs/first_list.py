"""The list of the first page, and what is known of the line under its cursor."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from agent_tt_tui import format as fmt
from agent_tt_tui.lines import RowList
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row, RowWidget
from agent_tt_tui.text import clean
from agent_tt_tui.viewmodel.runs.first import FirstLine
from agent_tt_tui.viewmodel.runs.statistics import squeezed
from agent_tt_tui.viewmodel.values.pieces import wrap_text
from agent_tt_tui.widgets.runs.run_rows import add_status

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.strip import Strip

    from agent_tt.found.measures import Measures
    from agent_tt_tui.palette import Palette

_PROGRAM: Final = 14
_SIZE: Final = 9
_AGE: Final = 8
_STEPS: Final = 7
_CONTEXT: Final = 10
_COST: Final = 9
_FOLDER_FROM: Final = 150
"""From how many columns on the folder of a session is shown."""

_MEASURES_FROM: Final = 100
"""From how many columns on the context and the cost of a session are shown."""

_LABEL: Final = 10


class FirstList(RowList[FirstLine]):
    """Everything there is to open."""

    HELP = "The first page: enter opens a session without copying it, y copies it into the store, / looks for words."

    selected: frozenset[str] = frozenset()
    """Keys of the sessions that were selected."""
    shows_sizes: bool = False
    """Whether files are listed, by their sizes, in place of sessions."""

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw one line."""
        glyphs, item = look_of(self).glyphs, self.rows[index]
        row = Row(glyphs.cut)
        if item.kind == "title":
            row.add(item.label, styles.title).add("  ").upto(clean(item.words), width - 20, styles.muted)
            return row.right(Row(glyphs.cut).add(clean(item.note), styles.muted), width).strip(width)
        if item.kind == "columns":
            return self._columns(width, styles).strip(width)
        if item.kind == "more":
            row.pad_to(2).upto(clean(item.words), width - len(item.note) - 1, styles.note)
            return row.right(Row(glyphs.cut).add(item.note, styles.muted), width).strip(width)
        if item.kind in ("start", "unread"):
            row.pad_to(2).column(clean(item.label), max(_PROGRAM, width // 4), styles.strong)
            return row.upto(clean(item.words), width, styles.muted).strip(width)
        if item.run is not None:
            add_status(row, item.run, _PROGRAM + 2, styles, glyphs)
            row.upto(clean(item.label), width - 24, styles.text)
            steps, age = fmt.counted(item.run.steps, "step"), _ago(item.run.started_us)
            return row.right(Row(glyphs.cut).add(f"{steps}  {age:>{_AGE}}", styles.muted), width).strip(width)
        if item.found is not None:
            self._session(row, item, width, styles)
        return row.strip(width)

    def _session(self, row: Row, item: FirstLine, width: int, styles: Palette) -> None:
        glyphs, found = look_of(self).glyphs, item.found
        if found is None:
            return
        chosen = found.key in self.selected
        row.add(glyphs.well if chosen else " ", styles.yours).add(" ")
        row.column(clean(found.program), _PROGRAM, styles.strong)
        folder = min(40, width // 5) if width >= _FOLDER_FROM else 0
        mark = "copied" if item.imported is not None else ""
        left = width - row.cells - folder - self._figures(width) - _AGE - (len(mark) + 1 if mark else 0) - 1
        words = clean(item.words) or clean(found.path.name if found.id is None else found.id)
        row.column(words, left, styles.text if item.words else styles.note)
        if mark:
            row.add(f" {mark}", styles.yours)
        row.add(" ").column("" if found.folder is None else clean(found.folder), folder, styles.muted)
        if self.shows_sizes:
            row.column("" if found.size is None else fmt.size(found.size), _SIZE, styles.muted, "right")
        else:
            self._measures(row, item, width, styles)
        row.column(_ago(found.modified_us), _AGE, styles.muted, "right")

    def _figures(self, width: int) -> int:
        """The columns that figures take before the age."""
        if self.shows_sizes:
            return _SIZE
        return _STEPS + (2 + _CONTEXT + _COST if width >= _MEASURES_FROM else 0)

    def _measures(self, row: Row, item: FirstLine, width: int, styles: Palette) -> None:
        """Steps, context and cost, as far as they are known."""
        glyphs, known = look_of(self).glyphs, item.measures
        row.column(glyphs.span if known is None else fmt.count(known.steps), _STEPS, styles.muted, "right")
        if width >= _MEASURES_FROM:
            bars = () if known is None else squeezed(known.context, _CONTEXT)
            most, last = max((each for each in bars if each is not None), default=0) or 1, len(glyphs.spark) - 1
            drawn = "".join(glyphs.spark[round((each or 0) / most * last)] for each in bars)
            row.add("  ").column(drawn, _CONTEXT, styles.muted)
            cost = None if known is None else known.cost_usd
            row.column(glyphs.span if cost is None else fmt.cost(cost), _COST, styles.muted, "right")

    def _columns(self, width: int, styles: Palette) -> Row:
        """What the columns are of."""
        row = Row(look_of(self).glyphs.cut).add("  ").column("program", _PROGRAM, styles.muted)
        folder = min(40, width // 5) if width >= _FOLDER_FROM else 0
        row.column("first words", width - row.cells - folder - self._figures(width) - _AGE - 1, styles.muted)
        row.add(" ").column("folder" if folder else "", folder, styles.muted).column(
            "steps", _STEPS, styles.muted, "right"
        )
        if width >= _MEASURES_FROM:
            row.add("  ").column("context", _CONTEXT, styles.muted).column("cost", _COST, styles.muted, "right")
        return row.column("age", _AGE, styles.muted, "right")


class FirstPreview(RowWidget):
    """What is known of the session under the cursor: as much as its beginning and its end say."""

    HELP = "The session under the cursor."
    DEFAULT_CSS = "FirstPreview { height: 7; background: $panel; }"

    def __init__(self, current: Callable[[], FirstLine | None]) -> None:
        """Show nothing yet.

        Args:
            current: gives the line under the cursor.
        """
        super().__init__()
        self._current = current

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw one row."""
        rows = self._rows(columns - 2, styles)
        return self.new_row().add(" ").join(rows[y]) if y < len(rows) else self.new_row()

    def _rows(self, columns: int, styles: Palette) -> list[Row]:
        item = self._current()
        found = None if item is None else item.found
        if item is None or found is None:
            return []
        title = found.title or "no words of a person were found at its beginning"
        said = wrap_text(title, max(20, columns), "text", look_of(self).glyphs.cut, limit=2 * columns)
        rows = [self.new_row().add(clean(found.program), styles.title)]
        for pieces in said:
            words = "".join(text for text, _ in pieces)
            rows.append(self.new_row().add(words, styles.text if found.title else styles.note))
        facts = (
            ("comes to", "" if item.measures is None else _comes_to(item.measures)),
            ("folder", found.folder),
            ("file", str(found.path)),
            ("id", found.id),
            ("copied as", item.imported),
        )
        for name, fact in facts:
            if fact:
                rows.append(self.new_row().column(name, _LABEL, styles.muted).upto(clean(fact), columns, styles.text))
        return rows


def _comes_to(known: Measures) -> str:
    said = [fmt.counted(known.steps, "step")]
    if known.errors:
        said.append(f"{fmt.counted(known.errors, 'step')} failed")
    if known.context:
        said.append(f"at most {fmt.tokens(max(known.context))} read at once")
    if known.cost_usd is not None:
        said.append(fmt.cost(known.cost_usd))
    return ", ".join([*said, known.model] if known.model else said)


def _ago(moment_us: int) -> str:
    return fmt.age(max(0.0, time.time() - moment_us / 1e6))
