"""Zones of the view of contexts: facts, the chart of all calls, what a request is made of, titles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt._dataclass import dataclass
from agent_tt_tui.keymaps import CONTEXT
from agent_tt_tui.look import look_of
from agent_tt_tui.row import RowWidget
from agent_tt_tui.viewmodel.context.chosen import chosen_title
from agent_tt_tui.viewmodel.context.facts import facts_of, which_call
from agent_tt_tui.viewmodel.context.history import call_at, chart_of
from agent_tt_tui.viewmodel.context.listing import heading
from agent_tt_tui.viewmodel.context.made_of import segments_of
from agent_tt_tui.widgets.debugger.context_asked import ContextAsked
from agent_tt_tui.widgets.drawing import add_pieces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events

    from agent_tt.context.shown import CallContext, Item, RunContexts
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.row import Row
    from agent_tt_tui.viewmodel.context.history import Chart
    from agent_tt_tui.viewmodel.context.made_of import Segment
    from agent_tt_tui.viewmodel.context.standing import Standing
    from agent_tt_tui.viewmodel.values.pieces import Piece


@dataclass(frozen=True, slots=True)
class ContextShown:
    """What is known, and the call that is shown.

    Attributes:
        contexts: the calls of the run.
        number: the call that is shown, from 0.
        standing: where items stand; None while that is not known.
        chosen: the call as it stands to another one that somebody chose; None where it is the last one, as usual.
    """

    contexts: RunContexts
    number: int
    standing: Standing | None = None
    chosen: CallContext | None = None

    @property
    def context(self) -> CallContext:
        """The call that is shown."""
        return self.contexts.calls[self.number] if self.chosen is None else self.chosen

    @property
    def which(self) -> tuple[Piece, ...]:
        """Which of the run's calls it is."""
        return which_call(self.contexts, self.number)


class ContextFacts(RowWidget):
    """The model, its tokens, what came and went since the last call."""

    HELP = "What this model call read: tokens, what is new and gone since the last call, what came from the cache."

    shown: ContextShown | None = None
    said = ""
    """What stands in place of the facts: that they are being read, or why there are none."""

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        """Draw the row."""
        if self.shown is None:
            return self.new_row().add(f" {self.said}", styles.note)
        pieces = facts_of(self.shown.contexts, self.shown.context, columns, look_of(self).glyphs)
        return self.new_row().upto_row(add_pieces(self.new_row(), pieces, styles), columns)


class ContextHistory(RowWidget):
    """All model calls of the run, a bar each; a click goes to one."""

    HELP = "All model calls of the run by their tokens; the one that is shown stands out."

    shown: ContextShown | None = None
    _chart: Chart | None = None

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw a row of the chart."""
        if self.shown is None:
            return self.new_row()
        if y == 0 or self._chart is None:
            glyphs = look_of(self).glyphs
            self._chart = chart_of(self.shown.contexts, self.shown.number, columns, self.size.height, glyphs)
        rows = self._chart.rows
        return add_pieces(self.new_row(), rows[y] if y < len(rows) else (), styles)

    def on_click(self, event: events.Click) -> None:
        """Go to the call that was clicked."""
        number = None if self._chart is None else call_at(self._chart, event.x)
        if number is not None:
            self.post_message(ContextAsked("number", number))


class ContextMadeOf(RowWidget):
    """The stacked bar: the kinds of origins by their tokens, named inside."""

    HELP = "Of what the request is made: system text, tools, files read, results, your words, earlier answers."

    shown: ContextShown | None = None

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw labels, then names and tokens, then shares."""
        row = self.new_row()
        if self.shown is None:
            return row
        segments = segments_of(self.shown.context, columns - 2)
        if y == 0:
            return self._labels(row.add(" WHAT IT IS MADE OF", styles.title_blurred), segments, columns, styles)
        row.add(" ")
        for segment in segments:
            text = segment.name if y == 1 else segment.share
            ground = styles.shares.get(segment.kind)
            if ground is None:  # no colours to blend: walls tell the parts from one another
                row.add("[" if y == 1 else " ", styles.faint).column(text.strip(), segment.columns - 2)
                row.add("]" if y == 1 else " ", styles.faint)
            else:
                row.column(text, segment.columns - 1, styles.text + ground).add(" ")
        return row

    def _labels(self, row: Row, segments: Sequence[Segment], columns: int, styles: Palette) -> Row:
        """Name what is too narrow to hold its name: above it, or all in a line where these would not fit."""
        above: list[tuple[int, str]] = []
        start, free = 1, row.cells + 2
        for segment in segments:
            if segment.label:
                place = min(start, columns - 1 - len(segment.label))
                if place < free:
                    unnamed = ", ".join(segment.label for segment in segments if segment.label)
                    return row.add("  ").upto(f"the narrow ones: {unnamed}", columns - 1, styles.muted)
                above.append((place, segment.label))
                free = place + len(segment.label) + 2
            start += segment.columns
        for place, label in above:
            row.pad_to(place).add(label, styles.muted)
        return row


class ContextHeading(RowWidget):
    """The titles of the columns."""

    HELP = "The parts of the request: who speaks, what it says, where it came from, its tokens and share."

    shown: ContextShown | None = None
    by_size = False

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        """Draw the row."""
        if self.shown is None:
            return self.new_row()
        pieces = heading(self.shown.context, columns - 2, look_of(self).glyphs, by_size=self.by_size)
        return add_pieces(self.new_row(), pieces, styles)


class ContextItemTitle(RowWidget):
    """The role and size of the item in full."""

    HELP = "The item under the cursor of the list."

    item: Item | None = None
    is_cut = is_chosen = False
    in_full = False

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        """Draw the row."""
        if self.item is None:
            return self.new_row()
        row = add_pieces(self.new_row(), chosen_title(self.item, is_cut=self.is_cut, is_chosen=self.is_chosen), styles)
        keys, look = self.new_row(), look_of(self)
        listed = (("list.choose", " in full  "), ("context.origin", " where it came from"))
        for command, words in (("app.escape", " back to the list"),) if self.in_full else listed:
            keys.add(look.key(CONTEXT.command(command)), styles.key).add(words, styles.muted)
        return row.right(keys, columns - 1) if row.cells + keys.cells + 3 <= columns else row
