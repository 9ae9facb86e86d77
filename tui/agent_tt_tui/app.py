"""The Textual app: it sets up the look, pushes the screen it is given, and holds no logic."""

from __future__ import annotations

import gc
import logging
import sys
import threading
from functools import cached_property, partial
from typing import TYPE_CHECKING

from rich.text import Text
from textual import events, on
from textual.app import App
from textual.reactive import reactive

from agent_tt.errors import AgentTTError
from agent_tt_tui.glyphs import ASCII
from agent_tt_tui.look import Look
from agent_tt_tui.requests import Confirm, KeepRun, OpenRun, ShowKeys, ShowTests, WatchTests
from agent_tt_tui.running_forks import RunningForks
from agent_tt_tui.screen import CommandScreen, read_styles
from agent_tt_tui.text import show
from agent_tt_tui.theme import DARK, OURS
from agent_tt_tui.typed import Handled, TypedKeys
from agent_tt_tui.watching import Happened, watch_tests

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from textual.await_complete import AwaitComplete
    from textual.driver import Driver
    from textual.screen import Screen

    from agent_tt_tui.ran import Ran, RanLog
    from agent_tt_tui.viewmodel.golden.watched import Watched

_log = logging.getLogger(__name__)

_LOGGED_PACKAGES = ("agent_tt", "agent_tt_tui")
_LOG_BYTES = 1_000_000
_MESSAGE_COLUMNS = 200
_OPENING_S = 1.0


class AgentTT(App[None]):
    """The terminal app of agent-tt."""

    TITLE = "agent-tt"
    CSS_PATH = "styles.tcss"
    ENABLE_COMMAND_PALETTE = False  # screens that have one bind its key; Textual's own binding would go before dialogs

    watched: reactive[Watched | None] = reactive(None)
    """How the tests stand that are watched; None where none are."""

    def __init__(
        self, first_screen: Callable[[], Screen[None]], *, look: Look | None = None, log_file: Path | None = None
    ) -> None:
        """Prepare the app.

        Args:
            first_screen: Makes the screen to open with.
            look: Theme, glyphs and changed keys; chosen from the environment by default.
            log_file: Where messages of the program go; its folder is made. `None` keeps no log.
        """
        self.look = look or Look.choose()
        """How everything is drawn."""
        self.forks = RunningForks()
        """What was started here and may still run."""
        self._end_watch = threading.Event()
        super().__init__()
        self.typed = TypedKeys(self, super().on_event)
        """Gives each key to what it is for."""
        self._first_screen = first_screen
        self._log_file = log_file
        self._log_handler: logging.Handler | None = None
        for theme, _ in OURS:
            self.register_theme(theme)
        # A name that is not a theme is refused by whoever reads the configuration; here it must not be fatal.
        self.theme = self.look.theme if self.look.theme in self.available_themes else DARK.name
        self.stylesheet.set_variables(self.get_css_variables())
        self._css_theme = self.current_theme
        self.set_keymap(self.look.keymap)
        for name, own in self.look.commands.items():
            if own.key:
                self.bind(own.key, f"own_command({name!r})", description=name, show=False)

    @cached_property
    def ran(self) -> RanLog:
        """What was run from here."""
        from agent_tt_tui.ran import RanLog

        return RanLog()

    def on_load(self) -> None:
        """Open the log."""
        if self._log_file is None:
            # Without any handler Python would print to the terminal that the app draws on.
            self._log_handler = logging.NullHandler()
        else:
            self._log_handler = _LogFile(self._log_file)
        self._log_handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        for package in _LOGGED_PACKAGES:
            logging.getLogger(package).addHandler(self._log_handler)

    async def on_mount(self) -> None:
        """Open the first screen."""
        self.set_class(self.look.glyphs is ASCII, "ascii")
        first = self._first_screen()
        if first.css_path:
            read_styles(self)
        await self.push_screen(first)
        if not gc.isenabled():  # the command disabled it: see `__main__`
            self.set_timer(_OPENING_S, _collect_again)

    async def on_event(self, event: events.Event) -> None:
        """Handle what was typed in its order."""
        if isinstance(event, (events.Key, events.Paste)) and not event.is_forwarded:
            await self.typed.take(event)
        else:
            await super().on_event(event)

    def pop_screen(self) -> AwaitComplete:
        """Leave a screen."""
        left = super().pop_screen()
        self.typed.leave_screen()
        return left

    @on(Handled)
    def _let_next_key_go(self, message: Handled) -> None:
        self.typed.follow(message)

    def get_driver_class(self) -> type[Driver]:
        """Choose what drives the terminal: Textual's choice, but on Linux and macOS one that sleeps between keys."""
        chosen = super().get_driver_class()
        if chosen.__name__ != "LinuxDriver":
            return chosen
        from agent_tt_tui.driver import QuietDriver

        return QuietDriver

    def refresh_css(self, animate: bool = True) -> None:  # noqa: FBT001, FBT002  Textual's signature
        """Style everything anew after the theme has changed; Textual asks for it once when the app begins, too."""
        if self.current_theme is not self._css_theme:
            self._css_theme = self.current_theme
            super().refresh_css(animate)

    def on_unmount(self) -> None:
        """End what is watched, and close the log."""
        self._end_watch.set()
        if self._log_handler is None:
            return
        for package in _LOGGED_PACKAGES:
            logging.getLogger(package).removeHandler(self._log_handler)
        self._log_handler.close()
        self._log_handler = None

    # What screens ask for.

    @on(OpenRun)
    def _open_run(self, message: OpenRun) -> None:
        from agent_tt_tui.screens.debugger.screen import DebuggerScreen

        self.push_screen(DebuggerScreen(message.source, message.run, message.step))

    @on(KeepRun)
    def _keep_run(self, message: KeepRun) -> None:
        from agent_tt_tui.screens.golden.keep import KeepDialog

        self.push_screen(KeepDialog(message.source, message.run), message.kept)

    @on(ShowTests)
    def _show_tests(self) -> None:
        from agent_tt_tui.screens.golden.kept import GoldensScreen

        self.push_screen(GoldensScreen())

    @on(WatchTests)
    def _watch_tests(self, message: WatchTests) -> None:
        from agent_tt_tui.viewmodel.golden.watched import Watched

        self._end_watch.set()
        self.watched = None
        if message.folder is None:
            return
        self._end_watch, self.watched = threading.Event(), Watched(message.live)
        work = partial(watch_tests, message.folder, self._end_watch, self.post_message, live=message.live)
        self.run_worker(work, group="watch", thread=True, exit_on_error=False)

    @on(Happened)
    def _tell_of_tests(self, message: Happened) -> None:
        if message.watch is not self._end_watch or self.watched is None:
            return
        if message.event is not None:
            self.watched = self.watched.after(message.event)
            return
        self.watched = None
        if isinstance(self.screen, CommandScreen):
            self.screen.say(message.problem, None)

    @on(ShowKeys)
    def _show_keys(self, message: ShowKeys) -> None:
        from agent_tt_tui.help import HelpScreen

        self.push_screen(HelpScreen(message.context))

    @on(Confirm)
    def _confirm(self, message: Confirm) -> None:
        from agent_tt_tui.dialog import ConfirmDialog

        self.push_screen(ConfirmDialog(message.title, message.question), message.answered)

    def action_command_palette(self) -> None:
        """Find something to do on the open screen by words."""
        screen = self.screen
        if isinstance(screen, CommandScreen):
            from agent_tt_tui.screens.dialogs.palette import PaletteDialog

            screen.ask(PaletteDialog(screen.offers), lambda offer: offer.run())

    def action_own_command(self, name: str) -> None:
        """Run a command of the user's own on the open screen, where that offers it."""
        screen = self.screen
        if isinstance(screen, CommandScreen):
            offer = next((each for each in screen.offers(name) if each.group == "own" and each.label == name), None)
            if offer is None:
                screen.say(f"{name} is for a run: open one first")
            else:
                offer.run()

    def action_choose_theme(self) -> None:
        """Choose a theme, which is tried while the cursor stands on it."""
        from agent_tt_tui.screens.dialogs.themes import theme_dialog

        screen = self.screen
        if isinstance(screen, CommandScreen):
            words = 'until you leave; for good with theme = "{}" in the configuration'
            screen.ask(theme_dialog(self), lambda name: screen.say(f"{name}, {words.format(name)}", 6.0))

    def action_jump(self) -> None:
        """Label what can be gone to on the screen, and go where somebody says."""
        from agent_tt_tui.screens.dialogs.jump import JumpScreen

        screen = self.screen
        if isinstance(screen, CommandScreen):
            screen.ask(JumpScreen(screen), lambda target: target.go())

    def action_show_log(self) -> None:
        """Show what was run from here; open the run that is chosen."""
        screen = self.screen
        if isinstance(screen, CommandScreen):
            from agent_tt_tui.screens.dialogs.log import LogDialog

            screen.ask(LogDialog(screen.undo_words(), self.ran.newest_first), self._open_ran)

    def _open_ran(self, ran: Ran) -> None:
        if ran.source is None:
            return
        try:
            self.post_message(OpenRun(ran.source, ran.source.run(ran.run_id)))
        except AgentTTError as error:
            if isinstance(self.screen, CommandScreen):
                self.screen.say(error.message)

    async def action_quit(self) -> None:
        """Leave the way that the open screen's own key does, so that nothing pending is lost unasked."""
        if isinstance(self.screen, CommandScreen):
            await self.run_action("back", self.screen)
        else:
            self.exit()

    def _fatal_error(self) -> None:
        """End on an error of the program itself: a line for the user, the traceback for the log."""
        error = sys.exception()
        _log.error("the app ended on an error", exc_info=error)
        what = show(f"{type(error).__name__}: {error}", _MESSAGE_COLUMNS, "...")
        where = f"; the details are in {self._log_file}" if self._log_file is not None else ""
        self.panic(Text(f"agent-tt stopped on an error of its own: {what}{where}"))


class _LogFile(logging.Handler):
    """A log that is opened at its first message: most times that the app is used have none."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._file: logging.Handler | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if self._file is None:
            from logging.handlers import RotatingFileHandler

            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = RotatingFileHandler(self._path, maxBytes=_LOG_BYTES, backupCount=1, encoding="utf-8")
            except OSError:  # there is nowhere to say so, and the app goes on without a log
                return
            self._file.setFormatter(self.formatter)
        self._file.emit(record)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        super().close()


def _collect_again() -> None:
    """Collect garbage from now on, but never look through what an opening has imported and built again."""
    gc.freeze()
    gc.enable()
