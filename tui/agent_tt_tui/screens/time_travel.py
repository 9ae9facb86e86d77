"""The debugger's time: the step that its panes show, and every key that goes to another step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on

from agent_tt.codec.paths import format_path
from agent_tt_tui.chrome import HeaderRow
from agent_tt_tui.look import look_of
from agent_tt_tui.screens import run_reading as reading
from agent_tt_tui.screens.debugger_frame import DebuggerFrame
from agent_tt_tui.screens.pick import Choice, PickDialog
from agent_tt_tui.screens.prompt import PromptDialog
from agent_tt_tui.text import clean, width
from agent_tt_tui.viewmodel.bases import following
from agent_tt_tui.viewmodel.runmodel import RunModel
from agent_tt_tui.widgets.inspector import Inspector
from agent_tt_tui.widgets.run_header import run_header
from agent_tt_tui.widgets.scrubber import Scrubber
from agent_tt_tui.widgets.timeline import Timeline

if TYPE_CHECKING:
    from textual.timer import Timer

    from agent_tt.codec.wire import Path
    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt_tui.viewmodel.bases import BaseKind
    from agent_tt_tui.viewmodel.other_state import OtherState
    from agent_tt_tui.viewmodel.stepview import StepView
    from agent_tt_tui.viewmodel.writes import Writes

_POLL_SECONDS = 0.2
_PLAY_SECONDS = 0.25
_TITLE_COLUMNS = 14
"""What the timeline's title and the space after it need."""

_PATIENCE_SECONDS = 0.1
"""How long a step may take to be read before the pane says that it is being read."""


class TimeTravelScreen(DebuggerFrame):
    """One run, at one of its steps. What is done with a step is added by `DebuggerScreen`."""

    def __init__(self, source: RunSource, run: Run, step: int | None = None) -> None:
        """Show a run.

        Args:
            source: Where it is.
            run: The run.
            step: The step to open at; by default the first that failed, else the last.
        """
        super().__init__(RunModel(source, run))
        self.number = 0
        """The step that is shown, or will be as soon as it is read."""
        self.view: StepView | None = None
        """The step that was read last."""
        self.path: Path | None = None
        """The selected path, in wire coordinates."""
        self.reading = reading.RunReading(self, self.model)
        self._writes: Writes | None = None
        """The writes of the selected path; None while they are looked for."""
        self._open_at = step
        self._opened = False
        self._base: BaseKind | None = None
        self._other: OtherState | None = None
        """The state that a person named to compare with; it stays among the bases."""
        self._following = run.status == "running" and step is None
        self._patience: Timer | None = None
        self._playing: Timer | None = None

    def on_mount(self) -> None:
        """Begin to read."""
        self.reading.open(self._open_at)

    # What was read.

    @on(reading.Opened)
    def _on_opened(self, message: reading.Opened) -> None:
        self._opened = True
        self.refresh_run()
        self.go(message.number, follow=self._following)
        self.reading.scan()
        self.set_interval(_POLL_SECONDS, self.reading.poll)

    @on(reading.Scanned)
    def _on_scanned(self, message: reading.Scanned) -> None:
        if message.alike is not None:
            self.timeline.show_alike(message.alike)
        if len(self.model.overview.lanes) > 1:
            # Only now is it known that the step before is one of the same lane.
            self.read_step()
        self.refresh_run()

    @on(reading.PagesRead)
    def _on_pages_read(self) -> None:
        self.timeline.refresh_run()
        self.scrubber.show_step(self.number)

    @on(reading.StepRead)
    def _on_step_read(self, message: reading.StepRead) -> None:
        if message.view.number != self.number:
            return
        self._stop_waiting()
        self.view = message.view
        self.scrubber.show_step(self.number)
        self.diff.show(message.view, message.base, message.rows, message.columns, message.between)
        self.show_view()
        self.make_room_for_diff()
        self._read_writes_again()

    @on(reading.WritesRead)
    def _on_writes_read(self, message: reading.WritesRead) -> None:
        if message.path == self.path:
            self._writes, signs = message.writes, message.writes.signs
            self.timeline.show_writes(signs)
            self.inspector.show_writes(message.path, message.writes)
            self.scrubber.show_writes(self._path_text(), message.writes)
            self._read_writes_again()

    @on(reading.RunGrew)
    def _on_run_grew(self) -> None:
        self.refresh_run()
        self.reading.scan()
        if self._following:
            self.follow_on()
        else:
            self.read_step()
        self._read_writes()

    @on(reading.Arrived)
    def _on_arrived(self, message: reading.Arrived) -> None:
        if message.number is None:
            self.say(message.why)
        else:
            self.go(message.number)

    # What widgets ask for.

    @on(Timeline.StepWanted)
    @on(Scrubber.StepWanted)
    def _on_step_wanted(self, message: Timeline.StepWanted | Scrubber.StepWanted) -> None:
        self.go(message.number)

    @on(Timeline.PagesWanted)
    def _on_pages_wanted(self, message: Timeline.PagesWanted) -> None:
        self.reading.read_pages(message.first, message.last)

    @on(Timeline.PlayToggled)
    def _on_play_toggled(self) -> None:
        if self._playing is not None:
            self.stop_playing()
            return
        if self.number >= self.model.last:
            self._show_number(0)
        self._playing = self.set_interval(_PLAY_SECONDS, self.play_on)

    @on(Inspector.PathSelected)
    def _on_path_selected(self, message: Inspector.PathSelected) -> None:
        if message.path == self.path:
            return
        self.path = message.path
        self.timeline.show_writes({})
        self.scrubber.show_writes(self._path_text(), None)
        self._read_writes()
        self.refresh_footer()

    # Showing.

    def go(self, number: int, *, follow: bool = False) -> None:
        """Go to a step; unless `follow` is set, that ends following and playing.

        Args:
            number: The step; the nearest there is will do.
            follow: Whether it is the end of a run that grows, and is followed.
        """
        self.stop_playing()
        if follow != self._following:
            self._following = follow
            self.refresh_footer()
        self._show_number(number)

    @property
    def is_following(self) -> bool:
        """Whether the newest step is shown as soon as it is there."""
        return self._following

    @property
    def is_playing(self) -> bool:
        """Whether the run is being played."""
        return self._playing is not None

    def follow_on(self) -> None:
        """Go to the newest step, as the run has grown and is followed."""
        self.go(self.model.last, follow=True)

    def refresh_run(self) -> None:
        """Show again what concerns the whole run."""
        self.refresh_header()
        self.timeline_pane.title_row.hint = self._timeline_hint()
        self.timeline.refresh_run()
        self.scrubber.refresh()
        self.refresh_footer()
        self.share_screen()

    def show_view(self) -> None:
        """Show the step that was read in the inspector."""
        if self.view is not None:
            self.inspector.show(self.view, pending=None)
            self.call_pane.show(self.view)

    def chip(self) -> str:
        """What the header says of pending edits."""
        return ""

    def refresh_header(self) -> None:
        """Show the header anew."""
        state = run_header(self.model, look_of(self).glyphs, self.chip(), waits=bool(self.waiting))
        self.query_one(HeaderRow).state = state

    def show_waiting(self) -> None:
        """Say in the header and at its step what waits."""
        self.timeline.show_waiting(frozenset(each.question.step for each in self.waiting))
        self.refresh_header()

    def _show_number(self, number: int) -> None:
        self.number = max(0, min(number, self.model.last))
        self.timeline_pane.title_row.hint = self._timeline_hint()
        self.timeline.show_step(self.number)
        self.scrubber.show_step(self.number)
        self.read_step()

    def read_step(self) -> None:
        """Read the step that is to be shown, again if it is shown already."""
        if not self._opened:
            return
        if self._patience is None:
            self._patience = self.set_timer(_PATIENCE_SECONDS, self._say_reading)
        self.reading.read_step(reading.StepWish(self.number, self._base, self.diff.columns, self._other))

    def _read_writes(self) -> None:
        self._writes = None
        if self.path is not None:
            self.reading.read_writes(self.number, self.path)

    def _read_writes_again(self) -> None:
        """Look for writes around the step that is shown, where a long way was gone since they were looked for."""
        if self._writes is not None and not self._writes.cover(self.number):
            self._read_writes()

    def _say_reading(self) -> None:
        self.diff.title_row.busy = f"reading {self.number}"

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.stop()
            self._patience = None
        self.diff.title_row.busy = ""

    def _timeline_hint(self) -> str:
        lanes, last = self.model.overview.lanes, self.model.last
        if len(lanes) > 1:
            names = f" {look_of(self).glyphs.dot} ".join(clean(lane) for lane in lanes)
            if width(names) <= self.timeline.size.width - _TITLE_COLUMNS:
                return names
            here = self.model.overview.lane_index(self.number) if self.number else None
            return f"{len(lanes)} lanes" if here is None else f"lane {clean(lanes[here])}"
        return f"{last:,} step{'' if last == 1 else 's'}"

    def _path_text(self) -> str:
        return format_path(self.path) if self.path else ""

    # Time.

    def action_escape(self) -> None:
        """Take back the whole screen from a pane, or stop playing."""
        self.stop_playing()
        if self.zoomed:
            self.action_zoom()

    def blocked(self, command_id: str) -> str | None:
        """Say why a key of time cannot be used now."""
        if command_id.startswith("time.write") and self.path is None:
            return "select a value first: tab goes to the state"
        if command_id.startswith("time.error") and not self.model.overview.errors:
            return "no step of this run failed"
        if command_id.startswith("time.lane") and len(self.model.overview.lanes) < 2:
            return "all steps of this run are in one lane"
        if command_id == "live.follow":
            if self.model.run.status != "running":
                return "this run has ended: there is nothing to follow"
            if self._following:
                return "the newest step is followed already"
        if command_id == "time.go_to_mark" and not self.model.bookmarks.letters:
            return "no step is marked yet: m marks one"
        return super().blocked(command_id)

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
        self._go_or_say(found, f"this is the {'last' if direction > 0 else 'first'} step of its lane")

    def action_error(self, direction: int) -> None:
        """Go to the next or previous failed step."""
        found = self.model.overview.next_error(self.number, direction)
        self._go_or_say(found, f"no {'later' if direction > 0 else 'earlier'} step failed")

    def action_write(self, direction: int) -> None:
        """Go to the next or previous step that wrote the selected path."""
        if self.path is not None:
            self.reading.find_write(self.number, self.path, direction)

    def action_go_to(self) -> None:
        """Ask for a step and go there."""
        dialog = PromptDialog(
            "Go to",
            detail=f"0 to {self.model.last}, ~1 from the end, @error, or a name",
            check=lambda text: None if text else "type a step",
        )
        self.app.push_screen(dialog, self._go_to)

    def action_mark(self) -> None:
        """Mark this step, or take its mark away."""
        if not self.model.bookmarks.kept:
            self.say("this file is only read: marks last as long as this program")
        self.reading.toggle_mark(self.number)

    def action_go_to_mark(self) -> None:
        """Go to the marked step, or ask to which."""
        letters = self.model.bookmarks.letters
        if len(letters) == 1:
            self.go(next(iter(letters)))
            return
        choices = [Choice(str(step), letters[step], f"step {step}") for step in sorted(letters)]
        self.app.push_screen(PickDialog("Marks", choices), self._go_to)

    def action_diff_base(self) -> None:
        """Compare with the next base."""
        self._base = following(self.model, self.number, self._base, self._other).kind
        self.read_step()

    def action_diff_other(self) -> None:
        """Ask for any state of any run, and compare with it."""
        dialog = PromptDialog(
            "Diff against",
            detail="a step or mark, RUN, RUN@STEP, FILE:RUN@STEP",
            check=lambda text: None if text else "type a step, or a run and its step",
        )
        self.app.push_screen(dialog, self._diff_other)

    def _diff_other(self, text: str | None) -> None:
        if text:
            self.reading.find_state(text, self.number)

    @on(reading.OtherRead)
    def _on_other_read(self, message: reading.OtherRead) -> None:
        if message.other is None:
            self.say(message.why)
            return
        self._base, self._other = "other", message.other
        self.read_step()

    def action_follow(self) -> None:
        """Go to the end and stay there while the run grows."""
        self.go(self.model.last, follow=True)

    def _go_to(self, text: str | None) -> None:
        if text:
            self.reading.find_step(text, self.number)

    def _go_or_say(self, number: int | None, why: str) -> None:
        if number is None:
            self.say(why)
        else:
            self.go(number)

    def play_on(self) -> None:
        """Show the next step; at the last one, stop."""
        if self._playing is None:  # a tick that was under way when it was stopped
            return
        if self.number >= self.model.last:
            self.stop_playing()
        else:
            self._show_number(self.number + 1)

    def stop_playing(self) -> None:
        """Stay at the step that is shown."""
        if self._playing is not None:
            self._playing.stop()
            self._playing = None
