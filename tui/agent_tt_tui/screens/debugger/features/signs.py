"""Signs: what those of the step that is shown mean, said in the footer the first time that a person meets each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt_tui.feature import hears
from agent_tt_tui.footer import FooterRow
from agent_tt_tui.legend import meaning_of
from agent_tt_tui.look import look_of
from agent_tt_tui.screens.debugger import run_reading as reading
from agent_tt_tui.screens.debugger.features.base import DebuggerFeature
from agent_tt_tui.screens.debugger.features.explained import NotKept
from agent_tt_tui.text import width

if TYPE_CHECKING:
    from agent_tt_tui.screens.debugger.features.explained import Explained
    from agent_tt_tui.screens.debugger.features.tour import Tour
    from agent_tt_tui.screens.debugger.time import Time

_SECONDS: Final = 8.0
_BETWEEN: Final = "   "


class Signs(DebuggerFeature):
    """Says what signs mean above the footer, while it says nothing else and no tour is on. Each is explained once."""

    def __init__(self, time: Time, explained: Explained, tour: Tour) -> None:
        """Initialise the feature.

        Args:
            time: The step that is shown.
            explained: What is still to be explained.
            tour: While it is on, nothing else is explained.
        """
        super().__init__(time)
        self._explained, self._tour = explained, tour

    @hears(reading.StepRead)
    def _on_step_read(self, message: reading.StepRead) -> None:
        if message.view.number == self.time.number:
            self.explain()

    def explain(self) -> None:
        """Explain signs of the step that is shown, as many as the footer has room for."""
        new = [name for name in self.panes.timeline.signs_of(self.time.number) if self._explained.wants(name)]
        footer = self.screen.query_one(FooterRow)
        if not new or self._tour.is_on or footer.explanation or footer.message or not self.screen.is_active:
            return
        glyphs, end = look_of(self.screen).glyphs, f"{self.key('app.help')} explains all signs"
        room = self.screen.size.width - 2 - width(end)
        said: list[str] = []
        for name in new:
            words = f"{getattr(glyphs, name)} {meaning_of(name)}{_BETWEEN}"
            if said and width(words) > room:
                break
            said.append(words)
            room -= width(words)
        footer.explain("".join([*said, end]), _SECONDS)
        self._explained.keep(new[: len(said)])

    @hears(NotKept)
    def _on_not_kept(self, message: NotKept) -> None:
        # It is said of the tour; over a sign that was just explained it would hide the explanation.
        if not self.screen.query_one(FooterRow).message:
            self.screen.say(message.why, 6.0)
