"""Cause and effect: the steps that fed the one that is shown, and those that it fed, marked on the timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tt_tui.feature import hears
from agent_tt_tui.look import look_of
from agent_tt_tui.screens.debugger.features.base import DebuggerFeature
from agent_tt_tui.screens.debugger.features.context_reading import ContextsRead
from agent_tt_tui.text import clean
from agent_tt_tui.viewmodel.debugger.causes import cause_rows, marks_said

if TYPE_CHECKING:
    from agent_tt_tui.screens.debugger.features.context_reading import ContextReading
    from agent_tt_tui.screens.debugger.time import Time

_SAID_SECONDS: Final = 8.0


class CauseMarks(DebuggerFeature):
    """Marks what fed the step that is shown and what it fed, while somebody wants that; a key lists them."""

    COMMANDS = frozenset({"causes.mark", "causes.list"})

    def __init__(self, time: Time, contexts: ContextReading) -> None:
        """Initialise the feature.

        Args:
            time: The step that is shown.
            contexts: Reads what fed each step.
        """
        super().__init__(time)
        self._reading = contexts
        self._is_on = self._lists = False
        contexts.needs.append(lambda: self._is_on or self._lists)

    def action_mark_causes(self) -> None:
        """Mark them, or take the marks away."""
        self._is_on = not self._is_on
        if self._is_on:
            self._read()
            self._say()
        else:
            self._lists = False
            self._reading.give_up()
        self._show()

    def action_list_causes(self) -> None:
        """List them as soon as they are known, and go to the one that is chosen."""
        self._lists = True
        self._read()
        self._list()

    def _read(self) -> None:
        self._reading.read()
        if self._reading.causes is None:
            cut, stops = (
                look_of(self.screen).glyphs.cut,
                f"{self.key('causes.mark')} again stops" if self._is_on else "",
            )
            self.screen.say(f"reading what fed each step of {self.model.last:,} {cut}  {stops}".rstrip())

    @hears(ContextsRead)
    def _on_read(self, message: ContextsRead) -> None:
        if message.why and (self._is_on or self._lists):
            self._is_on = self._lists = False
            self.screen.say(f"what fed this step cannot be read: {clean(message.why)}", _SAID_SECONDS)
        elif self._is_on:
            self._say()
        self._show()
        self._list()

    def _show(self) -> None:
        self.panes.timeline.show_causes(self._reading.causes if self._is_on else None)

    def _say(self) -> None:
        if self._reading.causes is not None:
            found = self._reading.causes.of(self.time.number)
            self.screen.say(marks_said(found, self.time.number, look_of(self.screen).glyphs), _SAID_SECONDS)

    def _list(self) -> None:
        from agent_tt_tui.screens.dialogs.pick import Choice, PickDialog

        causes, number = self._reading.causes, self.time.number
        if causes is None or not self._lists:
            return
        self._lists = False
        if not self.screen.is_current:  # a dialog was opened meanwhile
            return
        rows = cause_rows(causes, number, look_of(self.screen).glyphs, self._name)
        if not rows:
            self.screen.say(f"nothing that was recorded says what fed step {number}, or what it fed")
            return
        choices = [Choice(str(row.step), row.label, row.why) for row in rows]
        dialog = PickDialog("What fed it, and what it fed", choices, detail=f"step {number}")
        self.screen.ask(dialog, lambda chosen: self.time.go(int(chosen)))

    def _name(self, number: int) -> str:
        from agent_tt_tui.viewmodel.debugger.marked_steps import name_of
        from agent_tt_tui.viewmodel.debugger.timeline import INPUT_NAME

        step = self.model.peek(number) if number else None
        return INPUT_NAME if not number else "" if step is None else clean(name_of(step))
