"""What stands below the list of the fork dialog: what it may cost, and what it warns of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from textual.reactive import reactive

from agent_tt_tui import format as fmt
from agent_tt_tui.look import look_of
from agent_tt_tui.row import RowWidget
from agent_tt_tui.text import clean, show, width
from agent_tt_tui.viewmodel.running.fork_policy import what_it_does, why_not_denied
from agent_tt_tui.viewmodel.values.pieces import wrap_text
from agent_tt_tui.widgets.drawing import add_pieces

if TYPE_CHECKING:
    from textual.geometry import Size

    from agent_tt.forking.plan import ForkPlan
    from agent_tt.forking.policy.boundary import Boundary
    from agent_tt.forking.policy.policies import Word
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.row import Row
    from agent_tt_tui.viewmodel.values.pieces import Piece

SECTION: Final = 11
"""Columns of the title of a part, in all of the dialog."""

_LONGEST_NOTE: Final = 400
"""Characters of a note that are shown."""

_LEAST_NOTE: Final = 20
"""Columns in which notes are broken into rows."""


class ForkCost(RowWidget):
    """What the rest of the original spent, limits and warnings; what writes, where the list does not show all of it."""

    DEFAULT_CSS = "ForkCost { height: auto; margin: 1 0 0 0; padding: 0 1; }"

    plan: reactive[ForkPlan | None] = reactive(None, layout=True)
    names_writers: reactive[bool] = reactive(default=False, layout=True)
    """Whether every tool that writes is named with what it may do: the list has no room for all of its rows."""

    def get_content_height(self, _container: Size, _viewport: Size, width: int) -> int:
        """One row for the expectation, one for limits, one for each policy of what writes, and those of the notes."""
        return self.rows_in(width)

    def rows_in(self, columns: int) -> int:
        """How many rows it has in so many columns, without its padding."""
        return 1 + self._has_limits + len(self._writers()) + len(self._note_rows(columns))

    @property
    def _has_limits(self) -> bool:
        return self.plan is not None and bool(self.plan.terms.limits)

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw one row."""
        row, plan, glyphs = self.new_row(), self.plan, look_of(self).glyphs
        if plan is None:
            return row
        if y == 0:
            return self._expected(plan, columns, styles)
        if y == 1 and self._has_limits:
            limits = ", ".join(plan.terms.limits.words())
            row.column("stops", SECTION, styles.muted)
            return row.add(show(limits, columns - SECTION, glyphs.cut), styles.text)
        y -= self._has_limits
        writers = self._writers()
        if y <= len(writers):
            policy, names = writers[y - 1]
            return self._policy(policy, names, columns, styles)
        rows, at = self._note_rows(columns), y - 1 - len(writers)
        return add_pieces(row, rows[at], styles) if at < len(rows) else row

    def _note_rows(self, columns: int) -> list[tuple[Piece, ...]]:
        """The notes, each broken into as many rows as it takes."""
        more = look_of(self).glyphs.cut
        if columns <= _LEAST_NOTE:
            return [(("! ", "changed_mark"), (note, "text")) for note in self._notes()]
        return [
            (("  " if index else "! ", "changed_mark"), *pieces)
            for note in self._notes()
            for index, pieces in enumerate(wrap_text(note, columns - 2, "text", more, limit=_LONGEST_NOTE))
        ]

    def _notes(self) -> list[str]:
        """What keeps it from starting, and what is worth knowing."""
        plan = self.plan
        if plan is None:
            return []
        unheld = [f"{clean(why_not_denied(row))}: allow it to fork" for row in plan.unheld]
        return [*unheld, *plan.problems]

    def _writers(self) -> list[tuple[Word, list[str]]]:
        """What writes, by policy; one empty group where nothing does."""
        if not self.names_writers:
            return []
        writers = self.plan.writers if self.plan is not None else ()
        words: tuple[Word, ...] = ("deny", "ask", "stub", "recorded", "live")
        groups = [(word, [_named(entry) for entry in writers if entry.policy == word]) for word in words]
        return [group for group in groups if group[1]] or [("deny", [])]

    def _expected(self, plan: ForkPlan, columns: int, styles: Palette) -> Row:
        expected, glyphs = plan.expected, look_of(self).glyphs
        facts = [f"{glyphs.about} {fmt.counted(expected.steps, 'step')}"]
        tokens = fmt.total_tokens(expected.tokens_in, expected.tokens_out)
        if tokens is not None:
            facts.append(f"{glyphs.about} {fmt.tokens(tokens)}")
        if expected.cost_usd is not None:
            facts.append(f"{glyphs.about} {fmt.cost(expected.cost_usd, expected.unpriced)}")
        if expected.duration_us is not None:
            facts.append(f"{glyphs.about} {fmt.duration(expected.duration_us / 1e6)}")
        row = self.new_row().column("EXPECT", SECTION, styles.title_blurred)
        while len(facts) > 1 and row.cells + width("  ".join(facts)) > columns:
            facts.pop()  # a figure that is cut tells another one
        row.add("  ".join(facts), styles.strong)
        remark = "   as the original did" + ("" if plan.continues_with is None else ", at the price of this model")
        return row.add(remark, styles.muted) if row.cells + len(remark) <= columns else row

    def _policy(self, policy: Word, names: list[str], columns: int, styles: Palette) -> Row:
        row, glyphs = self.new_row(), look_of(self).glyphs
        if not names:
            return none_writes(row, self.plan, columns, styles, glyphs)
        word = what_it_does(policy)
        verb = f" write{'s' if len(names) == 1 else ''}: "
        row.add("! ", styles.changed_mark)
        row.add(show(", ".join(names), columns - row.cells - len(verb) - len(word), glyphs.cut), styles.strong)
        return row.add(verb, styles.text).add(word, styles.failed if policy == "live" else styles.text)


def none_writes(row: Row, plan: ForkPlan | None, columns: int, styles: Palette, glyphs: Glyphs) -> Row:
    """Say that no recorded tool writes: with a tick only where nothing that writes may run unseen."""
    if plan is None or plan.holds_what_writes:
        row.add(f"{glyphs.well} ", styles.well).add("no recorded tool writes", styles.text)
        return row.upto("; others that write are denied", columns, styles.muted)
    row.add("! ", styles.changed_mark).add("no recorded tool writes", styles.text)
    return row.upto("; what nothing records is not held", columns, styles.text)


def _named(entry: Boundary) -> str:
    """Its name; of what a file allows with the file's."""
    name = clean(entry.name)
    return f"{name} ({clean(Path(entry.rule.place).name)})" if entry.policy == "live" and entry.rule.place else name
