"""The diff pane: what a step changed, against the base that was chosen."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from textual.message import Message
from textual.worker import get_current_worker

from agent_tt._dataclass import dataclass
from agent_tt_tui.chrome import Pane, PaneTitle
from agent_tt_tui.keymaps import DEBUGGER
from agent_tt_tui.keymaps.shared import NEXT_PANE
from agent_tt_tui.lines import LineView
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row
from agent_tt_tui.text import clean, width
from agent_tt_tui.viewmodel.values.difflines import DiffRows
from agent_tt_tui.viewmodel.values.difftext import CUT, DiffLine
from agent_tt_tui.viewmodel.values.pieces import wrap_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style
    from textual.strip import Strip

    from agent_tt.model import Edit
    from agent_tt.querying.ranges import StepRange
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.viewmodel.debugger.stepview import StepView
    from agent_tt_tui.viewmodel.edits.pending import Pending
    from agent_tt_tui.viewmodel.past.bases import Base
    from agent_tt_tui.viewmodel.values.difftext import Role

_LONGEST_NOTE = 400
_BASE_SHORT, _BASE_LONG = 9, 16
"""Columns that a range as a base takes at the right, with its key."""
_LABELS_FROM = 60
"""Columns from which on a base has its whole name."""
_FREE = 2
"""Columns of a list that are not its lines': the cursor bar's and the one at the right edge."""


class DiffTitle(PaneTitle):
    """`DIFF 2 → 3  +2 ~3`, and at the right the key and the name of the base."""

    view: StepView | None = None
    base: Base | None = None
    pending: Pending | None = None
    """Edits that are shown instead of the step's changes."""

    def draw_left(self, row: Row, styles: Palette) -> None:
        """Add what is compared, and how many changes there are of each kind."""
        glyphs, view = look_of(self).glyphs, self.view
        if self.pending is not None:
            row.add("PENDING EDITS", styles.title if self.active else styles.title_blurred)
            row.add(f"  {len(self.pending.edits)} {self.pending.place}".rstrip(), styles.muted)
            return
        steps = None if self.base is None else self.base.steps
        row.add("DIFF" if steps is None else "STEPS", styles.title if self.active else styles.title_blurred)
        if self.busy:
            row.add(f"  {glyphs.still} {clean(self.busy)} {glyphs.cut}", styles.note)
            return
        if view is None:
            return
        if view.base is None:
            row.add("  after ", styles.muted).add(str(view.number), styles.strong)
            return
        if steps is not None:
            self._add_steps(row, steps, styles)
            return
        other = self.base is not None and self.base.other is not None
        before = self.base.label if other and self.base is not None else str(view.base)
        row.add(f"  {clean(before)} {glyphs.to} ", styles.muted).add(str(view.number), styles.strong)
        row.add("    ").add(self._counts(view), styles.muted)

    def _add_steps(self, row: Row, steps: StepRange, styles: Palette) -> None:
        """Add the steps of a range, and what these alone took."""
        from agent_tt_tui.viewmodel.past.ranges import range_facts

        glyphs = look_of(self).glyphs
        room = self.size.width - (_BASE_LONG if self.size.width >= _LABELS_FROM else _BASE_SHORT)
        row.add("  ").add(f"{steps.first}{glyphs.span}" if steps.first < steps.last else "", styles.muted)
        row.add(str(steps.last), styles.strong)
        for fact in (*range_facts(steps, glyphs)[1:], "" if self.view is None else self._counts(self.view)):
            if fact and row.cells + 2 + width(fact) <= room:
                row.add("  ").add(fact, styles.muted)

    def _counts(self, view: StepView) -> str:
        glyphs = look_of(self).glyphs
        counts = {"+": 0, "-": 0, "~": 0}
        for change in view.changes:
            counts[{"add": "+", "remove": "-"}.get(change.op, "~")] += 1
        signs = {"+": glyphs.added, "-": glyphs.removed, "~": glyphs.changed}
        return "  ".join(f"{signs[sign]}{number:,}" for sign, number in counts.items() if number)

    def draw_right(self, row: Row, styles: Palette) -> None:
        """Add the key that goes to the next base, and the base; for edits what can be done with them."""
        look = look_of(self)
        if self.pending is not None:
            named = (("edit.remove", " remove  "), ("edit.undo", " undo  "), ("fork.open", " fork"))
            for command, words in named if self.active else named[1:]:
                row.add(look.key(DEBUGGER.command(command)), styles.key).add(words, styles.muted)
        elif self.base is not None:
            label = self.base.label if self.size.width >= _LABELS_FROM and self.base.other is None else self.base.short
            row.add(f"{look.key(DEBUGGER.command('diff.base'))} ", styles.key).add(clean(label), styles.muted)


class DiffLines(LineView):
    """The changes of a step."""

    QUIET = True
    HELP = "What the step changed; d compares with something else, z shows all of it."

    def __init__(self) -> None:
        super().__init__(id="diff-lines")
        self._lines: Sequence[DiffLine] = ()
        self._edits = False
        self.whole = False
        """Whether the pane has the whole screen, so that what does not fit is scrolled and not counted."""

    def show(self, lines: Sequence[DiffLine], *, edits: bool = False) -> None:
        """Show lines.

        Args:
            lines: What changed.
            edits: Whether a person made the changes, which is what their sign then says.
        """
        self._lines, self._edits = lines, edits
        self.refresh_lines_data()
        self.move_to(0)
        self.reveal(0)

    @property
    def line_count(self) -> int:
        """How many rows all of it takes."""
        return len(self._lines)

    @property
    def _left_out(self) -> int:
        """How many rows do not fit into the pane, the one that says so included."""
        surplus = self.line_count - self.size.height
        shown_from_top = self.scroll_offset.y == 0 and not self.in_focus
        return surplus + 1 if surplus > 0 and shown_from_top and not self.whole else 0

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw a row of a change."""
        look, glyphs = look_of(self), look_of(self).glyphs
        row = Row(glyphs.cut)
        if self._left_out and index == self.size.height - 1:
            zoom, go = look.key(DEBUGGER.command("pane.zoom")), look.key(NEXT_PANE)
            said = f"{glyphs.cut} {self._left_out:,} more, {zoom} to see all ({go} goes there)"
            return row.add(said, styles.note).strip(width)
        shown = self._lines[index]
        signs = {
            "+": (glyphs.added, styles.added_mark),
            "-": (glyphs.removed, styles.removed_mark),
            "~": (glyphs.changed, styles.changed_mark),
        }
        if shown.sign:
            row.add(*(glyphs.edited, styles.yours) if self._edits else signs[shown.sign])
        row.pad_to(shown.indent)
        for said, role in shown.pieces:
            text = said.replace(CUT, glyphs.cut)
            match role:
                case "to":
                    row.add(f" {glyphs.to} ", styles.muted)
                case "added":
                    row.add(*styles.added(text))
                case "removed":
                    row.add(*styles.removed(text))
                case _:
                    row.add(text, _style(role, styles))
        return row.strip(width)


def _style(role: str, styles: Palette) -> Style:
    known = {"path": styles.strong, "new": styles.added_text, "muted": styles.muted, "failed": styles.failed_text}
    return styles.note if role == "note" else known.get(role, styles.text)


def _not_yet(rows: DiffRows) -> list[DiffLine]:
    """What stands for an edit while its texts are compared."""
    return [DiffLine("~", 2, ((clean(each.path), "path"), ("  being compared", "muted"))) for each in rows.changes]


class DiffPane(Pane):
    """Title and lines of the diff."""

    @dataclass
    class Refitted(Message):
        """The lines were laid out for another width: the pane may need other rows than before."""

    def __init__(self) -> None:
        self.diff_title = DiffTitle("Diff")
        self.lines = DiffLines()
        super().__init__(self.diff_title, self.lines, id="diff")
        self._rows = DiffRows(())
        self._edits: list[tuple[Edit, DiffRows]] = []
        """The edits that are shown; what was found out about their texts is kept while they are."""
        self._groups: list[int | None] = []
        self._trouble = self._between = self._note = ""
        self._laid_out = 0

    @property
    def columns(self) -> int:
        """The columns that lines may have."""
        return max(1, self.size.width - _FREE)

    @property
    def needed(self) -> int:
        """How many rows all of it takes, title included."""
        return self.lines.line_count + 1

    def show(self, view: StepView, base: Base, rows: DiffRows, columns: int, between: str) -> None:
        """Show what a step changed.

        Args:
            view: The step.
            base: What it was compared with.
            rows: The changes, laid out before for so many `columns`: what takes long was done then.
            columns: See there.
            between: What lies between the two steps, said below the changes; "" for nothing.
        """
        self.diff_title.view, self.diff_title.base, self.diff_title.pending = view, base, None
        self.diff_title.refresh()
        self._rows, self._laid_out, self._between = rows, columns, between
        if base.steps is not None:
            self._between = base.steps.effects.summary(look_of(self).glyphs.times)
        if view.error is not None:
            self._note = "cannot be compared: the state cannot be read"
        elif view.base is None:
            self._note = "the input: nothing was there before it" if view.number == 0 else "no state before this one"
        elif view.step is not None and view.step.status == "running" and view.run.status == "running":
            self._note = "this step still runs"
        elif view.step is not None and (
            view.step.status in ("running", "interrupted") or view.step.facts.attempt is not None
        ):
            again = view.step.facts.attempt
            ended = "it went on later" if again else "this step did not end"
            self._note = f"{ended}: the state is the one before it"
        else:
            self._note = "nothing changed"
            if base.steps is not None and self._between:
                self._note = f"nothing changed; {clean(self._between)}"
        self._show_changes()
        self._fit()  # the pane may have another width by now: it was hidden when the lines were asked for

    def show_pending(self, pending: Pending, trouble: str = "") -> None:
        """Show edits that nothing has run with yet, instead of what a step changed.

        Args:
            pending: The edits.
            trouble: Why a fork with them cannot be; it stands above them.
        """
        self.diff_title.pending, self._trouble = pending, trouble
        self.diff_title.refresh()
        self._laid_out = self.columns
        self._show_edits(pending)

    @property
    def edit_under_cursor(self) -> int | None:
        """Which group of the edits that are shown is under the cursor; None where there is none."""
        at = self.lines.cursor
        return self._groups[at] if self.diff_title.pending is not None and 0 <= at < len(self._groups) else None

    def _show_edits(self, pending: Pending) -> None:
        lines: list[DiffLine] = []
        if self._trouble:  # first, where the pane is too low for all
            rows = wrap_text(self._trouble, self.columns - 4, "failed", CUT, limit=_LONGEST_NOTE)
            for index, row in enumerate(rows):
                lead = "  " if index else f"{look_of(self).glyphs.failed} "
                lines.append(DiffLine("", 2, ((lead + "".join(text for text, _ in row), "failed"),)))
        self._groups = [None] * len(lines)
        self._edits = [(edit, self._rows_of(edit)) for edit in pending.edits]
        slow = [rows for _, rows in self._edits if rows.is_slow]
        left = iter(self._edits)
        for group_index, group in enumerate(pending.groups):
            for _, own in islice(left, len(group)):
                drawn = _not_yet(own) if own.is_slow else own.lay_out(self.columns)
                lines += drawn
                self._groups += [group_index] * len(drawn)
        lines += self._noted("The recording itself is not touched.", "note")
        self.lines.show(lines, edits=True)
        if slow:
            compare = partial(self._compare_texts, pending, slow, self.columns)
            self.run_worker(compare, group="edits", exclusive=True, thread=True, exit_on_error=False)

    def _rows_of(self, edit: Edit) -> DiffRows:
        from agent_tt.comparing.values.edit_leaves import edit_changes

        known = next((rows for other, rows in self._edits if other == edit), None)
        return DiffRows(edit_changes(edit)) if known is None else known

    def _compare_texts(self, pending: Pending, slow: Sequence[DiffRows], columns: int) -> None:
        """Compare long texts in a thread, then show the edits again."""
        worker = get_current_worker()
        for rows in slow:
            rows.lay_out(columns)
        if not worker.is_cancelled:
            self.app.call_from_thread(self._show_compared, pending)

    def _show_compared(self, pending: Pending) -> None:
        if self.diff_title.pending is pending:
            self._show_edits(pending)

    def on_resize(self) -> None:
        """Lay the changes out for the new width."""
        self._fit()

    def _fit(self) -> None:
        pending = self.diff_title.pending
        if not self.size.width or self.columns == self._laid_out or not (self.diff_title.view or pending):
            return
        self._laid_out = self.columns
        if pending is not None:
            self._show_edits(pending)
        else:
            self._show_changes()
        self.post_message(self.Refitted())

    def _show_changes(self) -> None:
        lines = self._rows.lay_out(self._laid_out)
        if not lines:
            self.lines.show(self._noted(self._note, "note"))
            return
        said = self._noted(self._between, "muted") if self._between else []
        is_range = self.diff_title.base is not None and self.diff_title.base.steps is not None
        self.lines.show([*said, *lines] if is_range else [*lines, *said])

    def _noted(self, note: str, role: Role) -> list[DiffLine]:
        """A sentence below or in place of changes, in as many rows as it needs."""
        indent = 2 if role == "muted" else 1
        rows = wrap_text(note, max(1, self._laid_out - indent), "text", CUT, limit=_LONGEST_NOTE)
        return [DiffLine("", indent, (("".join(text for text, _ in row), role),)) for row in rows]
