"""The parts of the replay dialog: what will run, in which mode, and what the recording has answers for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.reactive import reactive

from agent_tt.replaying.preflight import Answers
from agent_tt_tui import format as fmt
from agent_tt_tui.lines import RowList
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row, RowWidget
from agent_tt_tui.status import kind_glyph
from agent_tt_tui.text import call_name, show
from agent_tt_tui.widgets.dialogs.will_run import LABEL, add_will_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.strip import Strip

    from agent_tt.replaying.preflight import Preflight
    from agent_tt_tui.palette import Palette

_NAME: Final = 20
_GAP: Final = 2
FACT_ROWS: Final = 3
"""Rows of `ReplayFacts`."""

_MODES: Final = {
    False: ("halts at the first difference", "halts where it differs"),
    True: ("goes on and collects what differs", "collects what differs"),
}
"""What each mode does; in fewer words where there is little room."""


class ReplayFacts(RowWidget):
    """What will run, what answers it, and the mode."""

    DEFAULT_CSS = f"ReplayFacts {{ height: {FACT_ROWS}; padding: 0 0 0 1; }}"

    plan: reactive[Preflight | None] = reactive(None)
    observe: reactive[bool] = reactive(default=False)
    """Whether it goes on after a changed request."""
    changed: reactive[bool] = reactive(default=False)
    """Whether the agent's file is another than when the run was recorded."""
    arguments: reactive[tuple[str, ...]] = reactive(())
    """What the agent is given in place of its recorded arguments; empty for those."""

    agent: reactive[str] = reactive("")
    """The entry point that runs in place of the recorded one; empty for that."""

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw one fact."""
        row, plan, glyphs = self.new_row(), self.plan, look_of(self).glyphs
        if plan is None:
            return row
        if y == 0:
            return add_will_run(
                row,
                plan.run,
                columns,
                styles,
                glyphs,
                changed=self.changed,
                arguments=self.arguments,
                agent=self.agent,
            )
        if y == 1:
            row.column("answered by", LABEL, styles.muted)
            total = sum(answers.recorded for answers in plan.answers)
            row.add(fmt.counted(total, "recorded call"), styles.strong)
            lanes = f" in {plan.lanes:,} lanes" if plan.lanes > 1 else ""
            nested = f", {plan.nested:,} more inside others" if plan.nested else ""
            said = "; nothing is reached, no recorded tool runs"
            return _fitting(row.add(f"{lanes}{nested}", styles.muted), (said, "; nothing is reached"), columns, styles)
        row.column("mode", LABEL, styles.muted)
        for observe, word in ((False, "halt"), (True, "observe")):
            chosen = observe == self.observe
            row.add(f"[{word}]" if chosen else f" {word} ", styles.strong if chosen else styles.faint)
        return _fitting(row, [f"  {words}" for words in _MODES[self.observe]], columns, styles)


def _fitting(row: Row, said: Sequence[str], columns: int, styles: Palette) -> Row:
    """Add the first words for which there is room; nothing where there is none."""
    words = next((words for words in said if row.cells + len(words) <= columns), "")
    return row.add(words, styles.muted)


class AnswersTitle(RowWidget):
    """The titles of the table."""

    DEFAULT_CSS = "AnswersTitle { height: 1; margin: 1 0 0 0; padding: 0 0 0 1; }"

    plan: reactive[Preflight | None] = reactive(None)

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        """Draw the titles."""
        row, plan = self.new_row(), self.plan
        if plan is None:
            return row
        row.add("BOUNDARY  ", styles.title_blurred).add(fmt.count(len(plan.answers)), styles.muted)
        row.pad_to(_NAME)
        for title, room, _ in _columns(plan.from_step, columns - 1):  # as wide as a row of the table
            row.column(title, room, styles.muted, "right")
        return row


def _columns(from_step: int, width: int) -> list[tuple[str, int, str]]:
    """Title, columns and attribute of `Answers` of each figure, as many as fit in a row so wide beside the name."""
    figures = [("recorded", 9, "recorded"), ("results", 9, "results"), ("errors", 8, "errors"), ("open", 6, "open")]
    if from_step:
        title = f"after {from_step}"
        figures.insert(1, (title, len(title) + 3, "from_here"))
    room, shown = width - _NAME, []
    for figure in figures:
        room -= figure[1]
        if room < 0:
            break
        shown.append(figure)
    return shown


class AnswersTable(RowList[Answers]):
    """What the run called, each with how many answers the recording has."""

    HELP = "What the recording has answers for: left and right choose the mode, enter or F replays."

    def __init__(self) -> None:
        super().__init__()
        self._from_step = 0

    def show(self, plan: Preflight) -> None:
        """Show what a run has."""
        self._from_step = plan.from_step
        self.show_rows(plan.answers)

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw one boundary."""
        answers, glyphs = self.rows[index], look_of(self).glyphs
        kind = {"tool": answers.effect or "write", "llm": "llm", "http": "http", "human": "human"}.get(
            answers.kind, "other"
        )
        row = Row(glyphs.cut).add(f"{kind_glyph(kind, glyphs)} ", styles.model if kind == "llm" else styles.text)
        row.column(
            call_name(answers.name, _NAME - 2, glyphs.cut),
            _NAME - 2,
            styles.strong if styles.on_cursor_row else styles.text,
        )
        for _, room, attribute in _columns(self._from_step, width):
            figure = getattr(answers, attribute)
            style = styles.faint if not figure else styles.failed if attribute == "open" else styles.text
            row.column(fmt.count(figure), room, style, "right")
        remark = "writes: not run" if answers.effect == "write" else f"{answers.pieces:,} pieces" * bool(answers.pieces)
        for text in (remark, remark.partition(":")[0]):
            if text and row.cells + _GAP + len(text) <= width:
                row.right(Row(glyphs.cut).add(text, styles.changed_mark if text[0] == "w" else styles.muted), width)
                break
        return row.strip(width)


class ReplayWarnings(RowWidget):
    """What to know before: functions that have no answers, and what is odd about the run."""

    DEFAULT_CSS = "ReplayWarnings { height: auto; margin: 1 0 0 0; padding: 0 0 0 1; }"

    plan: reactive[Preflight | None] = reactive(None, layout=True)

    def get_content_height(self, *_sizes: object) -> int:
        """One row each."""
        return len(self._rows())

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw one row."""
        rows, glyphs, row = self._rows(), look_of(self).glyphs, self.new_row()
        if y >= len(rows):
            return row
        label, text = rows[y]
        row.add("! ", styles.changed_mark).add(label, styles.strong)
        return row.add(show(text, columns - row.cells, glyphs.cut), styles.text)

    def _rows(self) -> list[tuple[str, str]]:
        if self.plan is None:
            return []
        names = ", ".join(name.partition(" ")[2] for name in self.plan.without)
        without = [("no answers: ", f"{names} (never called; a call halts)")] if names else []
        return [*without, *(("", problem) for problem in self.plan.problems)]
