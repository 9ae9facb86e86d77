"""One run against many: its forks, or those that were selected, in a table that fills as they are compared."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Final

from textual.containers import Vertical
from textual.worker import get_current_worker

from agent_tt.comparing.runs.table import SORT_KEYS, TableReader
from agent_tt.errors import AgentTTError, Interrupted
from agent_tt_tui import format as fmt
from agent_tt_tui.chrome import Fact, HeaderRow, HeaderState, Pane, PaneTitle
from agent_tt_tui.keymaps import DEBUGGER, TABLE
from agent_tt_tui.look import look_of
from agent_tt_tui.lookout import ENDED_SECONDS, Lookout
from agent_tt_tui.requests import OpenRun
from agent_tt_tui.screen import CommandScreen
from agent_tt_tui.screens.running.approvals import Approvals
from agent_tt_tui.screens.running.run_control import RunControl
from agent_tt_tui.status import run_glyph, run_tone
from agent_tt_tui.viewmodel.runs.run_table import label_of, summary_of
from agent_tt_tui.widgets.runs.run_table import RunTable, TableHead
from agent_tt_tui.widgets.runs.table_preview import ChosenRow, TablePreview

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual import events
    from textual.app import ComposeResult

    from agent_tt.comparing.runs.table import SortKey, Table
    from agent_tt.model import Run, Step
    from agent_tt.protocols import RunSource
    from agent_tt_tui.lines import LineView
    from agent_tt_tui.screens.running.approvals import Waiting

_POLL_SECONDS: Final = 0.25
_REST_SECONDS: Final = 0.06
"""How long the cursor rests before the steps of its run are read."""

_NEWS_SECONDS: Final = 0.1
"""How often rows that were compared are shown, while others are."""

_RESTS: Final = 3
"""After a reading it is left in peace for so many times as long as that took: runs that go on change all the time."""

_LOOK_AGAIN_SECONDS: Final = 2.0

_TALL_FROM: Final = 30
_LOW_BELOW: Final = 14

_SORTED: Final[dict[SortKey, str]] = {
    "made": "when they were made",
    "diverged": "where they part",
    "answer": "answer",
    "status": "how they ended",
    "steps": "steps",
    "cost": "cost",
}


class TableScreen(CommandScreen[None]):
    """A base, and the runs that are compared with it."""

    CONTEXT = TABLE
    AUTO_FOCUS = "RunTable"
    HELP = "One run against many: where each parts from it, what was changed, how it ended; enter compares the two."

    def __init__(
        self, source: RunSource, base: Run, others: Sequence[Run] | None = None, *, archived: bool = False
    ) -> None:
        """Compare a run with others.

        Args:
            source: Where they are.
            base: The run that all others are compared with.
            others: The others; None for all that was forked from the base.
            archived: Whether archived forks are among those.
        """
        super().__init__()
        self._approvals = Approvals(self, self._watched, self._show_waiting)
        self.features = (
            RunControl(self, self.shown_runs, lambda _: source),
            self._approvals,
        )
        self._source = source
        self._reader = TableReader(source, base, others, archived=archived)
        self._of_forks = others is None
        self._table = self._reader.table()
        self._sort: SortKey = "made"
        self._reading = False
        self._version: int | None = None
        self._rest_until = self._look_again_at = 0.0
        self._failure = ""
        self._steps: dict[str, tuple[Step, ...]] = {}

    def compose(self) -> ComposeResult:
        """Lay out header, titles and base, rows, what is known of the chosen one, and footer."""
        yield HeaderRow(self._header(due=1))
        with Vertical(id="table-rows"):
            yield TableHead()
            yield RunTable()
        yield Pane(PaneTitle("B"), TablePreview(), id="table-preview", classes="ground")
        yield self.footer()

    def on_mount(self) -> None:
        """Compare, and follow the store."""
        self._look()
        self._lookout = Lookout(self, self._has_news, self._look, self._pause)

    def on_unmount(self) -> None:
        """Look no more."""
        self._lookout.end()

    def _goes_on(self) -> bool:
        return any(run.status == "running" for run in self.all_runs())

    def _has_news(self) -> bool:
        # A process may end without a word in the store, so what runs is looked at again although nothing changed.
        return self._goes_on() or self._source.version() != self._version

    def _pause(self) -> float:
        return _POLL_SECONDS if self._goes_on() else ENDED_SECONDS

    def on_resize(self, event: events.Resize) -> None:
        """Give the chosen run more rows where there are many, and none where there are few."""
        self.set_class(event.size.height >= _TALL_FROM, "tall")
        self.set_class(event.size.height < _LOW_BELOW, "low")

    # Reading.

    def _look(self) -> None:
        """Read anew what has changed; one reading at a time."""
        if not self._reading and time.monotonic() >= self._rest_until:
            self._reading = True
            self.run_worker(self._read, group="table", thread=True, exit_on_error=False)

    def _read(self) -> None:
        worker, began = get_current_worker(), time.monotonic()
        rest = _RESTS if self._goes_on() else 0
        try:
            version = self._source.version()
            # A process may end without a word in the store, so what runs is looked at again although nothing changed.
            if version != self._version or (rest and began >= self._look_again_at):
                self._compare(lambda: worker.is_cancelled)
                self._version = version
        except Interrupted:
            return
        except AgentTTError as error:
            if not worker.is_cancelled:
                self.app.call_from_thread(self._fail, error)
        finally:
            ended = time.monotonic()
            self._rest_until = ended + rest * (ended - began)
            self._look_again_at = ended + _LOOK_AGAIN_SECONDS
            self._reading = False

    def _compare(self, cancelled: Callable[[], bool]) -> None:
        self._reader.heads()
        self._tell(cancelled)
        told = time.monotonic()
        for _ in self._reader.read(cancelled=cancelled):
            if time.monotonic() - told >= _NEWS_SECONDS:
                self._tell(cancelled)
                told = time.monotonic()
        self._tell(cancelled)

    def _tell(self, cancelled: Callable[[], bool]) -> None:
        if not cancelled():
            self.app.call_from_thread(self._show, self._reader.table(), self._reader.due)

    def _show(self, table: Table, due: int) -> None:
        self._table, self._failure = table, ""
        self._approvals.look_out()
        self.query_one(HeaderRow).state = self._header(due)
        self.query_one(TableHead).table = table
        self._show_rows()

    def _show_rows(self) -> None:
        self.query_one(TableHead).sort = self._sort
        fork = look_of(self).key(DEBUGGER.command("fork.open"))
        empty = f"nothing was forked from it yet: {fork} in the debugger forks it" if self._of_forks else "no other run"
        self.query_one(RunTable).show(self._table, self._table.ordered(self._sort), empty)
        self._choose()

    def _fail(self, error: AgentTTError) -> None:
        """Say once what is wrong with the base or the file, in place of the rows where there are none."""
        if error.message == self._failure:
            return
        self._failure = error.message
        if self._table.rows:
            self.say(error.message, None)
        else:
            why = f"{error.message}. {error.hint}" if error.hint else error.message
            self.query_one(RunTable).show(self._table, (), why, trouble=True)
            self.query_one(HeaderRow).state = self._header(0)

    def _header(self, due: int) -> HeaderState:
        base, glyphs, table = self._table.base, look_of(self).glyphs, self._table
        what = "against its forks" if self._of_forks else f"against {fmt.count(len(table.rows))} runs"
        compared = sum(row.outcome is not None or row.error is not None for row in table.rows)
        known = summary_of(table) if table.rows and compared == len(table.rows) else []
        facts = [Fact(text, len(known) - index) for index, text in enumerate(known)]
        chip = ""
        if compared < len(table.rows) or (due and not table.rows):
            chip = f"{glyphs.still} comparing {fmt.count(compared)} of {fmt.count(len(table.rows))}"
        return HeaderState(
            base.name,
            run_glyph(base.status, glyphs),
            base.status,
            run_tone(base.status),
            what,
            chip=chip,
            facts=tuple(facts),
        )

    # The chosen run.

    def on_line_view_cursor_moved(self, message: LineView.CursorMoved) -> None:
        """Show the run that the cursor came to."""
        if isinstance(message.view, RunTable):
            self._choose()

    def _choose(self) -> None:
        row, pane = self.query_one(RunTable).current, self.query_one("#table-preview", Pane)
        if row is None:
            pane.title_row.detail, pane.title_row.hint = "", ""
            self.query_one(TablePreview).chosen = None
            return
        pane.title_row.detail = label_of(row, self._table.base)
        at = "" if row.run.fork_step is None else f"forked after {row.run.fork_step}"
        pane.title_row.hint = at
        steps = self._steps.get(row.run.id, ())
        self.query_one(TablePreview).chosen = ChosenRow(self._table, row, steps)
        if len(steps) != row.run.steps:
            self.set_timer(_REST_SECONDS, self._read_steps_soon)
        self.refresh_footer()

    def _read_steps_soon(self) -> None:
        row = self.query_one(RunTable).current
        if row is not None:
            read = partial(self._read_steps, row.run)
            self.run_worker(read, group="chosen", exclusive=True, thread=True, exit_on_error=False)

    def _read_steps(self, run: Run) -> None:
        worker = get_current_worker()
        try:
            steps = tuple(self._source.steps(run.id))
        except AgentTTError:  # its row says so
            return
        if not worker.is_cancelled:
            self.app.call_from_thread(self._show_steps, run, steps)

    def _show_steps(self, run: Run, steps: tuple[Step, ...]) -> None:
        self._steps[run.id] = steps
        row = self.query_one(RunTable).current
        if row is not None and row.run.id == run.id:
            self.query_one(TablePreview).chosen = ChosenRow(self._table, row, steps)

    # Runs that are watched.

    def all_runs(self) -> Sequence[Run]:
        """The base and all others."""
        return [self._table.base, *(row.run for row in self._table.rows)]

    def shown_runs(self) -> Sequence[Run]:
        """The run under the cursor."""
        row = self.query_one(RunTable).current
        return [row.run] if row is not None else []

    def _watched(self) -> Sequence[tuple[RunSource, str | None]]:
        """The runs that are running."""
        return [(self._source, run.id) for run in self.all_runs() if run.status == "running"]

    def _show_waiting(self, waiting: Sequence[Waiting]) -> None:
        """Say of runs that they wait."""
        self.query_one(RunTable).show_waiting(frozenset(each.question.run_id for each in waiting))

    # What keys do.

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now."""
        row = self.query_one(RunTable).current
        if command_id in {"list.choose", "table.open", "run.ending"} and (row is None or row.error is not None):
            return "there is no run to compare with yet" if row is None else row.trouble
        return super().blocked(command_id)

    def on_line_view_chosen(self, message: LineView.Chosen) -> None:
        """Compare the run under the cursor with the base, side by side."""
        row, reason = self.query_one(RunTable).current, self.blocked("list.choose")
        if not isinstance(message.view, RunTable) or row is None or reason is not None:
            self.say(reason or "there is no run to compare with yet")
        else:
            from agent_tt_tui.screens.compare.screen import CompareScreen

            self.app.push_screen(CompareScreen(self._source, self._table.base, self._source, row.run))

    def action_open(self) -> None:
        """Open the run under the cursor."""
        row = self.query_one(RunTable).current
        if row is not None:
            self.post_message(OpenRun(self._source, row.run))

    def action_sort(self) -> None:
        """Sort by the next column."""
        self._sort = SORT_KEYS[(SORT_KEYS.index(self._sort) + 1) % len(SORT_KEYS)]
        self._show_rows()
        self.say(f"sorted by {_SORTED[self._sort]}")

    def action_escape(self) -> None:
        """Give up comparing, and go back."""
        self.workers.cancel_group(self, "table")
        self.action_back()
