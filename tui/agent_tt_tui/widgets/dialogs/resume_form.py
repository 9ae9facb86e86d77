"""The parts of the resume dialog: where the run broke off, what is given again, and each call that was in flight."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.reactive import reactive

from agent_tt._dataclass import dataclass
from agent_tt.codec.text import summary
from agent_tt.codec.wire import is_envelope
from agent_tt_tui import format as fmt
from agent_tt_tui.keymaps import RESUME
from agent_tt_tui.lines import RowList
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row, RowWidget
from agent_tt_tui.status import kind_glyph, run_glyph, run_style
from agent_tt_tui.text import call_name, clean, cut, show, width
from agent_tt_tui.widgets.dialogs.will_run import LABEL, add_will_run

if TYPE_CHECKING:
    from textual.strip import Strip

    from agent_tt.model import Call
    from agent_tt.resuming.plan import Happened, ResumePlan
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.palette import Palette

_NAME: Final = 18
_STEP: Final = 6
_WIDE: Final = 64
"""From how many columns on a row has its question in words, and not only its answers."""

_MOST_RESULT: Final = 400

FACT_ROWS: Final = 4
"""Rows of `ResumeFacts`."""


@dataclass(slots=True)
class Waiting:
    """A call that was in flight, and what is to become of it.

    Attributes:
        call: The call.
        is_asked: Whether a person has to say if it happened.
        said: What was said: `Happened`, or None for "no, make it"; undefined while `is_said` is unset.
        is_said: Whether anything was.
    """

    call: Call
    is_asked: bool
    said: Happened | None = None
    is_said: bool = False

    @property
    def can_be_given(self) -> bool:
        """Whether its result can be given by hand; the answer to a request cannot."""
        return self.call.kind == "tool"

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to be said of it."""
        return self.is_said or not self.is_asked

    @property
    def what_happens(self) -> str:
        """What becomes of a call of which nothing is asked."""
        if self.call.kind == "llm":
            return "asked again"
        return "made again" if self.call.effect != "write" else "made again: nothing to ask"


class ResumeFacts(RowWidget):
    """Where the run broke off, what will run, what it is given again, and what is live."""

    DEFAULT_CSS = f"ResumeFacts {{ height: {FACT_ROWS}; padding: 0 0 0 1; }}"

    plan: reactive[ResumePlan | None] = reactive(None)
    changed: reactive[bool] = reactive(default=False)
    """Whether the agent's file is another than when the run was recorded."""

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw one fact."""
        row, plan, glyphs = self.new_row(), self.plan, look_of(self).glyphs
        if plan is None:
            return row
        run = plan.run
        if y == 0:
            row.column("broke off", LABEL, styles.muted)
            row.add(f"{run_glyph(run.status, glyphs)} {run.status}", run_style(run.status, styles))
            row.add(f" in step {run.steps:,}" if run.steps else " before its first step", styles.text)
            why = run.error.short if run.error is not None else ""
            return row.add(show(f"  {why}", columns - row.cells, glyphs.cut), styles.muted)
        if y == 1:
            return add_will_run(row, run, columns, styles, glyphs, changed=self.changed)
        if y == 2:
            row.column("given again", LABEL, styles.muted)
            if not plan.answered:
                return row.add("nothing: no call was answered", styles.note)
            row.add(fmt.counted(plan.answered, "answer"), styles.strong)
            return row.add("; none of these calls is made twice", styles.muted)
        row.column("then live", LABEL, styles.muted)
        return row.add("models are asked and tools really run", styles.text)


class InFlightTitle(RowWidget):
    """The titles of the table."""

    DEFAULT_CSS = "InFlightTitle { height: 1; margin: 1 0 0 0; padding: 0 0 0 1; }"

    count: reactive[int] = reactive(0)

    def draw(self, _y: int, _columns: int, styles: Palette) -> Row:
        """Draw the titles."""
        row = self.new_row().add("IN FLIGHT  ", styles.title_blurred)
        if not self.count:
            return row.add("nothing was", styles.muted)
        row.add(fmt.count(self.count), styles.muted).pad_to(_NAME + 2)
        return row.column("step", _STEP - 2, styles.muted, "right").add("  asked", styles.muted)


class InFlightTable(RowList[Waiting]):
    """The calls that were in flight, each with what becomes of it."""

    HELP = "Calls that were in flight: left and right say whether one happened, enter types what it gave."

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw one call."""
        waiting, glyphs = self.rows[index], look_of(self).glyphs
        call = waiting.call
        kind = {"tool": call.effect or "write"}.get(call.kind, call.kind)
        row = Row(glyphs.cut).add(f"{kind_glyph(kind, glyphs)} ", styles.model if kind == "llm" else styles.text)
        row.column(
            call_name(call.name, _NAME - 2, glyphs.cut),
            _NAME - 2,
            styles.strong if styles.on_cursor_row else styles.text,
        )
        row.column(fmt.count(call.step), _STEP, styles.muted, "right").add("  ")
        row.upto(arguments_of(call, width), width, styles.muted)
        return row.right(_answers(waiting, width, styles, glyphs), width).strip(width)


def _fits(waiting: Waiting, asked: str, columns: int, styles: Palette, glyphs: Glyphs) -> bool:
    """Whether a row of the table has room for what a call was asked."""
    return _NAME + _STEP + 2 + width(asked) + _answers(waiting, columns, styles, glyphs).cells <= columns


def _answers(waiting: Waiting, columns: int, styles: Palette, glyphs: Glyphs) -> Row:
    """What is asked of a call, with the answers that there are."""
    row = Row(glyphs.cut).add("  ")
    if not waiting.is_asked:
        return row.add(waiting.what_happens, styles.muted)
    if columns >= _WIDE:
        question = "did it happen? " if waiting.can_be_given else "sent again? "
        row.add(question, styles.text if waiting.is_said else styles.failed)
    elif not waiting.is_said:
        row.add(f"{glyphs.unknown} ", styles.failed)
    yes, no = waiting.is_said and waiting.said is not None, waiting.is_said and waiting.said is None
    choices = [("yes", yes), ("no", no)] if waiting.can_be_given else [("yes", no)]
    for word, chosen in choices:
        row.add(f"[{word}]" if chosen else f" {word} ", styles.strong if chosen else styles.faint)
    return row


def arguments_of(call: Call, columns: int) -> str:
    """What a call was asked, as code on one line; not cut, safe to draw."""
    args = call.args
    if isinstance(args, dict) and not is_envelope(args):
        if call.kind != "tool" and isinstance(args.get("body"), dict | str):
            return clean(summary(args["body"], columns))
        return clean(", ".join(f"{name}={summary(value, columns)}" for name, value in args.items()))
    return clean(summary(args, columns))


class ResumeQuestion(RowWidget):
    """What is to be known about the call under the cursor, and how many are still to be decided."""

    DEFAULT_CSS = "ResumeQuestion { height: 2; margin: 1 0 0 0; padding: 0 0 0 1; }"

    waiting: reactive[Waiting | None] = reactive(None, always_update=True)
    undecided: reactive[int] = reactive(0)

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw one row."""
        row, glyphs, waiting = self.new_row(), look_of(self).glyphs, self.waiting
        if waiting is None:
            return row
        name = call_name(waiting.call.name, max(8, columns // 2), glyphs.cut)
        if y == 0:
            return self._first(row, waiting, name, columns, styles)
        if self.undecided:
            calls = "this call" if self.undecided == 1 and not waiting.is_settled else f"{self.undecided:,} calls"
            return row.add("! ", styles.changed_mark).add(f"say first whether {calls} happened", styles.text)
        return row.add(f"{glyphs.well} ", styles.well).add("everything is decided", styles.muted)

    def _first(self, row: Row, waiting: Waiting, name: str, columns: int, styles: Palette) -> Row:
        look, glyphs = look_of(self), look_of(self).glyphs
        if not waiting.is_asked:
            row.add(name, styles.strong)
            return row.add(" changes nothing or knows its own repeats: it is made again", styles.muted)
        if waiting.said is not None:
            row.add("it gave ", styles.muted)
            given = summary(waiting.said.wire, _MOST_RESULT)
            how = self.new_row().add(f"   {look.key(RESUME.command('list.choose'))}", styles.key)
            how.add(" changes it", styles.muted)
            row.add(show(given, max(8, columns - row.cells - how.cells), glyphs.cut), styles.strong)
            return row.join(how)
        if waiting.is_said:
            row.add(name, styles.strong)
            return row.add(" did not happen: it is made now", styles.text)
        row.add(name, styles.strong)
        tail, short = " writes; nobody knows whether it happened", " writes: did it happen?"
        asked = arguments_of(waiting.call, columns)
        if not _fits(waiting, asked, columns - 1, styles, glyphs):  # what is to be decided about is seen in full here
            row.add("(", styles.muted).add(cut(asked, columns - row.cells - width(short) - 1, glyphs.cut), styles.text)
            row.add(")", styles.muted)
        return row.add(tail if row.cells + width(tail) <= columns else short, styles.text)
