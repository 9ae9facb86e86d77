"""The debugger's time: the step that its panes show, read in threads, and the keys that go to another step."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from textual import events
from textual.message import Message

from agent_tt._dataclass import dataclass
from agent_tt.errors import UsageError
from agent_tt_tui.feature import Feature, hears
from agent_tt_tui.lookout import ENDED_SECONDS, Lookout
from agent_tt_tui.screens.debugger import run_reading as reading
from agent_tt_tui.screens.debugger.step_reader import AHEAD
from agent_tt_tui.widgets.debugger.scrubber import Scrubber
from agent_tt_tui.widgets.debugger.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.timer import Timer

    from agent_tt.codec.wire import Path
    from agent_tt_tui.screen import CommandScreen
    from agent_tt_tui.screens.debugger.panes import Panes
    from agent_tt_tui.viewmodel.debugger.runmodel import RunModel
    from agent_tt_tui.viewmodel.debugger.stepview import StepView
    from agent_tt_tui.viewmodel.past.bases import BaseKind
    from agent_tt_tui.viewmodel.past.other_state import OtherState

_POLL_SECONDS = 0.2

_PATIENCE_SECONDS = 0.1
"""How long a step may take to be read before the pane says that it is being read."""


_FIRST_FRAME_SECONDS = 0.25
"""How long the first frame waits for its step; after it empty panes are shown, and what is said of a slow step."""


@dataclass
class AskWhere(Message):
    """The steps are to be found at which a question holds."""

    question: str


class Time(Feature):
    """The step that is shown; every other feature of the debugger goes to steps through it."""

    COMMANDS = frozenset(
        {
            "time.previous",
            "time.next",
            "time.ten_back",
            "time.ten_on",
            "time.first",
            "time.last",
            "time.lane_previous",
            "time.lane_next",
            "time.go_to",
        }
    )

    def __init__(self, screen: CommandScreen[None], model: RunModel, panes: Panes, step: int | None = None) -> None:
        """Initialise the feature.

        Args:
            screen: The debugger.
            model: The run.
            panes: What shows the step.
            step: The step to open at; by default the first that failed, else the last.
        """
        self.screen = screen
        """The debugger."""
        self.model = model
        """The run that is shown."""
        self.panes = panes
        """What shows it."""
        self.reading = reading.RunReading(screen, model)
        """What reads the run, in threads."""
        self.number = 0
        """The step that is shown, or will be as soon as it is read."""
        self.view: StepView | None = None
        """The step that was read last."""
        self.path: Path | None = None
        """The selected path, in wire coordinates."""
        self.base: BaseKind | None = None
        """What a step is compared with; None for the usual."""
        self.other: OtherState | None = None
        """The state that the user chose to compare with; it stays in the list of choices."""
        self.on_leaving: list[Callable[[], None]] = []
        """What is called when somebody goes to a step, before that is shown."""
        self._open_at = step
        self._opened = False
        self._came_from = 0
        self._landing: tuple[int, Callable[[StepView], None]] | None = None
        self._patience: Timer | None = None
        self._lookout: Lookout | None = None
        self._first_frame = ExitStack()
        self._shown = False

    # What was read.

    @hears(events.Mount)
    def _on_mount(self, _event: events.Mount) -> None:
        # The first frame has the step in it: empty panes would have to be laid out and painted before it.
        self._first_frame.enter_context(self.screen.app.batch_update())
        self._first_frame.callback(self._paint)
        self.screen.holds_frames = True
        self.screen.set_timer(_FIRST_FRAME_SECONDS, self._first_frame.close)
        self.reading.open(self._open_at)

    def _paint(self) -> None:
        self.screen.holds_frames = False
        self.screen.refresh()

    @hears(events.Unmount)
    def _on_unmount(self, _event: events.Unmount) -> None:
        self._first_frame.close()
        if self._lookout is not None:
            self._lookout.end()

    @hears(reading.Opened)
    def _on_opened(self, message: reading.Opened) -> None:
        self._opened = True
        self.panes.refresh_run()
        self.show(message.number)
        self._lookout = Lookout(self.screen, self.model.has_news, self.reading.poll, self._pause)

    def _pause(self) -> float:
        goes_on = self.model.run.status == "running" or self.model.grew_lately
        return _POLL_SECONDS if goes_on else ENDED_SECONDS

    @hears(reading.Scanned)
    def _on_scanned(self, message: reading.Scanned) -> None:
        if message.alike is not None:
            self.panes.timeline.show_alike(message.alike)
        if len(self.model.overview.lanes) > 1:
            self.reading.forget_steps()
            # Only now is it known that the step before is one of the same lane.
            self.read_step()
        self.panes.refresh_run()

    @hears(reading.PagesRead)
    def _on_pages_read(self, _message: reading.PagesRead) -> None:
        self.panes.timeline.refresh_run()
        self.panes.scrubber.show_step(self.number)

    @hears(reading.StepRead)
    def _on_step_read(self, message: reading.StepRead) -> None:
        if message.view.number != self.number:
            return
        self._stop_waiting()
        if self.base == "pending" and message.base.kind != "pending":
            self.base = None
            self.screen.say("no write is pending after this step: the state is as it was kept")
        self.view = message.view
        self.panes.scrubber.show_step(self.number)
        self.panes.diff.show(message.view, message.base, message.rows, message.columns, message.between)
        self.show_view()
        self.panes.make_room_for_diff()
        if not self._shown:
            self._shown = True
            self._first_frame.close()
            # However long the run is, its first frame takes as long: the other steps are looked at after it.
            self.screen.after_frame(self.reading.scan)
        self.screen.after_frame(self._read_ahead)

    def _read_ahead(self) -> None:
        """Read the steps to which the next keys go, once the one that is shown is painted.

        Who came from far away may go on as far: then the nearest are read alone.
        """
        direction = -1 if self.number < self._came_from else 1
        beside = self.panes.timeline.steps_beside
        goes_step_by_step = self._came_from in (self.number, *beside(-direction, AHEAD))
        self._came_from = self.number
        wish = reading.StepWish(self.number, self.base, self.panes.diff.columns, self.other)
        self.reading.read_ahead(wish, beside(direction, AHEAD if goes_step_by_step else 1), beside(-direction, 1))

    @hears(reading.RunGrew)
    def _on_run_grew(self, _message: reading.RunGrew) -> None:
        self.panes.refresh_run()
        if self._shown:
            self.reading.scan()
        self.read_step()

    @hears(reading.Arrived)
    def _on_arrived(self, message: reading.Arrived) -> None:
        if message.number is None:
            self.screen.say(message.why)
        else:
            self.go(message.number)

    # What widgets ask for.

    @hears(Timeline.StepWanted)
    def _on_step_wanted(self, message: Timeline.StepWanted) -> None:
        self.go(message.number)

    @hears(Scrubber.StepWanted)
    def _on_place_wanted(self, message: Scrubber.StepWanted) -> None:
        self.go(message.number)

    @hears(Timeline.PagesWanted)
    def _on_pages_wanted(self, message: Timeline.PagesWanted) -> None:
        self.reading.read_around(message.number)

    @hears(Timeline.ArgumentsWanted)
    def _on_arguments_wanted(self, _message: Timeline.ArgumentsWanted) -> None:
        if steps := self.panes.timeline.take_unread():
            self.reading.read_arguments(steps)

    @hears(reading.ArgumentsRead)
    def _on_arguments_read(self, _message: reading.ArgumentsRead) -> None:
        self.panes.timeline.refresh_lines_data()

    # Showing.

    def go(self, number: int, then: Callable[[StepView], None] | None = None) -> None:
        """Go to a step, because somebody wants to see it; that ends what goes on by itself.

        Args:
            number: The step; the nearest there is will do.
            then: Called with the step as soon as it is shown, unless somebody has gone on to another by then.
        """
        for leave in self.on_leaving:
            leave()
        if then is not None:
            self._landing = (number, then)
        self.show(number)

    @property
    def is_landing(self) -> bool:
        """Whether something in a step is to be shown as soon as that is read."""
        return self._landing is not None

    def show(self, number: int) -> None:
        """Show a step; the nearest there is will do."""
        self.number = max(0, min(number, self.model.last))
        self.panes.show_step(self.number)
        timeline = self.panes.timeline
        self.reading.rows_now(timeline.steps_in_view(), with_arguments=timeline.shows_arguments)
        self.read_step()

    def read_step(self) -> None:
        """Read the step that is to be shown, again if it is shown already."""
        if not self._opened:
            return
        wish = reading.StepWish(self.number, self.base, self.panes.diff.columns, self.other)
        found = self.reading.step_now(wish)
        if found is not None:
            self.screen.tell_features(found)
            return
        if self._patience is None:
            self._patience = self.screen.set_timer(_PATIENCE_SECONDS, self._say_reading)
        self.reading.read_step(wish)

    def show_view(self) -> None:
        """Show the step that was read, with the edits made to it, and in it what was gone to."""
        view, pending = self.view, self.model.pending
        if view is None:
            return
        if pending is not None and pending.step != view.number:
            pending = None
        self.panes.inspector.show(view, pending=pending if pending is not None and pending.changes else None)
        self.panes.call_pane.show(view)
        if pending is not None:
            self.panes.diff.show_pending(pending, self.model.pending_trouble)
            self.panes.make_room_for_diff()
        self._land(view)

    def _land(self, view: StepView) -> None:
        if self._landing is None:
            return
        number, show = self._landing
        if number == view.number:
            self._landing = None
            show(view)
        elif number != self.number:
            self._landing = None

    def forget_landing(self) -> None:
        """Show nothing further in the step that is being read."""
        self._landing = None

    def _say_reading(self) -> None:
        if self._patience is not None:  # else the step came when this was on its way already
            self.panes.diff.title_row.busy = f"reading {self.number}"

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.stop()
            self._patience = None
        self.panes.diff.title_row.busy = ""

    # What keys do.

    def blocked(self, command_id: str) -> str | None:
        """Say why there is no other step in the lane."""
        if command_id.startswith("time.lane") and len(self.model.overview.lanes) < 2:
            return "all steps of this run are in one lane"
        return None

    def action_step(self, steps: int) -> None:
        """Go so many steps on."""
        self.go(self.number + steps)

    def action_first_step(self) -> None:
        """Go to the input."""
        self.go(0)

    def action_last_step(self) -> None:
        """Go to the last step."""
        self.go(self.model.last)

    def action_lane_step(self, direction: int) -> None:
        """Go to the next or previous step of the lane."""
        found = self.model.overview.in_lane(self.number, direction)
        self.go_or_say(found, f"this is the {'last' if direction > 0 else 'first'} step of its lane")

    def action_go_to(self) -> None:
        """Ask for a step and go there."""
        from agent_tt_tui.screens.dialogs.prompt import PromptDialog
        from agent_tt_tui.viewmodel.debugger.step_words import EXAMPLES

        dialog = PromptDialog(
            "Go to", detail=f"a step, 0 to {self.model.last}", placeholder=EXAMPLES, check=self._why_not
        )
        self.screen.ask(dialog, self.find)

    def _why_not(self, text: str) -> str | None:
        from agent_tt_tui.viewmodel.debugger.step_words import read_words

        if not text:
            return "type a step"
        try:
            words = read_words(text)
        except UsageError as error:
            return error.message
        target = self.number + words.number
        if words.kind == "count" and not 0 <= target <= self.model.last:
            return f"there is no step {target}: they go from 0 to {self.model.last}"
        return None

    def find(self, text: str) -> None:
        """Go to the step that a text names; a question is handed to whoever asks it."""
        from agent_tt_tui.viewmodel.debugger.step_words import read_words

        words = read_words(text)
        if words.kind == "count":
            self.go(self.number + words.number)
        elif words.kind == "question":
            self.screen.post_message(AskWhere(words.text))
        elif words.kind == "time":
            self.reading.find_time(words.us)
        else:
            self.reading.find_step(words.text, self.number)

    def go_or_say(self, number: int | None, why: str) -> None:
        """Go to a step, or say why there is none."""
        if number is None:
            self.screen.say(why)
        else:
            self.go(number)
