"""Oddities in the debugger: that a run has some is said quietly once it was opened; a key lists them, and jumps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt_tui.feature import hears
from agent_tt_tui.look import look_of
from agent_tt_tui.screens.debugger import run_reading as reading
from agent_tt_tui.screens.debugger.features.base import DebuggerFeature
from agent_tt_tui.screens.debugger.past_reading import OddFound
from agent_tt_tui.text import width

if TYPE_CHECKING:
    from agent_tt.querying.oddities import Oddity
    from agent_tt_tui.screens.debugger.features.find import Find
    from agent_tt_tui.screens.debugger.past_reading import PastReading
    from agent_tt_tui.screens.debugger.time import Time

_AT_ITS_END: Final = frozenset({"first error", "growing"})
"""Oddities that are seen at their last step; the steps before it only led there."""


class Oddities(DebuggerFeature):
    """Looks for what is odd about the run, and lists it."""

    COMMANDS = frozenset({"odd.open"})

    def __init__(self, time: Time, past: PastReading, find: Find) -> None:
        """Initialise the feature.

        Args:
            time: The step that is shown.
            past: What looks for it.
            find: What goes through the steps of an oddity.
        """
        super().__init__(time)
        self._past, self._find = past, find
        self._asked: tuple[int, str] | None = None
        """How many steps the run had, and how it stood, when it was looked for."""

    def blocked(self, command_id: str) -> str | None:
        """Say why there are no oddities to list."""
        del command_id
        if self.model.oddities is None:
            return f"so many steps are not searched unasked: agent-tt show {self.model.run.name} --oddities does"
        return None if self.model.oddities else "nothing odd is known of this run"

    def action_odd(self) -> None:
        """List what is odd."""
        from agent_tt_tui.screens.dialogs.pick import Choice, PickDialog

        glyphs = look_of(self.screen).glyphs
        odd = self.model.oddities or ()
        places = [_places(oddity, glyphs.span) for oddity in odd]
        column = max(map(width, places), default=0)
        choices = [
            Choice(str(number), f"{place:>{column}}  {oddity.kind}", oddity.what)
            for number, (oddity, place) in enumerate(zip(odd, places, strict=True))
        ]
        self.screen.ask(PickDialog("Odd", choices, detail=self.model.run.name), self._go_to_odd)

    @hears(reading.Scanned)
    def _on_scan_ended(self, message: reading.Scanned) -> None:
        run = self.model.run
        known = (self.model.last, run.status)
        # What a run does that goes on is looked at when it has ended.
        if message.alike is not None and run.status != "running" and known != self._asked:
            self._asked = known
            self._past.find_odd()

    @hears(OddFound)
    def _on_odd_found(self, message: OddFound) -> None:
        self.model.oddities, self.model.asked = message.oddities, message.asked
        self.panes.refresh_run()

    def _go_to_odd(self, choice: str) -> None:
        if not self.model.oddities:
            return
        oddity = self.model.oddities[int(choice)]
        self._find.show_found(oddity.steps, _shown_at(oddity))
        self.screen.say(oddity.what)


def _places(oddity: Oddity, span: str) -> str:
    """Where it is: `21`, `1–20`."""
    first, last = oddity.steps[0], oddity.steps[-1]
    return str(_shown_at(oddity)) if oddity.kind in _AT_ITS_END or first == last else f"{first}{span}{last}"


def _shown_at(oddity: Oddity) -> int:
    return oddity.steps[-1] if oddity.kind in _AT_ITS_END else oddity.steps[0]
