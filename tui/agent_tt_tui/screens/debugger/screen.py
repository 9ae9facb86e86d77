"""The debugger: a run at one of its steps, and what can be done with it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from textual import events, on

from agent_tt_tui.footer import FooterRow
from agent_tt_tui.keymaps import DEBUGGER, FIND, IN_STATE
from agent_tt_tui.screen import CommandScreen, read_styles
from agent_tt_tui.screens.debugger.features.breakpoints import Breakpoints
from agent_tt_tui.screens.debugger.features.diff_base import DiffBase
from agent_tt_tui.screens.debugger.features.divergences import Divergences
from agent_tt_tui.screens.debugger.features.editing import Editing
from agent_tt_tui.screens.debugger.features.forking import Forking
from agent_tt_tui.screens.debugger.features.marks import Marks
from agent_tt_tui.screens.debugger.features.pdb import Pdb
from agent_tt_tui.screens.debugger.features.pending_writes import PendingWrites
from agent_tt_tui.screens.debugger.features.playing import Playing
from agent_tt_tui.screens.debugger.features.related import Related
from agent_tt_tui.screens.debugger.features.writes import SelectedWrites
from agent_tt_tui.screens.debugger.panes import Panes
from agent_tt_tui.screens.debugger.run_reading import RunGrew
from agent_tt_tui.screens.debugger.time import Time
from agent_tt_tui.screens.debugger.watch_reading import WatchReading
from agent_tt_tui.screens.golden.opening import Goldens
from agent_tt_tui.screens.running.approvals import Approvals
from agent_tt_tui.screens.running.holding import Holding
from agent_tt_tui.screens.running.run_again import RunAgain
from agent_tt_tui.screens.running.run_control import RunControl
from agent_tt_tui.viewmodel.debugger.runmodel import RunModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.geometry import Size
    from textual.widget import Widget

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt_tui.feature import Feature
    from agent_tt_tui.screens.running.replay import Replayed


class DebuggerScreen(CommandScreen[None]):
    """One run, its steps and its states."""

    CONTEXT = DEBUGGER
    CSS_PATH = None  # the app's are enough for the first frame
    AUTO_FOCUS = "Timeline"
    HELP = "A run: left and right go through its steps, up and down through what a pane shows."

    def __init__(
        self,
        source: RunSource,
        run: Run,
        step: int | None = None,
        *,
        replays: dict[str, Replayed] | None = None,
        divergence: int | None = None,
    ) -> None:
        """Show a run.

        Args:
            source: Where it is.
            run: The run.
            step: The step to open at; by default the first that failed, else the last.
            replays: The last replay of each run that is known of, by the run's id.
            divergence: The divergence of the run's last replay to open at, from 0; None for none.
        """
        super().__init__()
        replays = {} if replays is None else replays
        self.model = RunModel(source, run)
        """The run that is shown."""
        self.panes = Panes(self, self.model)
        """What shows it."""
        self.time = Time(self, self.model, self.panes, step)
        """The step that is shown."""
        self._watches = WatchReading(self, self.model)
        self._is_whole = False
        breakpoints = Breakpoints(self.time, self._watches)
        following = run.status == "running" and step is None
        self.playing = Playing(self.time, breakpoints, following=following)
        self.divergences = Divergences(self.time, self.playing, replays, divergence)
        self.run_again = RunAgain(self, self.divergences, replays)
        self.editing = Editing(self.time)
        self._forking = Forking(self.time, self.editing)
        self.approvals = Approvals(self, self._watched, self.panes.show_waiting, opens_by_itself=True)
        self._first: Sequence[Feature] = (
            self.time,
            # What is open is closed by Esc in this order; see `features` for the others.
            breakpoints,
            self.divergences,
            self.playing,
            self.panes,
            # These leave nothing open.
            SelectedWrites(self.time),
            DiffBase(self.time),
            PendingWrites(self.time),
            Marks(self.time),
            self.editing,
            self._forking,
            Related(self.time),
            Pdb(self.time, self.run_again),
            self.run_again,
            RunControl(self, self.shown_runs, lambda _: source),
            Holding(self, self.shown_runs, lambda: source),
            self.approvals,
            Goldens(self, lambda: (source, self.model.run)),
        )

    def compose(self) -> ComposeResult:
        """Lay out the panes and the footer."""
        if self.panes.opens_lower:
            read_styles(self.app)
        yield from self.panes.compose()
        yield self.footer()

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Share the screen between the panes before it is first laid out, and style nothing twice.

        Each widget has just been styled as it was mounted when the screen comes up first.
        """
        event.refresh_styles = event.refresh_styles and self.stack_updates > 0
        self.panes.share()

    def _screen_resized(self, size: Size) -> None:
        """Lay out for another size; Textual tells a screen that comes up of its size twice more."""
        if size != self.outer_size:
            super()._screen_resized(size)

    def on_mount(self) -> None:
        """Let what the first frame does not show follow it."""
        self.after_frame(self.make_whole)

    async def action_command(self, command_id: str) -> None:
        """Run a command, with all there that it may need."""
        await self.make_whole()
        is_done = self.tour.is_on and self.blocked(command_id) is None
        await super().action_command(command_id)
        if is_done:
            self.tour.did(command_id)

    async def make_whole(self) -> None:
        """Make what the first frame does not show, once: hidden panes, and what asks the past, exports and inspects."""
        if not self._is_whole:
            self._is_whole = True
            read_styles(self.app)
            self.hear_features()
            self._watches.look()
            self.refresh_footer()
            self.tour.begin_once()
            self._signs.explain()
        await self.panes.mount_hidden()

    @cached_property
    def features(self) -> Sequence[Feature]:  # type: ignore[override]  # read-only
        """What the screen can do; most of it is made when that is first asked for."""
        from agent_tt_tui.screens.debugger.features.asking_again import AskingAgain
        from agent_tt_tui.screens.debugger.features.blame import WhoWrote
        from agent_tt_tui.screens.debugger.features.causes import CauseMarks
        from agent_tt_tui.screens.debugger.features.columns import ChoosesColumns
        from agent_tt_tui.screens.debugger.features.context_reading import ContextReading
        from agent_tt_tui.screens.debugger.features.contexts import Contexts
        from agent_tt_tui.screens.debugger.features.explained import Explained
        from agent_tt_tui.screens.debugger.features.exporting import Exporting
        from agent_tt_tui.screens.debugger.features.find import Find
        from agent_tt_tui.screens.debugger.features.inspecting import Inspecting
        from agent_tt_tui.screens.debugger.features.oddities import Oddities
        from agent_tt_tui.screens.debugger.features.own_commands import OwnCommands
        from agent_tt_tui.screens.debugger.features.places import Places
        from agent_tt_tui.screens.debugger.features.ranges import StepRanges
        from agent_tt_tui.screens.debugger.features.signs import Signs
        from agent_tt_tui.screens.debugger.features.tour import Tour
        from agent_tt_tui.screens.debugger.features.watches import Watches
        from agent_tt_tui.screens.debugger.past_reading import PastReading

        time, breakpoints, *others = self._first
        past, contexts = PastReading(self, self.model), ContextReading(self.time)
        self.who_wrote = WhoWrote(self.time, past)
        self.find = Find(self.time, past, self.who_wrote)
        explained = Explained(self)
        self.tour = Tour(self.time, explained)
        self._signs = Signs(self.time, explained, self.tour)
        return (
            time,
            # What is open is closed by Esc in this order.
            self.find,
            breakpoints,
            self.who_wrote,
            *others,
            contexts,
            Contexts(self.time, contexts, self.editing, self._forking),
            Inspecting(self.time),
            StepRanges(self.time),
            self.tour,
            # These leave nothing open.
            self._signs,
            Watches(self.time, self._watches, self.find),
            Oddities(self.time, past, self.find),
            AskingAgain(self.time),
            CauseMarks(self.time, contexts),
            ChoosesColumns(self.time),
            Exporting(self.time),
            Places(self.time),
            OwnCommands(self.time),
        )

    @property
    def present_features(self) -> Sequence[Feature]:
        """Until the first frame is painted, those that it needs."""
        return self.features if self._is_whole else self._first

    @on(events.DescendantFocus)
    def _show_keys(self) -> None:
        """Show the keys of what is in focus, where it has its own; else those of the debugger."""
        footer, own = self.query_one(FooterRow), self.own_keys
        if own is not None:
            footer.show_context(own)
        elif footer.shown is not FIND:
            footer.show_context(IN_STATE if self.focused is self.panes.inspector.state_tree else DEBUGGER)

    @on(RunGrew)
    def _look_out(self) -> None:
        self.approvals.look_out()

    def shown_runs(self) -> Sequence[Run]:
        """The run."""
        return [self.model.run]

    def undo_words(self) -> Sequence[str]:
        """The edits that no fork has run with yet."""
        from agent_tt_tui.viewmodel.running.as_command import edit_words

        pending = self.model.pending
        groups = () if pending is None else pending.groups
        return [", ".join(map(edit_words, group)) for group in reversed(groups)]

    def _watched(self) -> Sequence[tuple[RunSource, str | None]]:
        """The run, while it runs."""
        run = self.model.run
        return [(self.model.source, run.id)] if run.status == "running" else []

    def focus_next(self, selector: str | type[Widget] = "*") -> Widget | None:
        """Go to the next pane, one that is hidden for lack of room included."""
        self.panes.show_all()
        return super().focus_next(selector)

    def focus_previous(self, selector: str | type[Widget] = "*") -> Widget | None:
        """Go to the previous pane, one that is hidden for lack of room included."""
        self.panes.show_all()
        return super().focus_previous(selector)
