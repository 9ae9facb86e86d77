"""The run browser: every run of a store as a tree of forks, with a preview of the one under the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual.containers import Container, Vertical
from textual.widgets import Input
from textual.worker import get_current_worker

from agent_tt.errors import AgentTTError
from agent_tt_tui import format as fmt
from agent_tt_tui.chrome import Fact, HeaderRow, HeaderState
from agent_tt_tui.contexts import RUNS
from agent_tt_tui.paths import short_path
from agent_tt_tui.screens.run_comparing import RunComparingScreen
from agent_tt_tui.screens.run_keeping import RunKeepingScreen
from agent_tt_tui.screens.running_again import RunAgainScreen
from agent_tt_tui.screens.sweep_rows import SweepRowScreen
from agent_tt_tui.viewmodel.runtree import SORT_KEYS, SortKey, run_rows
from agent_tt_tui.widgets.preview_pane import PreviewPane
from agent_tt_tui.widgets.run_list import RunColumns, RunList

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.replaying.report import ReplayReport
    from agent_tt_tui.lines import LineView
    from agent_tt_tui.screens.debugger import DebuggerScreen
    from agent_tt_tui.viewmodel.runtree import RunRow

WIDE_FROM: Final = 100
"""From how many columns on the preview stands beside the list."""

PREVIEW_FROM_ROWS: Final = 16
"""From how many rows on there is a preview below the list."""

_POLL_SECONDS: Final = 0.5

_FIRST_PAGE: Final = 200
"""So many runs are shown while all others are read."""

_AT_ONCE: Final = 1_000
"""More runs than these are sorted and filtered in a thread."""


class RunsScreen(SweepRowScreen, RunComparingScreen, RunKeepingScreen, RunAgainScreen):
    """The runs of one store."""

    CONTEXT = RUNS
    BINDINGS: ClassVar[list[BindingType]] = RUNS.screen_bindings()
    AUTO_FOCUS = "RunList"
    HELP = "All runs of the store, newest first; forks stand below the run that they were forked from."

    def __init__(self, source: RunSource) -> None:
        """Make the browser.

        Args:
            source: Where the runs are; the screen only reads it.
        """
        super().__init__()
        self.source = source
        self._runs: Sequence[Run] | None = None
        self._selected: dict[str, None] = {}
        self._sort: SortKey = "age"
        self._archived = False
        self._reading = False
        self._look_again = False
        self._version: int | None = None

    def compose(self) -> ComposeResult:
        """Lay out header, list, preview and footer."""
        yield HeaderRow(HeaderState("agent-tt", cause="runs"))
        with Container(id="runs-body"):
            with Vertical(id="runs-list"):
                yield RunColumns()
                yield RunList(id="runs")
                yield Input(placeholder="name, id, status, agent or tag", id="runs-filter", compact=True)
            yield PreviewPane(self.source, self.run_under_cursor, id="runs-preview")
        yield self.footer()

    def on_mount(self) -> None:
        """Read the runs and follow the store."""
        self.query_one("#runs-filter", Input).display = False
        self._look_for_changes()
        self.set_interval(_POLL_SECONDS, self._look_for_changes)

    def on_resize(self, event: events.Resize) -> None:
        """Put the preview beside the list, or below it where that leaves rows for the list."""
        self.set_class(event.size.width >= WIDE_FROM, "wide")
        self.set_class(event.size.height < PREVIEW_FROM_ROWS, "low")

    # Reading.

    def _look_for_changes(self) -> None:
        """Read the runs if the store has changed; while very many are being read, nobody else begins to."""
        if self._reading:
            return
        self._reading, self._look_again = True, False
        self.run_worker(self._read_runs, group="runs", thread=True, exit_on_error=False)

    def _read_ended(self) -> None:
        self._reading = False
        if self._look_again:
            self._look_for_changes()

    def _read_runs(self) -> None:
        try:
            self._read_changed_runs()
        finally:
            if not get_current_worker().is_cancelled:
                self.app.call_from_thread(self._read_ended)

    def _read_changed_runs(self) -> None:
        try:
            version = self.source.version()
            if version == self._version:
                return
            if self._runs is None:
                self._read_page()
            runs = self.source.runs(archived=True)
        except AgentTTError as error:
            self.app.call_from_thread(self.say, error.message, None)
            return
        if not get_current_worker().is_cancelled:
            self.app.call_from_thread(self._show_runs, version, runs)

    def _read_page(self) -> None:
        """Show the newest runs of very many while the others are read."""
        page = self.source.runs(limit=_FIRST_PAGE)
        if len(page) == _FIRST_PAGE and not get_current_worker().is_cancelled:
            self.app.call_from_thread(self._show_runs, None, page)

    def _show_runs(self, version: int | None, runs: Sequence[Run]) -> None:
        self._version, self._runs = version, runs
        self.know_runs(runs)
        self._refresh_rows()
        self.query_one(PreviewPane).read_soon()

    def _refresh_rows(self) -> None:
        if self._runs is None:
            return
        runs, sort, archived = self._runs, self._sort, self._archived
        text = self.query_one("#runs-filter", Input).value.strip()
        if len(runs) <= _AT_ONCE:
            self._show_rows(_rows(runs, sort, text, archived=archived))
            return

        def lay_out() -> None:
            rows = _rows(runs, sort, text, archived=archived)
            if not get_current_worker().is_cancelled:
                self.app.call_from_thread(self._show_rows, rows)

        self.run_worker(lay_out, group="rows", exclusive=True, thread=True, exit_on_error=False)

    def _show_rows(self, rows: Sequence[RunRow]) -> None:
        listed = self.query_one(RunList)
        columns = self.query_one(RunColumns)
        columns.sort = self._sort
        columns.refresh()
        listed.show(rows, frozenset(self._selected), "" if rows else self._why_empty())
        shown = sum(len(row.group.runs) if row.group is not None else 1 for row in rows)
        self.query_one(HeaderRow).state = self._header(shown)
        self.refresh_footer()

    def _why_empty(self) -> str:
        if self.query_one("#runs-filter", Input).value.strip():
            return "no run matches: esc shows all of them"
        return "all runs are archived: v shows them" if self._runs else "no run yet: a adds one"

    def _header(self, shown: int) -> HeaderState:
        total = sum(self._archived or not run.archived for run in self._runs or ())
        count = f"{fmt.count(total)} run{'' if total == 1 else 's'}"
        facts = [Fact(count if shown == total else f"{fmt.count(shown)} of {count}")]
        facts.append(Fact(short_path(self.source.path), 2))
        if self.source.path.exists():
            facts.append(Fact(fmt.size(self.source.path.stat().st_size), 1))
        selected = len(self._selected)
        chip = f"{fmt.count(selected)} selected" if selected else ""
        return HeaderState("agent-tt", cause="runs", chip=chip, facts=tuple(facts))

    def on_line_view_cursor_moved(self, _message: LineView.CursorMoved) -> None:
        """Read the preview of the run under the cursor once it rests there."""
        self.query_one(PreviewPane).read_soon()
        self.refresh_footer()

    # What keys do.

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now."""
        if command_id in {"runs.select", "list.choose", "run.ending", "sweep.open"} and self.row_under_cursor() is None:
            return "there is no run yet"
        if command_id == "runs.archived" and not any(run.archived for run in self._runs or ()):
            return "no run is archived: x archives one"
        if command_id == "runs.add" and self.source.read_only:
            return "this file is only read; start agent-tt without --store to add runs"
        return super().blocked(command_id)

    def watched(self) -> Sequence[tuple[RunSource, str | None]]:
        """The store, while something in it runs."""
        return [(self.source, None)] if any(run.status == "running" for run in self._runs or ()) else []

    def show_waiting(self) -> None:
        """Say of runs that they wait."""
        self.query_one(RunList).show_waiting(frozenset(each.question.run_id for each in self.waiting))

    def shown_runs(self) -> Sequence[Run]:
        """The run under the cursor."""
        run = self.query_one(RunList).current
        return [run] if run is not None else []

    def source_of(self, _run: Run) -> RunSource:
        """The file that is browsed."""
        return self.source

    def run_under_cursor(self) -> Run | None:
        """The run under the cursor."""
        return self.query_one(RunList).current

    def selection(self) -> Sequence[str]:
        """Ids of the selected runs, in the order in which they were."""
        return list(self._selected)

    def with_archived(self) -> bool:
        """Whether archived runs are shown too."""
        return self._archived

    def marked(self) -> Sequence[Run]:
        """The selected runs that are shown, else the one under the cursor."""
        listed = self.query_one(RunList)
        chosen = [row.run for row in listed.rows if row.run.id in self._selected]
        return chosen or self.shown_runs()

    def marks_changed(self) -> None:
        """Read the runs again, even if they are just being read."""
        self._look_again = True
        self._look_for_changes()

    def open_at(self, run: Run, step: int) -> None:
        """Open a run at a step."""
        from agent_tt_tui.screens.debugger import DebuggerScreen

        self.app.push_screen(DebuggerScreen(self.source, run, step))

    def action_archived(self) -> None:
        """Show archived runs too, or not."""
        self._archived = not self._archived
        self._refresh_rows()
        count = sum(run.archived for run in self._runs or ())
        self.say(
            f"{fmt.count(count)} archived run{'' if count == 1 else 's'} {'shown' if self._archived else 'hidden'}"
        )

    def on_line_view_chosen(self, _message: LineView.Chosen) -> None:
        """Open the run, or the sweep, that was chosen."""
        run = self.query_one(RunList).current
        if run is not None:
            self.open_run(run)
        else:
            self.action_sweeps()

    def open_run(self, run: Run) -> None:
        """Open a run in the debugger."""
        self.app.push_screen(self._debugger(run))

    def _debugger(self, run: Run, step: int | None = None) -> DebuggerScreen:
        """The debugger of a run, which knows its last replay too."""
        from agent_tt_tui.screens.debugger import DebuggerScreen

        screen = DebuggerScreen(self.source, run, step)
        screen.replays = self.replays
        return screen

    def at_hand(self) -> tuple[RunSource, Run] | None:
        """The run under the cursor."""
        run = self.query_one(RunList).current
        return None if run is None else (self.source, run)

    def show_divergence(self, report: ReplayReport, index: int) -> None:
        """Open the debugger at a divergence."""
        run = self.source.run(report.run_id)
        screen = self._debugger(run, report.divergences[index].step)
        screen.land_on = index
        self.app.push_screen(screen)

    def show_resumed(self, run: Run) -> None:
        """Open the debugger, which follows the run."""
        self.open_run(run)

    def action_select(self) -> None:
        """Select the run under the cursor, or not any more; go to the next one."""
        listed = self.query_one(RunList)
        run = listed.current
        if run is None:
            return
        if run.id in self._selected:
            del self._selected[run.id]
        else:
            self._selected[run.id] = None
        self._refresh_rows()
        listed.move_to(listed.cursor + 1)

    def action_sort(self) -> None:
        """Sort by the next column."""
        self._sort = SORT_KEYS[(SORT_KEYS.index(self._sort) + 1) % len(SORT_KEYS)]
        self._refresh_rows()
        self.say(f"sorted by {self._sort}")

    def action_find(self) -> None:
        """Show only runs that match what is typed."""
        box = self.query_one("#runs-filter", Input)
        box.display = True
        box.focus()

    def action_search(self) -> None:
        """Search everything that all runs recorded."""
        from agent_tt_tui.screens.find_all import FindAllScreen

        self.app.push_screen(FindAllScreen(self.source, self._debugger))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter as one types; a second stroke asks for what the runs recorded."""
        if event.value == "/":
            self.action_escape()
            self.action_search()
        else:
            self._refresh_rows()

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        """Keep the filter and go back to the list."""
        self.query_one(RunList).focus()

    def action_escape(self) -> None:
        """Take away the filter, else the selection."""
        box = self.query_one("#runs-filter", Input)
        if box.display:
            box.value = ""
            box.display = False
            self.query_one(RunList).focus()
        else:
            self._selected.clear()
        self._refresh_rows()

    def action_add(self) -> None:
        """Add a sample run, or see how to record one's own."""
        from agent_tt_tui.screens.add import AddDialog

        self.app.push_screen(AddDialog(self.source.path), self._added)

    def _added(self, run_id: str | None) -> None:
        if run_id is None:
            return
        try:
            self.open_run(self.source.run(run_id))
        except AgentTTError as error:
            self.say(error.message)


def _rows(runs: Sequence[Run], sort: SortKey, text: str, *, archived: bool) -> list[RunRow]:
    """What is listed: a sweep as one row, unless something is looked for, which may be one of its runs."""
    return run_rows(runs, sort=sort, text=text, archived=archived, sweeps="grouped" if text else "folded")
