"""Watches in the debugger: marks where they hold, breakpoints that stop playing and following, keys that go there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on

from agent_tt.sources import marks_of
from agent_tt_tui.commands import display_key
from agent_tt_tui.contexts import DEBUGGER
from agent_tt_tui.look import look_of
from agent_tt_tui.screens import run_reading as reading
from agent_tt_tui.screens.oddities import OdditiesScreen
from agent_tt_tui.screens.watch_reading import Explained, WatchesLooked, WatchesWritten, WatchReading
from agent_tt_tui.screens.watches import WatchesDialog
from agent_tt_tui.viewmodel.finding import StepHit, edge_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.model import Run
    from agent_tt.protocols import RunSource
    from agent_tt.querying.board import BoardRow

__all__ = ["WatchingScreen"]


class WatchingScreen(OdditiesScreen):
    """One run, in which expressions are watched."""

    _passed = 0
    """The last step at which following does not stop: what was there before, and where it stopped."""
    _run_to = 0
    """The direction of the breakpoint that is looked for; 0 for none."""
    _stopped_by = ""
    """The command with which to go on from a breakpoint, while it is being said why it stopped; "" for none."""
    _shown_watch: int | None = None
    """The watch whose steps are shown as hits."""

    def __init__(self, source: RunSource, run: Run, step: int | None = None) -> None:
        """Show a run; see `TimeTravelScreen`."""
        super().__init__(source, run, step)
        self.watch_reading = WatchReading(self, self.model)
        self._dialog: WatchesDialog | None = None

    def blocked(self, command_id: str) -> str | None:
        """Say why a key of the watches cannot be used now."""
        if command_id.startswith("time.break") and not self.model.board.breakpoints:
            return f"no breakpoint is set yet: {self._key('watch.open')} sets one"
        if command_id.startswith("time.edge") and self.asked_steps() is None:
            return "no question was asked yet: / and ? ask one"
        return super().blocked(command_id)

    def action_escape(self) -> None:
        """Take away what is said of a breakpoint, and what else is open."""
        self._run_to = 0
        self._forget_stop()
        super().action_escape()

    # Looking.

    @on(reading.Opened)
    def _watch_from_here(self) -> None:
        self._passed = self.model.last
        while (step := self.model.peek(self._passed)) is not None and step.status == "running":
            self._passed -= 1  # a breakpoint may still stop there, when it has ended
        self.watch_reading.look()

    @on(reading.RunGrew)
    def _look_at_more(self) -> None:
        self.watch_reading.look()

    @on(WatchesLooked)
    def _on_watches_looked(self, message: WatchesLooked) -> None:
        self.timeline.refresh_lines_data()
        self.scrubber.refresh()
        self._extend_hits()
        self.refresh_footer()
        if self._dialog is not None:
            self._dialog.refresh_rows()
        if self._run_to:
            self._go_to_break(self._run_to, is_known=message.ended)
        elif self.is_following:
            self._follow_to_what_is_known()

    @on(WatchesWritten)
    def _on_watches_written(self, message: WatchesWritten) -> None:
        if self._dialog is not None:
            self._dialog.refresh_rows(message.why)
        elif message.why:
            self.say(message.why)
        self.refresh_run()
        self.watch_reading.look()

    # Stopping.

    def go(self, number: int, *, follow: bool = False) -> None:
        """Go to a step; a breakpoint that is still looked for is forgotten."""
        self._run_to = 0
        self._forget_stop()
        super().go(number, follow=follow)

    def follow_on(self) -> None:
        """Go to the newest step, or to where a breakpoint stops before it; what was not looked at yet is not passed."""
        if not self._follow_to_what_is_known():
            self.read_step()

    def action_follow(self) -> None:
        """Follow the run, up to where a breakpoint stops."""
        if not self._follow_to_what_is_known():
            self.go(self.number, follow=True)

    def _follow_to_what_is_known(self) -> bool:
        """Go on as far as that is; whether there was somewhere to go."""
        board = self.model.board
        looked = board.looked
        stop = None if looked is None else board.stop_after(self._passed)
        if looked is not None and stop is not None and stop[0] <= looked:
            self._passed = stop[0]
            self.go(stop[0])
            self._stop_said(stop, "live.follow")
            return True
        newest = self.model.last if looked is None else min(self.model.last, max(looked, self._passed, self.number))
        if newest == self.number:
            return False
        self.go(newest, follow=True)
        return True

    def play_on(self) -> None:
        """Show the next step; stop there where a breakpoint does. It waits for what was not looked at yet."""
        board, ahead = self.model.board, self.number + 1
        looked = board.looked
        if not self.is_playing or (looked is not None and looked < min(ahead, self.model.last)):
            return
        self._forget_stop()
        super().play_on()
        stop = board.stop_after(self.number - 1) if self.number == ahead else None
        if stop is not None and stop[0] == self.number:
            self.stop_playing()
            self._stop_said(stop, "time.play")

    def action_break(self, direction: int) -> None:
        """Go to where a breakpoint stops next, or stopped before."""
        self._go_to_break(direction, is_known=False)

    def _go_to_break(self, direction: int, *, is_known: bool) -> None:
        board, here = self.model.board, self.number
        looked = board.looked
        if looked is None:
            return
        stop = board.stop_after(here) if direction > 0 else board.stop_before(here)
        is_known = is_known or looked >= (self.model.last if direction > 0 else here - 1)
        if stop is not None and (is_known or (direction > 0 and stop[0] <= looked)):
            self.go(stop[0])
            self._stop_said(stop, "time.break_next" if direction > 0 else "time.break_previous")
        elif is_known:
            self._run_to = 0
            self.say(f"no breakpoint stops {'after' if direction > 0 else 'before'} step {here}")
        else:
            self._run_to = direction
            which = "next" if direction > 0 else "last"
            self.say(f"looking for the {which} breakpoint: {looked + 1:,} steps so far", None)

    def _stop_said(self, stop: tuple[int, BoardRow], command: str) -> None:
        """Say that a breakpoint has stopped, and as soon as it is known, why."""
        self._stopped_by = command
        self.say(self._stop_words(*stop, ""), None)
        self.watch_reading.explain(*stop)

    @on(Explained)
    def _on_explained(self, message: Explained) -> None:
        if self._stopped_by and self.number == message.step:
            self.say(self._stop_words(message.step, message.row, message.why), None)

    def _forget_stop(self) -> None:
        if self._stopped_by:
            self._stopped_by = ""
            self.say("")

    def _stop_words(self, step: int, row: BoardRow, why: str) -> str:
        watch, dot = row.watch, look_of(self).glyphs.dot
        named = f"{watch.letter} {watch.name}" if watch.name else watch.letter
        on = "follows on" if self._stopped_by == "live.follow" else "goes on"
        said = f"{named} stops at {step} {dot} {self._key(self._stopped_by)} {on}"
        return f" {dot} ".join(words for words in (said, why, watch.where) if words)

    # The list of watches, and the steps of one.

    def action_watches(self) -> None:
        """Show the watches of the run, to be changed, and to go to the steps of one."""
        question = self.question()
        self._dialog = WatchesDialog(self.model, marks_of(self.model.source), self.watch_reading, question)
        self.app.push_screen(self._dialog, self._watch_chosen)

    def _watch_chosen(self, watch_id: int | None) -> None:
        self._dialog = None
        row = next((row for row in self.model.board.rows if row.watch.id == watch_id), None)
        if row is None:
            return
        here = self.number
        step = here if here in row.found else row.found.after(here)
        step = row.found.before(here) if step is None else step
        if step is None:
            self.say(f"{row.watch.label} holds nowhere so far")
            return
        self.show_found([StepHit(number, row.watch.label) for number in row.found.steps()], step)
        self._shown_watch = row.watch.id
        self.say(f"{row.watch.label}: {self._key('find.next')} {self._key('find.previous')} go through its steps")

    def forget_watch(self) -> None:
        """Show the steps of no watch any more: something else is searched for."""
        self._shown_watch = None

    def _extend_hits(self) -> None:
        """Show the steps that a watch has come to since its steps were shown."""
        row = next((row for row in self.model.board.rows if row.watch.id == self._shown_watch), None)
        steps = self.asked_steps()
        if row is None or not steps or not row.watch.on:
            return
        new, at = [], row.found.after(steps[-1])
        while at is not None:
            new.append(StepHit(at, row.watch.label))
            at = row.found.after(at)
        if new:
            self.more_found(new)

    def action_edge(self, direction: int) -> None:
        """Go to where what was asked begins to hold, or holds for the last time."""
        found = edge_of(self.asked_steps() or (), self.number, direction)
        if found is None:
            self.say(f"it neither begins nor stops to hold {'after' if direction > 0 else 'before'} step {self.number}")
            return
        step, begins, ends = found
        self.go(step)
        both = "it holds at this step alone" if begins and ends else ""
        self.say(both or ("here it begins to hold" if begins else "after this step it stops to hold"))

    def asked_steps(self) -> Sequence[int] | None:
        """The steps at which what was asked holds, in order; None where nothing was asked."""
        raise NotImplementedError

    def more_found(self, hits: Sequence[StepHit]) -> None:
        """Add later steps to those that are shown as found."""
        raise NotImplementedError

    def question(self) -> str:
        """The question that was asked last, as it was typed; "" for none."""
        raise NotImplementedError

    def _key(self, command_id: str) -> str:
        look = look_of(self)
        return display_key(DEBUGGER.command(command_id).bound_keys(look.keymap)[0], look.glyphs)
