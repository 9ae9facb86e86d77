"""The tests that are kept (goldens): what came of each, running them, and changing rules that failed."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from textual.containers import Vertical
from textual.worker import get_current_worker

from agent_tt.errors import AgentTTError
from agent_tt.golden.golden_file import read_golden, write_golden
from agent_tt.golden.header import FOLDER
from agent_tt.golden.running import run_golden
from agent_tt.golden.updating import accepting, with_accepted
from agent_tt.golden.watching import Ended, Unread
from agent_tt.sources import open_source
from agent_tt_tui import format as fmt
from agent_tt_tui.chrome import HeaderRow, HeaderState, Pane, PaneTitle
from agent_tt_tui.keymaps import TESTS
from agent_tt_tui.keymaps.golden import GOLDEN
from agent_tt_tui.look import look_of
from agent_tt_tui.requests import WatchTests
from agent_tt_tui.screen import CommandScreen
from agent_tt_tui.screens.compare.screen import CompareScreen
from agent_tt_tui.status import verdict_glyph
from agent_tt_tui.viewmodel.golden.kept_tests import KeptTest, check_recording, list_tests, standing, with_results
from agent_tt_tui.widgets.golden.kept_list import GoldenColumns, GoldenDetail, GoldenList

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from textual.app import ComposeResult
    from textual.worker import Worker

    from agent_tt.golden.rule import Rule, Verdict
    from agent_tt.golden.running import GoldenResult
    from agent_tt.protocols import RunSource
    from agent_tt_tui.chrome import Tone
    from agent_tt_tui.lines import LineView
    from agent_tt_tui.viewmodel.golden.watched import Watched

_TICK_SECONDS: Final = 0.25


class GoldensScreen(CommandScreen[None]):
    """The tests in the project's folder."""

    CONTEXT = TESTS
    AUTO_FOCUS = "GoldenList"
    HELP = "The tests that are kept: r runs one, R runs all, w when a file is saved; enter opens both runs."

    def __init__(self, folder: Path = FOLDER) -> None:
        """Show tests.

        Args:
            folder: where they are, there and below.
        """
        super().__init__()
        self._folder = folder
        self._tests: list[KeptTest] | None = None
        self._fresh: dict[Path, GoldenResult] = {}
        """What came of tests since this screen was opened."""
        self._answered = 0
        """How many calls the test that runs has answered."""
        self._opened = ExitStack()
        self._sources: dict[Path, RunSource] = {}

    def compose(self) -> ComposeResult:
        """Lay out header, list, what is to be known of one, and footer."""
        yield HeaderRow(HeaderState("agent-tt", cause=f"tests in {self._folder}"))
        with Vertical(id="golden-tests"):
            yield GoldenColumns()
            yield GoldenList()
        yield Pane(PaneTitle("Rules"), GoldenDetail(), id="golden-rules", classes="ground")
        yield self.footer()

    def on_mount(self) -> None:
        """Read the tests, then their recordings."""
        self.query_one(PaneTitle).busy = "reading the tests"
        self.run_worker(self._read, group="read", thread=True, exit_on_error=False)
        self.set_interval(_TICK_SECONDS, self._tell_progress)
        self.watch(self.app, "watched", self._follow_watch, init=False)

    def on_unmount(self) -> None:
        """Close the stores that were opened."""
        self._opened.close()

    # Reading.

    def _read(self) -> None:
        unwanted = _asking(get_current_worker())
        try:
            tests = list_tests(self._folder)
        except AgentTTError as error:
            if not unwanted():
                self.app.call_from_thread(self._show, [], error.message)
            return
        if unwanted():
            return
        self.app.call_from_thread(self._show, tests)
        for number, test in enumerate(tests, 1):
            problem = check_recording(test)
            if unwanted():
                return
            self.app.call_from_thread(self._checked, test, problem, f"checking recordings, {number} of {len(tests)}")
        self.app.call_from_thread(self._checked, None, "", "")

    def _show(self, tests: list[KeptTest], trouble: str = "") -> None:
        self._tests = tests
        title = self.query_one(PaneTitle)
        title.busy, title.detail = "", trouble or ("" if tests else self._empty)
        self._draw()

    def _checked(self, test: KeptTest | None, problem: str, busy: str) -> None:
        self.query_one(PaneTitle).busy = busy
        if test is not None and problem:
            self._change(test.path, problem=problem)
        self._draw()

    def _change(self, path: Path, **changes: object) -> None:
        self._tests = [
            replace(each, **changes) if each.path == path else each  # type: ignore[arg-type]  # fields of it
            for each in self._tests or ()
        ]

    # What is shown.

    def _draw(self) -> None:
        tests, rows = self._tests or [], self.query_one(GoldenList)
        rows.show_rows(tests)
        self.query_one(HeaderRow).state = self._header(tests)
        self._show_detail()

    def _header(self, tests: Sequence[KeptTest]) -> HeaderState:
        glyphs = look_of(self).glyphs
        where = f"tests in {self._folder}"
        under_way = sum(bool(each.under_way) for each in tests)
        known = standing([each.state for each in tests])
        if under_way:
            return HeaderState("agent-tt", glyphs.still, f"running, {under_way} to go", "running", where)
        if not known:
            return HeaderState("agent-tt", cause=where)
        worst = known[0][0]
        tones: dict[Verdict, Tone] = {"failed": "failed", "unknown": "muted", "passed": "well"}
        said = ", ".join(words for _, words in known)
        return HeaderState("agent-tt", verdict_glyph(worst, glyphs), said, tones[worst], where)

    def _show_detail(self) -> None:
        test = self._test
        title = self.query_one(PaneTitle)
        if test is not None:
            title.detail, title.hint = test.name, ""
            if test.last is not None and not self.query_one(GoldenList).shows_age:
                age = fmt.age(max(0.0, time.time() - test.last.at_us / 1e6))
                title.hint = "run just now" if age == "now" else f"run {age} ago"
        self.query_one(GoldenDetail).show(test, None if test is None else self._fresh.get(test.path))
        self.refresh_footer()

    @property
    def _test(self) -> KeptTest | None:
        return self.query_one(GoldenList).current

    def on_line_view_cursor_moved(self, message: LineView.CursorMoved) -> None:
        """Show what is to be known of the test that the cursor came to."""
        if isinstance(message.view, GoldenList):
            self._show_detail()

    # Running.

    @property
    def _empty(self) -> str:
        return f"no test is kept here yet: {look_of(self).key(GOLDEN[0])} on a run keeps it as one"

    @property
    def _busy(self) -> str:
        return f"tests are being run: {self.key('app.escape')} stops them"

    def blocked(self, command_id: str) -> str | None:
        """Say why a command cannot be used now."""
        test = self._test
        if command_id in ("tests.watch", "tests.watch_live") and self._watched is not None:
            return None  # ending it needs no test
        if command_id in _OF_TESTS and self._tests is None:
            return "the tests are being read"
        if command_id in _OF_TESTS and test is None:
            return self._empty
        if command_id in ("tests.run", "tests.run_all") and self._is_running:
            return self._busy
        if command_id in ("list.choose", "tests.copy") and test is not None and not test.compare_command:
            return f"no run came of it yet: {self.key('tests.run')} runs it"
        if command_id == "tests.update" and test is not None:
            return self._why_no_update(test)
        return super().blocked(command_id)

    @property
    def _is_running(self) -> bool:
        return any(each.under_way for each in self._tests or ())

    def action_run(self) -> None:
        """Run the test under the cursor."""
        if self._test is not None:
            self._start([self._test])

    def action_run_all(self) -> None:
        """Run all tests."""
        self._start(self._tests or [])

    def _start(self, tests: Sequence[KeptTest]) -> None:
        for test in tests:
            self._change(test.path, under_way="waiting")
        self._draw()
        work = partial(self._run_tests, [test.path for test in tests])
        self.run_worker(work, group="run", exclusive=True, thread=True, exit_on_error=False)

    def _run_tests(self, paths: Sequence[Path]) -> None:
        """Run tests one after another, each agent in a process of its own."""
        unwanted = _asking(get_current_worker())

        def tell(answered: int) -> None:
            self._answered = answered

        for path in paths:
            if unwanted():
                return
            self._answered = 0
            self.app.call_from_thread(self._begun, path)
            result = None
            try:
                result = run_golden(read_golden(path), cancelled=unwanted, progress=tell)
                test = _with_result(result)
            except AgentTTError as error:
                test = KeptTest(path, problem=error.message)
            if unwanted():
                return
            self.app.call_from_thread(self._ended, test, result)

    def _begun(self, path: Path) -> None:
        self._change(path, under_way="running", answered=0)
        self._draw()

    def _ended(self, test: KeptTest, result: GoldenResult | None) -> None:
        if result is not None:
            self._fresh[test.path] = result
        self._tests = [test if each.path == test.path else each for each in self._tests or ()]
        self._draw()

    # Watching.

    @property
    def _watched(self) -> Watched | None:
        watched: Watched | None = getattr(self.app, "watched", None)
        return watched

    def action_watch(self) -> None:
        """Run tests again whenever a file that they run is saved, or end that."""
        if self._watched is None:
            self.post_message(WatchTests(self._folder))
        else:
            self.post_message(WatchTests(None))
            self.say("tests are not watched any more")

    def action_watch_live(self) -> None:
        """The same with calls made for real, once a person has said yes."""
        if self._watched is not None:
            self.action_watch()
            return
        question = (
            "Whenever a file is saved, calls that nothing recorded answers will be made for real, as far as the"
            " policy lets them: they may cost something. What writes, and a tool of which nobody says what it"
            " does, is held back unless a rule says `live`. Watch?"
        )
        self.confirm("Watch", question, lambda: self.post_message(WatchTests(self._folder, live=True)))

    def _follow_watch(self, watched: Watched | None) -> None:
        """Show what came of a test that was watched, here as at the foot."""
        latest = None if watched is None or self._tests is None else watched.latest
        if isinstance(latest, Ended):
            self.run_worker(partial(self._read_ended, latest.result), group="watch", thread=True, exit_on_error=False)
        elif isinstance(latest, Unread):
            self._change(latest.path, golden=None, problem=latest.problem)
            self._draw()

    def _read_ended(self, result: GoldenResult) -> None:
        unwanted = _asking(get_current_worker())
        try:
            test = _with_result(result)
        except AgentTTError as error:
            test = KeptTest(result.golden.path, problem=error.message)
        if not unwanted():
            self.app.call_from_thread(self._ended_watched, test, result)

    def _ended_watched(self, test: KeptTest, result: GoldenResult) -> None:
        """Show it, whatever of that test runs here besides."""
        here = next((each for each in self._tests or () if each.path == test.path), test)
        self._ended(replace(test, under_way=here.under_way, answered=here.answered), result)

    def _tell_progress(self) -> None:
        running = next((each for each in self._tests or () if each.under_way == "running"), None)
        if running is not None and running.answered != self._answered:
            self._change(running.path, answered=self._answered)
            self._draw()

    def action_escape(self) -> None:
        """Stop what runs."""
        if not self._is_running:
            super().action_escape()
            return
        self.workers.cancel_group(self, "run")
        self._tests = [replace(each, under_way="") for each in self._tests or ()]
        self._draw()
        self.say("stopped: of what was still running nothing is kept")

    # What came of it.

    def on_line_view_chosen(self, message: LineView.Chosen) -> None:
        """Open the kept run and the new one side by side."""
        test = self._test
        reason = self.blocked("list.choose")
        if reason is not None:
            self.say(reason)
            return
        if not isinstance(message.view, GoldenList) or test is None or test.last is None or test.last.now is None:
            return
        path = test.last.store
        try:
            if path not in self._sources:
                self._sources[path] = open_source(path)
                self._opened.callback(self._sources[path].close)
            source = self._sources[path]
            kept, now = source.run(test.last.kept), source.run(test.last.now.id)
        except AgentTTError as error:
            self.say(error.message, None)
            return
        self.app.push_screen(CompareScreen(source, kept, source, now))

    def action_failing(self, way: int) -> None:
        """Go to the next test that does not pass, or the previous one; behind the last comes the first."""
        rows = self.query_one(GoldenList)
        count = len(rows.rows)
        for by in range(1, count + 1):
            index = (rows.row_number + way * by) % count
            if rows.rows[index].state in ("failed", "unknown"):
                rows.move_to_row(index)
                return
        self.say("there is no test of which it is known that it does not pass")

    def action_copy(self) -> None:
        """Copy the command that opens both runs."""
        if self._test is not None:
            self.app.copy_to_clipboard(self._test.compare_command)
            self.say("copied the command")

    def _why_no_update(self, test: KeptTest) -> str | None:
        fresh = self._fresh.get(test.path)
        if self._is_running:
            return self._busy
        if fresh is None:
            return f"run it first: {self.key('tests.run')}"
        if fresh.outcome != "failed":
            return "no rule failed"
        if fresh.new_request is not None:
            return "it asks what has no recording: keep a run that asks it"
        return None

    def action_update(self) -> None:
        """Show how the rules that failed would have to be, and change them so on a yes."""
        test = self._test
        if test is not None:
            work = partial(self._read_update, self._fresh[test.path])
            self.run_worker(work, group="update", exclusive=True, thread=True, exit_on_error=False)

    def _read_update(self, result: GoldenResult) -> None:
        try:
            accepted = accepting(result)
            is_edited = read_golden(result.golden.path) != result.golden
        except AgentTTError as error:
            self.app.call_from_thread(self.say, error.message, None)
            return
        if is_edited:
            said = f"its file was edited since it was run: {self.key('tests.run')} runs it again"
            self.app.call_from_thread(self.say, said, None)
        else:
            self.app.call_from_thread(self._ask_update, result, accepted)

    def _ask_update(self, result: GoldenResult, accepted: list[tuple[Rule, Rule | None]]) -> None:
        to, dot = look_of(self).glyphs.to, look_of(self).glyphs.dot
        changes = [f"{dot} {rule.sentence}\n  {to} {now.sentence}" for rule, now in accepted if now is not None]
        others = [f"{dot} {rule.sentence}" for rule, now in accepted if now is None]
        if not changes:
            self.say("a person has to change these rules: edit the file")
            return
        question = "These rules would be changed to what the new run does:\n" + "\n".join(changes)
        if others:
            question += "\n\nThese stay, for a person to change:\n" + "\n".join(others)
        question += f"\n\nWrite that into {result.golden.path}? Comments in it are not kept."
        self.confirm("Update", question, lambda: self._update(result, accepted))

    def _update(self, result: GoldenResult, accepted: list[tuple[Rule, Rule | None]]) -> None:
        path = result.golden.path
        golden = with_accepted(result.golden, accepted)
        try:
            write_golden(golden)
        except AgentTTError as error:
            self.say(error.message, None)
            return
        del self._fresh[path]
        self._change(path, golden=golden)
        self._draw()
        self.say(f"its rules were changed: {self.key('tests.run')} runs it again")


def _with_result(result: GoldenResult) -> KeptTest:
    """A test that was just run, with what came of it."""
    golden, problem = result.golden, "" if result.kept else result.problem
    (test,) = with_results([KeptTest(golden.path, golden, problem)])
    return test


_OF_TESTS: Final = frozenset(
    {"list.choose", "tests.run", "tests.run_all", "tests.watch", "tests.watch_live", "tests.update", "tests.copy"}
)


def _asking(worker: Worker[object]) -> Callable[[], bool]:
    """What says whether a worker is not wanted any more."""
    return lambda: worker.is_cancelled
