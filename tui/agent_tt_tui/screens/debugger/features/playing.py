"""Playing and following: the debugger goes on by itself, up to where a breakpoint stops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_tt_tui.feature import hears
from agent_tt_tui.screens.debugger import run_reading as reading
from agent_tt_tui.screens.debugger.features.base import DebuggerFeature
from agent_tt_tui.screens.debugger.watch_reading import WatchesLooked
from agent_tt_tui.widgets.debugger.timeline import Timeline

if TYPE_CHECKING:
    from textual.timer import Timer

    from agent_tt_tui.screens.debugger.features.breakpoints import Breakpoints
    from agent_tt_tui.screens.debugger.time import Time

_PLAY_SECONDS = 0.25


class Playing(DebuggerFeature):
    """Plays the run step by step, and follows one that grows. Going to a step ends both."""

    COMMANDS = frozenset({"live.follow"})

    def __init__(self, time: Time, breakpoints: Breakpoints, *, following: bool) -> None:
        """Initialise the feature.

        Args:
            time: The step that is shown.
            breakpoints: Where it stops.
            following: Whether the run is followed from the beginning.
        """
        super().__init__(time)
        self._breakpoints = breakpoints
        self.is_following = following
        """Whether the newest step is shown as soon as it is there."""
        self._playing: Timer | None = None
        time.on_leaving.append(self._end)

    @property
    def is_playing(self) -> bool:
        """Whether the run is being played."""
        return self._playing is not None

    def _end(self) -> None:
        self._stop()
        self._follow(on=False)

    def _follow(self, *, on: bool) -> None:
        if on != self.is_following:
            self.is_following = on
            self.screen.refresh_footer()

    def escape(self) -> bool:
        """Stop playing; what else is open is closed too."""
        self._stop()
        return False

    # Playing.

    @hears(Timeline.PlayToggled)
    def _on_play_toggled(self, _message: Timeline.PlayToggled) -> None:
        if self._playing is not None:
            self._stop()
            return
        if self.time.number >= self.model.last:
            self.time.show(0)
        self._playing = self.screen.set_interval(_PLAY_SECONDS, self._play_on)

    def _play_on(self) -> None:
        """Show the next step; stop there where a breakpoint does. It waits for what was not looked at yet."""
        board, ahead = self.model.board, self.time.number + 1
        looked = board.looked
        if self._playing is None:  # a tick that was under way when it was stopped
            return
        if looked is not None and looked < min(ahead, self.model.last):
            return
        self._breakpoints.forget_stop()
        if ahead > self.model.last:
            self._stop()
            return
        self.time.show(ahead)
        stop = board.stop_after(ahead - 1)
        if stop is not None and stop[0] == ahead:
            self._stop()
            self._breakpoints.say_stop(stop, "time.play")

    def _stop(self) -> None:
        """Stay at the step that is shown."""
        if self._playing is not None:
            self._playing.stop()
            self._playing = None

    # Following.

    def blocked(self, command_id: str) -> str | None:
        """Say why there is nothing to follow."""
        del command_id
        if self.model.run.status != "running":
            return "this run has ended: there is nothing to follow"
        return "the newest step is followed already" if self.is_following else None

    def action_follow(self) -> None:
        """Go to the end and stay there while the run grows, up to where a breakpoint stops."""
        if not self._go_as_far_as_is_known():
            self._go_on(self.time.number)

    @hears(reading.RunGrew)
    def _on_run_grew(self, _message: reading.RunGrew) -> None:
        if self.is_following:
            self._go_as_far_as_is_known()

    @hears(WatchesLooked)
    def _on_watches_looked(self, _message: WatchesLooked) -> None:
        if self.is_following and not self._breakpoints.is_looking:
            self._go_as_far_as_is_known()

    def _go_as_far_as_is_known(self) -> bool:
        """Go to the newest step, or to where a breakpoint stops before it; what was not looked at is not passed.

        Returns:
            Whether there was somewhere to go.
        """
        board, here = self.model.board, self.time.number
        looked, passed = board.looked, self._breakpoints.passed
        stop = None if looked is None else board.stop_after(passed)
        if looked is not None and stop is not None and stop[0] <= looked:
            self._breakpoints.passed = stop[0]
            self.time.go(stop[0])
            self._breakpoints.say_stop(stop, "live.follow")
            return True
        newest = self.model.last if looked is None else min(self.model.last, max(looked, passed, here))
        if newest == here:
            return False
        self._go_on(newest)
        return True

    def _go_on(self, number: int) -> None:
        """Go to a step and follow the run from there."""
        self._breakpoints.forget()
        self._stop()
        self._follow(on=True)
        self.time.show(number)
