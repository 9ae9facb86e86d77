"""The parts of keeping a run as a test: its rules, what each says of the agent's other runs, the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual.reactive import reactive

from agent_tt_tui.keymaps import LIST
from agent_tt_tui.lines import LineView
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row, RowWidget
from agent_tt_tui.status import verdict_glyph, verdict_style
from agent_tt_tui.text import clean, show
from agent_tt_tui.viewmodel.golden.kept_tests import VERDICT_ROLES
from agent_tt_tui.viewmodel.values.pieces import TextLine, wrap, wrap_text
from agent_tt_tui.widgets.drawing import add_pieces
from agent_tt_tui.widgets.tall_lines import NONE_TALL, share_lines
from agent_tt_tui.widgets.text_view import TextView

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from textual.binding import BindingType
    from textual.strip import Strip

    from agent_tt.model import Run
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.viewmodel.golden.keeping import Draft, DraftRule
    from agent_tt_tui.viewmodel.values.pieces import Piece
    from agent_tt_tui.widgets.tall_lines import Lines

__all__ = ["FIELDS", "KeepCommand", "KeepFile", "KeepRows", "RuleTrials"]

FIELDS: Final = ("name", "folder", "runs")
"""The rows above the rules."""

_HEADING: Final = len(FIELDS)
"""The row between them and the rules, which the cursor leaves out."""

_RULES: Final = _HEADING + 1
_LABEL: Final = 8
_MOST_TEXT: Final = 100_000
_BOX: Final = 4
"""Columns of the box before a rule."""

_MOST_RULE: Final = 1_000
"""Characters of a rule that are shown."""


class KeepRows(LineView):
    """The name, the folder, what is run, and the rules, each with what it says of the agent's other runs."""

    HELP = "What the run is kept as: space turns a rule on or off, e changes a row, enter keeps it."

    _wrapped = NONE_TALL
    """The lines of each row that takes several, by the number of the row."""

    def __init__(self) -> None:
        super().__init__()
        self._draft: Draft | None = None
        self._runs = 0

    @property
    def line_count(self) -> int:
        """A row for each field and rule, and a heading; rules that are longer take more where lines are free."""
        return 0 if self._draft is None else _RULES + len(self._draft.rules) + self.tall.more

    @property
    def field(self) -> str:
        """The field under the cursor; "" on a rule."""
        return FIELDS[self.cursor] if 0 <= self.cursor < len(FIELDS) else ""

    @property
    def rule_index(self) -> int | None:
        """Which rule is under the cursor; None on a field."""
        index = self.row_number - _RULES
        return index if self._draft is not None and 0 <= index < len(self._draft.rules) else None

    def show(self, draft: Draft, runs: int) -> None:
        """Show what is kept, tried on so many other runs."""
        self._draft, self._runs = draft, runs
        self._measure()

    def on_resize(self) -> None:
        """Break the rules into lines for the new size."""
        self._measure()
        self.reveal(self.cursor)

    def watch_cursor(self, old: int, new: int) -> None:
        """Let the rule under the cursor be whole, and tell the parent."""
        self._measure()
        super().watch_cursor(old, self.cursor if new >= 0 else new)

    def _measure(self) -> None:
        """Give lines to rules that one would cut: to the one under the cursor first."""
        rules = () if self._draft is None else self._draft.rules
        last = _RULES + len(rules)
        first = self.row_number if _RULES <= self.row_number < last else None
        self._wrapped = share_lines(self, last, range(_RULES, last), self._lines_of, first=first)

    def _lines_of(self, row: int) -> Lines:
        width, draft = max(0, self.size.width - 2), self._draft
        if draft is None:
            return []
        rule = draft.rules[row - _RULES]
        beside = self._verdicts(rule, width, self.canvas.palette).cells + 2
        return list(wrap(self._said(rule), width - _BOX - beside, width - _BOX))

    def move_to_rule(self, index: int) -> None:
        """Put the cursor on a rule."""
        self.move_to_row(_RULES + index)

    def validate_cursor(self, cursor: int) -> int:
        """Keep the cursor off the heading: where it is moved there, it goes on."""
        found = super().validate_cursor(cursor)
        if found != _HEADING:
            return found
        return _RULES if self.cursor < _HEADING and self.line_count > _RULES else _HEADING - 1

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw one row."""
        row, draft = Row(look_of(self).glyphs.cut), self._draft
        if draft is None:
            return row.strip(width)
        if index == _HEADING:
            row.add("WHAT MUST HOLD", styles.title_blurred)
            right = Row(look_of(self).glyphs.cut).add("other runs of this agent" if self._runs else "", styles.muted)
            return row.right(right, width).strip(width)
        if index > _HEADING:
            number, part = self.tall.row_of(index)
            return self._rule(draft.rules[number - _RULES], number, part, width, styles).strip(width)
        field = FIELDS[index]
        row.column(field, _LABEL, styles.muted)
        entry = draft.run.code.entry
        recorded = entry if entry is not None else "the program that was recorded"
        said = {"name": draft.name, "folder": draft.folder, "runs": draft.agent or recorded}[field]
        row.upto(clean(said), width, styles.strong)
        note = {
            "name": "  replaces the test of this name" if draft.replaces else "",
            "folder": "",
            "runs": "" if draft.agent else "  as recorded; edit it to run another",
        }[field]
        return row.upto(note, width, styles.note).strip(width)

    def _rule(self, rule: DraftRule, number: int, part: int, width: int, styles: Palette) -> Row:
        """One line of a rule: its box and its first words, with the verdicts at the right, or more of its words."""
        glyphs = look_of(self).glyphs
        wrapped = self._wrapped.get(number)
        if wrapped is not None and part:
            return add_pieces(Row(glyphs.cut).pad_to(_BOX), wrapped[part], styles)
        right = self._verdicts(rule, width, styles)
        row = Row(glyphs.cut).add(
            f"[{glyphs.well if rule.is_on else ' '}] ", styles.strong if rule.is_on else styles.muted
        )
        said = add_pieces(Row(glyphs.cut), self._said(rule) if wrapped is None else wrapped[0], styles)
        return row.upto_row(said, width - right.cells - 2 - row.cells).right(right, width)

    def _said(self, rule: DraftRule) -> list[Piece]:
        """What a rule says, and what it says of the run itself."""
        glyphs, own, pieces = look_of(self).glyphs, rule.own, []
        if own is not None and own.verdict != "passed":
            pieces.append((f"{verdict_glyph(own.verdict, glyphs)} ", VERDICT_ROLES[own.verdict]))
        pieces.append((show(rule.rule.sentence, _MOST_RULE, glyphs.cut), "strong" if rule.is_on else "muted"))
        if own is not None:
            pieces.append((f"  {clean(own.said)}", "muted" if own.verdict == "passed" else "failed_text"))
        return pieces

    def _verdicts(self, rule: DraftRule, width: int, styles: Palette) -> Row:
        """What a rule says of the agent's other runs."""
        glyphs = look_of(self).glyphs
        right = Row(glyphs.cut)
        for number in range(self._runs):
            if number < len(rule.others):
                verdict = rule.others[number].verdict
                right.add(verdict_glyph(verdict, glyphs), verdict_style(verdict, styles))
            else:
                right.add(glyphs.ambient, styles.faint)
        if self._runs:
            held = sum(each.verdict == "passed" for each in rule.others)
            known = len(rule.others) == self._runs
            said = f"held by {held} of {self._runs}" if known else "being tried"
            right.add(f"  {said}" if width >= 60 else f" {held}/{self._runs}" if known else "", styles.muted)
        return right


class KeepCommand(RowWidget):
    """The command that does the same, as far as it fits."""

    DEFAULT_CSS = "KeepCommand { height: 1; }"

    command: reactive[str] = reactive("")

    def draw(self, _y: int, columns: int, styles: Palette) -> Row:
        """Draw it."""
        row = self.new_row().add(" same as ", styles.muted)
        return row.add(show(self.command, columns - 1 - row.cells, look_of(self).glyphs.cut), styles.text)


class RuleTrials(RowWidget):
    """What the rule under the cursor says of each of the agent's other runs."""

    DEFAULT_CSS = "RuleTrials { height: 6; }"

    def __init__(self) -> None:
        super().__init__()
        self._rule: DraftRule | None = None
        self._runs: Sequence[Run] = ()

    def show(self, rule: DraftRule | None, runs: Sequence[Run]) -> None:
        """Show a rule; None on the fields above the rules. Rows that no run needs are the rules'."""
        self._rule, self._runs = rule, runs
        self.styles.max_height = max(1, len(runs))
        self.refresh()

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw one row."""
        rows = list(self._rows(columns - 2))
        more = len(rows) - self.size.height
        if more > 0 and y == self.size.height - 1:
            return self.new_row().add(f" {more + 1} more", styles.note)
        return add_pieces(self.new_row().add(" "), rows[y], styles) if y < len(rows) else self.new_row()

    def _rows(self, columns: int) -> Iterator[tuple[Piece, ...]]:
        glyphs, rule = look_of(self).glyphs, self._rule
        if not self._runs:
            yield (("there is no other run of this agent that a rule could be tried on", "note"),)
        if rule is None:
            return
        for run, judged in zip(self._runs, rule.others, strict=False):
            at = "" if judged.step is None else f" (step {judged.step})"
            yield (
                (f"{verdict_glyph(judged.verdict, glyphs)} ", VERDICT_ROLES[judged.verdict]),
                (f"{clean(run.name)}  ", "text"),
                (show(f"{judged.said}{at}", columns - 3 - len(run.name), glyphs.cut), "muted"),
            )


class KeepFile(TextView, inherit_bindings=False):
    """The file as it will be written, and the command that does the same; enter keeps it, as on the rules."""

    BINDINGS: ClassVar[list[BindingType]] = LIST.widget_bindings()
    QUIET: ClassVar[bool] = True
    HELP = "The file as it will be written; v goes back to the rules."

    def __init__(self) -> None:
        super().__init__(id="keep-file")
        self._text = self._command = ""

    def show(self, text: str, command: str) -> None:
        """Show a file and a command."""
        self._text, self._command = text, command
        self.lay_out_again()

    def action_choose(self) -> None:
        """Tell the dialog: there is nothing to fold."""
        self.post_message(self.Chosen(self, self.cursor))

    def lay_out(self, columns: int) -> Sequence[TextLine]:
        """Break both into rows."""
        more = look_of(self).glyphs.cut
        rows = [TextLine(row) for row in wrap_text(self._text, columns, "text", more, limit=_MOST_TEXT)]
        rows += [TextLine(), TextLine((("the same from a shell", "title"),))]
        return [*rows, *(TextLine(row) for row in wrap_text(self._command, columns, "text", more, limit=_MOST_TEXT))]
