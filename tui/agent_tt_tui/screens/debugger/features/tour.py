"""The tour: it says what can be done in the debugger, once by itself and then for a key. Every key acts as always."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual import events

from agent_tt_tui.feature import hears
from agent_tt_tui.footer import FooterRow
from agent_tt_tui.screens.debugger.features.base import DebuggerFeature
from agent_tt_tui.viewmodel.debugger.tour import SENTENCES
from agent_tt_tui.widgets.debugger.tour_row import TourRow

if TYPE_CHECKING:
    from agent_tt_tui.screens.debugger.features.explained import Explained
    from agent_tt_tui.screens.debugger.time import Time

TOUR: Final = "tour"
"""What the settings call it."""


class Tour(DebuggerFeature):
    """Says one sentence after the other; each gives way once what it says was done, or for the key of the tour."""

    COMMANDS = frozenset({"tour.go"})

    def __init__(self, time: Time, explained: Explained) -> None:
        """Initialise the feature.

        Args:
            time: The step that is shown.
            explained: What is still to be explained.
        """
        super().__init__(time)
        self._explained = explained
        self._row: TourRow | None = None
        self._at = 0
        self._done: set[str] = set()
        time.on_leaving.append(lambda: self.did("time.next"))

    @property
    def is_on(self) -> bool:
        """Whether it says something."""
        return self._row is not None

    def begin_once(self) -> None:
        """Begin, where this person has not seen the tour yet; that is kept at once."""
        if self._explained.wants(TOUR):
            self._explained.keep([TOUR])
            self._begin()

    def _begin(self) -> None:
        self._at, self._done = 0, set()
        self._row = TourRow(self._can_end)
        self.screen.mount(self._row, before=self.screen.query_one(FooterRow))
        self._show()

    def _show(self) -> None:
        if self._row is not None:
            self._row.show(SENTENCES[self._at], self._at + 1, len(SENTENCES))

    def _end(self) -> None:
        if self._row is not None:
            self._row.remove()
            self._row = None

    def _can_end(self) -> bool:
        """Whether nothing else is in front that Esc would close before."""
        return self.screen.own_keys is None and not self.panes.zoomed

    def action_tour(self) -> None:
        """Begin; in the tour, go on to what was not done yet."""
        if self._row is None:
            self._begin()
        else:
            self._go_on()

    def did(self, command_id: str) -> None:
        """Go on where the sentence says what was just done; what comes later need not be said any more."""
        if self._row is not None:
            self._done.add(command_id)
            if self._done & SENTENCES[self._at].done_by:
                self._go_on()

    def _go_on(self) -> None:
        self._at += 1
        while self._at < len(SENTENCES) - 1 and self._done & SENTENCES[self._at].done_by:
            self._at += 1
        if self._at < len(SENTENCES):
            self._show()
        else:
            self._end()

    def escape(self) -> bool:
        """End the tour."""
        if self._row is None:
            return False
        self._end()
        return True

    @hears(events.ScreenSuspend)
    def _on_covered(self, _event: events.ScreenSuspend) -> None:
        """Name no key of the tour while a dialog has the keys."""
        self._show()

    @hears(events.ScreenResume)
    def _on_uncovered(self, _event: events.ScreenResume) -> None:
        self._show()

    @hears(events.DescendantFocus)
    def _on_focus(self, _event: events.DescendantFocus) -> None:
        """See whether somebody went to another pane, with a key or the mouse, and draw what Esc does there."""
        if self._row is not None:
            if self.screen.focused not in (None, self.panes.timeline):
                self.did("pane.next")
            self._show()
