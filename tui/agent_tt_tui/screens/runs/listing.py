"""The list of runs: read whenever the store has changed, filtered, sorted, and which of them are selected."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Final

from textual import events
from textual.widgets import Input
from textual.worker import get_current_worker

from agent_tt.codec.collector import collector_paused
from agent_tt.errors import AgentTTError
from agent_tt_tui import format as fmt
from agent_tt_tui.chrome import Fact, HeaderRow, HeaderState
from agent_tt_tui.feature import Feature, hears
from agent_tt_tui.format import short_path
from agent_tt_tui.lines import LineView
from agent_tt_tui.lookout import Lookout
from agent_tt_tui.viewmodel.runs.runtree import SORT_KEYS, RunIndex, SortKey
from agent_tt_tui.widgets.runs.run_list import RunColumns, RunList
from agent_tt_tui.widgets.runs.run_preview import PreviewPane

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt_tui.screen import CommandScreen
    from agent_tt_tui.viewmodel.runs.runtree import ListedRuns, RunRow, Sweeps

_POLL_SECONDS: Final = 0.5

_FIRST_PAGE: Final = 60
"""So many runs are shown while all others are read."""

_AT_ONCE: Final = 5_000
"""More runs than these are sorted, and looked through for what is typed, in a thread: the key has its letter before."""

SEARCH_ALL: Final = "/"
"""Typed as a filter, it asks for a search of what the runs recorded."""


class Listing(Feature):
    """Keeps the list of a screen as the store is, and as the keys ask for it."""

    COMMANDS = frozenset({"runs.select", "runs.sort", "runs.find", "runs.archived"})

    def __init__(self, screen: CommandScreen[None], source: RunSource) -> None:
        """Initialise the feature.

        Args:
            screen: The screen, which has the list, the filter and the preview.
            source: Where the runs are; it is only read.
        """
        self._screen = screen
        self.source = source
        """Where the runs are."""
        self.index: RunIndex | None = None
        """All runs there are; None while they are read for the first time."""
        self.with_archived = False
        """Whether archived runs are shown too."""
        self._selected: dict[str, None] = {}
        self._sort: SortKey = "age"
        self._reading = False
        self._look_again = False
        self._version: int | None = None
        self._lookout: Lookout | None = None
        self.on_read: list[Callable[[], None]] = []
        """What is called after the runs were read."""

    # What it shows.

    @property
    def runs(self) -> Sequence[Run] | None:
        """All runs there are; None while they are read for the first time."""
        return None if self.index is None else self.index.runs

    @property
    def _list(self) -> RunList:
        return self._screen.query_one(RunList)

    @property
    def _filter(self) -> Input:
        return self._screen.query_one("#runs-filter", Input)

    @property
    def row(self) -> RunRow | None:
        """The row under the cursor, of a run or of a sweep; None where there is none, as while the screen is closed."""
        found = self._screen.query(RunList)
        return found.first().current if found else None

    @property
    def run_under_cursor(self) -> Run | None:
        """The run under the cursor; None where there is none, or on the row of a sweep."""
        row = self.row
        return row.run if row is not None and row.group is None else None

    @property
    def selection(self) -> Sequence[str]:
        """Ids of the selected runs, in the order in which they were."""
        return list(self._selected)

    @property
    def marked(self) -> Sequence[Run]:
        """The runs that keys act on: the selected ones that are shown, else the one under the cursor."""
        chosen = self._list.shown.runs(self._selected) if self._selected else []
        run = self.run_under_cursor
        return chosen or ([run] if run is not None else [])

    # Reading.

    @hears(events.Mount)
    def _on_mount(self, _event: events.Mount) -> None:
        self._filter.display = False
        self._look_for_changes()
        self._lookout = Lookout(self._screen, self._has_news, self._look_for_changes, lambda: _POLL_SECONDS)

    @hears(events.Unmount)
    def _on_unmount(self, _event: events.Unmount) -> None:
        if self._lookout is not None:
            self._lookout.end()

    def _has_news(self) -> bool:
        return not self._reading and self.source.version() != self._version

    def read_again(self) -> None:
        """Read the runs again, even if they are just being read."""
        self._look_again = True
        self._look_for_changes()

    def _look_for_changes(self) -> None:
        """Read the runs if the store has changed; while very many are being read, nobody else begins to."""
        if self._reading:
            return
        self._reading, self._look_again = True, False
        self._screen.run_worker(self._read_runs, group="runs", thread=True, exit_on_error=False)

    def _read_ended(self) -> None:
        self._reading = False
        if self._look_again:
            self._look_for_changes()

    def _read_runs(self) -> None:
        try:
            self._read_changed_runs()
        finally:
            if not get_current_worker().is_cancelled:
                self._screen.app.call_from_thread(self._read_ended)

    def _read_changed_runs(self) -> None:
        try:
            version = self.source.version()
            if version == self._version:
                return
            if self.index is None:
                self._read_page()
            with collector_paused():  # which would look through them again and again
                index = RunIndex(self.source.runs(archived=True)).prepare(self._sort, archived=self.with_archived)
            if self._version is None and len(index.runs) > _AT_ONCE and not self._screen.app.is_headless:
                gc.freeze()  # as the app does with itself: these take the collector longer than a key may
        except AgentTTError as error:
            self._screen.app.call_from_thread(self._screen.say, error.message, None)
            return
        if not get_current_worker().is_cancelled:
            self._screen.app.call_from_thread(self._show_runs, version, index)

    def _read_page(self) -> None:
        """Show the newest runs of very many while the others are read."""
        page = self.source.runs(limit=_FIRST_PAGE)
        if len(page) == _FIRST_PAGE and not get_current_worker().is_cancelled:
            self._screen.app.call_from_thread(self._show_runs, None, RunIndex(page))

    def _show_runs(self, version: int | None, index: RunIndex) -> None:
        self._version, self.index = version, index
        for tell in self.on_read:
            tell()
        self._refresh_rows()
        self._screen.query_one(PreviewPane).read_soon(anew=True)

    def _refresh_rows(self) -> None:
        if self.index is None:
            return
        index, sort, archived = self.index, self._sort, self.with_archived
        text = self._filter.value.strip()
        # A sweep is one row, unless something is looked for, which may be one of its runs.
        sweeps: Sweeps = "grouped" if text else "folded"

        def lay_out() -> ListedRuns:
            return index.rows(sort=sort, text=text, archived=archived, sweeps=sweeps)

        if index.looks_at(sort=sort, text=text, archived=archived, sweeps=sweeps) <= _AT_ONCE:
            self._screen.workers.cancel_group(self._screen, "rows")
            self._show_rows(lay_out())
            return

        def show(rows: ListedRuns) -> None:
            if (sort, archived, text) == (self._sort, self.with_archived, self._filter.value.strip()):
                self._show_rows(rows)

        def lay_out_then_show() -> None:
            with collector_paused():
                rows = lay_out()
            if not get_current_worker().is_cancelled:
                self._screen.app.call_from_thread(show, rows)

        self._screen.run_worker(lay_out_then_show, group="rows", exclusive=True, thread=True, exit_on_error=False)

    def _show_rows(self, rows: ListedRuns) -> None:
        columns = self._screen.query_one(RunColumns)
        columns.sort = self._sort
        columns.refresh()
        before = self.run_under_cursor
        self._list.show(rows, frozenset(self._selected), "" if rows else self._why_empty())
        if self.run_under_cursor != before:  # another run in the same row, or none: the cursor did not move
            self._screen.query_one(PreviewPane).read_soon()
        self._screen.query_one(HeaderRow).state = self._header(rows.total)
        self._screen.refresh_footer()

    def _why_empty(self) -> str:
        key = self._screen.key
        if self._filter.value.strip():
            return f"no run matches: {key('app.escape')} shows all of them"
        if self.runs:
            return f"all runs are archived: {key('runs.archived')} shows them"
        return f"no run yet: {key('runs.add')} adds one"

    def _header(self, shown: int) -> HeaderState:
        index = self.index
        total = 0 if index is None else len(index.runs) - (0 if self.with_archived else index.archived)
        count = fmt.counted(total, "run")
        facts = [Fact(count if shown == total else f"{fmt.count(shown)} of {count}")]
        facts.append(Fact(short_path(self.source.path), 2))
        if self.source.path.is_file():
            facts.append(Fact(fmt.size(self.source.path.stat().st_size), 1))
        selected = len(self._selected)
        chip = f"{fmt.count(selected)} selected" if selected else ""
        return HeaderState("agent-tt", cause="runs", chip=chip, facts=tuple(facts))

    @hears(LineView.CursorMoved)
    def _on_cursor_moved(self, _message: LineView.CursorMoved) -> None:
        """Read the preview of the run under the cursor once it rests there."""
        self._screen.query_one(PreviewPane).read_soon()
        self._screen.refresh_footer()

    # What keys do.

    def blocked(self, command_id: str) -> str | None:
        """Say why nothing can be selected, or that there is nothing more to show."""
        if command_id == "runs.select" and self.row is None:
            return "there is no run yet"
        if command_id == "runs.archived" and not (self.index is not None and self.index.archived):
            return f"no run is archived: {self._screen.key('runs.archive')} archives one"
        return None

    def action_select(self) -> None:
        """Select the run under the cursor, or not any more; go to the next one."""
        run = self.run_under_cursor
        if run is None:
            return
        if run.id in self._selected:
            del self._selected[run.id]
        else:
            self._selected[run.id] = None
        self._refresh_rows()
        self._list.move_to(self._list.cursor + 1)

    def action_sort(self) -> None:
        """Sort by the next column."""
        self._sort = SORT_KEYS[(SORT_KEYS.index(self._sort) + 1) % len(SORT_KEYS)]
        self._refresh_rows()
        self._screen.say(f"sorted by {self._sort}")

    def action_archived(self) -> None:
        """Show archived runs too, or not."""
        self.with_archived = not self.with_archived
        self._refresh_rows()
        count = self.index.archived if self.index is not None else 0
        how = "shown" if self.with_archived else "hidden"
        self._screen.say(f"{fmt.counted(count, 'archived run')} {how}")

    def action_find(self) -> None:
        """Show only runs that match what is typed."""
        self._filter.display = True
        self._filter.focus()

    @hears(Input.Changed)
    def _on_input_changed(self, event: Input.Changed) -> None:
        """Filter as one types."""
        if event.value != SEARCH_ALL:
            self._refresh_rows()

    @hears(Input.Submitted)
    def _on_input_submitted(self, _event: Input.Submitted) -> None:
        """Keep the filter and go back to the list."""
        self._list.focus()

    def escape(self) -> bool:
        """Take away the filter, else the selection."""
        if self._filter.display:
            self._filter.value = ""
            self._filter.display = False
            self._list.focus()
        else:
            self._selected.clear()
        self._refresh_rows()
        return True
