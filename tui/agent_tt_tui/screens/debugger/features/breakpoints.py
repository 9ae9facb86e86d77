"""Breakpoints: watches that stop playing and following, and keys that go to where they do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt_tui.feature import hears
from agent_tt_tui.look import look_of
from agent_tt_tui.screens.debugger import run_reading as reading
from agent_tt_tui.screens.debugger.features.base import DebuggerFeature
from agent_tt_tui.screens.debugger.watch_reading import Explained, WatchesLooked

if TYPE_CHECKING:
    from agent_tt.querying.watches.watchpoints import Watchpoint
    from agent_tt_tui.screens.debugger.time import Time
    from agent_tt_tui.screens.debugger.watch_reading import WatchReading


class Breakpoints(DebuggerFeature):
    """Goes to where a breakpoint stops, and says which it is and why."""

    COMMANDS = frozenset({"time.break_previous", "time.break_next"})

    def __init__(self, time: Time, watches: WatchReading) -> None:
        """Initialise the feature.

        Args:
            time: The step that is shown.
            watches: What looks where watches hold.
        """
        super().__init__(time)
        self._watches = watches
        self.passed = 0
        """The last step at which following does not stop: what was there before, and where it stopped."""
        self._direction = 0
        """The direction of the breakpoint that is looked for; 0 for none."""
        self._stopped_by = ""
        """The command with which to go on from a breakpoint, while it is said why it stopped; "" for none."""
        time.on_leaving.append(self.forget)

    def blocked(self, command_id: str) -> str | None:
        """Say that there are no breakpoints."""
        del command_id
        return None if self.model.board.breakpoints else f"no breakpoint is set yet: {self.key('watch.open')} sets one"

    def escape(self) -> bool:
        """Take away what is said of a breakpoint; what else is open is closed too."""
        self.forget()
        return False

    @property
    def is_looking(self) -> bool:
        """Whether a breakpoint is looked for."""
        return self._direction != 0

    def forget(self) -> None:
        """Look for no breakpoint any more, and say nothing of one."""
        self._direction = 0
        self.forget_stop()

    def forget_stop(self) -> None:
        """Say no more where a breakpoint stopped."""
        if self._stopped_by:
            self._stopped_by = ""
            self.screen.say("")

    @hears(reading.Opened)
    def _on_opened(self, _message: reading.Opened) -> None:
        self.passed = self.model.last
        while (step := self.model.peek(self.passed)) is not None and step.status == "running":
            self.passed -= 1  # a breakpoint may still stop there, when it has ended

    def action_break(self, direction: int) -> None:
        """Go to where a breakpoint stops next, or stopped before."""
        self._go(direction, is_known=False)

    @hears(WatchesLooked)
    def _on_watches_looked(self, message: WatchesLooked) -> None:
        if self._direction:
            self._go(self._direction, is_known=message.ended)

    def _go(self, direction: int, *, is_known: bool) -> None:
        board, here = self.model.board, self.time.number
        looked = board.looked
        if looked is None:
            return
        stop = board.stop_after(here) if direction > 0 else board.stop_before(here)
        is_known = is_known or looked >= (self.model.last if direction > 0 else here - 1)
        if stop is not None and (is_known or (direction > 0 and stop[0] <= looked)):
            self.time.go(stop[0])
            self.say_stop(stop, "time.break_next" if direction > 0 else "time.break_previous")
        elif is_known:
            self._direction = 0
            self.screen.say(f"no breakpoint stops {'after' if direction > 0 else 'before'} step {here}")
        else:
            self._direction = direction
            which = "next" if direction > 0 else "last"
            self.screen.say(f"looking for the {which} breakpoint: {looked + 1:,} steps so far", None)

    def say_stop(self, stop: tuple[int, Watchpoint], command: str) -> None:
        """Say that a breakpoint has stopped, and as soon as it is known, why.

        Args:
            stop: The step, and the breakpoint.
            command: The id of the command that goes on from there.
        """
        self._stopped_by = command
        self.screen.say(self._stop_words(*stop, ""), None)
        self._watches.explain(*stop)

    @hears(Explained)
    def _on_explained(self, message: Explained) -> None:
        if self._stopped_by and self.time.number == message.step:
            self.screen.say(self._stop_words(message.step, message.row, message.why), None)

    def _stop_words(self, step: int, row: Watchpoint, why: str) -> str:
        watch, dot = row.watch, look_of(self.screen).glyphs.dot
        named = f"{watch.letter} {watch.name}" if watch.name else watch.letter
        on = "follows on" if self._stopped_by == "live.follow" else "goes on"
        said = f"{named} stops at {step} {dot} {self.key(self._stopped_by)} {on}"
        return f" {dot} ".join(words for words in (said, why, watch.where) if words)
