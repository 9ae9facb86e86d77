"""Oddities in the debugger: that a run has some is said quietly once it was opened; a key lists them, and jumps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual import on

from agent_tt_tui.contexts import DEBUGGER
from agent_tt_tui.look import look_of
from agent_tt_tui.screens import run_reading as reading
from agent_tt_tui.screens.blaming import BlamingScreen
from agent_tt_tui.screens.past_reading import OddFound
from agent_tt_tui.screens.pick import Choice, PickDialog
from agent_tt_tui.text import width
from agent_tt_tui.viewmodel.finding import StepHit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_tt.querying.oddities import Oddity

__all__ = ["OdditiesScreen"]

_TITLE_COLUMNS: Final = 12
"""What the timeline's title and the columns around it need."""

_AT_ITS_END: Final = frozenset({"first error", "growing"})
"""Oddities that are seen at their last step; the steps before it only led there."""


class OdditiesScreen(BlamingScreen):
    """One run, of which is said what is odd about it."""

    oddities: Sequence[Oddity] | None = ()
    """What is odd; None where the run has too many steps to be searched unasked."""

    _odd_asked: tuple[int, str] | None = None
    """How many steps the run had, and how it stood, when that was asked."""

    def blocked(self, command_id: str) -> str | None:
        """Say why there are no oddities to list."""
        if command_id == "odd.open" and self.oddities is None:
            return f"so many steps are not searched unasked: agent-tt show {self.model.run.name} --oddities does"
        if command_id == "odd.open" and not self.oddities:
            return "nothing odd is known of this run"
        return super().blocked(command_id)

    def action_odd(self) -> None:
        """List what is odd."""
        glyphs = look_of(self).glyphs
        odd = self.oddities or ()
        places = [_places(oddity, glyphs.span) for oddity in odd]
        column = max(map(width, places), default=0)
        choices = [
            Choice(str(number), f"{place:>{column}}  {oddity.kind}", oddity.what)
            for number, (oddity, place) in enumerate(zip(odd, places, strict=True))
        ]
        self.app.push_screen(PickDialog("Odd", choices, detail=self.model.run.name), self._go_to_odd)

    @on(reading.Scanned)
    def _on_scan_ended(self, message: reading.Scanned) -> None:
        run = self.model.run
        known = (self.model.last, run.status)
        # What a run does that goes on is looked at when it has ended.
        if message.alike is not None and run.status != "running" and known != self._odd_asked:
            self._odd_asked = known
            self.past.find_odd()

    @on(OddFound)
    def _on_odd_found(self, message: OddFound) -> None:
        self.oddities = message.oddities
        self.refresh_run()

    def _go_to_odd(self, choice: str | None) -> None:
        if choice is None or not self.oddities:
            return
        oddity = self.oddities[int(choice)]
        self.show_found([StepHit(step, oddity.kind) for step in oddity.steps], _shown_at(oddity))
        self.say(oddity.what)

    def show_found(self, hits: Sequence[StepHit], step: int) -> None:
        """Go to one of some steps that belong together, and let the keys of the search lead to the others.

        Args:
            hits: The steps, in order.
            step: Which to go to.
        """
        raise NotImplementedError

    def _timeline_hint(self) -> str:
        hint = super()._timeline_hint()
        if not self.oddities:
            return hint
        look = look_of(self)
        key = DEBUGGER.command("odd.open").bound_keys(look.keymap)[0]
        kinds = ", ".join(dict.fromkeys(oddity.kind for oddity in self.oddities))
        dot, counted = f" {look.glyphs.dot} ", f"{len(self.oddities)} odd"
        room = self.timeline.size.width - _TITLE_COLUMNS
        hints = (f"{hint}{dot}{key} {kinds}", f"{hint}{dot}{key} {counted}", f"{key} {counted}")
        return next((text for text in hints if width(text) <= room), hints[-1])


def _places(oddity: Oddity, span: str) -> str:
    """Where it is: `21`, `1–20`."""
    first, last = oddity.steps[0], oddity.steps[-1]
    return str(_shown_at(oddity)) if oddity.kind in _AT_ITS_END or first == last else f"{first}{span}{last}"


def _shown_at(oddity: Oddity) -> int:
    return oddity.steps[-1] if oddity.kind in _AT_ITS_END else oddity.steps[0]
