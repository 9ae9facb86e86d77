"""What stands below a table of runs: the strip of the chosen one, where it parts from the base, what came of it."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final, TypeAlias

from textual.reactive import reactive

from agent_tt._dataclass import dataclass
from agent_tt_tui import format as fmt
from agent_tt_tui.look import look_of
from agent_tt_tui.row import RowWidget
from agent_tt_tui.text import clean, cut, width
from agent_tt_tui.viewmodel.runs.run_table import change, counts_of
from agent_tt_tui.widgets.drawing import add_strip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style

    from agent_tt.comparing.runs.table import Table, TableRow
    from agent_tt.model import Step
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.row import Row

__all__ = ["ChosenRow", "TablePreview"]

_LABEL: Final = 9
_LONGEST: Final = 2_000
"""Characters of a text that are looked at."""

Line: TypeAlias = "tuple[str, str, Style]"
"""Label, text and its style."""


@dataclass(frozen=True, slots=True)
class ChosenRow:
    """The row under the cursor.

    Attributes:
        table: The table that it stands in.
        row: The row.
        steps: The steps of its run; empty until they were read.
    """

    table: Table
    row: TableRow
    steps: tuple[Step, ...] = ()


class TablePreview(RowWidget):
    """The body of the pane: what matters most first, for there may be few rows."""

    DEFAULT_CSS = "TablePreview { height: 1fr; }"

    chosen: reactive[ChosenRow | None] = reactive(None)

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw one row."""
        row, chosen = self.new_row().add(" "), self.chosen
        if chosen is None:
            return row
        if y == 0:
            return row.join(self._strip(chosen, columns - 2, styles))
        room = columns - _LABEL - 2
        lines = _wrapped(self._lines(chosen, styles), room, self.size.height - 1)
        if y > len(lines):
            return row
        label, text, style = lines[y - 1]
        return row.column(label, _LABEL, styles.muted).add(cut(text, room, look_of(self).glyphs.cut), style)

    def _strip(self, chosen: ChosenRow, columns: int, styles: Palette) -> Row:
        steps = chosen.steps
        count = f"  {fmt.counted(len(steps), 'step')}" if steps else ""
        glyphs = look_of(self).glyphs
        row = add_strip(self.new_row(), steps, chosen.row.diverged_at, columns - width(count), styles, glyphs)
        return row.add(count, styles.muted)

    def _lines(self, chosen: ChosenRow, styles: Palette) -> list[Line]:
        """Label, text and style of each row but the first."""
        row, glyphs, outcome = chosen.row, look_of(self).glyphs, chosen.row.outcome
        lines = [("trouble", f"{glyphs.failed} {row.trouble}", styles.failed_text)] if row.trouble else []
        lines += [("changed", "; ".join(row.changed), styles.text)] if row.changed else []
        if outcome is None:
            return lines
        lines.insert(0, ("parts", self._parting(row), styles.text))
        if outcome.error is not None:
            lines.append(("error", outcome.error.short, styles.failed_text))
        if outcome.answer:
            letter = chosen.table.letter(row.run.id)
            count = next((each.count for each in chosen.table.answers if each.letter == letter), 0)
            same = f"{letter} {count}{glyphs.times}  " if count > 1 and not outcome.error else ""
            lines.append(("answer", f'{same}"{outcome.answer}"', styles.text))
        effects = outcome.effects.summary(glyphs.times)
        lines += [("effects", effects, styles.text)] if effects else []
        return [*lines, ("figures", self._figures(chosen), styles.muted)]

    def _parting(self, row: TableRow) -> str:
        glyphs = look_of(self).glyphs
        count = fmt.counted(row.final_changes, "place")
        states = f"the final state differs in {count}" if row.final_changes else "the state of a lane differs"
        if row.final_equal is not False:
            unknown = "not all of the states can be read" if row.is_over else "not both have ended yet"
            states = "the final states are equal" if row.final_equal else unknown
        if row.diverged_at is None:
            why = f"{row.because}; " if row.because else ""
            return f"it makes the same moves; {why}{states}"
        words = f"{glyphs.differs} at {row.diverged_at}: {row.because}" if row.because else f"at {row.diverged_at}"
        if row.rejoined_at is not None:
            met = "the states are equal again" if row.rejoined_state else f"same moves again; {states}"
            words = f"{glyphs.differs} at {row.diverged_at}, {glyphs.same} at {row.rejoined_at}, {met}: {row.because}"
        return words

    def _figures(self, chosen: ChosenRow) -> str:
        """`21 → 2 steps · 19,827 → 263 tokens -99 % · $0.011 → <$0.001 · 60 ms → 0.7 s of its own`."""
        base, outcome, glyphs = chosen.table.outcome, chosen.row.outcome, look_of(self).glyphs
        if base is None or outcome is None:
            return ""
        before, after = counts_of(base), counts_of(outcome)
        parts = [f"{fmt.count(base.steps)} {glyphs.to} {fmt.count(outcome.steps)} steps"]
        # A fork's time is that of its own steps alone: how much less that is than the base's says nothing.
        is_fork = chosen.row.depth > 0
        figures = (
            (" tokens", base.whole_tokens, outcome.whole_tokens),
            ("", base.whole_cost, outcome.whole_cost),
            (" of its own" if is_fork else "", base.duration_us, None if is_fork else outcome.duration_us),
        )
        for (unit, old, new), was, now in zip(figures, before, after, strict=True):
            more = change(old, new, glyphs.times)
            if now:
                parts.append(f"{was or glyphs.unknown} {glyphs.to} {now}{unit}" + (f" {more}" if more else ""))
        return f" {glyphs.dot} ".join(parts)


def _wrapped(lines: Sequence[Line], columns: int, rows: int) -> list[Line]:
    """The lines, the long ones on several rows as far as there is room for that below all others."""
    spare = max(0, rows - len(lines))
    wrapped: list[Line] = []
    for label, text, style in lines:
        safe = clean(text[:_LONGEST])
        pieces = textwrap.wrap(safe, max(8, columns)) or [""]
        taken = min(len(pieces), 1 + spare)
        spare -= taken - 1
        shown = [*(piece.removesuffix(" ·") for piece in pieces[: taken - 1]), " ".join(pieces[taken - 1 :])]
        wrapped += [("" if index else label, piece, style) for index, piece in enumerate(shown)]
    return wrapped
