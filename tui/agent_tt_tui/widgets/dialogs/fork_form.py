"""The parts of the fork dialog around its list: what will run, and what it may cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from textual.reactive import reactive

from agent_tt_tui import format as fmt
from agent_tt_tui.format import short_path
from agent_tt_tui.glyphs import UNICODE
from agent_tt_tui.look import look_of
from agent_tt_tui.row import RowWidget
from agent_tt_tui.text import clean, cut_start, show, width
from agent_tt_tui.viewmodel.running.fork_policy import what_it_does, why_not_denied
from agent_tt_tui.viewmodel.values.pieces import wrap_text
from agent_tt_tui.widgets.dialogs.edit_row import edit_row, edit_rows
from agent_tt_tui.widgets.dialogs.will_run import LABEL
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

SHOWN_EDITS: Final = 3
"""Changes of edits that stand above the list; where there are more, the list has them all."""

_LONGEST_NOTE: Final = 400
"""Characters of a note that are shown."""

_LEAST_NOTE: Final = 20
"""Columns in which notes are broken into rows."""

_LEAST_PATH: Final = 16
"""Columns that the path of the agent's file keeps, whatever stands behind it."""


class ForkFacts(RowWidget):
    """Way back in, what will run, the edits, the new run."""

    DEFAULT_CSS = "ForkFacts { height: auto; }"

    plan: reactive[ForkPlan | None] = reactive(None, layout=True)
    next_name: reactive[str] = reactive("")
    """The name that the new run gets if it is given none."""
    other_version: reactive[str] = reactive("")
    """Another version of the agent that is known and could run instead; empty where there is none."""

    def get_content_height(self, *_sizes: object) -> int:
        """One row a fact, and one for each further edit that is shown."""
        if self.plan is None:
            return 4
        is_copied = self.plan.copied_from is not None
        return 3 + is_copied + max(1, min(len(edit_rows(self.plan.edits)), SHOWN_EDITS))

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw one fact."""
        row, plan, glyphs = self.new_row(), self.plan, look_of(self).glyphs
        if plan is None:
            return row
        code = plan.code
        edits = edit_rows(plan.edits)
        shown_edits = max(1, min(len(edits), SHOWN_EDITS))
        if y == 0:
            kept = f"{fmt.counted(plan.step, 'step')} not rerun"
            row.column("start", LABEL, styles.muted)
            if plan.continues_with is not None:
                row.add("conversation", styles.strong).add("  ")
                return row.upto(f"{kept}; the original program does not run", columns, styles.muted)
            row.add(plan.by, styles.strong).add("  ")
            way = code.way_back_in.replace(UNICODE.cut, glyphs.cut)
            if plan.goes_on_with is not None:
                way = f"next {'unknown' if plan.is_next_unknown else ', '.join(plan.goes_on_with) or 'nothing'}"
                if any(edit.target == "state" for edit in plan.edits):  # only the graph itself can say where
                    way += ", or where the edit leads"
            return row.add(show(f"{kept}; {way}", columns - row.cells, glyphs.cut), styles.muted)
        if y == 1:
            row.column("will run", LABEL, styles.muted)
            if plan.continues_with is not None:
                row.add("no program  ", styles.text).upto(clean(plan.continues_with), columns, styles.yours)
                row.upto(f" answers, at {clean(str(plan.terms.overrides['address']))}", columns, styles.muted)
                return row
            where = clean(short_path(code.file) if code.file is not None else code.entry)
            line = f":{code.line}" if code.line is not None else ""
            function = f" {clean(code.function)}"
            changed = f"  {glyphs.differs} changed since it was recorded" if code.changed else ""
            room = columns - row.cells - width(line + function + changed)
            row.add(cut_start(where, max(_LEAST_PATH, room), glyphs.cut), styles.text).add(line, styles.strong)
            row.add(function, styles.text).add(changed, styles.changed_mark)
            other = f" or {clean(self.other_version)}"
            if self.other_version and row.cells + 3 + len("a") + width(other) <= columns:
                row.add("   ").add("a", styles.key).add(other, styles.muted)
            return row
        if y < 2 + shown_edits:
            index = y - 2
            row.column("edits" if index == 0 else "", LABEL, styles.muted)
            if not edits:
                return row.add("none: the recorded state as it is", styles.note)
            if index == SHOWN_EDITS - 1 and len(edits) > SHOWN_EDITS:
                return row.add(f"{glyphs.cut} {len(edits) - index} more", styles.muted)
            return row.join(edit_row(*edits[index], columns - row.cells, styles, glyphs))
        if y == 2 + shown_edits and plan.copied_from is not None:
            row.column("copied to", LABEL, styles.muted).upto(clean(short_path(plan.store)), columns, styles.text)
            return row.upto("; the file itself is only read", columns, styles.muted)
        name = plan.name or self.next_name
        return row.column("new run", LABEL, styles.muted).add(clean(name), styles.strong)


class ForkCost(RowWidget):
    """What the rest of the original spent, and the lines that name every tool that writes with what it may do."""

    DEFAULT_CSS = "ForkCost { height: auto; margin: 1 0 0 0; }"

    plan: reactive[ForkPlan | None] = reactive(None, layout=True)

    def get_content_height(self, _container: Size, _viewport: Size, width: int) -> int:
        """One row for the expectation, one for limits, one for each policy of what writes, and those of the notes."""
        return self.rows_in(width)

    def rows_in(self, columns: int) -> int:
        """How many rows it has in so many columns."""
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
            row.column("stops", LABEL, styles.muted)
            return row.add(show(limits, columns - LABEL, glyphs.cut), styles.text)
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
        writers = self.plan.writers if self.plan is not None else ()
        words: tuple[Word, ...] = ("deny", "ask", "stub", "recorded", "live")
        groups = [(word, [_named(entry) for entry in writers if entry.policy == word]) for word in words]
        return [group for group in groups if group[1]] or [("deny", [])]

    def _expected(self, plan: ForkPlan, columns: int, styles: Palette) -> Row:
        expected, glyphs = plan.expected, look_of(self).glyphs
        facts = [f"{glyphs.about} {fmt.count(expected.steps)} steps"]
        tokens = fmt.total_tokens(expected.tokens_in, expected.tokens_out)
        if tokens is not None:
            facts.append(f"{glyphs.about} {fmt.tokens(tokens)}")
        if expected.cost_usd is not None:
            facts.append(f"{glyphs.about} {fmt.cost(expected.cost_usd, expected.unpriced)}")
        if expected.duration_us is not None:
            facts.append(f"{glyphs.about} {fmt.duration(expected.duration_us / 1e6)}")
        row = self.new_row().column("expected", LABEL, styles.muted).add("  ".join(facts), styles.strong)
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
