"""The first page: sessions of coding agents on this machine, or the files of a folder, beside the recorded runs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from textual.widgets import Input
from textual.worker import get_current_worker

from agent_tt.errors import AgentTTError
from agent_tt.found.folders import Unread, open_all
from agent_tt.found.measures import measure
from agent_tt.found.sessions import Found, Scan, find_sessions
from agent_tt_tui import format as fmt
from agent_tt_tui.chrome import Fact, HeaderRow, HeaderState
from agent_tt_tui.keymaps import FIRST
from agent_tt_tui.requests import OpenRun
from agent_tt_tui.screen import CommandScreen
from agent_tt_tui.viewmodel.runs.first import Page, first_lines
from agent_tt_tui.widgets.runs.first_list import FirstList, FirstPreview

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from textual import events
    from textual.app import ComposeResult

    from agent_tt.model import Imported, Run
    from agent_tt.protocols import RunSource
    from agent_tt_tui.lines import LineView
    from agent_tt_tui.viewmodel.runs.first import FirstLine

PREVIEW_FROM_ROWS: Final = 30
"""From how many rows on there is a preview below the list."""

_BATCH_SECONDS: Final = 0.1
_MEASURE_SECONDS: Final = 10.0
"""So much processor time goes into reading sessions that are listed."""
_FEWEST: Final = 8
_OTHER_ROWS: Final = 26
"""Rows that header, titles, recorded runs, ways to start, preview and footer take."""
_MOST_NAMED: Final = 3
_PASSED: Final = "title", "columns", "blank", "more"
"""Lines that the cursor does not stand on by itself."""


class FirstScreen(CommandScreen[None]):
    """What there is to look at."""

    CONTEXT = FIRST
    AUTO_FOCUS = "FirstList"
    HELP = "What there is to look at: sessions of coding agents on this machine, and runs that were recorded."

    def __init__(self, store_path: Path, folder: Path | None = None) -> None:
        """Look at nothing yet.

        Args:
            store_path: Where recorded runs are, and sessions are copied to; it need not exist.
            folder: The folder whose files are listed; None for sessions of coding agents.
        """
        super().__init__()
        self._store_path = store_path
        self._folder = folder
        self._page = Page(str(folder or Path.cwd()), is_folder=folder is not None)
        self._selected: dict[str, Found] = {}
        self._opened: list[RunSource] = []
        self._header = ""
        self._looked = 0
        self._has_copied = False
        self._measured_at: dict[str, int] = {}
        """When each session that was read was written, by its key."""

    def compose(self) -> ComposeResult:
        """Lay out header, filter, list, preview and footer."""
        yield HeaderRow(HeaderState("agent-tt", cause="what do you want to look at?"))
        yield Input(placeholder="a word of a prompt, a program, a folder", id="first-filter", compact=True)
        yield FirstList(id="first")
        yield FirstPreview(lambda: self.query_one(FirstList).current)
        yield self.footer()

    def on_resize(self, event: events.Resize) -> None:
        """Leave the preview out where the list needs its rows; list as many sessions as there is room for."""
        self.query_one(FirstPreview).display = event.size.height >= PREVIEW_FROM_ROWS
        self._page.most = max(_FEWEST, event.size.height - _OTHER_ROWS)
        self._refresh_lines()

    def on_mount(self) -> None:
        """Look around."""
        self._look()

    def on_screen_resume(self) -> None:
        """Look again when what was opened is closed: it may have been copied, and sessions go on."""
        self._close_opened()
        if self._looked:
            self._look()

    def on_unmount(self) -> None:
        """Let go of what is open."""
        self._close_opened()

    def _close_opened(self) -> None:
        while self._opened:
            self._opened.pop().close()

    # Looking around, in a thread.

    def _look(self) -> None:
        self._looked += 1
        self.run_worker(self._read, group="look", exclusive=True, thread=True, exit_on_error=False)

    def _read(self) -> None:
        began = time.monotonic()
        self._tell(self._show_runs, *self._recorded())
        unread: list[Unread] = []
        scan = Scan()
        found: list[Found] = []
        shown_at = began
        for each in self._files(self._folder, unread) if self._folder is not None else find_sessions(scan):
            if get_current_worker().is_cancelled:
                return
            found.append(each)
            if time.monotonic() - shown_at > _BATCH_SECONDS:
                shown_at = time.monotonic()
                self._tell(self._show_found, [*found], [*unread], f"{fmt.count(len(found))} so far")
        if self._folder is not None:
            said = f"{fmt.counted(len(found), 'file')} opened"
        else:
            said = f"{fmt.counted(scan.total, 'session')} looked at in {time.monotonic() - began:.1f} s"
            missed = len(scan.unread) + scan.more_unread
            said += f", {fmt.counted(missed, 'place')} cannot be read" if missed else ""
            said += f", and not those beyond {fmt.count(scan.total)}" if scan.is_cut else ""
        self._tell(self._show_all, found, unread, said)
        if self._folder is None:
            self._measure()

    def _measure(self) -> None:
        """Read the sessions that are listed, one after another, as long as that may take."""
        began = time.thread_time()
        shown_at = time.monotonic()
        listed = [line.found for line in first_lines(self._page) if line.found is not None]
        for each in listed:
            known = (each.key, each.modified_us)
            if get_current_worker().is_cancelled or time.thread_time() - began > _MEASURE_SECONDS:
                break
            if self._measured_at.get(each.key) != each.modified_us:
                self._page.measured[each.key] = measure(each)
                self._measured_at[known[0]] = known[1]
            if time.monotonic() - shown_at > _BATCH_SECONDS:
                shown_at = time.monotonic()
                self._tell(self._refresh_lines)
        self._tell(self._refresh_lines)

    def _tell(self, show: Callable[..., None], *what: object) -> None:
        if not get_current_worker().is_cancelled:
            self.app.call_from_thread(show, *what)

    def _recorded(self) -> tuple[Sequence[Run], dict[str, str]]:
        """The runs of the store, and which files were imported."""
        from agent_tt.sources import open_source

        try:
            source = open_source(self._store_path, read_only=True)
        except AgentTTError:  # there is none yet
            return (), {}
        try:
            runs = source.runs(archived=True)
        except AgentTTError:
            runs = []
        finally:
            source.close()
        return runs, {run.origin["file"]: run.id for run in reversed(runs) if "file" in run.origin and not run.parent}

    @staticmethod
    def _files(folder: Path, unread: list[Unread]) -> Iterator[Found]:
        """The files of a folder that open."""
        for source in open_all(folder, unread):
            try:
                runs = source.runs()
                about = source.path.stat()
            except (AgentTTError, OSError) as error:
                unread.append(Unread(source.path, str(error)))
                continue
            names = ", ".join(run.facts.title or run.name for run in runs[:_MOST_NAMED])
            program = runs[0].origin.get("system", "agent-tt") if runs else "agent-tt"
            title = f"{source.path.name}: {fmt.counted(len(runs), 'run')}  {names}"
            yield Found(program, source.path, about.st_mtime_ns // 1000, about.st_size, None, title)

    # What is shown.

    def _show_runs(self, runs: Sequence[Run], imported: dict[str, str]) -> None:
        self._page.runs, self._page.imported = runs, imported
        self._refresh_lines()

    def _show_all(self, found: list[Found], unread: list[Unread], said: str) -> None:
        self._page.found, self._page.is_done = [], True
        self._show_found(found, unread, said)

    def _show_found(self, found: list[Found], unread: list[Unread], said: str) -> None:
        if len(found) >= len(self._page.found):  # a second look shows no fewer meanwhile
            self._page.found, self._page.unread = found, unread
        self._header = said
        self._refresh_lines()

    def _refresh_lines(self) -> None:
        listed = self.query_one(FirstList)
        before = listed.current
        listed.selected, listed.shows_sizes = frozenset(self._selected), self._folder is not None
        listed.show_rows(first_lines(self._page))
        place = next((at for at, line in enumerate(listed.rows) if before is not None and _is_same(line, before)), None)
        first = next((at for at, line in enumerate(listed.rows) if line.kind not in _PASSED), 0)
        listed.move_to(first if place is None or listed.rows[place].kind in _PASSED else place)
        chip = f"{fmt.count(len(self._selected))} selected" if self._selected else ""
        nothing = "nothing was sent" if self._has_copied else "nothing was copied or sent"
        facts = (Fact(self._header), Fact(nothing, 1)) if self._header else ()
        self.query_one(HeaderRow).state = HeaderState(
            "agent-tt", cause="what do you want to look at?", chip=chip, facts=facts
        )
        self.query_one(FirstPreview).refresh()
        self.refresh_footer()

    @property
    def _line(self) -> FirstLine | None:
        return self.query_one(FirstList).current

    def on_line_view_cursor_moved(self, _message: LineView.CursorMoved) -> None:
        """Show what is known of the line under the cursor."""
        self.query_one(FirstPreview).refresh()
        self.refresh_footer()

    # What keys do.

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now."""
        line = self._line
        is_session = line is not None and line.found is not None
        if not is_session and (command_id == "first.select" or (command_id == "first.copy" and not self._selected)):
            return "this row is no session"
        if command_id == "first.compare" and len(self._selected) != 2:
            return f"select two sessions with {self.key('first.select')}"
        if command_id == "list.choose" and (
            line is None or line.kind in ("blank", "columns", "unread") or not _leads(line)
        ):
            return "nothing is opened from this row"
        return super().blocked(command_id)

    def on_line_view_chosen(self, _message: LineView.Chosen) -> None:
        """Open what the line is of."""
        line = self._line
        if line is None:
            return
        if line.found is not None:
            self._open([line.found])
        elif line.run is not None or line.opens == "runs":
            self._open_store(None if line.run is None else line.run.id)
        elif line.opens == "others":
            self.action_others()
        elif line.opens == "sample":
            from agent_tt_tui.screens.runs.add import AddDialog

            self.ask(AddDialog(self._store_path), self._open_store)
        elif line.opens == "record":
            from agent_tt_tui.screens.runs.add import RecordHelp

            self.app.push_screen(RecordHelp())

    def action_others(self) -> None:
        """Show the sessions of all other folders too, or only the newest of them."""
        self._page.is_open = not self._page.is_open
        self._refresh_lines()

    def action_find(self) -> None:
        """Look for words."""
        self.query_one("#first-filter", Input).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show what fits as one types."""
        self._page.text = event.value
        self._refresh_lines()

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        """Go back to the list."""
        self.query_one(FirstList).focus()

    def action_escape(self) -> None:
        """Show everything again; then select nothing."""
        field = self.query_one("#first-filter", Input)
        if field.value:
            field.value = ""
        else:
            self._selected.clear()
            self._refresh_lines()
        self.query_one(FirstList).focus()

    def action_select(self) -> None:
        """Select the session under the cursor, or not any more; go to the next row."""
        line, listed = self._line, self.query_one(FirstList)
        if line is None or line.found is None:
            return
        key = line.found.key
        if self._selected.pop(key, None) is None:
            self._selected[key] = line.found
        self._refresh_lines()
        listed.move_to(listed.cursor + 1)

    def action_compare(self) -> None:
        """Compare the two sessions that are selected."""
        self._open([*self._selected.values()])

    def action_copy(self) -> None:
        """Copy the selected sessions, or the one under the cursor, into the store."""
        line, self._has_copied = self._line, True
        chosen = [*self._selected.values()] or ([line.found] if line is not None and line.found is not None else [])
        self.say(f"copying {fmt.counted(len(chosen), 'session')}", None)
        self.run_worker(lambda: self._copy(chosen), group="copy", exclusive=True, thread=True, exit_on_error=False)

    def _copy(self, chosen: Sequence[Found]) -> None:
        from agent_tt.importing import import_file

        done: list[Imported] = []
        try:
            for each in chosen:
                done += import_file(each.path, self._store_path, [each.run] if each.run is not None else ())
        except AgentTTError as error:
            self._tell(self.say, error.message, None)
        else:
            problems = [problem for each in done for problem in each.problems]
            added = sum(each.added for each in done)
            said = f"{fmt.counted(added, 'step')} copied into {fmt.short_path(self._store_path)}"
            self._tell(self.say, f"{said}; {problems[0]}" if problems else said, None)
        self._tell(self._show_runs, *self._recorded())

    def _open(self, chosen: Sequence[Found]) -> None:
        """Open a session, or two beside each other."""
        self.say(f"opening {chosen[0].path.name}", None)
        self.run_worker(
            lambda: self._read_files(chosen), group="open", exclusive=True, thread=True, exit_on_error=False
        )

    def _read_files(self, chosen: Sequence[Found]) -> None:
        from agent_tt.sources import open_source

        opened: list[tuple[RunSource, list[Run]]] = []
        try:
            for each in chosen:
                source = open_source(each.path)
                opened.append((source, source.runs() if each.run is None else [source.run(each.run)]))
        except AgentTTError as error:
            for source, _ in opened:
                source.close()
            self._tell(self.say, error.message)
            return
        self._tell(self._show_opened, opened)

    def _show_opened(self, opened: Sequence[tuple[RunSource, list[Run]]]) -> None:
        from agent_tt_tui.screens.compare.screen import CompareScreen
        from agent_tt_tui.screens.runs.screen import RunsScreen

        self.say("")
        self._opened += [source for source, _ in opened]
        first = [next((run for run in reversed(runs) if run.parent is None), None) for _, runs in opened]
        (source, runs), run = opened[0], first[0]
        if len(opened) == 2 and run is not None and first[1] is not None:
            self.app.push_screen(CompareScreen(source, run, opened[1][0], first[1]))
        elif len(runs) == 1 and run is not None:
            self.post_message(OpenRun(source, run, None))
        else:
            self.app.push_screen(RunsScreen(source))

    def _open_store(self, run_id: str | None) -> None:
        """Open the list of recorded runs, and one of them on top of it."""
        from agent_tt.sources import open_source
        from agent_tt_tui.screens.runs.screen import RunsScreen

        try:
            source = open_source(self._store_path)
            run = None if run_id is None else source.run(run_id)
        except AgentTTError as error:
            self.say(error.message)
            return
        self._opened.append(source)
        browser = RunsScreen(source)
        self.app.push_screen(browser)
        if run is not None:
            self.app.call_later(browser.opening.open, run)


def _is_same(line: FirstLine, other: FirstLine) -> bool:
    if line.found is not None and other.found is not None:
        return line.found.key == other.found.key
    return line.run is not None and other.run is not None and line.run.id == other.run.id


def _leads(line: FirstLine) -> bool:
    return line.found is not None or line.run is not None or bool(line.opens)
