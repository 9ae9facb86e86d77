"""What is shown where nothing has been recorded yet: three ways to a first run, one key each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt import samples
from agent_tt.addresses import located
from agent_tt.errors import AgentTTError
from agent_tt_tui.chrome import Fact, HeaderRow, HeaderState
from agent_tt_tui.format import short_path
from agent_tt_tui.keymaps import DEBUGGER, EMPTY
from agent_tt_tui.look import look_of
from agent_tt_tui.row import RowWidget
from agent_tt_tui.screen import CommandScreen

if TYPE_CHECKING:
    from pathlib import Path

    from textual.app import ComposeResult

    from agent_tt_tui.palette import Palette
    from agent_tt_tui.row import Row

_FIRST_SAMPLE: Final = "refund-loop"
_INDENT: Final = 9
_POLL_SECONDS: Final = 0.5


class Ways(RowWidget):
    """The three ways, as text."""

    DEFAULT_CSS = "Ways { height: 1fr; }"

    def draw(self, y: int, columns: int, styles: Palette) -> Row:
        """Draw one row."""
        indent = _INDENT if columns > 70 else 1
        rows = self._rows(styles, columns - indent)
        top = min(3, max(0, (self.size.height - len(rows)) // 3))
        row = self.new_row().pad_to(indent)
        return row.join(rows[y - top]) if 0 <= y - top < len(rows) else row

    def _rows(self, styles: Palette, columns: int) -> list[Row]:
        look, glyphs = look_of(self), look_of(self).glyphs
        steps = samples.find(_FIRST_SAMPLE)
        count = steps.steps if steps is not None else 0
        strip = (
            self.new_row().pad_to(4).add(glyphs.reads + (glyphs.line + glyphs.reads) * max(0, count - 2), styles.faint)
        )
        strip.add(glyphs.line, styles.faint).add(glyphs.failed, styles.failed).add(
            "   no key, no network", styles.muted
        )

        def way(command: str, name: str, what: str) -> Row:
            row = self.new_row().add(look.key(EMPTY.command(command)), styles.key).add(f" {name}", styles.strong)
            return row.add(f"  {what}" if row.cells + 2 + len(what) <= columns else "", styles.muted)

        sample = "a refund agent that searches 20 times and gives up"
        if strip.cells > columns:
            strip = self.new_row().pad_to(4).add(sample, styles.muted)  # in its place: the way has no room for it
        keys = (
            ("scrub", "time.previous", "time.next"),
            ("who wrote it", "time.write_previous", "time.write_next"),
            ("edit", "edit.value"),
            ("fork", "fork.open"),
            ("compare", "compare.open"),
        )
        then = self.new_row().add("then  ", styles.muted)
        for word, *commands in keys:
            each = self.new_row().add(look.key(*map(DEBUGGER.command, commands)), styles.key)
            each.add(f" {word}", styles.muted)
            if then.cells + each.cells <= columns:
                then.join(each).add("   ")
        return [
            self.new_row().add("Nothing recorded here yet.", styles.strong),
            self.new_row().add("Three ways to get a first run:", styles.muted),
            self.new_row(),
            way("empty.sample", "open a sample", sample),
            strip,
            self.new_row(),
            way("empty.record", "record your agent", "at most five new lines"),
            self.new_row()
            .pad_to(4)
            .add("with agent_tt.record(", styles.muted)
            .add('"my-agent"', styles.text)
            .add(", state=state) as run:", styles.muted),
            self.new_row(),
            way("empty.open", "open a file you already have", ""),
            self.new_row().pad_to(4).add("a LangGraph checkpoints.db, or another agent-tt store", styles.muted),
            self.new_row(),
            then,
        ]


class EmptyScreen(CommandScreen[None]):
    """Stands in for the browser while a store has no run, or is not there at all."""

    CONTEXT = EMPTY
    AUTO_FOCUS = ""
    HELP = "Nothing has been recorded here yet: s opens a sample, r shows how to record, o opens a file."

    def __init__(self, store_path: Path) -> None:
        """Make the screen.

        Args:
            store_path: where the store is, or would be created.
        """
        super().__init__()
        self.store_path = store_path
        self._adding = False

    def compose(self) -> ComposeResult:
        """Lay out header, text and footer."""
        facts = (Fact("no runs yet"), Fact(short_path(self.store_path), 1))
        yield HeaderRow(HeaderState("agent-tt", cause="runs", facts=facts))
        yield Ways()
        yield self.footer()

    def on_mount(self) -> None:
        """Follow the store: what is recorded meanwhile is shown."""
        self.set_interval(_POLL_SECONDS, self._look_for_runs)

    def _look_for_runs(self) -> None:
        if self.is_current and not self._adding and self.store_path.exists():
            self.run_worker(self._read, group="look", exclusive=True, thread=True, exit_on_error=False)

    def _read(self) -> None:
        from agent_tt.sources import open_source

        try:
            source = open_source(self.store_path)
        except AgentTTError:  # it is just being created
            return
        try:
            found = bool(source.runs(archived=True, limit=1))
        except AgentTTError:
            found = False
        finally:
            source.close()
        if found:
            self.app.call_from_thread(self._show_found)

    def _show_found(self) -> None:
        if not self._adding:  # a sample that somebody asked for opens itself
            self._open(self.store_path, None)

    def _open(self, path: Path, run_id: str | None) -> None:
        """Put the browser in this screen's place, and a run on top of it."""
        from agent_tt.sources import open_source
        from agent_tt_tui.screens.runs.screen import RunsScreen

        if not self.is_current:
            return
        try:
            browser = RunsScreen(open_source(path))
            run = browser.listing.source.run(run_id) if run_id is not None else None
        except AgentTTError as error:
            self.say(error.message, None)
            return
        self.app.switch_screen(browser)
        if run is not None:
            self.app.call_later(browser.opening.open, run)

    def action_sample(self) -> None:
        """Copy the first sample into the store and open it."""
        self._adding = True
        self.say(f"adding {_FIRST_SAMPLE}", None)
        self.run_worker(self._add_sample, group="add", exclusive=True, thread=True, exit_on_error=False)

    def _add_sample(self) -> None:
        try:
            run_id = samples.ensure(_FIRST_SAMPLE, self.store_path)
        except AgentTTError as error:
            self.app.call_from_thread(self._not_added, error.message)
            return
        self.app.call_from_thread(self._open, self.store_path, run_id)

    def _not_added(self, why: str) -> None:
        self._adding = False
        self.say(why, None)

    def action_record(self) -> None:
        """Show how to record an agent."""
        from agent_tt_tui.screens.runs.add import RecordHelp

        self.app.push_screen(RecordHelp())

    def action_open_file(self) -> None:
        """Ask for a file and open it."""
        from agent_tt_tui.screens.dialogs.prompt import PromptDialog

        detail = "an agent-tt store, or another system's file of runs"
        prompt = PromptDialog("Open a file", detail=detail, check=_why_not)
        self.ask(prompt, lambda text: self._open(located(text), None))


def _why_not(text: str) -> str | None:
    """Say why a file cannot be opened, None if it can."""
    from agent_tt.sources import open_source

    try:
        open_source(text).close()
    except AgentTTError as error:
        return f"{error.message}{f' ({error.hint})' if error.hint else ''}"
    return None
