"""The parts of the form of a new sweep: its rows, what it may cost, and the action."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.reactive import reactive

from agent_tt_tui import format as fmt
from agent_tt_tui.lines import LineView
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row, RowWidget
from agent_tt_tui.text import clean, show
from agent_tt_tui.widgets.dialogs.fork_cost import none_writes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.strip import Strip

    from agent_tt.sweeping.axes import Axis
    from agent_tt.sweeping.plan import SweepPlan
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.viewmodel.runs.sweep_form import FormRow

__all__ = ["SweepCost", "SweepRows"]

_LABEL: Final = 12
_PLACEHOLDERS: Final = {
    "vary": "nothing yet: say what, such as temperature=0,0.5,1",
    "outcome": "a path of the last state, or a question: budget < 0",
    "cost": "no limit",
    "allow": "no tool: all that write are denied",
}


class SweepRows(LineView):
    """What is said so far; edits that were made before hold for every run, and stand above."""

    HELP = "What the sweep varies, how often and what it asks: enter changes a row."

    def __init__(self) -> None:
        super().__init__()
        self._rows: Sequence[FormRow] = ()
        self._fixed: Sequence[Axis] = ()

    @property
    def line_count(self) -> int:
        """One line a row, and one for each edit."""
        return len(self._rows) + len(self._fixed)

    def get_content_height(self, *_sizes: object) -> int:
        """As many rows as there are lines."""
        return max(1, self.line_count)

    @property
    def current(self) -> FormRow | None:
        """The row under the cursor; None on an edit, which is changed in the debugger."""
        index = self.cursor - len(self._fixed)
        return self._rows[index] if 0 <= index < len(self._rows) else None

    def show(self, rows: Sequence[FormRow], fixed: Sequence[Axis]) -> None:
        """Show rows."""
        first, grown = not self._rows, len(rows) + len(fixed) != self.line_count
        self._rows, self._fixed = rows, fixed
        if grown:
            self.refresh(layout=True)
        self.refresh_lines_data()
        if first:
            self.cursor = len(fixed)

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw one row."""
        glyphs = look_of(self).glyphs
        row = Row(glyphs.cut)
        if index < len(self._fixed):
            axis = self._fixed[index]
            said = axis.name if axis.kind == "delete" else f"{axis.name} = {axis.label(0)}"
            row.column("in all runs", _LABEL, styles.muted).add(f"{glyphs.edited} ", styles.yours)
            return row.add(show(said, width - row.cells, glyphs.cut), styles.text).strip(width)
        entry = self._rows[index - len(self._fixed)]
        row.column(entry.label, _LABEL, styles.muted)
        if entry.text:
            return row.add(show(entry.text, width - row.cells, glyphs.cut), styles.strong).strip(width)
        return row.upto(_PLACEHOLDERS.get(entry.kind, ""), width, styles.note).strip(width)


class SweepCost(RowWidget):
    """How many runs that makes, what they may cost, and a line for each tool policy and each problem."""

    DEFAULT_CSS = "SweepCost { height: auto; margin: 1 0 0 0; }"

    plan: reactive[SweepPlan | None] = reactive(None, layout=True)

    def get_content_height(self, *_sizes: object) -> int:
        """Two rows, and one for each problem."""
        return 3 + (len(self.plan.problems) if self.plan is not None else 0)

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw one row."""
        row, plan, glyphs = self.new_row().add(" "), self.plan, look_of(self).glyphs
        if plan is None:
            return row
        definition = plan.definition
        if y == 0:
            factors = [str(len(axis.values)) for axis in definition.varied]
            factors.append(fmt.counted(definition.samples, "sample"))
            row.column("runs", _LABEL, styles.muted).add(f"{fmt.count(definition.run_count)}", styles.strong)
            return row.upto(f"   {f' {glyphs.times} '.join(factors)}", columns, styles.muted)
        if y == 1:
            facts = [
                "" if plan.expected_tokens is None else f"{glyphs.about} {fmt.tokens(plan.expected_tokens)}",
                ""
                if plan.expected_cost is None
                else f"{glyphs.about} {fmt.cost(plan.expected_cost, plan.expected_unpriced)}",
                "" if plan.expected_us is None else f"{glyphs.about} {fmt.duration(plan.expected_us / 1e6)}",
            ]
            row.column("expected", _LABEL, styles.muted).add(
                "  ".join(filter(None, facts)) or "nobody knows", styles.strong
            )
            return row.upto("   as the original did", columns, styles.muted)
        if y == 2:
            return self._writers(plan, columns, styles)
        row.add("! ", styles.changed_mark)
        return row.add(show(plan.problems[y - 3], columns - 2, glyphs.cut), styles.text)

    def _writers(self, plan: SweepPlan, columns: int, styles: Palette) -> Row:
        row, glyphs = self.new_row().add(" "), look_of(self).glyphs
        varied = {axis.place for axis in plan.definition.varied if axis.kind == "policy"}
        groups = [
            (
                word,
                [clean(each.name) for each in plan.first.writers if each.policy == policy and each.name not in varied],
            )
            for policy, word in (("deny", "denied"), ("live", "will really run"))
        ]
        groups.append(("varied", sorted(clean(name) for name in varied)))
        said = [f"{', '.join(names)} {word}" for word, names in groups if names]
        if not said:
            return none_writes(row, plan.first, columns, styles, glyphs)
        return row.add("! ", styles.changed_mark).upto(f"writes: {'; '.join(said)}", columns, styles.text)
