"""The preview of a run in the browser, and the pane that reads it once the cursor rests."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, cast

from textual.reactive import reactive
from textual.worker import get_current_worker

from agent_tt.codec.text import summary
from agent_tt.comparing.runs.without_effect import edits_without_effect
from agent_tt.errors import AgentTTError, Interrupted
from agent_tt_tui import format as fmt
from agent_tt_tui.chrome import Pane, PaneTitle
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row, RowWidget
from agent_tt_tui.status import run_glyph, run_style
from agent_tt_tui.text import clean, cut, show, width
from agent_tt_tui.viewmodel.debugger.marked_steps import name_of
from agent_tt_tui.viewmodel.runs.preview import Preview, read_preview
from agent_tt_tui.widgets.dialogs.edit_row import edit_row, edit_rows, unmade_row
from agent_tt_tui.widgets.drawing import add_strip

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.style import Style
    from textual.timer import Timer

    from agent_tt.codec.wire import Wire
    from agent_tt.model import Note, Run
    from agent_tt.protocols import RunSource
    from agent_tt_tui.glyphs import Glyphs
    from agent_tt_tui.palette import Palette
    from agent_tt_tui.screen import CommandScreen
    from agent_tt_tui.viewmodel.runs.preview import Preview

SHORT_ROWS: Final = 8
"""Below this many rows the preview leaves out its headings."""

_ANSWER_ROWS: Final = 3
_MOST_NOTES: Final = 5


class RunPreview(RowWidget):
    """The body of the preview pane."""

    preview: reactive[Preview | None] = reactive(None)
    trouble: reactive[str] = reactive("")
    """Why the run cannot be read; stands in place of the preview."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._rows: list[Row] | None = None

    def watch_preview(self) -> None:
        """Forget the rows of the run before."""
        self._rows = None

    def on_resize(self) -> None:
        """Fit the rows to the new size."""
        self._rows = None

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw one row."""
        if self.trouble:
            row = self.new_row().add(" ")
            glyphs = look_of(self).glyphs
            return row.add(f"{glyphs.failed} {clean(self.trouble)}", styles.failed) if y == 0 else row
        if self.preview is None:
            return self.new_row()
        if y == 0 or self._rows is None:
            lines = _Lines(self.preview, columns - 2, styles, look_of(self).glyphs)
            self._rows = (
                lines.short(self.size.height) if self.size.height < SHORT_ROWS else lines.long(self.size.height)
            )
        return self.new_row().add(" ").join(self._rows[y]) if y < len(self._rows) else self.new_row()


class _Lines:
    """The rows of one preview."""

    def __init__(self, preview: Preview, columns: int, styles: Palette, glyphs: Glyphs) -> None:
        self.preview, self.columns, self.styles, self.glyphs = preview, columns, styles, glyphs

    def short(self, height: int) -> list[Row]:
        """Without headings, for a few rows below the list; rows that are free go to the error, then to the answer."""
        rows = self._short(0)
        return self._short(height - len(rows)) if len(rows) < height else rows

    def _short(self, free: int) -> list[Row]:
        rows = [*self._damaged(), self._strip(), *self._lineage(), *self._gone()]
        edits = self._row()
        for index, each in enumerate(self._edits()):
            edits.add("   " if index else "").join(each)
        if self.preview.run.edits:
            rows.append(edits)
        if self.preview.run.error is not None:
            error = self._wrapped(self.preview.run.error.short, self.styles.failed_text, 1 + free)
            rows += error
            free -= len(error) - 1
        if self.preview.answer:
            rows += self._wrapped(f'"{self.preview.answer}"', self.styles.text, 1 + free, lead="answer ")
        rows += [self._note(note) for note in self.preview.notes[:1]]
        return [*rows, *self._ran()]

    def long(self, height: int) -> list[Row]:
        """With headings, a blank row before each, for a pane of its own; rows that are free go to the answer."""
        rows = self._long(_ANSWER_ROWS)
        return self._long(_ANSWER_ROWS + height - len(rows)) if len(rows) < height else rows

    def _long(self, answer_rows: int) -> list[Row]:
        preview, run, styles = self.preview, self.preview.run, self.styles
        rows = [*self._damaged(), self._strip(), *self._lineage(), *self._gone()]
        if run.edits:
            rows += [*self._heading("EDITS"), *self._edits()]
        if run.error is not None:
            rows += [*self._heading("ERROR"), *self._wrapped(run.error.short, styles.failed_text)]
        if preview.answer:
            rows += [*self._heading("ANSWER"), *self._wrapped(f'"{preview.answer}"', styles.text, answer_rows)]
        if preview.parent is not None:
            rows += [*self._heading("AGAINST ITS PARENT"), *self._against(preview.parent)]
        if preview.writes or preview.denied:
            rows += self._heading("WRITES")
            rows += [
                self._row().add(f"{self.glyphs.writes} ", styles.text).add(clean(name), styles.text)
                for name in preview.writes
            ]
            rows += [
                self._row()
                .add(f"{self.glyphs.writes} ", styles.muted)
                .add(clean(name), styles.text)
                .add("  denied", styles.yours)
                for name in preview.denied
            ]
        if run.tags:
            rows += [*self._heading("TAGS"), self._row().add(clean(" ".join(run.tags)), styles.text)]
        if run.metadata:
            rows += [*self._heading("FACTS"), *(self._fact(name, value) for name, value in run.metadata.items())]
        if preview.notes:
            rows += self._heading("NOTES")
            for note in preview.notes[:_MOST_NOTES]:
                where = "" if note.step is None else f"@{note.step} "
                rows += self._wrapped(f"{where}{note.body}", styles.text)
            if len(preview.notes) > _MOST_NOTES:
                rows.append(self._row().add(f"{self.glyphs.cut} {len(preview.notes) - _MOST_NOTES} more", styles.note))
        ran = self._ran()
        return [*rows, *([*self._heading("RAN"), *ran] if ran else [])]

    def _row(self) -> Row:
        return Row(self.glyphs.cut)

    def _heading(self, text: str) -> list[Row]:
        return [self._row(), self._row().add(text, self.styles.title_blurred)]

    def _strip(self) -> Row:
        styles, steps = self.styles, self.preview.steps
        count = f"  {fmt.counted(len(steps), 'step')}"
        row = add_strip(self._row(), steps, self.preview.diverged_at, self.columns - width(count), styles, self.glyphs)
        return row.add(count, styles.muted)

    def _lineage(self) -> list[Row]:
        preview, styles = self.preview, self.styles
        if preview.run.fork_step is None:
            return []
        name = preview.parent.name if preview.parent else "a run that is gone"
        row = self._row().add("fork of ", styles.muted).add(clean(name), styles.text)
        row.add(" after ", styles.muted).add(str(preview.run.fork_step), styles.strong)
        if preview.diverged_at is not None:
            row.add(f"  {self.glyphs.differs}", styles.yours).add(" at ", styles.muted).add(
                str(preview.diverged_at), styles.strong
            )
        return [row]

    def _gone(self) -> list[Row]:
        """How far a run came that broke off: which steps did not end, or else which did last."""
        run, steps = self.preview.run, self.preview.steps
        if run.status != "crashed" or run.error is not None or run.damaged is not None or not steps:
            return []
        open_steps = [step for step in steps if step.ended_us is None]
        named = ", ".join(f"{step.number} {name_of(step)}" for step in open_steps or steps[-1:])
        said = f"not ended: {named}" if open_steps else f"the last step that ended: {named}"
        return self._wrapped(said, self.styles.failed_text)

    def _damaged(self) -> list[Row]:
        """What is wrong with what is stored of the run."""
        why = self.preview.run.damaged
        return [] if why is None else self._wrapped(f"{self.glyphs.failed} {why}", self.styles.failed)

    def _edits(self) -> list[Row]:
        run, columns, styles, glyphs = self.preview.run, self.columns, self.styles, self.glyphs
        rows = [edit_row(*each, columns, styles, glyphs) for each in edit_rows(run.edits)]
        unmade = edits_without_effect(run)
        return [*rows, *(unmade_row(each.edit, each.reason, columns, styles, glyphs) for each in unmade)]

    def _fact(self, name: str, value: Wire) -> Row:
        row = self._row().column(clean(name), 10, self.styles.muted)
        room = max(1, self.columns - row.cells)
        return row.add(
            show(value if isinstance(value, str) else summary(value, room), room, self.glyphs.cut), self.styles.text
        )

    def _note(self, note: Note) -> Row:
        where = "" if note.step is None else f"@{note.step} "
        return self._row().add(where, self.styles.muted).add(show(note.body, 200, self.glyphs.cut), self.styles.text)

    def _wrapped(self, text: str, style: Style, most: int = _ANSWER_ROWS, *, lead: str = "") -> list[Row]:
        lines: list[str] = []
        line, columns = "", self.columns - width(lead)
        words = clean(text[: columns * (most + 1)]).split(" ")
        for index, word in enumerate(words):
            joined = f"{line} {word}" if line else word
            if width(joined) <= columns:
                line = joined
                continue
            if len(lines) == most - 1:
                line = " ".join([line, *words[index:]])
                break
            lines.append(line)
            line = word
        lines.append(cut(line, columns, self.glyphs.cut))
        leads = [lead, *[" " * width(lead)] * (len(lines) - 1)]
        return [
            self._row().add(before, self.styles.muted).add(each, style)
            for before, each in zip(leads, lines, strict=True)
        ]

    def _against(self, parent: Run) -> list[Row]:
        run, styles, to = self.preview.run, self.styles, f" {self.glyphs.to} "
        steps = self._row().column("steps", 10, styles.muted).add(fmt.count(parent.steps), styles.text)
        rows = [steps.add(to, styles.muted).add(fmt.count(run.steps), styles.strong)]
        old, new = (fmt.total_tokens(each.tokens_in, each.tokens_out) for each in (parent, run))
        if old is not None and new is not None:
            row = self._row().column("tokens", 10, styles.muted).add(fmt.count(old), styles.text)
            rows.append(row.add(to, styles.muted).add(fmt.count(new), styles.strong))
        row = self._row().column("outcome", 10, styles.muted)
        row.add(f"{run_glyph(parent.status, self.glyphs)} {parent.status}", styles.muted).add(to, styles.muted)
        rows.append(row.add(f"{run_glyph(run.status, self.glyphs)} {run.status}", run_style(run.status, styles)))
        return rows

    def _ran(self) -> list[Row]:
        run = self.preview.run
        facts = [
            fact for fact in (run.code.version and f"version {run.code.version}", run.model and run.model.model) if fact
        ]
        rows = [self._row().add(clean(run.code.entry), self.styles.muted)] if run.code.entry else []
        if facts:
            rows.append(self._row().add(clean(f" {self.glyphs.dot} ".join(facts)), self.styles.faint))
        return rows


_DELAY_SECONDS: Final = 0.06
"""How long a cursor that has just moved rests before a preview is read: while a key is held down none is."""
_RESTED_SECONDS: Final = 0.1
"""Behind a cursor that has rested for so long a preview is read at once; keys that are held down come sooner."""
_FRAME_SECONDS: Final = 0.02
"""How long the next frame waits for a preview that is read at once: most are there much sooner."""


class PreviewPane(Pane):
    """A preview of one run, under a title with its name and how long it took."""

    def __init__(
        self,
        source: RunSource,
        under_cursor: Callable[[], Run | None],
        *,
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        """Make the pane, empty.

        Args:
            source: where the runs are.
            under_cursor: gives the run to show; None for none.
            id: Textual's id of the pane.
        """
        self._body = RunPreview(id="preview")
        super().__init__(PaneTitle("Preview"), self._body, id=id, classes="ground")
        self._source, self._under_cursor = source, under_cursor
        self._moved = 0.0
        self._timer: Timer | None = None
        self._wanted: Run | None = None

    def read_soon(self, *, anew: bool = False) -> None:
        """Read the preview of the run under the cursor, now or when the cursor rests.

        Args:
            anew: Whether it is read too where it was, or is being read, already.
        """
        wanted, self._wanted = self._wanted, self._under_cursor()
        if not anew and wanted is not None and wanted is self._wanted:
            return
        before, self._moved = self._moved, time.monotonic()
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self._moved - before >= _RESTED_SECONDS:
            self._start()
        else:
            self._timer = self.set_timer(_DELAY_SECONDS, self._start)

    def _start(self) -> None:
        self._timer = None
        if not self.is_attached:  # the screen was left while the cursor rested
            return
        run = self._under_cursor()
        if run is None:
            self.title_row.detail, self.title_row.hint = "", ""
            self._body.preview, self._body.trouble = None, ""
            return
        self._command_screen.hold_frame(self, _FRAME_SECONDS)
        self.run_worker(lambda: self._read(run), group="preview", exclusive=True, thread=True, exit_on_error=False)

    def _read(self, run: Run) -> None:
        worker = get_current_worker()
        trouble, preview = "", None
        try:
            preview = read_preview(self._source, run, cancelled=lambda: worker.is_cancelled)
        except Interrupted:
            return
        except AgentTTError as error:
            trouble = error.message
        if not worker.is_cancelled:
            self.app.call_from_thread(self._show, run, preview, trouble)

    def _show(self, run: Run, preview: Preview | None, trouble: str) -> None:
        self.title_row.detail = run.name
        took_us = None if run.ended_us is None else run.ended_us - run.started_us
        self.title_row.hint = "" if took_us is None else fmt.duration(took_us / 1e6)
        self._body.preview, self._body.trouble = preview, trouble
        self._command_screen.free_frame(self)

    @property
    def _command_screen(self) -> CommandScreen[None]:
        return cast("CommandScreen[None]", self.screen)
