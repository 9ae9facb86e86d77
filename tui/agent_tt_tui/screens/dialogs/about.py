"""The dialog that shows, and changes, what was written down about a run and one of its checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widgets import Static

from agent_tt.errors import AgentTTError
from agent_tt.model.fact_text import format_fact, parse_fact
from agent_tt.sources import marks_of
from agent_tt_tui.dialog import Dialog, DialogTitle
from agent_tt_tui.keymaps import ABOUT
from agent_tt_tui.lines import RowList
from agent_tt_tui.look import look_of
from agent_tt_tui.row import Row
from agent_tt_tui.screens.dialogs.prompt import PromptDialog
from agent_tt_tui.text import clean, width
from agent_tt_tui.viewmodel.runs.about import About, AboutRow, about_rows, read_about

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.strip import Strip

    from agent_tt.protocols import MarkedRuns, RunSource
    from agent_tt_tui.lines import LineView
    from agent_tt_tui.palette import Palette

_MOST_LABEL_COLUMNS = 16
_MOST_ROWS = 24
_CHANGING = frozenset({"about.name", "about.note", "about.fact", "about.tags", "about.remove"})


class AboutList(RowList[AboutRow]):
    """The rows of the dialog."""

    HELP = "What was written down: the row under the cursor says what the keys change, the run or the state."

    def __init__(self) -> None:
        super().__init__(id="about-rows")

    def get_content_height(self, *_sizes: object) -> int:
        """As many rows as there are, as far as they fit."""
        return min(_MOST_ROWS, max(3, len(self.rows)))

    def show(self, rows: Sequence[AboutRow]) -> None:
        """Show rows; the cursor stays where it is, or goes to the first that is not a title."""
        first = not self.rows
        self.rows = rows
        self.styles.height = self.get_content_height()
        self.refresh_lines_data()
        if first:
            step = max((row.step for row in rows if row.kind == "title" and row.step is not None), default=None)
            titles = [index for index, row in enumerate(rows) if row.kind == "title" and row.step == step]
            self.move_to(titles[0] + 1 if titles else 0)

    def line(self, index: int, width: int, styles: Palette) -> Strip:
        """Draw one row."""
        item, glyphs = self.rows[index], look_of(self).glyphs
        row = Row(glyphs.cut)
        if item.kind == "title":
            return row.add(clean(item.label).upper(), styles.title).strip(width)
        row.add(" ")
        if item.kind == "nothing":
            return row.upto(item.text, width, styles.note).strip(width)
        row.column(clean(item.label), min(self._label_columns, max(6, width // 3)), styles.muted).add(" ")
        style = {"name": styles.yours, "tag": styles.yours, "note": styles.text}.get(item.kind, styles.strong)
        return row.upto(clean(item.text), width, style if item.label != "before" else styles.muted).strip(width)

    @property
    def _label_columns(self) -> int:
        return min(_MOST_LABEL_COLUMNS, max((width(clean(row.label)) for row in self.rows if row.text), default=6)) + 1


class AboutDialog(Dialog[int]):
    """Shows what was written down; returns the step to go to when one is chosen."""

    CONTEXT = ABOUT
    AUTO_FOCUS = "AboutList"
    HELP = "Names, tags, facts and notes of the run, and of the state after a step; esc closes."

    def __init__(self, source: RunSource, run_id: str, step: int | None = None) -> None:
        """Show a run.

        Args:
            source: where it is.
            run_id: the run.
            step: the checkpoint that is looked at; None for none.
        """
        super().__init__()
        self._source, self._run_id, self._step = source, run_id, step
        self._about: About | None = None

    def compose_content(self) -> ComposeResult:
        """Yield the title, the rows, and what is wrong."""
        yield DialogTitle("About", detail="names, tags, facts, notes")
        yield AboutList()
        yield Static("", classes="dialog-note", markup=False)

    def on_mount(self) -> None:
        """Read what there is."""
        self._do(lambda: None)

    # Reading and writing, in a thread.

    def _do(self, work: Callable[[], object]) -> None:
        """Write something, and read everything anew."""
        self.run_worker(lambda: self._work(work), group="about", thread=True, exit_on_error=False)

    def _work(self, work: Callable[[], object]) -> None:
        trouble = ""
        try:
            work()
        except AgentTTError as error:
            trouble = f"{error.message}. {error.hint}" if error.hint else error.message
        try:
            about: About | None = read_about(self._source, self._run_id, self._step)
        except AgentTTError as error:
            about, trouble = None, error.message
        self.app.call_from_thread(self._show, about, trouble)

    def _show(self, about: About | None, trouble: str) -> None:
        if about is not None:
            self._about = about
            self.query_one(AboutList).show(about_rows(about))
        said = f"{look_of(self).glyphs.failed} {clean(trouble)}" if trouble else ""
        self.query_one(".dialog-note", Static).update(said)
        self.refresh_footer()

    @property
    def _store(self) -> MarkedRuns | None:
        """Where marks can be written; None where nothing takes them."""
        return marks_of(self._source)

    # What keys do.

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now."""
        if command_id in _CHANGING and self._store is None:
            return "this file is only read: nothing can be written down about its runs"
        if command_id in _CHANGING and self._about is None:
            return "the run cannot be read"
        if command_id == "about.remove" and not self._removable(self._row):
            return "there is nothing to remove on this row"
        return super().blocked(command_id)

    @property
    def _row(self) -> AboutRow:
        return self.query_one(AboutList).current or AboutRow("nothing", None)

    @staticmethod
    def _removable(row: AboutRow) -> bool:
        return row.kind in ("tag", "fact", "note") or (row.kind == "name" and row.step is not None)

    def on_line_view_cursor_moved(self, _message: LineView.CursorMoved) -> None:
        """What can be taken away differs by row."""
        self.refresh_footer()

    def on_line_view_chosen(self, _message: LineView.Chosen) -> None:
        """Go to the step that a row is about, else change what the row says."""
        row = self._row
        if row.step is not None and row.step != self._step:
            self.dismiss(row.step)
        elif row.kind in ("name", "tag", "fact"):
            command = {"name": "about.name", "tag": "about.tags", "fact": "about.fact"}[row.kind]
            reason = self.blocked(command)
            if reason is not None:
                self.say(reason)
            elif row.kind == "fact":
                self._ask_fact(row)
            else:
                (self.action_name if row.kind == "name" else self.action_tags)()

    def _where(self, step: int | None) -> str:
        return "of the run" if step is None else f"of the state after step {step}" if step else "of the input"

    def action_name(self) -> None:
        """Rename the run, or name the checkpoint."""
        store, about, step = self._store, self._about, self._row.step
        if store is None or about is None:
            return

        def named(name: str) -> None:
            if step is None:
                self._do(lambda: store.rename_run(self._run_id, name))
            else:
                self._do(lambda: store.name_checkpoint(self._run_id, step, name))

        label = about.labels.get(step) if step is not None else None
        value = about.run.name if step is None else (label.name or "" if label is not None else "")
        dialog = PromptDialog("Name", detail=self._where(step), value=value, check=_needs_text)
        self.ask(dialog, named)

    def action_note(self) -> None:
        """Write a note."""
        store, step = self._store, self._row.step
        if store is None:
            return
        detail = "about the run" if step is None else f"about the state after step {step}"
        dialog = PromptDialog("Note", detail=detail, check=_needs_text)
        self.ask(dialog, lambda text: self._do(lambda: store.add_note(self._run_id, step, "note", text)))

    def action_fact(self) -> None:
        """Write a fact down."""
        self._ask_fact(AboutRow("nothing", self._row.step))

    def _ask_fact(self, row: AboutRow) -> None:
        store, about = self._store, self._about
        if store is None or about is None:
            return

        def written(text: str) -> None:
            key, value = parse_fact(text)
            self._do(lambda: store.set_metadata(self._run_id, {key: value}, step=row.step))

        label = about.labels.get(row.step) if row.step is not None else None
        known = about.run.metadata if row.step is None else (label.metadata if label is not None else {})
        value = format_fact(row.key, known[row.key]) if row.key in known else ""
        placeholder = "ticket=OPS-12, purpose=…, or any name and JSON: budget=3"
        dialog = PromptDialog(
            "Fact", detail=self._where(row.step), value=value, placeholder=placeholder, check=_is_fact
        )
        self.ask(dialog, written)

    def action_tags(self) -> None:
        """Change the run's tags."""
        store, about = self._store, self._about
        if store is None or about is None:
            return
        dialog = PromptDialog("Tags", detail=TAGS_DETAIL, value=" ".join(about.run.tags))
        self.ask(dialog, lambda text: self._do(lambda: store.set_tags(self._run_id, text.split())))

    def action_remove(self) -> None:
        """Remove what this row says."""
        store, row, run_id = self._store, self._row, self._run_id
        if store is None:
            return
        if row.kind == "note" and row.note is not None:
            note = row.note
            self._do(lambda: store.delete_note(note))
        elif row.kind == "fact":
            self._do(lambda: store.set_metadata(run_id, {}, remove=[row.key], step=row.step))
        elif row.kind == "tag":
            self._do(lambda: store.set_tags(run_id, []))
        elif row.kind == "name" and row.step is not None:
            step = row.step
            self._do(lambda: store.name_checkpoint(run_id, step, None))


TAGS_DETAIL = "words with spaces between them; an empty line takes all away"
"""What may be typed where tags are asked for."""


def _needs_text(text: str) -> str | None:
    return None if text else "type something"


def _is_fact(text: str) -> str | None:
    try:
        parse_fact(text)
    except AgentTTError as error:
        return f"{error.message}. {error.hint}" if error.hint else error.message
    return None
